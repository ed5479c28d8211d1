"""Phases that have references in common: rules for sharing, and common limits.

A second phase with the same references would be a second chance to ask about them. So submissions
to such phases count together, and are compared with each other.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from cidery.corpus import ImageId
from cidery.errors import InputError
from cidery_server.challenges.models import Challenge
from cidery_server.web.translation import translate as _

MIN_IMAGES = 10
"""Minimum number of images of a slice, and of images that two phases share or do not share: scores
of fewer images, or differences by fewer images, would reveal hidden references."""


def find_sharing(
    challenge: Challenge, reference_sets: Iterable[Mapping[ImageId, Sequence[str]]]
) -> list[Challenge]:
    """Return the other phases of a challenge that share some of these references.

    Raises:
        InputError: two phases differ, or agree, in too few images.
    """
    ours = _pool(reference_sets)
    others = challenge.family.exclude(pk=challenge.pk)
    return [other for other in others if _share(ours, other)]


def _pool(sets: Iterable[Mapping[ImageId, Sequence[str]]]) -> dict[str, set[str]]:
    """Return all references by image, without regard to capitals and blanks."""
    pooled: dict[str, set[str]] = {}
    for references in sets:
        for image, captions in references.items():
            plain = (" ".join(caption.casefold().split()) for caption in captions)
            pooled.setdefault(str(image), set()).update(plain)
    return pooled


def _share(ours: Mapping[str, set[str]], other: Challenge) -> bool:
    images = other.images
    theirs = _pool(
        dict(zip(images, found.references, strict=True)) for found in other.reference_sets.all()
    )
    shared = {image for image in ours.keys() & theirs.keys() if ours[image] & theirs[image]}
    if not shared:
        return False
    name = other.phase or other.slug
    for count, what in (
        (len(shared), _("are in both")),
        (len(ours.keys() - shared), _("are only in the new phase")),
        (len(theirs.keys() - shared), _("are only in {name!r}").format(name=name)),
    ):
        if 0 < count < MIN_IMAGES:
            raise InputError(
                _(
                    "the new phase and {name!r} share references: {count} images {what}. "
                    "This must be 0 or at least {fewest}; otherwise the difference of two "
                    "scores could reveal references of single images"
                ).format(name=name, count=count, what=what, fewest=MIN_IMAGES)
            )
    return True


def match_images(
    ours: Sequence[ImageId], theirs: Sequence[ImageId]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the places of the images that two phases have in common, in the first's order."""
    places = {str(image): place for place, image in enumerate(theirs)}
    pairs = [(n, places[str(i)]) for n, i in enumerate(ours) if str(i) in places]
    found = np.array(pairs, np.int64).reshape(-1, 2)
    return found[:, 0], found[:, 1]
