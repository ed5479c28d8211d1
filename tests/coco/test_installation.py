"""Code that is not changed: aliases, `python -m cidery.coco` and the variable CIDERY_COCO."""

from __future__ import annotations

import os
import subprocess
import sys
import sysconfig
import venv
from pathlib import Path

import pytest

from cidery import coco
from cidery.coco import enabling, startup
from cidery.coco.installation import read_aliases
from cidery.errors import SettingError

OFA = "utils.cider.pyciderevalcap"
WHO = "from pycocoevalcap.cider.cider import Cider; print(Cider.__module__)"


def run(
    *command: str | Path,
    python: str | Path = sys.executable,
    cwd: Path | None = None,
    **variables: str,
) -> subprocess.CompletedProcess[str]:
    """Run a Python with no variable of ours but those given."""
    inherited = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith("CIDERY_COCO") and name != "PYTHONPATH"
    }
    return subprocess.run(
        [python, *command],
        capture_output=True,
        text=True,
        check=False,
        cwd=cwd,
        env=inherited | variables,
    )


def succeed(*command: str | Path, **settings: object) -> list[str]:
    """Return the lines that a Python prints."""
    done = run(*command, **settings)
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


# --- aliases -------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def vendored(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A project with copies of the packages inside, which fail where they are really imported."""
    folder = tmp_path_factory.mktemp("project")
    copies = ("utils/cider/pyciderevalcap/ciderD", "caption_eval/pycocoevalcap", "evaluation")
    for copy in copies:
        (folder / copy).mkdir(parents=True)
        file = folder / copy / ("ciderD.py" if copy.endswith("D") else "eval.py")
        file.write_text("raise RuntimeError('the copy is imported')\n")
    (folder / "utils" / "__init__.py").write_text("from .scst import reward\n")
    # As OFA's utils/rl or self-critical.pytorch's rewards have it.
    (folder / "utils" / "scst.py").write_text(
        "from utils.cider.pyciderevalcap.ciderD.ciderD import CiderD\n"
        "import utils.cider.pyciderevalcap.ciderD.ciderD as whole\n"
        "from .cider.pyciderevalcap.cider import cider\n"
        "import sys\n"
        "def reward(gts, res):\n"
        "    assert whole.CiderD is CiderD and cider.Cider\n"
        "    return CiderD(df='corpus').compute_score(gts, res)\n"
    )
    (folder / "score.py").write_text(
        "import sys\n"
        "import utils\n"
        "from caption_eval.pycocoevalcap.eval import COCOEvalCap\n"
        "from evaluation.eval import PTBTokenizer\n"
        "from evaluation.cider.cider import Cider\n"
        "from pyciderevalcap.ciderD.ciderD import CiderD\n"
        "gts = {0: ['a dog runs'], 1: ['a red bus']}\n"
        "res = [{'image_id': 0, 'caption': ['a dog']}, {'image_id': 1, 'caption': ['a red bus']}]\n"
        "assert utils.__file__.startswith(sys.path[0]), 'the project keeps its own packages'\n"
        "mean, scores = CiderD(df='corpus').compute_score(gts, res)\n"
        "print(list(utils.reward(gts, res)[1]) == list(scores))\n"
        "print({c.__module__.split('.')[0] for c in (COCOEvalCap, PTBTokenizer, Cider, CiderD)})\n"
    )
    return folder


def test_aliases_reach_copies_inside_a_project(vendored: Path) -> None:
    aliases = [OFA, "caption_eval.pycocoevalcap", "evaluation=pycocoevalcap"]
    options = [part for alias in aliases for part in ("--alias", alias)]
    lines = succeed("-m", "cidery.coco", *options, vendored / "score.py")
    assert lines == ["True", "{'cidery'}"]
    from_code = f"import cidery.coco; cidery.coco.install(aliases={aliases}); import score"
    assert succeed("-c", from_code, cwd=vendored) == lines
    assert run(vendored / "score.py").returncode != 0


def test_uninstall_takes_aliases_away(vendored: Path) -> None:
    code = (
        "import cidery.coco, sys\n"
        f"cidery.coco.install(aliases=[{OFA!r}]); cidery.coco.install()\n"
        "import utils.cider\n"
        "assert utils.cider.pyciderevalcap.ciderD.ciderD.CiderD is cidery.coco.CiderD\n"
        "cidery.coco.uninstall()\n"
        f"assert not [m for m in sys.modules if m.startswith({OFA!r})]\n"
        "try: from utils.cider.pyciderevalcap.ciderD.ciderD import CiderD\n"
        "except RuntimeError as error: print(error)\n"
    )
    assert succeed("-c", code, cwd=vendored) == ["the copy is imported"]


