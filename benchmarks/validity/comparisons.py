"""Validity of `cidery compare`: p-values, intervals over runs, power, equivalence, cost.

    python benchmarks/run.py comparisons REFERENCES RESULTS RESULTS [RESULTS ...]

Prints Markdown tables, one or more per part; choose parts with `--parts`:

- `null`: share of p-values below .05, .01 and .001 where systems do not differ.
- `exact`: importance sampling against all assignments, and against 10^7 random permutations.
- `runs`: coverage of 95 % intervals and type I error with 2 to 10 runs.
- `power`: share of simulated comparisons that find the detectable or planned difference.
- `equivalence`: type I error of the equivalence test, where the difference is the margin.
- `cost`: CPU seconds of the tests of all pairs of the given systems by seven metrics.

The files are those that `cidery compare` reads. `exact` compares the first two systems, and the
second with the last; `null` exchanges captions of the first two; `power` samples images of the
second and the last. With data that are not in this repository: COCO's Karpathy test split, BLIP-2,
M² Transformer, LLaVA-1.5 asked briefly, LLaVA-1.5, TDEN, in this order.
"""

from __future__ import annotations

import argparse
import os
import time
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any, TypeAlias

import numpy as np

import cidery
from cidery._native import signed_sums
from cidery.scoring.comparison import compare_evaluation
from cidery.scoring.evaluation import Evaluation
from cidery.scoring.pair_tests import Sampling, compare_rows
from cidery.scoring.score_table import Resampling
from cidery.statistics import (
    Floats,
    MeanOfRuns,
    PairedTest,
    Pool,
    find_interval,
    paired_test,
    permutation_p,
    plan_comparison,
    pool_run_variance,
)

Rows: TypeAlias = Mapping[str, tuple[Floats, Pool]]
"""metric -> float64[images, k], and the function that pools their sum"""
Pair: TypeAlias = tuple[Floats, Floats]
LEVELS = (0.05, 0.01, 0.001)
LEVEL = LEVELS[0]
CHUNK = 100_000
FAIR = 1 << 15
FEW_IMAGES = 17
"""More than are enumerated by `permutation_p`."""
RESAMPLES = 1000
RUN_RESAMPLES = 400
IMAGES_OF_RUNS = 200
RUN_COUNTS = ((2, 2), (3, 3), (5, 5), (10, 10), (2, 1), (5, 1))
RATIOS = (0.0, 1.0, 4.0)
"""Variance over runs, in units of the variance of a run's score over images."""
PARTS = ("null", "exact", "runs", "power", "equivalence", "cost")


