"""What teams send: read precisely, refused precisely."""

from __future__ import annotations

import contextlib
import gzip
import io
import json
import tracemalloc
import zipfile
from typing import Any

import pytest

from cidery.errors import InputError
from cidery_server.challenges import uploads
from cidery_server.challenges.uploads import read_captions

IMAGES = [11, 12, 13]
GOOD = [{"image_id": image, "caption": f"caption of {image}"} for image in IMAGES]
EXPECTED = ["caption of 11", "caption of 12", "caption of 13"]


def as_json(content: Any) -> bytes:
    return json.dumps(content).encode()


def as_zip(method: int = zipfile.ZIP_DEFLATED, **files: bytes) -> bytes:
    target = io.BytesIO()
    with zipfile.ZipFile(target, "w", method) as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return target.getvalue()


@pytest.mark.parametrize(
    "content",
    [
        as_json(GOOD),
        as_json(GOOD[::-1]),
        as_json([entry | {"image_id": str(entry["image_id"])} for entry in GOOD]),
        as_json([entry | {"more": {"is": "ignored"}} for entry in GOOD]),
        as_json([entry | {"image_id": f"val_{entry['image_id']:012}.jpg"} for entry in GOOD]),
        gzip.compress(as_json(GOOD)),
        as_zip(**{"results.json": as_json(GOOD)}),
        as_zip(**{"folder/r.json": as_json(GOOD), "__MACOSX/folder/._r.json": b"x"}),
        as_zip(**{"../../../../etc/passwd": as_json(GOOD)}),
    ],
    ids=[
        "json",
        "reversed",
        "text ids",
        "more fields",
        "file names",
        "gzip",
        "zip",
        "macOS zip",
        "traversal",
    ],
)
def test_captions_come_in_the_images_order(content: bytes) -> None:
    assert read_captions(content, IMAGES) == EXPECTED


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (as_json(GOOD[:1]), "2 of 3 images have no caption: 12, 13."),
        (as_json([*GOOD, GOOD[1]]), "these are repeated: 12 (entries 2 and 4)."),
        (
            as_json([*GOOD, {"image_id": 99, "caption": "x"}]),
            "not part of the challenge: 99 (entry 4).",
        ),
        (
            as_json([{"image_id": n, "caption": "x"} for n in range(100, 110)]),
            "100 (entry 1), 101 (entry 2), 102 (entry 3), 103 (entry 4), 104 (entry 5) and 5 more. "
            "3 of 3 images have no caption: 11, 12, 13.",
        ),
        (as_json([]), "results.json: there are no captions in it"),
        (as_json({"a": 1}), "results.json"),
        (as_json([1, 2]), "results.json, entry 1: expected an object with an id and captions"),
        (as_json([{"image_id": 11}]), "results.json: no field has candidates"),
        (as_json([{"image_id": 11, "caption": 7}]), "results.json, entry 1"),
        (as_json([{"image_id": [11], "caption": "x"}]), "results.json, entry 1"),
        (as_json([GOOD[0] | {"caption": "long " * 500}, *GOOD[1:]]), "these are longer: 11."),
        (b"[" * 100_000, "far more than captions of 3 images"),
        (b"\xff\xfe\x00", "results.json"),
        (b"", "results.json: not JSON"),
        (gzip.compress(as_json(GOOD))[:-9], "The gzip data is damaged or truncated."),
        (gzip.compress(gzip.compress(b"x")), "compress the JSON only once"),
        (as_zip(**{"inner.zip": as_zip(**{"x": b"x"})}), "compress the JSON only once"),
        (as_zip(), "this one contains 0 files"),
        (as_zip(a=b"[]", b=b"[]"), "this one contains 2 files"),
        (b"PK\x03\x04 not really", "The zip file is damaged"),
    ],
    ids=lambda value: value if isinstance(value, str) else "file",
)
def test_messages(content: bytes, message: str) -> None:
    with pytest.raises(InputError) as caught:
        read_captions(content, IMAGES)
    assert message in str(caught.value)
    assert "/tmp" not in str(caught.value)


def test_captions_that_are_no_text() -> None:
    content = [GOOD[0] | {"caption": "\ud800"}, *GOOD[1:]]
    with pytest.raises(InputError, match="11"):
        read_captions(as_json(content), IMAGES)


PACKED: dict[str, Any] = {
    "gzip": gzip.compress,
    "deflate": lambda content: as_zip(**{"x.json": content}),
    "bz2": lambda content: as_zip(zipfile.ZIP_BZIP2, **{"x.json": content}),
    "lzma": lambda content: as_zip(zipfile.ZIP_LZMA, **{"x.json": content}),
}


@pytest.mark.parametrize("kind", PACKED)
def test_bombs_are_refused(kind: str) -> None:
    """The limit follows from the images, and holds while the file is unpacked."""
    size = 20 * uploads.MEGABYTE
    bomb = PACKED[kind](b" " * size)
    assert len(bomb) < 60_000
    tracemalloc.start()
    with pytest.raises(
        InputError, match=r"too large for captions of 3 images|unsupported compression method"
    ):
        read_captions(bomb, IMAGES)
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert most < 8 * uploads.MEGABYTE


@pytest.mark.parametrize("kind", PACKED)
def test_damaged_archives_are_refused(kind: str) -> None:
    """Whichever byte of an archive is wrong, the answer is a message or the captions."""
    good = PACKED[kind](as_json(GOOD))
    for place in range(len(good)):
        for value in (0, 255, good[place] ^ 1):
            damaged = good[:place] + bytes([value]) + good[place + 1 :]
            with contextlib.suppress(InputError):
                read_captions(damaged, IMAGES)
        with contextlib.suppress(InputError):
            read_captions(good[:place], IMAGES)


def test_large_files_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(uploads, "LARGEST_UPLOAD", 1024 * 1024)
    with pytest.raises(InputError, match=r"The file is larger than 1 MB\."):
        read_captions(b" " * (1024 * 1024 + 1), IMAGES)
