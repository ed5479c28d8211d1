"""Coverage of confidence intervals of few, skewed ratings.

Ratings of single captions are drawn on a scale of 1 to 5 (yes and no: 1 and 0), by people alone,
and `cidery.statistics.estimate_contrast` gives an interval of 95 %, without the scale and with it.
Prints a Markdown table: in what share of the draws the interval holds the true mean, in percent,
and its mean width. A second table is of studies that look after every image, up to 60, by intervals
that hold at all times (`horizon=60`): in what share of them there is ever a p of at most 0.05,
though two systems do not differ.
"""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from cidery.statistics import Sample, estimate_contrast

FIVE = (1.0, 5.0)
HORIZON = 60
FIRST_LOOKS = (5, 10, 20, 30)


@dataclass(frozen=True)
class Case:
    """Answers to an image's caption, or to those of two systems, with their chances."""

    name: str
    answers: Mapping[tuple[float, ...], float]
    scale: tuple[float, float]
    images: tuple[int, ...]

    @property
    def truth(self) -> float:
        """The mean, or the difference of both means."""
        return sum(share * (a - sum(b)) for (a, *b), share in self.answers.items())


FIVES = {(5.0,): 0.85, (4.0,): 0.06, (3.0,): 0.04, (2.0,): 0.03, (1.0,): 0.02}
USUAL = {(1.0,): 0.05, (2.0,): 0.12, (3.0,): 0.23, (4.0,): 0.40, (5.0,): 0.20}
BOTH = {a + b: p * q for a, p in USUAL.items() for b, q in USUAL.items()}
NO_DIFFERENCE = {(5.0, 4.0): 0.8, (1.0, 5.0): 0.2}
CASES = (
    Case("85 % fives, 6, 4, 3 and 2 % of 4 to 1", FIVES, FIVE, (5, 10, 30, 50, 100)),
    Case("95 % yes", {(1.0,): 0.95, (0.0,): 0.05}, (0.0, 1.0), (10, 30, 50, 100)),
    Case("90 % yes", {(1.0,): 0.90, (0.0,): 0.10}, (0.0, 1.0), (30, 50, 100)),
    Case("usual: 5, 12, 23, 40 and 20 % of 1 to 5", USUAL, FIVE, (10, 30, 100)),
    Case("difference of two usual systems", BOTH, FIVE, (10, 30)),
    Case("difference: +1 in 80 %, -4 in 20 %", NO_DIFFERENCE, FIVE, (10, 20, 30)),
)


def measure(case: Case, images: int, draws: int, *, scaled: bool) -> tuple[float, float]:
    """Return the share of intervals that hold the truth, and their mean width."""
    rng = np.random.default_rng([images, len(case.answers)])
    places, given = np.arange(images), np.asarray([*case.answers], np.float64)
    held, width = 0, 0.0
    for _ in range(draws):
        drawn = given[rng.choice(len(given), images, p=[*case.answers.values()])]
        samples = [Sample(answers, None, places) for answers in drawn.T]
        factors = (1.0, -1.0)[: len(samples)]
        scale = case.scale if scaled else None
        found = estimate_contrast(samples, factors, scale=scale)
        held += found.low - 1e-9 <= case.truth <= found.high + 1e-9
        width += found.high - found.low
    return held / draws, width / draws


def count_false_alarms(studies: int, *, scaled: bool) -> list[float]:
    """Return the share of studies that are ever wrong, by the first look."""
    rng = np.random.default_rng(3)
    given = np.asarray([*NO_DIFFERENCE])
    found = np.ones((studies, HORIZON + 1))
    for study in range(studies):
        drawn = given[rng.choice(len(given), HORIZON, p=[*NO_DIFFERENCE.values()])]
        for seen in range(min(FIRST_LOOKS), HORIZON + 1):
            samples = [Sample(answers[:seen], None, np.arange(seen)) for answers in drawn.T]
            scale = FIVE if scaled else None
            estimated = estimate_contrast(samples, (1.0, -1.0), scale=scale, horizon=HORIZON)
            found[study, seen] = estimated.p
    return [float((found[:, first:] <= 0.05).any(axis=1).mean()) for first in FIRST_LOOKS]


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--draws", type=int, default=2000)
    parser.add_argument("--studies", type=int, default=1500, help="that look after every image")
    options = parser.parse_args()
    print("| ratings | images | coverage without | with | width without | with |")
    print("|---|---:|---:|---:|---:|---:|")
    for case in CASES:
        for images in case.images:
            (bare, short), (sure, wide) = (
                measure(case, images, options.draws, scaled=scaled) for scaled in (False, True)
            )
            name = case.name if images == case.images[0] else ""
            print(
                f"| {name} | {images} | {100 * bare:.1f} | {100 * sure:.1f} | {short:.2f} | "
                f"{wide:.2f} |",
                flush=True,
            )
    print("\n| looks from | without a scale | with `--scale 1 5` |\n|---:|---:|---:|")
    bare, sure = (count_false_alarms(options.studies, scaled=scaled) for scaled in (False, True))
    for first, without, found in zip(FIRST_LOOKS, bare, sure, strict=True):
        print(f"| {first} images | {100 * without:.1f} | {100 * found:.1f} |")


if __name__ == "__main__":
    main()