def pool_mean(sums: Floats) -> Floats:
    """Return sums of scores over counts."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray(sums[..., 0] / sums[..., 1], np.float64)


def count_rows(values: Floats) -> Floats:
    """Return rows of a score and its count, (0, 0) for NaN: float64[images, 2]."""
    known = ~np.isnan(values)
    return np.stack([np.where(known, values, 0.0), known.astype(np.float64)], axis=1)


def describe_error(share: float, count: int) -> str:
    return f"{100 * share:.2f} ± {100 * np.sqrt(share * (1 - share) / count):.2f}"


# --- null -------------------------------------------------------------------------------------


def draw_means(rng: np.random.Generator) -> Pair:
    first, second = rng.gamma(2.0, 1.0, (100, 1)) * rng.lognormal(0, 1, (2, 100, 1))
    return count_rows(first[:, 0]), count_rows(second[:, 0])


def draw_gaps(rng: np.random.Generator) -> Pair:
    values = rng.exponential(1.0, (2, 100))
    values[rng.random((2, 100)) < 0.4] = np.nan
    return count_rows(values[0]), count_rows(values[1])


def draw_ties(rng: np.random.Generator) -> Pair:
    easy = rng.random(100)
    first, second = (rng.random((2, 100)) < easy).astype(np.float64)
    return count_rows(first), count_rows(second)


def draw_clusters(rng: np.random.Generator) -> Pair:
    """Draw one to five captions of each image, which have an effect of the image in common."""
    sums = []
    for _ in range(2):
        counts = rng.integers(1, 6, 60)
        effects = rng.normal(0.0, 1.0, 60)
        sums.append(np.stack([counts * effects + np.sqrt(counts) * rng.normal(size=60), counts], 1))
    return sums[0], sums[1]


def make_bleu_rows(images: int, rng: np.random.Generator) -> Pair:
    """Draw lengths, matches and n-grams of captions of about ten words, of two equal systems."""
    reference = np.maximum(4, rng.poisson(10.0, images))
    found = []
    for _ in range(2):
        length = np.maximum(4, rng.poisson(9.5, images))
        matches, columns = rng.binomial(length, 0.65), []
        for _ in range(4):
            columns.append(matches)
            matches = rng.binomial(np.maximum(matches - 1, 0), 0.7)
        grams = [length - n for n in range(4)]
        found.append(np.stack([length, reference, *columns, *grams], axis=1).astype(np.float64))
    return found[0], found[1]


def pool_bleu(sums: Floats) -> Floats:
    return cidery.Bleu(4).pool(sums, np.ones(1))


def exchange(first: Floats, second: Floats, images: int, rng: np.random.Generator) -> Pair:
    """Draw images and exchange the systems' captions at random, so that they do not differ."""
    chosen = rng.choice(len(first), images, replace=False)
    swap = rng.random((images, 1)) < 0.5
    one, other = first[chosen], second[chosen]
    return np.where(swap, other, one), np.where(swap, one, other)


def list_nulls(systems: Sequence[Rows]) -> Iterator[tuple[str, Callable[[Any], Pair], Pool]]:
    yield "means of 100 images, skewed", draw_means, pool_mean
    yield "means, 40 % of the images NaN", draw_gaps, pool_mean
    yield "means of 0 and 1: ties", draw_ties, pool_mean
    yield "one to five captions of 60 images", draw_clusters, pool_mean
    yield "BLEU-4 of 20 images, simulated", partial(make_bleu_rows, 20), pool_bleu
    if len(systems) > 1:
        (first, pool), (second, _) = (rows["bleu-4"] for rows in systems[:2])
        for images in (30, 200):
            draw = partial(exchange, first, second, images)
            yield f"BLEU-4 of {images} images, real captions", draw, pool


def show_null(systems: Sequence[Rows], count: int) -> None:
    print(f"Share of p-values of at most a level, in percent, of {count:,} comparisons of systems")
    print(f"that do not differ, and of those by importance sampling; {RESAMPLES} permutations.\n")
    print("| scores | .05 | .01 | .001 | importance sampling |")
    print("|---|---:|---:|---:|---:|")
    for name, draw, pool in list_nulls(systems):
        rng = np.random.default_rng(7)
        found = [permutation_p(*draw(rng), pool, RESAMPLES, seed) for seed in range(count)]
        p = np.asarray([one.p for one in found])
        shares = " | ".join(describe_error(float(np.mean(p <= a)), count) for a in LEVELS)
        sampled = np.mean([one.method == "importance sampling" for one in found])
        print(f"| {name} | {shares} | {100 * sampled:.0f} |", flush=True)


# --- exact ------------------------------------------------------------------------------------


def find_difference(first: Floats, second: Floats, pool: Pool) -> Callable[[Floats], Floats]:
    """Return the difference of scores as a function of signed sums."""
    total = (first + second).sum(axis=0)
    return lambda sums: np.asarray(pool((total + sums) / 2) - pool((total - sums) / 2))


def enumerate_p(first: Floats, second: Floats, pool: Pool) -> float:
    """Return the p-value of all assignments."""
    deltas, differ = first - second, find_difference(first, second, pool)
    deltas = deltas[np.any(deltas != 0, axis=1)]
    sums = deltas[:1]
    for row in deltas[1:]:
        sums = np.concatenate([sums + row, sums - row])
    bound = float(abs(differ(deltas.sum(axis=0)))) * (1 - 1e-9)
    return float(np.mean(np.abs(differ(sums)) >= bound))


