"""What the owner does with challenges, on the web and from the command line."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from django.db import IntegrityError, transaction
from django.utils import timezone

from cidery.app.challenges.forms import ChallengeForm
from cidery.app.challenges.models import Challenge, Score, Submission, pack_json
from cidery.app.challenges.ranking import rank
from cidery.app.challenges.scoring import count_change, prepare
from cidery.app.challenges.tasks import hint
from cidery.captions.corpus import ImageId
from cidery.captions.formats import read_references
from cidery.errors import FormatError, InputError, SettingError
from cidery.metrics import get_metrics

References = Mapping[ImageId, Sequence[str]]


def create_challenge(
    fields: Mapping[str, Any], reference_sets: Mapping[str, References]
) -> Challenge:
    """Store a challenge with its hidden references, once they have proved fit for its metrics."""
    images = _common_images(reference_sets)
    metrics = get_metrics(fields["metrics"])
    for references in reference_sets.values():
        prepare(references, metrics, fields.get("frequencies", "references"))
    try:
        with transaction.atomic():
            challenge = Challenge.objects.create(packed_images=pack_json(images), **fields)
            for name, references in reference_sets.items():
                captions = [list(references[image]) for image in images]
                challenge.reference_sets.create(name=name, packed_references=pack_json(captions))
    except IntegrityError:
        raise InputError(f"there is a challenge {fields['slug']!r} already") from None
    return challenge


def _common_images(reference_sets: Mapping[str, References]) -> list[ImageId]:
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


def read_challenge(path: Path) -> tuple[dict[str, Any], dict[str, References]]:
    """Read a challenge's file, JSON or TOML; its references are files named relative to it."""
    text = path.read_text(encoding="utf-8")
    try:
        content = _parse_toml(text) if path.suffix == ".toml" else json.loads(text)
    except ValueError as error:
        raise FormatError(f"{path}: {error}") from None
    files = content.pop("references", None) if isinstance(content, dict) else None
    if not isinstance(files, dict) or not files:
        raise FormatError(f'{path}: "references" must name files, such as {{"c5": "c5.json"}}')
    sets: dict[str, References] = {
        str(name): read_references(path.parent / str(file)) for name, file in files.items()
    }
    return content, sets


def _parse_toml(text: str) -> Any:
    if sys.version_info >= (3, 11):
        import tomllib
    else:
        import tomli as tomllib
    return tomllib.loads(text)


def find_challenge(slug: str) -> Challenge:
    """Return a challenge by its slug."""
    found = Challenge.objects.filter(slug=slug).first()
    if found is None:
        known = ", ".join(Challenge.objects.values_list("slug", flat=True)) or "none"
        raise SettingError(f"there is no challenge {slug!r}; there are: {known}")
    return found


def list_challenges() -> list[list[str]]:
    """Return a line of words per challenge, the newest first."""
    lines = []
    for challenge in Challenge.objects.order_by("-created"):
        teams = challenge.submissions.values("team").distinct().count()
        opened = "yes" if challenge.is_open else "no"
        counts = [str(teams), str(challenge.submissions.count())]
        lines.append([challenge.slug, challenge.title, opened, challenge.visibility, *counts])
    return lines


def open_image_scores(challenge: Challenge) -> None:
    """Let teams see their own scores image by image."""
    challenge.image_scores_open = True
    challenge.save(update_fields=["image_scores_open"])


def close_challenge(challenge: Challenge) -> None:
    """Take no more submissions from now on."""
    challenge.closes = timezone.now()
    challenge.save(update_fields=["closes"])


def rescore_challenge(challenge: Challenge) -> int:
    """Forget all scores and have every submission scored again; return how many there are."""
    with transaction.atomic():
        Score.objects.filter(submission__challenge=challenge).delete()
        submissions = list(challenge.submissions.defer("packed_captions"))
        for submission in submissions:
            submission.rows.all().delete()
            hint(submission)
        challenge.submissions.update(
            state=Submission.State.QUEUED,
            claim=None,
            lease_until=None,
            hinted=timezone.now(),
            attempts=0,
            steps_done=0,
            scored=None,
        )
        count_change(challenge)
    return len(submissions)


def export_leaderboard(challenge: Challenge) -> list[dict[str, Any]]:
    """Return a record per team, with all digits."""
    return [
        {
            "rank": entry.rank,
            "team": entry.submission.team.name,
            "submission": entry.submission.pk,
            "title": entry.submission.title,
            "created": entry.submission.created.isoformat(),
            **{
                f"{name}.{metric}{suffix}": value
                for (name, metric), cell in entry.cells.items()
                for suffix, value in (
                    ("", cell.score.value),
                    (".low", cell.score.low),
                    (".high", cell.score.high),
                    (".mark", cell.mark.value),
                )
            },
        }
        for entry in rank(challenge).entries
    ]
