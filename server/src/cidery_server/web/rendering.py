"""The HTML renderer. Separate from `pages`, because REST framework imports it first."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rest_framework.renderers import TemplateHTMLRenderer


class PageRenderer(TemplateHTMLRenderer):
    """Renders a page's template with `page` (its data), `form`, `problems` and `view`."""

    exception_template_names = ["web/error.html"]  # noqa: RUF012  # as REST framework has it

    def get_template_context(self, data: Any, renderer_context: Mapping[str, Any]) -> Any:
        """Return the context of the template."""
        response, view = renderer_context["response"], renderer_context["view"]
        if response.exception:
            return {"status": response.status_code, "detail": (data or {}).get("detail", "")}
        return {"page": data, "view": view, "form": view.filled_form, "problems": view.problems}