def count_extremes(first: Floats, second: Floats, pool: Pool, permutations: int) -> int:
    """Return the number of random permutations with at least the observed difference."""
    deltas, differ = np.ascontiguousarray(first - second), find_difference(first, second, pool)
    fair = np.full(len(deltas), FAIR, np.uint32)
    bound = float(abs(differ(deltas.sum(axis=0)))) * (1 - 1e-9)
    count = 0
    for number, start in enumerate(range(0, permutations, CHUNK)):
        drawn = signed_sums(deltas, fair, min(CHUNK, permutations - start), 1000 + number)
        count += int(np.count_nonzero(np.abs(differ(drawn)) >= bound))
    return count


def show_exact(systems: Sequence[Rows], samples: int, permutations: int) -> None:
    first, second, last = systems[0], systems[1], systems[-1]
    print(f"p by importance sampling ({RESAMPLES} draws) over p of all assignments, where it is")
    print(f"used in {samples} comparisons of {FEW_IMAGES} images, of the first two systems and of")
    print("the first and the fourth. Too small, too large: false verdicts, p and p of all")
    print("assignments on both sides of .05, .01 or .001 by more than a tenth.\n")
    print("| metric | sampled | 1 % | 5 % | median | 95 % | 99 % | too small | too large |")
    print("|---|---:|---:|---:|---:|---:|---:|---:|---:|")
    rng = np.random.default_rng(5)
    for metric, (rows, pool) in first.items():
        ratios, low, high = [], 0, 0
        for number in range(samples):
            other = (second, systems[min(3, len(systems) - 1)])[number % 2][metric][0]
            chosen = rng.choice(len(rows), FEW_IMAGES, replace=False)
            found = permutation_p(rows[chosen], other[chosen], pool, RESAMPLES, number)
            if found.method != "importance sampling":
                continue
            p = enumerate_p(rows[chosen], other[chosen], pool)
            ratios.append(found.p / p)
            low += any(found.p < 0.9 * a and p > 1.1 * a for a in LEVELS)
            high += any(found.p > 1.1 * a and p < 0.9 * a for a in LEVELS)
        quantiles = np.quantile(ratios, [0.01, 0.05, 0.5, 0.95, 0.99])
        shown = " | ".join(f"{value:.2f}" for value in quantiles)
        print(f"| {metric} | {len(ratios)} | {shown} | {low} | {high} |", flush=True)
    print(f"\np of {permutations:,} random permutations and by importance sampling, each with its")
    print("standard error; z is their distance in standard errors.\n")
    print("| systems | metric | images | permutations | importance sampling | z |")
    print("|---|---|---:|---:|---:|---:|")
    sizes: tuple[int, ...] = (25, 50, 100, 200, 400, 800)
    cases = [(m, "first and second", first, second, sizes) for m in first]
    # One column, so that 10^7 permutations of all images take seconds.
    cases.append(("cider-d", "second and last", second, last, (2000, 3000, 5000)))
    for metric, name, one, rival, sizes in cases:
        (rows, pool), (others, _) = one[metric], rival[metric]
        for images in sizes:
            pair = rows[:images], others[:images]
            found = permutation_p(*pair, pool, RESAMPLES, 0)
            if found.method == "importance sampling" and 3e-6 < found.p < 3e-3:
                break
        else:
            continue
        count = count_extremes(*pair, pool, permutations)
        p = count / permutations
        error = np.sqrt(max(count, 1)) / permutations
        z = (found.p - p) / np.hypot(found.error, error)
        print(
            f"| {name} | {metric} | {images} | {p:.2e} ± {error:.1e} | "
            f"{found.p:.2e} ± {found.error:.1e} | {z:+.1f} |",
            flush=True,
        )


# --- runs -------------------------------------------------------------------------------------


