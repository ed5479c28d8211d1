"""Reading a report as a program does: its JSON, and the elements around it."""

from __future__ import annotations

import json
from html.parser import HTMLParser
from pathlib import Path
from typing import Any


class ReportReader(HTMLParser):
    """Collects the elements of a page, and what scripts hold."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.scripts: list[tuple[dict[str, str | None], str]] = []
        self.feed(page)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note an element."""
        self.tags.append((tag, dict(attrs)))
        if tag == "script":
            self.scripts.append((dict(attrs), ""))

    def handle_data(self, data: str) -> None:
        """Note what a script holds."""
        if self.tags and self.tags[-1][0] == "script" and self.scripts:
            attributes, text = self.scripts[-1]
            self.scripts[-1] = (attributes, text + data)

    def handle_endtag(self, tag: str) -> None:
        """Note that it is over."""
        self.tags.append((f"/{tag}", {}))

    @property
    def content(self) -> Any:
        """The JSON of the page."""
        (found,) = [text for attributes, text in self.scripts if attributes.get("id") == "data"]
        return json.loads(found)

    @property
    def policy(self) -> str:
        """The Content-Security-Policy."""
        (found,) = [a["content"] for tag, a in self.tags if tag == "meta" and a.get("http-equiv")]
        return found or ""


def read_report(path: str | Path) -> ReportReader:
    """Read a report."""
    return ReportReader(Path(path).read_text(encoding="utf-8"))
