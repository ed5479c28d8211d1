"""METEOR in other languages against its jar.

For each language 10,000 segments, put together from the phrases in `tests/support`: as they are,
doubled, shuffled, up to 200 words, with odd characters. Every statistic must be equal, every score
equal to 1e-12. Languages that METEOR has paraphrases for run three times: without, with some of our
own, and with their own function words. `--write` makes the golden file of the tests instead, from
the jar's answers. Needs Java and pycocoevalcap.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path

from support.meteor_runs import compare, list_runs, write_golden


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("languages", nargs="*", help="by default all")
    parser.add_argument("--segments", type=int, default=10_000)
    parser.add_argument("--write", type=Path, metavar="FILE")
    options = parser.parse_args()
    differences = 0
    with tempfile.TemporaryDirectory() as folder:
        if options.write:
            write_golden(options.write, list_runs(options.languages), Path(folder))
            return
        for run in list_runs(options.languages):
            found = compare(run, options.segments, Path(folder), seed=1)
            differences += len(found.differences)
            print(f"{run.label:24} {found.segments:6} segments, {len(found.differences)} differ")
            for difference in found.differences[:3]:
                print(f"    {difference}")
    sys.exit(1 if differences else 0)


if __name__ == "__main__":
    main()
