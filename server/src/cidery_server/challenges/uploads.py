"""Parsing of uploaded files: one caption per image, or a list of problems."""

from __future__ import annotations

import gzip
import io
import struct
import zipfile
import zlib
from collections.abc import Iterable, Mapping, Sequence
from typing import IO

from cidery.client import LARGEST_UPLOAD, MEGABYTE
from cidery.corpus import ImageId, Rows, check_captions, index_ids, translate_ids
from cidery.errors import CideryError, InputError
from cidery.files import read_candidates
from cidery_server.web.translation import translate as _

MAX_CONTENT_BYTES = 200 * MEGABYTE
"""Maximum size after unpacking, for any number of images."""
BLOCK = 64 * 1024
"""Bytes that are unpacked at once."""
MAX_CAPTION_LENGTH = 2000
"""Maximum number of characters of a caption; longer ones are slow to align."""
BYTES_PER_IMAGE = 4 * MAX_CAPTION_LENGTH
"""Bytes of JSON, on average."""
MAX_VALUES_PER_IMAGE = 100
"""Brackets and commas of JSON, those in captions included, on average."""
EXAMPLES = 5
_GZIP, _ZIP = b"\x1f\x8b", b"PK"
_TABLES = (b"PAR1", b"ARROW1", b"\xff\xff\xff\xff")
"""First bytes of formats that `read_candidates` would unpack to any size."""
_NESTED = (_GZIP, _ZIP, b"BZh", b"\xfd7zXZ", b"7z\xbc\xaf", b"Rar!")


def read_captions(content: bytes, images: Sequence[ImageId]) -> list[str]:
    """Return a caption for each image, in the images' order.

    Raises:
        InputError: whose message names everything that is wrong, a sentence each.
    """
    inner = unpack(content, largest_content(len(images)), len(images))
    _check_extent(inner, len(images))
    rows = _read_rows(inner)
    places = index_ids(images)
    if any(image not in places for image, _caption in rows):
        # File names such as COCO_val2014_000000391895.jpg, where all match one to one.
        translated = translate_ids([image for image, _caption in rows], images)
        if translated is not None:
            rows = [(image, row[1]) for image, row in zip(translated, rows, strict=True)]
    problems = [
        *_find_repeated(rows),
        *_find_unknown(rows, places),
        *_find_missing(rows, images, places),
        *_find_long(rows),
    ]
    if problems:
        raise InputError(" ".join(problems))
    captions = [""] * len(images)
    for image, caption in rows:
        captions[places[image]] = caption
    check_captions(captions, images, "results.json")
    return captions


def largest_content(images: int) -> int:
    """Return the maximum size of unpacked captions for this number of images."""
    return min(MEGABYTE + BYTES_PER_IMAGE * images, MAX_CONTENT_BYTES)


def unpack(content: bytes, largest: int, images: int) -> bytes:
    """Return the JSON inside a gzip or zip file, or the content itself; bombs are refused.

    Args:
        content: as it was sent.
        largest: bytes to unpack at most; no more are ever held.
        images: how many there are, for the message.
    """
    if len(content) > LARGEST_UPLOAD:
        raise InputError(
            _("The file is larger than {largest_upload} MB.").format(
                largest_upload=LARGEST_UPLOAD // MEGABYTE
            )
        )
    if content.startswith(_GZIP):
        inner = _unpack_gzip(content, largest)
    elif content.startswith(_ZIP):
        inner = _unpack_zip(content, largest)
    else:
        inner = content
    if len(inner) > largest:
        raise InputError(
            _("Unpacked, the file is too large for captions of {images} images.").format(
                images=images
            )
        )
    if inner.startswith(_NESTED):
        raise InputError(
            _("The file contains another archive; compress the JSON only once, as .gz or .zip.")
        )
    if inner.startswith(_TABLES):
        raise InputError(_("The file is in Parquet or Arrow format; send COCO results as JSON."))
    return inner


