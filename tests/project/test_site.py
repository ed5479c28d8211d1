"""The documentation site: complete, strict, readable on a telephone, and nothing from elsewhere."""

from __future__ import annotations

import importlib
import inspect
import os
import pkgutil
import re
import subprocess
import sys
import zlib
from collections import Counter
from collections.abc import Iterator
from importlib.machinery import PathFinder
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from markdown_it import MarkdownIt

import cidery
from support.browsing import open_page

if TYPE_CHECKING:
    from playwright.sync_api import Browser

ROOT = Path(__file__).parents[2]
INTERNAL = {
    "cidery_server",
    "cidery.cli",
    "cidery.meta.datasets",
    "cidery.meta.protocols",
    "cidery.storage",
}
"""Packages whose names are for cidery itself; `cidery.meta` has what is public of its two."""
NEVER_LOADED = re.compile(
    r"https://(api\.github\.com|unpkg\.com/(mermaid|resize-observer-polyfill))"
)
"""Addresses in the theme's script: for pages that show a repository or diagrams, which the site
has not, and for browsers that are ten years old."""


def build(*arguments: str) -> subprocess.CompletedProcess[str]:
    """Call MkDocs; with `--quiet` it would count no warnings, and so never be strict."""
    return subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", *arguments],
        cwd=ROOT,
        env=os.environ | {"NO_MKDOCS_2_WARNING": "1"},
        capture_output=True,
        encoding="utf-8",
        check=False,
    )


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The site, as `make docs` builds it."""
    for package in ("mkdocs", "material", "mkdocstrings", "latex2mathml"):
        if PathFinder.find_spec(package) is None:
            pytest.skip("the packages of the extra docs are not installed")
    folder = tmp_path_factory.mktemp("site")
    done = build("--site-dir", str(folder))
    assert done.returncode == 0, done.stderr
    return folder


def find_public_names() -> Iterator[tuple[str, object]]:
    """Yield the names in `__all__` of cidery and of its public packages, and the errors."""
    packages = [
        module.name
        for module in pkgutil.walk_packages(cidery.__path__, "cidery.")
        if module.ispkg and not any(f"{module.name}.".startswith(f"{name}.") for name in INTERNAL)
    ]
    for path in ["cidery", *packages]:
        package = importlib.import_module(path)
        for name in getattr(package, "__all__", ()):
            value = getattr(package, name)
            if name != "__version__" and not inspect.ismodule(value):
                yield f"{path}.{name}", value
    for name, value in vars(importlib.import_module("cidery.errors")).items():
        if isinstance(value, type) and value.__module__ == "cidery.errors":
            yield f"cidery.errors.{name}", value


def test_every_public_name_is_in_the_reference(site: Path) -> None:
    _, _, packed = (site / "objects.inv").read_bytes().partition(b"zlib.\n")
    described = {line.split(" ")[0] for line in zlib.decompress(packed).decode().splitlines()}
    public = dict(find_public_names())
    assert len(public) > 150
    missing = {
        name
        for name, value in public.items()
        if not described
        & {name, f"{getattr(value, '__module__', '')}.{getattr(value, '__qualname__', '')}"}
    }
    assert missing == set(), "each needs a docstring, and a page in docs/api"


def test_every_public_class_and_function_has_a_docstring() -> None:
    for name, value in find_public_names():
        if inspect.isroutine(value) or inspect.isclass(value):
            doc = value.__doc__ or ""
            assert doc and not doc.startswith(f"{value.__name__}("), name


def test_a_broken_link_a_broken_anchor_and_a_forgotten_page_end_the_build(
    site: Path, tmp_path: Path
) -> None:
    pages = tmp_path / "docs"
    pages.mkdir()
    (pages / "index.md").write_text("# One\n\n[a](no-such-page.md) [b](two.md#no-such-part)\n")
    (pages / "two.md").write_text("# Two\n\n[c](index.md) [d](two.md#two)\n")
    (pages / "three.md").write_text("# Three\n")
    config = tmp_path / "mkdocs.yml"
    config.write_text(
        f"INHERIT: {ROOT / 'mkdocs.yml'}\n"
        "site_dir: site\nhooks: []\nplugins: []\nnav: [index.md, two.md]\n"
    )
    done = build("--config-file", str(config))
    assert done.returncode != 0
    for problem in ("no-such-page.md", "no-such-part", "three.md"):
        assert problem in done.stderr
    assert done.stderr.count("WARNING") == 3, done.stderr


def test_nothing_is_loaded_from_elsewhere(site: Path) -> None:
    for page in site.rglob("*.html"):
        text = page.read_text(encoding="utf-8")
        loaded = re.findall(
            r'<(?!a )[^>]*\b(?:src|srcset|href|data)="?((?:https?:)?//[^" >]*)', text
        )
        assert loaded == [], page
        assert 'class="mermaid"' not in text and 'data-md-component="source"' not in text, page
    for sheet in site.rglob("*.css"):
        assert not re.search(r"(url\(|@import)\s*[\"']?(https?:)?//", sheet.read_text()), sheet
    for script in site.rglob("*.js"):
        if script.name != "search_index.js":
            addresses = re.findall(r"[\"'`](https?://[\w.-]+[^\"'`]*)", script.read_text("utf-8"))
            assert [one for one in addresses if not NEVER_LOADED.match(one)] == [], script


def test_links_that_leave_the_folder_of_pages(site: Path) -> None:
    start = (site / "index.html").read_text(encoding="utf-8")
    assert 'href="changelog.html"' in start and 'href="contributing.html"' in start
    contributing = (site / "contributing.html").read_text(encoding="utf-8")
    assert 'href="architecture.html"' in contributing
    architecture = (site / "architecture.html").read_text(encoding="utf-8")
    assert 'href="server.html#why-these-libraries"' in architecture
    scale = (site / "scale.html").read_text(encoding="utf-8")
    assert 'href="https://github.com/cidery/cidery/blob/main/examples/clusters/slurm.sh"' in scale


def test_equations_are_set(site: Path) -> None:
    for page in site.rglob("*.html"):
        assert "arithmatex" not in page.read_text(encoding="utf-8"), page
    assert '<math xmlns="http://www.w3.org/1998/Math/MathML" display="block">' in (
        site / "metrics" / "cider-d.html"
    ).read_text(encoding="utf-8")


def test_pages_have_the_lists_and_tables_that_github_shows(site: Path) -> None:
    """MkDocs wants list items indented by four blanks where GitHub takes two."""
    github = MarkdownIt("commonmark").enable("table")
    for source in (ROOT / "docs").rglob("*.md"):
        page = source.relative_to(ROOT / "docs")
        if page.parts[0] != "api":
            text = (site / page.with_suffix(".html")).read_text(encoding="utf-8")
            article = text[text.index("<article") : text.index("</article>")]
            shown = github.render(source.read_text(encoding="utf-8"))
            assert count_blocks(article) == count_blocks(shown), page


def count_blocks(html: str) -> Counter[str]:
    return Counter(re.findall(r"<(li|table|tr|pre|blockquote|img)\b", html))


PAGES = [
    "index.html",
    "which-number.html",
    "metrics/cider-r.html",
    "agreement-with-people.html",
    "api/scoring.html",
    "api/metrics.html",
]


def test_in_a_browser_from_a_folder(site: Path, browser: Browser) -> None:
    page = open_page(browser, viewport={"width": 1280, "height": 900}, color_scheme="light")
    requests: list[str] = []
    problems: list[str] = []
    page.on("request", lambda request: requests.append(request.url))
    page.on("console", lambda message: problems.append(message.text))
    page.on("pageerror", lambda error: problems.append(str(error)))

    page.goto((site / "index.html").as_uri())
    paper = "getComputedStyle(document.body).backgroundColor"
    light = page.evaluate(paper)
    page.get_by_title("Dark").click()
    page.wait_for_function(f"{paper} !== '{light}'")

    page.get_by_role("textbox", name="Search").press_sequentially("Holm correction")
    found = page.locator(".md-search-result__link", has_text="Statistics").first
    found.click()
    page.wait_for_url(re.compile(r"statistics\.html"))
    assert page.evaluate(paper) != light

    page.set_viewport_size({"width": 390, "height": 844})
    for name in PAGES:
        page.goto((site / name).as_uri(), wait_until="load")
        width = page.evaluate("document.documentElement.scrollWidth")
        assert width <= 390, f"{name} is {width} pixels wide"
    page.close()

    assert requests
    folder = site.as_uri()
    assert [url for url in requests if not url.startswith((f"{folder}/", "about:", "data:"))] == []
    assert problems == []