def test_an_imported_copy_is_refused() -> None:
    code = (
        "import sys, types, cidery.coco\n"
        "sys.modules['mine.pycocoevalcap'] = types.ModuleType('mine.pycocoevalcap')\n"
        "try: cidery.coco.install(aliases=['mine.pycocoevalcap'])\n"
        "except cidery.CideryError as error: print(error)\n"
        "assert not [f for f in sys.meta_path if type(f).__module__.startswith('cidery.')]\n"
    )
    assert "mine.pycocoevalcap is imported already" in succeed("-c", code)[0]


@pytest.mark.parametrize(
    ("aliases", "message"),
    [
        ("utils.pycocoevalcap", r"a list of names, \['utils.pycocoevalcap'\]"),
        (["utils/cider/pyciderevalcap"], "is not the name of a module; write it as it is imported"),
        (["utils..pycocoevalcap"], "is not the name of a module"),
        ([""], "is not the name of a module"),
        ([3], "is the name of a module, not 3"),
        (
            ["utils.cider"],
            "refers to 'cider', which cidery does not replace; it must end in pycocoevalcap",
        ),
        (["utils=pycocoevalcap.wmd"], "'utils=pycocoevalcap' or one of its modules"),
        ({"utils.cider": "pycoco"}, "refers to 'pycoco', which cidery does not replace"),
    ],
)
def test_bad_aliases_say_how_to_write_them(aliases: object, message: str) -> None:
    with pytest.raises(SettingError, match=message):
        coco.install(aliases=aliases)


def test_an_alias_may_stand_for_one_module() -> None:
    found = read_aliases(["metrics.cider = pycocoevalcap.cider.cider", OFA])
    assert found == {"metrics.cider": "pycocoevalcap.cider.cider", OFA: "pyciderevalcap"}
    code = (
        "import cidery.coco, types, sys\n"
        "sys.modules['metrics'] = package = types.ModuleType('metrics'); package.__path__ = []\n"
        "cidery.coco.install(aliases={'metrics.cider': 'pycocoevalcap.cider.cider'})\n"
        "from metrics.cider import Cider\n"
        "assert Cider is cidery.coco.Cider\n"
    )
    succeed("-c", code)


def test_every_name_is_found_when_it_is_used() -> None:
    assert set(coco.__all__) <= set(dir(coco))
    for name in coco.__all__:
        assert getattr(coco, name).__module__.startswith("cidery.coco.")
    with pytest.raises(AttributeError, match="Wmd"):
        coco.Wmd  # noqa: B018


# --- python -m cidery.coco -----------------------------------------------------------------------

SCRIPT = """
import multiprocessing, subprocess, sys

def find(_=None):
    from pycocoevalcap.cider.cider import Cider
    return Cider.__module__

if __name__ == "__main__":
    print(sys.argv[1:], find())
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        print(pool.map(find, [0]))
    subprocess.run([sys.executable, "-c", "import helper; print(helper.find())"], check=True)
"""


def test_scripts_modules_and_what_they_start(tmp_path: Path) -> None:
    (tmp_path / "script.py").write_text(SCRIPT)
    (tmp_path / "helper.py").write_text(SCRIPT)
    done = run("-m", "cidery.coco", "script.py", "--split", "val", cwd=tmp_path)
    ours = "cidery.coco.cider"
    assert done.stdout.splitlines() == [f"['--split', 'val'] {ours}", f"['{ours}']", ours]
    # One line for each process that imports it: this one, the pool's, the other script's.
    assert done.stderr.count("answers imports of pycocoevalcap.cider.cider") == 3
    (tmp_path / "package").mkdir()
    (tmp_path / "package" / "__main__.py").write_text(f"import sys; print(sys.argv[1:]); {WHO}")
    lines = succeed("-m", "cidery.coco", "-m", "package", "-m", "--status", cwd=tmp_path)
    assert lines == ["['-m', '--status']", ours]


def test_the_exit_status_and_the_error_are_the_script_s(tmp_path: Path) -> None:
    (tmp_path / "bad.py").write_text("import sys; sys.exit(7)")
    assert run("-m", "cidery.coco", tmp_path / "bad.py").returncode == 7
    for arguments, message in (
        (["missing.py"], "no such file: missing.py"),
        ([], "name a script, or a module after -m"),
        (["-m"], "name a module after -m"),
        (["-x"], "unknown option -x"),
        (["--alias", "utils.cider", "missing.py"], "which cidery does not replace"),
    ):
        done = run("-m", "cidery.coco", *arguments, cwd=tmp_path)
        assert done.returncode == 2
        assert message in done.stderr