def _check_extent(content: bytes, images: int) -> None:
    """Refuse a file that is too large for the number of images, before it is parsed.

    A few megabytes of empty brackets are a hundred times as much once they are parsed.
    """
    values = sum(map(content.count, (b"[", b"{", b",")))
    if values > 1000 + MAX_VALUES_PER_IMAGE * images:
        raise InputError(
            _("The file contains far more than captions of {images} images.").format(images=images)
        )


def _unpack_gzip(content: bytes, largest: int) -> bytes:
    try:
        with gzip.open(io.BytesIO(content)) as file:
            return _read_some(file, largest)
    except (OSError, EOFError, zlib.error):
        raise InputError(_("The gzip data is damaged or truncated.")) from None


def _unpack_zip(content: bytes, largest: int) -> bytes:
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            # Its names are never used, so that they cannot lead anywhere; macOS adds its own files.
            members = [
                member
                for member in archive.infolist()
                if not member.is_dir() and not member.filename.startswith("__MACOSX/")
            ]
            if len(members) != 1:
                raise InputError(
                    _(
                        "The zip file must contain one JSON file; this one contains {count} files."
                    ).format(count=len(members))
                )
            # Python's bz2 and LZMA unpack a whole block of input, to any size, before they stop.
            if members[0].compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
                raise InputError(
                    _("The zip file uses an unsupported compression method; use deflate, or .gz.")
                )
            with archive.open(members[0]) as file:
                return _read_some(file, largest)
    except InputError:
        raise
    except (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError, OSError):
        raise InputError(_("The zip file is damaged or encrypted.")) from None
    except (ValueError, LookupError, struct.error):  # names and numbers that are none
        raise InputError(_("The zip file is damaged.")) from None


def _read_some(file: IO[bytes] | gzip.GzipFile, largest: int) -> bytes:
    """Read at most one byte more than allowed, whatever size the archive declares."""
    blocks, count = [], 0
    while count <= largest and (block := file.read(min(BLOCK, largest + 1 - count))):
        blocks.append(block)
        count += len(block)
    return b"".join(blocks)


def _read_rows(content: bytes) -> Rows:
    try:
        return read_candidates(content, name="results.json", format="results")
    except CideryError as error:
        raise InputError(str(error)) from None


def _find_repeated(rows: Rows) -> Iterable[str]:
    first: dict[str, int] = {}
    repeated = []
    for entry, (image, _caption) in enumerate(rows, start=1):
        if first.setdefault(str(image), entry) != entry:
            message = _("{image} (entries {first} and {second})")
            repeated.append(message.format(image=image, first=first[str(image)], second=entry))
    if repeated:
        message = _("There must be one caption per image; these are repeated: {images}.")
        yield message.format(images=_list(repeated))


def _find_unknown(rows: Rows, places: Mapping[ImageId, int]) -> Iterable[str]:
    message = _("{image} (entry {number})")
    unknown = [
        message.format(image=image, number=number)
        for number, (image, _caption) in enumerate(rows, 1)
        if image not in places
    ]
    if unknown:
        yield _("These images are not part of the challenge: {images}.").format(
            images=_list(unknown)
        )


def _find_missing(
    rows: Rows, images: Sequence[ImageId], places: Mapping[ImageId, int]
) -> Iterable[str]:
    given = {places.get(image) for image, _caption in rows}
    missing = [str(image) for place, image in enumerate(images) if place not in given]
    if missing:
        yield _("{missing} of {count} images have no caption: {images}.").format(
            missing=len(missing), count=len(images), images=_list(missing)
        )


def _find_long(rows: Rows) -> Iterable[str]:
    long = [str(image) for image, caption in rows if len(caption) > MAX_CAPTION_LENGTH]
    if long:
        yield _(
            "Captions may have at most {longest} characters; these are longer: {images}."
        ).format(longest=MAX_CAPTION_LENGTH, images=_list(long))


def _list(found: Sequence[str]) -> str:
    more = len(found) - EXAMPLES
    listed = ", ".join(found[:EXAMPLES])
    if more <= 0:
        return listed
    return _("{images} and {more} more").format(images=listed, more=f"{more:,}")
