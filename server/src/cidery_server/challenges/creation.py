"""Creation of challenges from a form, or from a JSON or TOML file."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import Any

from django.db import IntegrityError, transaction

from cidery.corpus import Corpus, ImageId, Slices
from cidery.errors import FormatError, InputError
from cidery.files import slice_images
from cidery.metrics import get_metrics
from cidery.scoring import Scorer, describe
from cidery_server.challenges.definition import (
    Definition,
    NamedSlices,
    ReferencesByImage,
    read_challenge,
)
from cidery_server.challenges.forms import OF_MAIN, ChallengeForm, PhaseForm, SettingsForm
from cidery_server.challenges.models import (
    MAX_SLICE_LENGTH,
    MAX_SLUG_LENGTH,
    Challenge,
    pack_json,
    pack_slices,
)
from cidery_server.challenges.phases import MIN_IMAGES, find_sharing
from cidery_server.challenges.scorer_cache import build_scorer
from cidery_server.web.translation import translate as _

MAX_SLICES = 20
MAX_PHASES = 10
LOCAL = {"local": True}
"""Serializer context for definitions that may name files of this machine."""


def create_challenge(
    fields: Mapping[str, Any],
    reference_sets: Mapping[str, ReferencesByImage],
    named: NamedSlices | None = None,
    main: Challenge | None = None,
) -> Challenge:
    """Store a challenge with its hidden references, after trying them with all its metrics.

    With a main challenge, it is another phase of that one.
    """
    images = _common_images(reference_sets)
    language = fields.get("language", "")
    metrics = get_metrics(fields["metrics"], language=language or None)
    scorers = [
        build_scorer(references, metrics, fields.get("frequencies", "references"), language)
        for references in reference_sets.values()
    ]
    by_set = {name: list(chain.from_iterable(r.values())) for name, r in reference_sets.items()}
    scorers[0].pipeline.check_captions(by_set)
    slices = _slice(named, next(iter(reference_sets.values())), scorers[0]) if named else None
    packed = {"packed_images": pack_json(images), "packed_slices": pack_slices(slices)}
    try:
        with transaction.atomic():
            challenge = Challenge.objects.create(phase_of=main, **packed, **fields)
            challenge.sharing.set(find_sharing(challenge, reference_sets.values()))
            for name, references in reference_sets.items():
                captions = [list(references[image]) for image in images]
                challenge.reference_sets.create(name=name, packed_references=pack_json(captions))
    except IntegrityError:
        raise InputError(
            _("there is a challenge {slug!r} already").format(slug=fields["slug"])
        ) from None
    return challenge


def _slice(named: NamedSlices, references: ReferencesByImage, scorer: Scorer) -> Slices:
    corpus = Corpus.from_references(references)
    described = describe(corpus, scorer.references)
    found = slice_images(named.by, corpus.images, described, named.name)
    if len(found.members) > MAX_SLICES:
        raise InputError(
            _("{source}: a challenge may have {most} slices, not {count}").format(
                source=named.name, most=MAX_SLICES, count=len(found.members)
            )
        )
    for name, places in found.members.items():
        if len(places) < MIN_IMAGES:
            raise InputError(
                _(
                    "{source}: the slice {name!r} has {count} images; at least {fewest} are"
                    " required, so that scores do not reveal references of single images"
                ).format(source=named.name, name=name, count=len(places), fewest=MIN_IMAGES)
            )
        if len(name) > MAX_SLICE_LENGTH:
            raise InputError(
                _(
                    "{source}: the name of a slice has more than {longest} characters: {name}…"
                ).format(source=named.name, longest=MAX_SLICE_LENGTH, name=name[:MAX_SLICE_LENGTH])
            )
    return found


def _common_images(reference_sets: Mapping[str, ReferencesByImage]) -> list[ImageId]:
    if not reference_sets:
        raise InputError(_("a challenge needs at least one set of references"))
    (first, images), *others = ((name, list(found)) for name, found in reference_sets.items())
    for name, found in others:
        if set(found) != set(images):
            odd = sorted(map(str, set(found) ^ set(images)))[:3]
            raise InputError(
                _(
                    "the sets {first!r} and {name!r} must describe the same images; only one of "
                    "them has {images}"
                ).format(first=first, name=name, images=", ".join(odd))
            )
    return images


def add_phase(
    main: Challenge,
    fields: Mapping[str, Any],
    reference_sets: Mapping[str, ReferencesByImage],
    named: NamedSlices | None = None,
) -> Challenge:
    """Add a phase to a challenge, whose language it has; also its metrics, if none are given.

    Raises:
        InputError: there is such a phase, or there are enough, or it shares too few images.
    """
    with transaction.atomic():
        main = Challenge.objects.select_for_update().get(pk=main.main.pk)
        if not main.phase:
            main.phase = "main"
            main.save(update_fields=["phase"])
        names = list(main.family.values_list("phase", flat=True))
        if fields["phase"] in names:
            raise InputError(_("there is a phase {phase!r} already").format(phase=fields["phase"]))
        if len(names) >= MAX_PHASES:
            raise InputError(_("a challenge may have {most} phases").format(most=MAX_PHASES))
        inherited = ("metrics", "language", "frequencies")
        given = {**{name: getattr(main, name) for name in inherited}, **fields}
        given |= {"slug": f"{main.slug}-{fields['phase']}", "title": main.title}
        if len(given["slug"]) > MAX_SLUG_LENGTH:
            raise InputError(
                _("the address {slug} is too long: choose a shorter phase").format(
                    slug=given["slug"]
                )
            )
        return create_challenge(given, reference_sets, named, main)


def create_from_file(path: Path) -> list[Challenge]:
    """Make a challenge from a JSON or TOML file, and return it and its further phases."""
    return create_from_definitions(read_challenge(path), str(path))


def create_from_definitions(definitions: Sequence[Definition], where: str) -> list[Challenge]:
    """Make a challenge and its phases: all of them, or nothing."""
    first, *others = definitions
    if others and not all(one.fields.get("phase") for one in definitions):
        raise FormatError(
            _('{where}: each phase needs a name, such as "phase": "dev"').format(where=where)
        )
    with transaction.atomic():
        fields = _check(ChallengeForm(data=first.fields, context=LOCAL), first.fields, where)
        made = [create_challenge(fields, first.reference_sets, first.slices)]
        for one in others:
            own = {name: value for name, value in one.fields.items() if name not in OF_MAIN}
            fields = _check(
                PhaseForm(data=own, context=LOCAL), own, f"{where}, phase {own['phase']!r}"
            )
            made.append(add_phase(made[0], fields, one.reference_sets, one.slices))
    return made


def add_phase_from_file(challenge: Challenge, path: Path) -> Challenge:
    """Add a phase to a challenge, from a JSON or TOML file."""
    definitions = read_challenge(path)
    if len(definitions) > 1:
        raise FormatError(
            _("{path}: only one phase can be added at a time; remove the list of phases").format(
                path=path
            )
        )
    (one,) = definitions
    fields = _check(PhaseForm(data=one.fields, context=LOCAL), one.fields, str(path))
    return add_phase(challenge, fields, one.reference_sets, one.slices)


def _check(form: SettingsForm, content: Mapping[str, Any], where: str) -> dict[str, Any]:
    """Return the fields of a file as a form reads them."""
    if not form.is_valid():
        problems = "; ".join(
            f"{field}: {' '.join(map(str, e))}" for field, e in form.errors.items()
        )
        raise FormatError(f"{where}: {problems}")
    unknown = sorted(set(content) - set(form.fields))
    if unknown:
        raise FormatError(
            _("{where}: unknown {unknown}; known: {known}, slices").format(
                where=where, unknown=", ".join(unknown), known=", ".join(form.fields)
            )
        )
    found: dict[str, Any] = form.validated_data
    return found
