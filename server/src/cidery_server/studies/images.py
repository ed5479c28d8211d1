"""Images of items that are files of this machine: in a folder, or uploaded."""

from __future__ import annotations

import mimetypes
import secrets
import shutil
import zipfile
from collections.abc import Iterable, Iterator, Mapping
from hashlib import sha256
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.files.base import File

from cidery.errors import FormatError, InputError
from cidery.storage import write_atomically
from cidery_server.studies.models import UPLOADED, Study
from cidery_server.web.translation import translate as _

IMAGE_TYPES = ("image/jpeg", "image/png", "image/gif", "image/webp", "image/avif")
"""Image types that cannot contain scripts; an SVG could."""


SUFFIXES: Mapping[bytes, str] = {
    b"\xff\xd8\xff": ".jpg",
    b"\x89PNG\r\n\x1a\n": ".png",
    b"GIF87a": ".gif",
    b"GIF89a": ".gif",
}
"""First bytes of image files; WebP and AVIF have their names a few bytes later."""
MAX_IMAGE_BYTES = 20 * 1024 * 1024
MAX_UNPACKED_BYTES = 1024 * 1024 * 1024
MAX_PACKED = 20_000


def find_image(study: Study, image: str) -> Path | None:
    """Return the file of an image, if it is an image in the study's folder."""
    if not study.has_local_images or "\0" in image:
        return None
    if study.images.startswith(UPLOADED):
        return next(_upload_folder(study.images).glob(f"{_digest(image)}.*"), None)
    folder = Path(study.images.partition("{image}")[0] + "x").parent.resolve()
    path = Path(study.image_source({"image": image})).resolve()
    try:
        inside = path.is_relative_to(folder) and path.is_file()
    except OSError:  # a name that no file can have
        return None
    return path if inside and image_type(path) in IMAGE_TYPES else None


def image_type(path: Path) -> str:
    """Return the type of a file by its name; empty if it is unknown."""
    return mimetypes.guess_type(path.name)[0] or ""


def keep_images(files: Iterable[File[Any]], names: Iterable[str]) -> str:
    """Store uploaded images, zipped or not, and return the value of `Study.images`.

    A file is the image whose id is its name, with or without its ending; COCO's files are known by
    the number at their end.

    Args:
        files: that were uploaded.
        names: ids of the images that are needed.
    """
    wanted = {alias: name for name in names for alias in _aliases(name)}
    images = f"{UPLOADED}{secrets.token_hex(8)}/{{image}}"
    folder = _upload_folder(images)
    stored: set[str] = set()
    try:
        for name, content in _unpack(files):
            stem = Path(name).stem
            short = stem.rpartition("_")[2].lstrip("0")
            image = next((wanted[k] for k in (name, stem, short) if k in wanted), None)
            if image is None:
                continue
            suffix = _recognize(name, content)
            folder.mkdir(parents=True, exist_ok=True)
            write_atomically(folder / f"{_digest(image)}{suffix}", content)
            stored.add(image)
        missing = sorted(set(wanted.values()) - stored)
        if missing:
            raise InputError(
                _("{missing} of {count} images are not among the files: {images}").format(
                    missing=len(missing),
                    count=len(set(wanted.values())),
                    images=", ".join(missing[:3]) + (" …" if len(missing) > 3 else ""),
                )
            )
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)
        raise
    return images


def drop_images(images: str) -> None:
    """Remove uploaded images that no study shows any more."""
    if images.startswith(UPLOADED) and not Study.objects.filter(images=images).exists():
        shutil.rmtree(_upload_folder(images), ignore_errors=True)


def _aliases(name: str) -> tuple[str, ...]:
    """Return possible names of an image's file: its id, without zeros if it is a number."""
    return (name, name.lstrip("0")) if name.isdigit() and name.strip("0") else (name,)


def _upload_folder(images: str) -> Path:
    key = images.removeprefix(UPLOADED).partition("/")[0]
    return Path(settings.ENVIRONMENT.data) / "study-images" / key


def _digest(image: str) -> str:
    """Return the name of an uploaded file: ids may contain characters that file names cannot."""
    return sha256(image.encode(errors="replace")).hexdigest()


def _unpack(files: Iterable[File[Any]]) -> Iterator[tuple[str, bytes]]:
    for file in files:
        name = Path(file.name or "file").name
        if name.lower().endswith(".zip"):
            yield from _unzip(name, file)
        elif (file.size or 0) > MAX_IMAGE_BYTES:
            raise FormatError(
                _("{name}: an image may have at most {largest} MB").format(
                    name=name, largest=MAX_IMAGE_BYTES // 2**20
                )
            )
        else:
            yield name, file.read()


def _unzip(name: str, file: File[Any]) -> Iterator[tuple[str, bytes]]:
    """Yield the files of an archive; sizes are counted while unpacking, whatever it claims."""
    left = MAX_UNPACKED_BYTES
    try:
        with zipfile.ZipFile(file) as archive:
            members = [member for member in archive.infolist() if not member.is_dir()]
            if len(members) > MAX_PACKED:
                raise FormatError(
                    _("{name}: an archive may contain at most {most} files").format(
                        name=name, most=MAX_PACKED
                    )
                )
            for member in members:
                if member.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
                    raise FormatError(
                        _("{name}: {filename} uses an unsupported compression method").format(
                            name=name, filename=member.filename
                        )
                    )
                with archive.open(member) as packed:
                    content = packed.read(min(MAX_IMAGE_BYTES, left) + 1)
                left -= len(content)
                if len(content) > MAX_IMAGE_BYTES or left < 0:
                    raise FormatError(
                        _("{name}: {filename} is too large").format(
                            name=name, filename=member.filename
                        )
                    )
                yield Path(member.filename).name, content
    except (zipfile.BadZipFile, EOFError, NotImplementedError, RuntimeError, ValueError) as error:
        raise FormatError(
            _("{name}: not a zip archive that can be read ({error})").format(name=name, error=error)
        ) from None


def _recognize(name: str, content: bytes) -> str:
    """Return the suffix of an image file by its content; raise an error for other files."""
    found = next((suffix for start, suffix in SUFFIXES.items() if content.startswith(start)), "")
    if content[:4] == b"RIFF" and content[8:12] == b"WEBP":
        found = ".webp"
    if content[4:12] in (b"ftypavif", b"ftypavis"):
        found = ".avif"
    if not found:
        raise FormatError(
            _("{name}: not an image; send JPEG, PNG, GIF, WebP or AVIF").format(name=name)
        )
    return found