def draw_runs(
    rng: np.random.Generator, runs: int, ratio: float, images: int = IMAGES_OF_RUNS
) -> Resampling:
    """Draw scores of a system's runs, with an effect of the image and of the image in this run."""
    values = (
        rng.normal(size=(images, 1)) * np.sqrt(0.5)
        + rng.normal(size=(images, runs)) * np.sqrt(0.5)
        + rng.normal(size=runs) * np.sqrt(ratio / images)
    )
    return make_source(values)


def make_source(values: Floats) -> Resampling:
    """Return the rows of runs side by side: float64[images, runs] of scores."""
    runs = values.shape[1]
    rows = np.stack([values, np.ones_like(values)], axis=-1).reshape(len(values), -1)
    return Resampling(rows, MeanOfRuns(pool_mean, runs) if runs > 1 else pool_mean)


def shift(source: Resampling, difference: float) -> Resampling:
    """Return the same scores, increased."""
    rows = source.rows.copy()
    rows[:, ::2] += difference
    return Resampling(rows, source.pool)


def compare_runs(first: Resampling, second: Resampling, seed: int) -> PairedTest:
    return compare_rows(first, second, resamples=RUN_RESAMPLES, seed=seed)


def show_runs(count: int) -> None:
    print(f"Coverage of 95 % intervals, in percent, of {count:,} simulations with")
    print(f"{IMAGES_OF_RUNS} images ({RUN_RESAMPLES} samples), by the variance over runs in units")
    print("of the variance of a run's score over images; type I error of the test: 100 minus the")
    print("coverage of the difference.\n")
    print("| runs | variance over runs | mean of first | difference | freedom (median) |")
    print("|---:|---:|---:|---:|---:|")
    for runs in RUN_COUNTS:
        for ratio in RATIOS:
            rng = np.random.default_rng([*runs, int(ratio)])
            covered, freedom = np.zeros(2), []
            for seed in range(count):
                sources = [draw_runs(rng, number, ratio) for number in runs]
                scores = sources[0].score_runs(sources[0].draw(RUN_RESAMPLES, seed))
                interval = find_interval(scores, IMAGES_OF_RUNS, 0.95)
                test = compare_runs(sources[0], sources[1], seed)
                covered += interval.low <= 0 <= interval.high, test.low <= 0 <= test.high
                freedom.append(test.parts.runs_freedom)
            mean, both = (describe_error(share, count) for share in covered / count)
            print(
                f"| {runs[0]} and {runs[1]} | {ratio:g} | {mean} | {both} | "
                f"{np.median(freedom):.1f} |",
                flush=True,
            )


# --- power ------------------------------------------------------------------------------------


def draw_pair(rng: np.random.Generator, images: int, difference: float) -> tuple[Floats, Floats]:
    """Draw skewed scores of two systems; the differences have a standard deviation of 2."""
    first, second = rng.exponential(np.sqrt(2.0), (2, images))
    return first + difference, second


def compare_means(
    first: Floats, second: Floats, seed: int, margin: float | None = None
) -> PairedTest:
    rows = count_rows(first), count_rows(second)
    return paired_test(
        *rows, pool_mean, (first, second), resamples=RESAMPLES, seed=seed, margin=margin
    )