# --- CIDERY_COCO ---------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def environment(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The Python of an environment of its own, with all that is installed here."""
    folder = tmp_path_factory.mktemp("environment")
    venv.create(folder, symlinks=True, with_pip=False)
    python = folder / "bin" / "python"
    packages = succeed(
        "-c", "import sysconfig; print(sysconfig.get_path('purelib'))", python=python
    )
    # An editable install is a start-up file itself, which a plain line would not run.
    here = sysconfig.get_path("purelib")
    (Path(packages[0]) / "_installed.pth").write_text(f"import site; site.addsitedir({here!r})\n")
    return python


def test_enable_and_disable(environment: Path) -> None:
    pytest.importorskip("pycocoevalcap")
    assert succeed("-c", WHO, python=environment, CIDERY_COCO="1") == ["pycocoevalcap.cider.cider"]
    said = "\n".join(succeed("-m", "cidery.coco", "--enable", python=environment))
    file = next(environment.parent.parent.rglob(enabling.FILE_NAME))
    assert str(file) in said
    assert len(file.read_text().splitlines()) == 1
    done = run("-c", WHO, python=environment, CIDERY_COCO="0")
    assert (done.stdout.strip(), done.stderr) == ("pycocoevalcap.cider.cider", "")
    for flags in ([], ["-I"]):
        done = run(*flags, "-c", WHO, python=environment, CIDERY_COCO="1")
        assert done.stdout.strip() == "cidery.coco.cider"
        assert done.stderr.count("\n") == 1
        assert "CIDERY_COCO is set" in done.stderr
    # Nothing is said, and little is imported, where nothing asks for the modules.
    code = "import sys; print('numpy' in sys.modules)"
    done = run("-c", code, python=environment, CIDERY_COCO="1")
    assert (done.stdout.strip(), done.stderr) == ("False", "")
    status = "\n".join(
        succeed("-m", "cidery.coco", "--status", python=environment, CIDERY_COCO="1")
    )
    assert "imports find" in status
    assert str(file) in status
    assert succeed("-m", "cidery.coco", "--disable", python=environment) == [f"Deleted {file}"]
    assert succeed("-m", "cidery.coco", "--disable", python=environment) == [
        "Not enabled; nothing to do."
    ]
    status = "\n".join(
        succeed("-m", "cidery.coco", "--status", python=environment, CIDERY_COCO="1")
    )
    assert "the installed packages" in status


def test_python_starts_where_cidery_is_gone(environment: Path, tmp_path: Path) -> None:
    succeed("-m", "cidery.coco", "--enable", python=environment)
    file = next(environment.parent.parent.rglob(enabling.FILE_NAME))
    installed = file.with_name("_installed.pth")
    installed.rename(tmp_path / "kept")
    try:
        assert run("-c", "print(1)", python=environment).stderr == ""
        done = run("-c", "print(1)", python=environment, CIDERY_COCO="1")
        assert done.stdout == "1\n"
        # Where lib64 is a link to lib, Python reads the file under both names.
        (line,) = set(done.stderr.splitlines())
        assert "cidery cannot be imported" in line
        assert f"delete {file}" in line
    finally:
        (tmp_path / "kept").rename(installed)
        file.unlink()


def test_a_folder_on_the_path_needs_no_file(environment: Path, tmp_path: Path) -> None:
    folder = succeed("-m", "cidery.coco", "--path", python=environment)[0]
    (tmp_path / "sitecustomize.py").write_text("import sys; sys.their_own = True")
    variables = {"PYTHONPATH": os.pathsep.join([folder, str(tmp_path)]), "CIDERY_COCO": "1"}
    code = f"import sys; assert sys.their_own; {WHO}"
    assert succeed("-c", code, python=environment, **variables) == ["cidery.coco.cider"]
    off = variables | {"CIDERY_COCO": "0"}
    code = "import sys; print(sys.their_own, 'cidery' in sys.modules)"
    assert succeed("-c", code, python=environment, **off) == ["True False"]
    variables |= {"CIDERY_COCO_ALIASES": "mine=pycoco"}
    done = run("-c", "print(1)", python=environment, **variables)
    assert (done.returncode, done.stdout) == (0, "1\n")
    assert "not active: the alias 'mine' refers to 'pycoco'" in done.stderr


def test_enable_where_nothing_may_be_written(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    from cidery.coco.__main__ import main

    # A file where a folder is needed refuses root too.
    (tmp_path / "file").write_text("")
    places = [tmp_path / "file" / "site" / enabling.FILE_NAME]
    monkeypatch.setattr(enabling, "_places", lambda: iter(places))
    assert main(["--enable"]) == 1
    said = capsys.readouterr().err
    assert "cannot write" in said
    assert f"export PYTHONPATH={startup.STARTUP_FOLDER} CIDERY_COCO=1" in said
    places.append(tmp_path / "user" / enabling.FILE_NAME)
    assert main(["--enable"]) == 0
    assert enabling.find_files() == [places[1]]
    assert main(["--disable"]) == 0
    assert not places[1].exists()
