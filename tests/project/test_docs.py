"""Every example in README.md and docs/ runs, and prints what the page says it prints."""

from __future__ import annotations

import io
import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import redirect_stdout
from pathlib import Path
from typing import Any

import pytest

from cidery.corpus import bundled
from support.available import skip_unless_available
from support.commands import Finished, preload_models, run_cidery

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
BLOCK = re.compile(
    r"^```(python|console)\n(.*?)^```$(?:\n\n^```text\n(.*?)^```$)?", flags=re.MULTILINE | re.DOTALL
)
"""Code, and the block of text below it, which shows what the code prints."""
OURS = re.compile(r"(^|\| )cidery ")
ANYTHING = "…"
VERSION = re.compile(r"(?<=\|version:)\d+(\.\d+)*")
"""At the end of a signature; a page need not show the newest one."""
APP = pytest.mark.app
MODEL = pytest.mark.model
MARKS: dict[str, tuple[pytest.MarkDecorator, ...]] = {
    "benchmark.md": (APP,),
    "bertscore.md": (MODEL,),
    "claims.md": (MODEL,),
    "command-line.md": (APP, MODEL),
    "encoders.md": (MODEL,),
    "fense.md": (MODEL,),
    "irv.md": (MODEL,),
    "judgments.md": (APP,),
    "lab.md": (MODEL,),
    "ledger.md": (MODEL,),
    "server.md": (APP,),
    "spice.md": (MODEL,),
    "studies.md": (APP,),
}
"""Requirements of pages whose examples parse or encode captions, or use cidery-server."""


def name_page(page: Path) -> str:
    """Return a name that no other page has: several pages of docs/api have those of others."""
    return f"api/{page.name}" if page.parent.name == "api" else page.name


def list_marks(page: str) -> list[pytest.MarkDecorator]:
    """Return the markers of a page; one process runs all pages with models, which it loads once."""
    marks = [*MARKS.get(page, ())]
    return [*marks, pytest.mark.xdist_group("pages with models")] if MODEL in marks else marks


@pytest.mark.parametrize(
    "page",
    [pytest.param(page, id=name_page(page), marks=list_marks(name_page(page))) for page in PAGES],
)
@pytest.mark.filterwarnings("ignore::cidery.errors.UnreliableWarning")
def test_examples(
    page: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    request: pytest.FixtureRequest,
) -> None:
    marks = list_marks(name_page(page))
    if APP in marks:
        pytest.importorskip("django", reason="Django is not installed")
    if MODEL in marks:
        skip_unless_available("spice")
        request.getfixturevalue("minilm")
        preload_models()
    for name in bundled.NAMES:
        shutil.copy(bundled.path(name), tmp_path)
    monkeypatch.chdir(tmp_path)
    namespace: dict[str, Any] = {"__name__": page.stem}
    text = page.read_text(encoding="utf-8")
    for block in BLOCK.finditer(text):
        if block[1] == "python":
            line = text.count("\n", 0, block.start(2))
            source = "\n" * line + block[2]
            printed = io.StringIO()
            with redirect_stdout(printed):
                exec(compile(source, str(page), "exec", dont_inherit=True), namespace)
            if block[3]:
                assert matches(block[3], printed.getvalue()), printed.getvalue()
        else:
            for command, shown in parse_console(block[2]):
                run_command(command, shown)


def parse_console(block: str) -> Iterator[tuple[str, str]]:
    """Yield the commands of this project and what is shown below each."""
    for part in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
        command, _, shown = part.partition("\n")
        if OURS.search(command):
            yield command, shown


def run_command(command: str, shown: str) -> None:
    if re.search("[|<>]", command):
        path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
        settings = {"env": os.environ | {"PATH": path}, "capture_output": True, "encoding": "utf-8"}
        ran = subprocess.run(command, shell=True, check=False, **settings)
        done = Finished(ran.returncode, ran.stdout, ran.stderr)
    else:
        done = run_cidery(shlex.split(command)[1:], environment=os.environ)
    assert done.status == 0, f"{command}\n{done.stderr}"
    if shown.strip():
        assert matches(shown, done.stdout), f"{command} prints\n{done.stdout}\nnot\n{shown}"


def matches(shown: str, printed: str) -> bool:
    """Compare up to blanks and cidery's version; … stands for anything."""
    shown, printed = (VERSION.sub("", text) for text in (shown, printed))
    parts = [re.escape(" ".join(part.split())) for part in shown.split(ANYTHING)]
    pattern = ".*".join(parts)
    return re.fullmatch(pattern, " ".join(printed.split())) is not None


def test_matching() -> None:
    assert matches("a  1.5\n…\nend", "a 1.5\nanything\nend\n")
    assert not matches("a  1.5", "a 1.6")
    assert matches("cider|refs:5|version:0.1.0.", "cider|refs:5|version:1.12.0.")
    assert not matches("cider|refs:5|version:0.1.0", "cider|refs:4|version:0.1.0")
    assert not matches("…\nend", "the end is not here")


def test_a_failing_command_raises() -> None:
    with pytest.raises(AssertionError, match="no-such-file"):
        run_command("cidery score no-such-file.json references.json", "")