def show_power(systems: Sequence[Rows], count: int) -> None:
    print(f"Power, in percent, of {count:,} simulated comparisons (300 of real captions); 80 is")
    print("right. detectable: the true difference is the mean detectable one of 50 tests. planned:")
    print("it is given, and images are the mean of 20 plans, runs the median of 50.\n")
    print("| comparison | difference | images | runs | power |")
    print("|---|---:|---:|---:|---:|")

    def show(name: str, difference: float, images: int, runs: int, found: Sequence[bool]) -> None:
        power = describe_error(float(np.mean(found)), len(found))
        print(f"| {name} | {difference:.4f} | {images} | {runs} | {power} |", flush=True)

    rng = np.random.default_rng(3)
    for images in (20, 100, 400):
        pilots = [compare_means(*draw_pair(rng, images, 0.0), seed) for seed in range(50)]
        size = float(np.mean([one.detectable for one in pilots]))
        found = [
            compare_means(*draw_pair(rng, images, size), seed).p < LEVEL for seed in range(count)
        ]
        show("means, detectable", size, images, 1, found)
    pilots = [compare_means(*draw_pair(rng, 100, 0.0), seed) for seed in range(20)]
    plans = [plan_comparison(one, 0.3, images=100)[0] for one in pilots]
    images = round(float(np.mean(plans)))
    found = [compare_means(*draw_pair(rng, images, 0.3), seed).p < LEVEL for seed in range(count)]
    show("means, planned with 100 images", 0.3, images, 1, found)
    if len(systems) > 2:
        show("BLEU-4 of real captions, planned with 500 images", *plan_bleu(systems, rng, count))
    for runs, ratio in ((3, 1.0), (5, 1.0), (5, 4.0)):
        pilots = [
            compare_runs(draw_runs(rng, runs, ratio), draw_runs(rng, runs, ratio), seed)
            for seed in range(50)
        ]
        size = float(np.mean([one.detectable for one in pilots]))
        show(
            f"runs, variance {ratio:g}, detectable",
            size,
            IMAGES_OF_RUNS,
            runs,
            find_runs(rng, runs, ratio, size, count),
        )
        plans = [plan_comparison(one, 0.35, images=IMAGES_OF_RUNS, runs=runs)[1] for one in pilots]
        planned = round(float(np.median(plans)))
        show(
            f"runs, variance {ratio:g}, planned with {runs} runs (median)",
            0.35,
            IMAGES_OF_RUNS,
            planned,
            find_runs(rng, planned, ratio, 0.35, count),
        )


def find_runs(
    rng: np.random.Generator, runs: int, ratio: float, difference: float, count: int
) -> list[bool]:
    """Simulate comparisons of two systems with several runs; True where a difference is found."""
    found = []
    for seed in range(count):
        first = shift(draw_runs(rng, runs, ratio), difference)
        found.append(compare_runs(first, draw_runs(rng, runs, ratio), seed).p < LEVEL)
    return found


def plan_bleu(
    systems: Sequence[Rows], rng: np.random.Generator, count: int
) -> tuple[float, int, int, list[bool]]:
    """Take all images as the population: plan for its difference, and sample as many images."""
    (first, pool), (second, _) = systems[1]["bleu-4"], systems[-1]["bleu-4"]
    size = abs(float(pool(first.sum(axis=0)) - pool(second.sum(axis=0))))
    plans = []
    for seed in range(20):
        chosen = rng.integers(0, len(first), 500)
        one, other = first[chosen], second[chosen]
        test = paired_test(one, other, pool, (pool(one), pool(other)), seed=seed)
        plans.append(plan_comparison(test, size, images=500)[0])
    images = round(float(np.mean(plans)))
    found = []
    for seed in range(min(count, 300)):
        chosen = rng.integers(0, len(first), images)
        found.append(permutation_p(first[chosen], second[chosen], pool, 300, seed).p < LEVEL)
    return size, images, 1, found


# --- equivalence ------------------------------------------------------------------------------


