"""Making challenges: from a form, or from a JSON or TOML file."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from django.db import IntegrityError, transaction

from cidery.app.challenges.definition import ReferencesByImage, read_challenge
from cidery.app.challenges.forms import ChallengeForm
from cidery.app.challenges.models import Challenge, pack_json
from cidery.app.challenges.scorers import build_scorer
from cidery.captions.corpus import ImageId
from cidery.errors import FormatError, InputError
from cidery.metrics import get_metrics


def create_challenge(
    fields: Mapping[str, Any], reference_sets: Mapping[str, ReferencesByImage]
) -> Challenge:
    """Store a challenge with its hidden references, after trying them with all its metrics."""
    images = _common_images(reference_sets)
    metrics = get_metrics(fields["metrics"])
    for references in reference_sets.values():
        build_scorer(references, metrics, fields.get("frequencies", "references"))
    try:
        with transaction.atomic():
            challenge = Challenge.objects.create(packed_images=pack_json(images), **fields)
            for name, references in reference_sets.items():
                captions = [list(references[image]) for image in images]
                challenge.reference_sets.create(name=name, packed_references=pack_json(captions))
    except IntegrityError:
        raise InputError(f"there is a challenge {fields['slug']!r} already") from None
    return challenge


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
    content, sets = read_challenge(path)
    form = ChallengeForm(data=content)
    if not form.is_valid():
        problems = "; ".join(
            f"{field}: {' '.join(map(str, e))}" for field, e in form.errors.items()
        )
        raise FormatError(f"{path}: {problems}")
    unknown = sorted(set(content) - set(form.fields))
    if unknown:
        raise FormatError(
            f"{path}: unknown {', '.join(unknown)}; there are {', '.join(form.fields)}"
        )
    return create_challenge(form.validated_data, sets)
