"""Hooks of MkDocs that convert the pages for `make docs`.

Pages are written for GitHub as well. Three things differ in the site: the files of the repository's
first folder are pages, links that leave docs/ lead to the repository, and equations are MathML,
which browsers draw without a script.
"""

import html
import re
from pathlib import Path, PurePosixPath
from posixpath import normpath, relpath

from latex2mathml.converter import convert
from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

ROOT = Path(__file__).parents[2]
REPOSITORY = "https://github.com/cidery/cidery/blob/main"
ROOT_PAGES = {
    "ARCHITECTURE.md": "architecture.md",
    "CHANGELOG.md": "changelog.md",
    "CONTRIBUTING.md": "contributing.md",
    "README.md": "index.md",
}
"""Files of the repository's first folder, and the pages that they are in the site."""
LINK = re.compile(r"(?<=\]\()(?!\w+:|#|/)([^)#\s]+)")
EQUATION = re.compile(r'<(span|div) class="arithmatex">\\[(\[](.*?)\\[)\]]</\1>', re.DOTALL)


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the pages that lie outside docs/."""
    for source, page in ROOT_PAGES.items():
        if files.get_file_from_path(page) is None:
            content = (ROOT / source).read_text(encoding="utf-8")
            files.append(File.generated(config, page, content=content))
    return files


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:  # noqa: ARG001
    """Point links at what they name in the site, or in the repository."""
    here = page.file.src_uri
    if here.startswith("api/"):
        page.meta["search"] = {"boost": 0.5}  # pages that explain come first
    source = next((name for name, uri in ROOT_PAGES.items() if uri == here), None)
    is_generated = page.file.generated_by is not None
    folder = PurePosixPath(source if source and is_generated else f"docs/{here}").parent
    return LINK.sub(lambda link: find_target(link[0], str(folder), here), markdown)


def find_target(link: str, folder: str, page: str) -> str:
    """Return what a link becomes that stands in a page of this folder of the repository."""
    path = normpath(f"{folder}/{link}")
    if path in ROOT_PAGES:
        path = f"docs/{ROOT_PAGES[path]}"
    if path.startswith("docs/"):
        return relpath(path, PurePosixPath("docs", page).parent)
    return f"{REPOSITORY}/{path}" if (ROOT / path).exists() else link


def on_page_content(html: str, page: Page, config: MkDocsConfig, files: Files) -> str:  # noqa: ARG001
    """Convert equations to MathML."""
    return EQUATION.sub(lambda found: set_equation(found[1], found[2]), html)


def set_equation(tag: str, latex: str) -> str:
    """Return an equation as MathML; equations that stand side by side may wrap."""
    latex = html.unescape(latex)
    if tag == "span":
        return convert(latex, display="inline")
    parts = [convert(part, display="block") for part in latex.split(r"\qquad")]
    return f'<div class="equation">{"".join(f"<div>{part}</div>" for part in parts)}</div>'