def show_equivalence(count: int) -> None:
    print(f"Type I error of the equivalence test, in percent, of {count:,} simulations in which")
    print("the true difference is the margin; at most 5 is right.\n")
    print("| comparison | images | runs | error |\n|---|---:|---:|---:|")
    rng = np.random.default_rng(4)
    for images in (5, 10, 20, 50, 200):
        # a margin of six standard errors: the other end of it does not matter
        margin = 12 / np.sqrt(images)
        for name, skewed in (("normal scores", False), ("skewed scores", True)):
            found = []
            for seed in range(count):
                first, second = (
                    draw_pair(rng, images, margin)
                    if skewed
                    else rng.normal(0.0, np.sqrt(2), (2, images)) + np.array([[margin], [0.0]])
                )
                test = compare_means(first, second, seed, margin)
                found.append((test.p_equivalence or 0.0) < LEVEL)
            print(f"| {name} | {images} | 1 | {describe_error(float(np.mean(found)), count)} |")
    for runs in (2, 3, 5):
        for ratio in (1.0, 4.0):
            found = []
            sampling = Sampling(resamples=RUN_RESAMPLES, margin=2.0)
            for _ in range(count):
                first = shift(draw_runs(rng, runs, ratio), 2.0)
                tables = [
                    (one, one.score_runs(one.draw(RUN_RESAMPLES, 0)))
                    for one in (first, draw_runs(rng, runs, ratio))
                ]
                assumed = pool_run_variance([scores for _, scores in tables])
                test = sampling.test(tables[0], tables[1], assumed)
                found.append((test.p_equivalence or 0.0) < LEVEL)
            print(
                f"| runs, variance {ratio:g} | {IMAGES_OF_RUNS} | {runs} | "
                f"{describe_error(float(np.mean(found)), count)} |",
                flush=True,
            )


# --- cost -------------------------------------------------------------------------------------


def show_cost(evaluation: Evaluation) -> None:
    metrics = len(next(iter(evaluation.tables.values())).corpus)
    images = next(iter(evaluation.tables.values())).image_count
    started, cpu = time.perf_counter(), time.process_time()
    comparison = compare_evaluation(evaluation, Sampling(resamples=RESAMPLES))
    seconds, used = time.perf_counter() - started, time.process_time() - cpu
    tests = [test for pairs in comparison.tests.values() for test in pairs.values()]
    sampled = sum(test.method == "importance sampling" for test in tests)
    print("| systems | metrics | images | tests | importance sampling | CPU s | seconds |")
    print("|---:|---:|---:|---:|---:|---:|---:|")
    print(
        f"| {len(evaluation.tables)} | {metrics} | {images:,} | {len(tests)} | {sampled} | "
        f"{used:.1f} | {seconds:.1f} |"
    )


def score_files(paths: Sequence[str]) -> Evaluation:
    references = {str(i): texts for i, texts in cidery.read_references(paths[0]).items()}
    systems = {
        str(number): {str(i): text for i, text in cidery.read_candidates(path)}
        for number, path in enumerate(paths[1:], 1)
    }
    return Evaluation.run(systems, references, cidery.Pipeline.choose(None), missing="skip")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("files", nargs="*", help="references, then results of systems")
    parser.add_argument("--parts", nargs="+", choices=PARTS, default=list(PARTS))
    parser.add_argument("--comparisons", type=int, default=10_000, help="without a difference")
    parser.add_argument("--permutations", type=int, default=10_000_000)
    parser.add_argument(
        "--samples", type=int, default=300, help="of few images, with all assignments"
    )
    parser.add_argument("--simulations", type=int, default=2000, help="of runs and power")
    options = parser.parse_args()
    if len(options.files) in (1, 2):
        parser.error("give references and the results of at least two systems, or no files")
    warnings.simplefilter("ignore")
    evaluation = score_files(options.files) if options.files else None
    systems: list[Rows] = []
    if evaluation is not None:
        systems = [
            {label: (source.rows, source.pool) for label, source in table.resampling.items()}
            for table in evaluation.tables.values()
        ]
    shows: dict[str, Callable[[], None]] = {
        "null": lambda: show_null(systems, options.comparisons),
        "runs": lambda: show_runs(options.simulations),
        "power": lambda: show_power(systems, options.simulations),
        "equivalence": lambda: show_equivalence(options.simulations),
    }
    if evaluation is not None:
        shows["exact"] = lambda: show_exact(systems, options.samples, options.permutations)
        shows["cost"] = lambda: show_cost(evaluation)
    for number, part in enumerate(part for part in PARTS if part in options.parts):
        print("\n" * (number > 0) + f"**{part}**\n")
        if part in shows:
            shows[part]()
        else:
            print("(skipped: no files)")


if __name__ == "__main__":
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    main()
