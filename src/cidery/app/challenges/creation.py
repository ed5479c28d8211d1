"""Making challenges: from a form, or from a JSON or TOML file."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import chain
from pathlib import Path
from typing import Any

from django.db import IntegrityError, transaction

from cidery.app.challenges.definition import NamedSlices, ReferencesByImage, read_challenge
from cidery.app.challenges.forms import ChallengeForm
from cidery.app.challenges.models import LONGEST_SLICE, Challenge, pack_json, pack_slices
from cidery.app.challenges.scorers import build_scorer
from cidery.captions.corpus import Corpus, ImageId
from cidery.captions.slices import Slices, slice_images
from cidery.captions.writing import warn_of_writing
from cidery.errors import FormatError, InputError
from cidery.metrics import get_metrics
from cidery.scoring.scorer import Scorer, find_english
from cidery.scoring.slices import describe

MOST_SLICES = 20
FEWEST_IMAGES = 10
"""In a slice: scores of fewer images would tell much about hidden references."""


def create_challenge(
    fields: Mapping[str, Any],
    reference_sets: Mapping[str, ReferencesByImage],
    named: NamedSlices | None = None,
) -> Challenge:
    """Store a challenge with its hidden references, after trying them with all its metrics."""
    images = _common_images(reference_sets)
    metrics = get_metrics(fields["metrics"])
    scorers = [
        build_scorer(references, metrics, fields.get("frequencies", "references"))
        for references in reference_sets.values()
    ]
    by_set = {name: list(chain.from_iterable(r.values())) for name, r in reference_sets.items()}
    frequencies = fields.get("frequencies", "references")
    warn_of_writing(by_set, scorers[0].references.tokenizer, find_english(metrics, frequencies))
    slices = _slice(named, next(iter(reference_sets.values())), scorers[0]) if named else None
    packed = {"packed_images": pack_json(images), "packed_slices": pack_slices(slices)}
    try:
        with transaction.atomic():
            challenge = Challenge.objects.create(**packed, **fields)
            for name, references in reference_sets.items():
                captions = [list(references[image]) for image in images]
                challenge.reference_sets.create(name=name, packed_references=pack_json(captions))
    except IntegrityError:
        raise InputError(f"there is a challenge {fields['slug']!r} already") from None
    return challenge


def _slice(named: NamedSlices, references: ReferencesByImage, scorer: Scorer) -> Slices:
    corpus = Corpus.from_references(references)
    described = describe(corpus, scorer.references)
    found = slice_images(named.by, corpus.images, described, named.name)
    if len(found.members) > MOST_SLICES:
        raise InputError(
            f"{named.name}: a challenge may have {MOST_SLICES} slices, not {len(found.members)}"
        )
    for name, places in found.members.items():
        if len(places) < FEWEST_IMAGES:
            raise InputError(
                f"{named.name}: the slice {name!r} has {len(places)} of the {FEWEST_IMAGES} images "
                "that it needs, so that no score tells of single images"
            )
        if len(name) > LONGEST_SLICE:
            raise InputError(
                f"{named.name}: the name of a slice has more than {LONGEST_SLICE} "
                f"characters: {name[:LONGEST_SLICE]}…"
            )
    return found


def _common_images(reference_sets: Mapping[str, ReferencesByImage]) -> list[ImageId]:
    if not reference_sets:
        raise InputError("a challenge needs at least one set of references")
    (first, images), *others = ((name, list(found)) for name, found in reference_sets.items())
    for name, found in others:
        if set(found) != set(images):
            odd = sorted(map(str, set(found) ^ set(images)))[:3]
            raise InputError(
                f"the sets {first!r} and {name!r} must describe the same images; "
                f"only one of them has {', '.join(odd)}"
            )
    return images


def create_from_file(path: Path) -> Challenge:
    """Make a challenge from a JSON or TOML file."""
    content, sets, named = read_challenge(path)
    form = ChallengeForm(data=content)
    if not form.is_valid():
        problems = "; ".join(
            f"{field}: {' '.join(map(str, e))}" for field, e in form.errors.items()
        )
        raise FormatError(f"{path}: {problems}")
    unknown = sorted(set(content) - set(form.fields))
    if unknown:
        raise FormatError(
            f"{path}: unknown {', '.join(unknown)}; there are {', '.join(form.fields)}, slices"
        )
    return create_challenge(form.validated_data, sets, named)
