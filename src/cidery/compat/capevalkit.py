"""cidery's metrics in capevalkit: as a Python callable, and as metrics of its command line.

```console
$ python -m cidery.compat.capevalkit --add-to ROOT cider-d consensus
$ capevalkit benchmark --metric cidery-consensus --benchmark composite --output composite.json
```

ROOT is capevalkit's runtime folder or checkout, in which `metrics/` lies (`capevalkit doctor`).
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Protocol

from cidery._version import __version__
from cidery.errors import CideryError, FormatError, InputError
from cidery.metrics import MetricsLike, get_metrics
from cidery.scoring.evaluation import score
from cidery.scoring.pipeline import FrequenciesLike
from cidery.storage import write_atomically
from cidery.text import TokenizerLike, choose_tokenizer

BAD_INPUT = 2
_MANIFEST = """[metric]
name = "cidery-{metric}"
python = ">=3.10"
module = "cidery.compat.capevalkit"

[repository]
dir = "metrics/upstreams/cidery"
uv_project = "metrics/upstreams/cidery"

[runner]
command = ["python", "-m", "cidery.compat.capevalkit", "--metrics", "{metric}"]

[checks]
smoke = ["python", "-m", "cidery.compat.capevalkit", "--help"]

[compatibility]
merge_policy = "shared-cidery-backend"
"""
_PROJECT = """[project]
name = "cidery-metrics"
version = "{version}"
requires-python = ">=3.10"
dependencies = ["cidery[contextual,meteor]=={version}"]
"""


class Sample(Protocol):
    """Attributes of capevalkit's `CaptionSample` that are used."""

    @property
    def id(self) -> str: ...  # noqa: D102
    @property
    def references(self) -> list[str]: ...  # noqa: D102
    @property
    def prediction(self) -> str | None: ...  # noqa: D102


class CaptionMetric:
    """A metric of cidery for `capevalkit.api.evaluate_metric(metric=…)`.

    ```python
    from types import SimpleNamespace

    samples = [SimpleNamespace(id="1", references=["a dog runs"], prediction="a dog")]
    CaptionMetric("rouge-l")(samples)["rouge-l"]["per_item"]["1"]
    ```
    """

    def __init__(
        self,
        metrics: MetricsLike = "cider-d",
        *,
        tokenizer: TokenizerLike | None = None,
        language: str | None = None,
        frequencies: FrequenciesLike = "references",
    ) -> None:
        """Choose metrics, tokenizer, language and frequencies as for `cidery.score`.

        The default tokenizer, `"ptb-coco"`, gives CIDEr-D, BLEU, ROUGE-L and METEOR the values of
        capevalkit's own metrics.
        """
        self.metrics = get_metrics(metrics, language=language)
        self.tokenizer = choose_tokenizer(tokenizer, language, default="ptb-coco")
        self.frequencies = frequencies

    def __call__(self, samples: Sequence[Sample]) -> dict[str, dict[str, Any]]:
        """Return for each metric its score, the samples' scores and the signature."""
        if not samples:
            raise InputError("no samples to score")
        without = next((sample.id for sample in samples if not sample.references), None)
        if without is not None:
            raise InputError(f"sample {without!r} has no references")
        return self.score(
            {sample.id: sample.prediction or "" for sample in samples},
            {sample.id: sample.references for sample in samples},
        )

    def score(
        self, predictions: dict[str, str], references: dict[str, list[str]]
    ) -> dict[str, dict[str, Any]]:
        """Return the same for captions by id."""
        table = score(
            predictions,
            references,
            self.metrics,
            tokenizer=self.tokenizer,
            frequencies=self.frequencies,
        )
        return {
            name: {
                "score": float(table.corpus[name]),
                "per_item": dict(zip(map(str, table.ids), values.tolist(), strict=True)),
                "signature": table.signatures[name],
            }
            for name, values in table.each.items()
        }


def add_metrics(root: Path, metrics: Sequence[str]) -> list[Path]:
    """Write capevalkit's definition files of these metrics and return their paths."""
    get_metrics(list(metrics))
    contents = {
        root / "metrics" / f"cidery-{metric}" / "metric.toml": _MANIFEST.format(metric=metric)
        for metric in metrics
    }
    project = root / "metrics" / "upstreams" / "cidery" / "pyproject.toml"
    contents[project] = _PROJECT.format(version=__version__)
    for path, content in contents.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        write_atomically(path, content.encode())
    return list(contents)


def main(arguments: Sequence[str] | None = None) -> int:
    """Score files for capevalkit, or add metrics to it."""
    parser = argparse.ArgumentParser(prog="python -m cidery.compat.capevalkit")
    add = parser.add_argument
    add("--predictions", type=Path, help="lines of {id, caption}")
    add("--references", type=Path, help="lines of {id, references}")
    add("--output", type=Path, help="the file to write")
    add("--metrics", default="cider-d", help="comma-separated names (default: cider-d)")
    add("--frequencies", default="references", help="a shipped set or a file")
    add("--tokenizer", help="default: that of the language, or ptb-coco")
    add("--language", help="the captions' language, such as zh")
    add("--image-dir", help="ignored: these metrics do not use images")
    add("--add-to", type=Path, metavar="ROOT", help="write metric.toml files below ROOT/metrics")
    add("names", nargs="*", metavar="METRIC", help="for --add-to")
    options = parser.parse_args(arguments)
    try:
        if options.add_to is not None:
            for path in add_metrics(options.add_to, options.names or ["cider-d"]):
                print(path)
            return 0
        if None in (options.predictions, options.references, options.output):
            parser.error("give --predictions, --references and --output, or --add-to")
        metric = CaptionMetric(
            options.metrics.split(","),
            tokenizer=options.tokenizer,
            language=options.language,
            frequencies=options.frequencies,
        )
        result = metric.score(
            _read(options.predictions, ("caption", "prediction")),
            _read(options.references, ("references", "captions")),
        )
        options.output.parent.mkdir(parents=True, exist_ok=True)
        write_atomically(options.output, json.dumps(result, indent=2, sort_keys=True).encode())
    except (CideryError, OSError) as error:
        print(f"cidery: {error}", file=sys.stderr)
        return BAD_INPUT
    return 0


def _read(path: Path, keys: Sequence[str]) -> dict[str, Any]:
    """Return the values of the first key found in each line, by id."""
    found: dict[str, Any] = {}
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), start=1):
        if not line.strip():
            continue
        try:
            row = json.loads(line)
            found[str(row["id"])] = next(row[key] for key in keys if key in row)
        except (ValueError, KeyError, TypeError, StopIteration):
            raise FormatError(
                f"{path}, line {number}: expected {{'id': …, '{keys[0]}': …}}, found {line[:60]!r}"
            ) from None
    return found


if __name__ == "__main__":
    sys.exit(main())
