"""Images of a report: files in a folder, or URLs from a template."""

from __future__ import annotations

import base64
import io
import os
import re
import warnings
from collections.abc import Iterator, Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlsplit

from cidery.corpus import ImageId
from cidery.errors import DataWarning, InputError, MissingExtraError, SettingError
from cidery.files import list_images, match_files
from cidery.runtime import current_progress

WIDTH = 200
"""Longer side of embedded thumbnails, in pixels."""
_PLACE = re.compile(r"\{image(?::0?(\d{1,2})d?)?\}")


def is_template(images: str) -> bool:
    """Return True for a URL with `{image}`."""
    return "{image" in images or "://" in images


def check_images(images: str | os.PathLike[str], *, embed: bool = False) -> None:
    """Raise errors for a missing folder or an invalid template before the long work."""
    text = os.fspath(images)
    if is_template(text):
        if embed:
            raise SettingError("embed_images needs a folder of images, not a URL")
        if not _PLACE.search(text):
            raise SettingError(
                f"the URL {text!r} lacks a placeholder for the image id: {{image}}, or "
                "{image:012} for twelve digits"
            )
        if urlsplit(_PLACE.sub("1", text)).scheme.lower() not in ("", "file", "http", "https"):
            raise SettingError(f"the URL {text!r} must start with https:// or http://")
    elif not Path(text).is_dir():
        raise SettingError(f"{text} is neither a folder of images nor a URL with {{image}} in it")
    elif embed and find_spec("PIL") is None:
        raise MissingExtraError.to("embed images", package="pillow", extra="report")


def find_thumbnails(
    images: str | os.PathLike[str], ids: Sequence[ImageId], page: Path, *, embed: bool = False
) -> dict[str, Any]:
    """Return `{"template"}` or `{"files"}`: the source of each image.

    Args:
        images: a folder, or a URL such as `https://example.org/{image:012}.jpg`.
        ids: image ids.
        page: output file; paths are relative to its folder.
        embed: embed thumbnails instead of paths; only with a folder.
    """
    check_images(images, embed=embed)
    text = os.fspath(images)
    if is_template(text):
        return {"template": text}
    found = match_files(list_images(Path(text)), ids)
    missing = sum(file is None for file in found)
    if missing == len(ids):
        raise InputError(
            f"{text}: no file is named after an image; the images are {_examples(ids)}, a file may "
            f"be {ids[0]}.jpg or COCO_val2014_000000{ids[0]}.jpg"
        )
    if missing:
        warnings.warn(
            f"{text}: {missing} of {len(ids)} images have no file",
            DataWarning,
            stacklevel=3,
        )
    return {"files": list(_embed(found)) if embed else [_link(file, page) for file in found]}


def _link(file: Path | None, page: Path) -> str | None:
    if file is None:
        return None
    try:
        relative = os.path.relpath(file, Path(os.path.realpath(page)).parent)
    except ValueError:  # another drive
        return file.resolve().as_uri()
    return quote(Path(relative).as_posix())


def _embed(files: Sequence[Path | None]) -> Iterator[str | None]:
    from PIL import Image

    report = current_progress()
    for number, file in enumerate(files):
        report("making thumbnails", number / len(files))
        if file is None:
            yield None
            continue
        buffer = io.BytesIO()
        try:
            with Image.open(file) as image:
                image.draft("RGB", (WIDTH, WIDTH))  # decode JPEG at reduced size
                small = image.convert("RGB")
                small.thumbnail((WIDTH, WIDTH))
                small.save(buffer, "WEBP", quality=50)
        except (OSError, ValueError, Image.DecompressionBombError) as error:
            raise InputError(f"{file}: cannot read the image: {error}") from None
        yield f"data:image/webp;base64,{base64.b64encode(buffer.getvalue()).decode('ascii')}"


def list_sources(thumbnails: Mapping[str, Any] | None) -> list[str]:
    """Return the image sources of the Content-Security-Policy."""
    if thumbnails is None:
        return []
    if "template" in thumbnails:
        address = urlsplit(_PLACE.sub("1", thumbnails["template"]))
        if address.scheme in ("http", "https"):
            return [f"{address.scheme}://{address.netloc}"]
    return ["'self'", "file:"]


def _examples(ids: Sequence[ImageId]) -> str:
    return ", ".join(map(str, ids[:3]))
