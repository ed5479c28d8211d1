"""Rewards for nonsense, by metric, on Flickr8k or any file of references.

    python benchmarks/run.py redteam Flickr8k.token.txt [--images 60] [--output found.json]

Attacks every reward on the same images, prints the table of docs/red-team.md with an example each,
and how many captions a second were scored.
"""

from __future__ import annotations

import argparse
import time
from collections import defaultdict
from pathlib import Path
from typing import Any

import cidery
from cidery.rewards import red_team

REWARDS: dict[str, Any] = {
    "cider-d": "cider-d",
    "cider-r": "cider-r",
    "bleu-4": "bleu-4",
    "bleu-4, no brevity": cidery.Bleu(4, brevity=False),
    "rouge-l": "rouge-l",
    "meteor": "meteor",
    "cider-d + 5*bleu-4": {"cider-d": 1.0, "bleu-4": 5.0},
}


def read_flickr8k(path: Path) -> dict[str, list[str]]:
    """Read lines of `image.jpg#number<tab>caption`."""
    references = defaultdict(list)
    for line in path.read_text(encoding="utf-8").splitlines():
        name, _, caption = line.partition("\t")
        references[name.partition("#")[0]].append(caption)
    return dict(references)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("references", type=Path, help="Flickr8k.token.txt")
    parser.add_argument("--images", type=int, default=60)
    parser.add_argument("--rounds", type=int, default=100)
    parser.add_argument("--steps", type=int, default=1000)
    parser.add_argument("--reward", action="append", choices=sorted(REWARDS))
    parser.add_argument("--output", type=Path, help="all captions found, as JSON")
    arguments = parser.parse_args()
    is_flickr = arguments.references.name.endswith(".token.txt")
    read = read_flickr8k if is_flickr else cidery.read_references
    references = read(arguments.references)
    chosen = {name: REWARDS[name] for name in arguments.reward or REWARDS}
    start = time.process_time()
    found = red_team(
        references,
        chosen,
        images=arguments.images,
        rounds=arguments.rounds,
        steps=arguments.steps,
        frequencies="references",
    )
    seconds = time.process_time() - start
    scored = sum(attack.scored for attack in found.attacks)
    print(found.to_markdown())
    for attack in found.attacks:
        for caption, reward, human, earned in found.examples(attack, 2).cells:
            print(f"{attack.reward}, {attack.name}: {caption} ({reward}) | {human} ({earned})")
    print(
        f"{scored:,} captions scored in {seconds:.0f} CPU seconds: {scored / seconds:,.0f} a second"
    )
    if arguments.output:
        arguments.output.write_text(found.to_json(), encoding="utf-8")


if __name__ == "__main__":
    main()
