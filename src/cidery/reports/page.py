"""HTML of a report: template, style sheets, scripts and data as JSON."""

from __future__ import annotations

import base64
import gzip
import hashlib
import html
import json
from collections.abc import Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any

STATIC = Path(__file__).parent / "static"
"""Static files; `cidery-server` serves the folder `explorer`."""
SHEETS = ("report.css", "explorer/explorer.css")
SCRIPTS = ("explorer/model.js", "explorer/explorer.js", "charts.js", "report.js")


def find_plotly() -> str | None:
    """Return plotly.js of the installed package `plotly`, without importing it."""
    found = find_spec("plotly")
    for folder in (found and found.submodule_search_locations) or ():
        file = Path(folder) / "package_data" / "plotly.min.js"
        if file.is_file():
            return file.read_text(encoding="utf-8")
    return None


def escape_json(content: Any) -> str:
    r"""Return JSON that is safe inside `<script>`: `<` is written as `\u003c`.

    ```python
    escape_json("</script>")   # '"\\u003c/script>"'
    ```
    """
    text = json.dumps(content, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    return text.replace("<", "\\u003c").replace("\u2028", "\\u2028").replace("\u2029", "\\u2029")


def make_page(
    content: Mapping[str, Any], plotly: str | None, image_sources: Sequence[str]
) -> bytes:
    """Return the page; its Content-Security-Policy allows only the embedded scripts."""
    sheets = "\n".join(_read(name) for name in SHEETS)
    scripts = [_read(name) for name in SCRIPTS]
    library = ""
    if plotly is not None:
        packed = gzip.compress(plotly.encode("utf-8"), 6, mtime=0)
        library = base64.b64encode(packed).decode("ascii")
    parts = {
        "policy": _make_policy([*scripts, *([plotly] if plotly else [])], image_sources),
        "title": html.escape(str(content["title"])),
        "sheets": sheets,
        "data": escape_json(content),
        "library": library,
        "scripts": "".join(f"<script>{script}</script>\n" for script in scripts),
    }
    page = []
    for piece in _read("page.html").split("@@"):
        page.append(parts.get(piece, piece))
    return "".join(page).encode("utf-8")


def _make_policy(scripts: Sequence[str], image_sources: Sequence[str]) -> str:
    hashes = " ".join(f"'sha256-{_digest(script)}'" for script in scripts)
    images = " ".join(["data:", *image_sources])
    return html.escape(
        f"default-src 'none'; script-src {hashes}; style-src 'unsafe-inline'; img-src {images}; "
        "base-uri 'none'; form-action 'none'",
        quote=True,
    )


def _digest(script: str) -> str:
    return base64.b64encode(hashlib.sha256(script.encode("utf-8")).digest()).decode("ascii")


def _read(name: str) -> str:
    return (STATIC / name).read_text(encoding="utf-8")
