"""Submissions that ask about hidden references: nonsense, or another one with a few changes.

Who submits captions of which only one matters learns that image's score from the mean. Such a
submission scores 0 almost everywhere, or has the scores of another one, of any team, on all but
a few images. Both are seen here, after scoring and over the whole challenge, so that many accounts
do not help. Captions alone would not do: nonsense can be changed everywhere without any effect.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

from cidery.statistics import Floats
from cidery_server.challenges.models import Challenge, Submission
from cidery_server.challenges.phases import match_images

FEW = 0.05
"""Share of the images in which a submission must differ from every other one."""
FEWEST = 3
NONSENSE = 0.9
"""Share of images with a score of 0 from which a submission is nonsense."""
DIGITS = 1e9
"""Scores are compared to nine decimals."""


@dataclass(frozen=True)
class Fingerprint:
    """Fingerprint of a submission: numbers that differ where captions or scores differ."""

    captions: NDArray[np.uint32]
    """uint32[images]"""
    scores: NDArray[np.uint16]
    """uint16[columns, images]; 0 where the score of a caption is 0."""

    @classmethod
    def of(cls, captions: Sequence[str], each: Iterable[Floats]) -> Fingerprint:
        """Return the fingerprint of captions and of their scores in each column."""
        # Capitals and blanks make no other caption for any tokenizer that is used here.
        plain = [" ".join(caption.casefold().split()).encode() for caption in captions]
        return cls(
            np.array([crc32(caption) for caption in plain], np.uint32),
            np.array([_hash_scores(scores) for scores in each], np.uint16),
        )

    def pack(self) -> bytes:
        """Return the fingerprint as bytes; it cannot be compressed."""
        count = np.array([len(self.captions)], np.uint32)
        return b"".join(part.tobytes() for part in (count, self.captions, self.scores))

    @classmethod
    def unpack(cls, packed: bytes | memoryview) -> Fingerprint:
        """Return the fingerprint of packed bytes."""
        content = bytes(packed)
        count = int(np.frombuffer(content, np.uint32, 1)[0])
        scores = np.frombuffer(content, np.uint16, offset=4 * (count + 1))
        return cls(np.frombuffer(content, np.uint32, count, 4), scores.reshape(-1, count))

    @property
    def is_nonsense(self) -> bool:
        """True if nearly all captions score 0, in every column."""
        zeros = (self.scores == 0).mean(axis=1)
        return bool(zeros.min(initial=1.0) > NONSENSE)

    def select(self, places: NDArray[np.int64]) -> Fingerprint:
        """Return the fingerprint of some of the images."""
        return Fingerprint(self.captions[places], self.scores[:, places])

    def count_changes(self, other: Fingerprint) -> int | None:
        """Return the number of images that differ, in the column with the fewest.

        None for the same captions: they tell nothing that is not known.
        """
        if np.array_equal(self.captions, other.captions):
            return None
        # Where the other phase has other metrics, what is left are the captions.
        changed = int((self.captions != other.captions).sum())
        if self.scores.shape != other.scores.shape:
            return changed
        differ = (self.scores != other.scores).sum(axis=1)
        # Where neither scores anything, there is nothing to tell from.
        empty = ~(self.scores.any(axis=1) | other.scores.any(axis=1))
        return int(differ[~empty].min(initial=changed)) if not empty.all() else 0


def _hash_scores(scores: Floats) -> NDArray[np.uint16]:
    """Return a number for each score, 0 for 0; different scores collide once in 65,535."""
    whole = np.rint(np.asarray(scores) * DIGITS).astype(np.int64).astype(np.uint64)
    mixed = (whole * np.uint64(0x9E3779B97F4A7C15)) >> np.uint64(32)
    return np.where(whole == 0, 0, 1 + mixed % np.uint64(65_535)).astype(np.uint16)


def few_images(count: int) -> int:
    """Return the minimum number of images that a new submission must change."""
    return max(FEWEST, math.ceil(FEW * count))


class Detector:
    """Compares a submission with all others, then with newer ones.

    The others are those of its phase and of phases with the same references, on the images that
    these have in common. Each slice is checked like the whole, because its score is shown, too.
    """

    def __init__(self, submission: Submission, fingerprint: Fingerprint) -> None:
        self.submission, self.fingerprint = submission, fingerprint
        self.seen: set[int] = set()
        challenge = submission.challenge
        slices = challenge.slices
        self.slices = dict(slices.members) if slices else {}
        self.matched = {
            other.pk: match_images(challenge.images, other.images)
            for other in challenge.sharing.all()
        }
        self.parts = list(self._parts(fingerprint))
        self.reason = self._find_reason()

    def _find_reason(self) -> str:
        for where, fingerprint in self.parts:
            if fingerprint.is_nonsense:
                total = len(fingerprint.captions)
                return f"scores 0 on more than {NONSENSE:.0%} of the {total} images{where}"
        return ""

    def _parts(self, fingerprint: Fingerprint) -> Iterator[tuple[str, Fingerprint]]:
        """Yield the fingerprint of all images, then those of each slice."""
        yield "", fingerprint
        for name, places in self.slices.items():
            yield f" of {name}", fingerprint.select(places)

    def scan(self) -> None:
        """Compare with the submissions that were not compared yet."""
        phases = [self.submission.challenge_id, *self.matched]
        others = Submission.objects.filter(challenge__in=phases)
        others = others.exclude(pk__in=[*self.seen, self.submission.pk])
        stored = others.exclude(packed_fingerprint=None)
        found = stored.values_list("pk", "challenge", "packed_fingerprint")
        for number, challenge, packed in found.iterator(chunk_size=50):
            self.seen.add(number)
            if self.reason or packed is None:
                continue
            fingerprint = Fingerprint.unpack(packed)
            if challenge in self.matched:
                ours, theirs = self.matched[challenge]
                pairs = [("", self.fingerprint.select(ours), fingerprint.select(theirs))]
            else:
                both = zip(self.parts, self._parts(fingerprint), strict=True)
                pairs = [(where, one, other) for (where, one), (_, other) in both]
            for where, one, other in pairs:
                total, changes = len(one.captions), one.count_changes(other)
                if changes is not None and changes < few_images(total):
                    self.reason = (
                        f"differs from submission {number} on {changes} of {total} images{where}"
                    )
                    break

    def judge(self, challenge: Challenge) -> Mapping[str, str]:
        """Return the fields to store; the caller holds the lock of the main challenge."""
        self.scan()
        if not self.reason:
            return {}
        shown = Submission.objects.filter(
            challenge__in=challenge.family, probe=Submission.Probe.SHOWN
        ).count()
        free = shown < challenge.main.probes_shown
        probe = Submission.Probe.SHOWN if free else Submission.Probe.WITHHELD
        return {"probe": probe, "probe_reason": self.reason}
