"""Simulated duration of scoring a billion captions on a cluster.

The plan is the one of `cidery.engines`: split, count, merge, score, each a list of tasks that must
all be done before the next begins; merging words and putting the frequencies together is done by
one process. Tasks go to the next free core. Constants are CPU seconds per million
captions as `scale.py --steps` and `scale.py --ray` print them, and can be given. Chance:

- a task takes its time times a draw of a lognormal distribution with the given spread;
- one core in fifty is a straggler, half as fast;
- a core is lost at random, on average once in so many hours, with the task in hand, which starts
  again elsewhere; the core is back five minutes later.

Prints a Markdown table: CPU hours, the time that they would take without chance, the makespan with
it (median and the worst of the draws), how much of that the network takes, and the cost. Work and
network do not overlap here, which they do in truth.
"""

from __future__ import annotations

import argparse
import heapq
from dataclasses import dataclass

import numpy as np

CAPTIONS = 1_000_000_000
PER_TASK = 60_000
"""Captions of a partition: a billion in 16,384."""
BYTES = 420
"""Of a caption and five references as text."""
BACK = 300.0
"""Seconds until a lost core is replaced."""


@dataclass(frozen=True)
class Metric:
    """Cost of a metric."""

    name: str
    seconds: float
    """CPU seconds per million captions with five references, in the scoring step."""


METRICS = (
    Metric("CIDEr-D, BLEU-4, ROUGE-L", 23.6),
    Metric("METEOR", 62.0),
    Metric("SPICE", 5_360.0),
    Metric("consensus (MiniLM), without a GPU", 16_900.0),
)


def simulate(
    tasks: list[float], cores: int, rng: np.random.Generator, options: argparse.Namespace
) -> float:
    """Return when the last of the tasks is done that begin together."""
    speed = np.where(rng.random(cores) < options.stragglers, 2.0, 1.0)
    lost_at = rng.exponential(options.hours * 3600, cores)
    free = [(0.0, core) for core in range(cores)]
    heapq.heapify(free)
    waiting = list(reversed(tasks))
    end = 0.0
    again: list[tuple[float, float]] = []
    while waiting or again:
        at, core = heapq.heappop(free)
        if not waiting:
            begun, length = again.pop()
            at = max(at, begun)
        else:
            length = waiting.pop()
        spread = float(rng.lognormal(-(options.spread**2) / 2, options.spread))
        done = at + length * spread * float(speed[core])
        if lost_at[core] < done:
            lost = float(max(at, lost_at[core]))
            again.append((lost, length))
            lost_at[core] = lost + BACK + rng.exponential(options.hours * 3600)
            heapq.heappush(free, (lost + BACK, core))
            continue
        end = max(end, done)
        heapq.heappush(free, (done, core))
    return end


def plan(metric: Metric, options: argparse.Namespace) -> list[tuple[list[float], bool]]:
    """Return the steps: the lengths of their tasks, and whether one core does them."""
    parts = CAPTIONS // PER_TASK
    million = PER_TASK / 1e6
    steps = [([options.split * million] * parts, False)]
    steps.append(([options.count * million] * parts, False))
    if metric is METRICS[0]:
        shards = CAPTIONS * 5 // 400_000
        # A shard has a slice of every partition, which takes a while to open.
        length = options.merge * CAPTIONS / 1e6 / shards + options.slice * parts / 1e6
        steps.append(([length] * shards, False))
        steps.append(([options.assemble * CAPTIONS / 1e6], True))
    steps.append(([metric.seconds * million] * parts, False))
    return steps


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--split", type=float, default=2.4, help="CPU s per million captions")
    parser.add_argument("--count", type=float, default=10.6)
    parser.add_argument("--merge", type=float, default=3.1)
    parser.add_argument("--assemble", type=float, default=0.9)
    parser.add_argument("--slice", type=float, default=100.0, help="microseconds to open a slice")
    parser.add_argument("--spread", type=float, default=0.3, help="of the lognormal")
    parser.add_argument("--stragglers", type=float, default=0.02, help="share of slow cores")
    parser.add_argument("--hours", type=float, default=200.0, help="between losses of a core")
    parser.add_argument("--gigabits", type=float, default=10.0, help="per second and node")
    parser.add_argument("--price", type=float, default=0.04, help="of a core for an hour, $")
    parser.add_argument("--draws", type=int, default=5)
    options = parser.parse_args()
    print(
        "| metric | cores | CPU hours | without chance | makespan | worst | of it network | cost |"
    )
    print("|---|---:|---:|---:|---:|---:|---:|---:|")
    for metric in METRICS:
        steps = plan(metric, options)
        hours = sum(sum(tasks) for tasks, _ in steps) / 3600
        for cores in (64, 512):
            # Inputs are read once, spilled, and read twice; nodes of 16 cores do it at once.
            bandwidth = cores / 16 * options.gigabits * 1e9 / 8
            network = CAPTIONS * BYTES * 4 / bandwidth / 3600
            ideal = sum(sum(tasks) / (1 if alone else cores) for tasks, alone in steps) / 3600
            found = []
            for seed in range(options.draws):
                rng = np.random.default_rng([seed, cores])
                lengths = [
                    simulate(tasks, 1 if one else cores, rng, options) for tasks, one in steps
                ]
                found.append(sum(lengths) / 3600 + network)
            print(
                f"| {metric.name} | {cores} | {hours:,.0f} | {ideal:.2f} h | "
                f"{np.median(found):.2f} h | {max(found):.2f} h | "
                f"{network:.2f} h | ${max(found) * cores * options.price:,.0f} |",
                flush=True,
            )


if __name__ == "__main__":
    main()
