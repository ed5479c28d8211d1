"""Images of items that are files of this machine."""

from __future__ import annotations

import mimetypes
from pathlib import Path

from cidery.app.studies.models import Study

IMAGE_TYPES = ("image/jpeg", "image/png", "image/gif", "image/webp", "image/avif")
"""What browsers only draw; an SVG could hold a script."""


def find_image(study: Study, image: str) -> Path | None:
    """Return the file of an image, if it is one and lies below the study's folder."""
    if not study.has_local_images or "\0" in image:
        return None
    folder = Path(study.images.partition("{image}")[0] + "x").parent.resolve()
    path = Path(study.image_source({"image": image})).resolve()
    try:
        inside = path.is_relative_to(folder) and path.is_file()
    except OSError:  # a name that no file can have
        return None
    return path if inside and image_type(path) in IMAGE_TYPES else None


def image_type(path: Path) -> str:
    """Return the type of a file by its name; nothing where it is unknown."""
    return mimetypes.guess_type(path.name)[0] or ""
