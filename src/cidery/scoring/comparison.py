"""compare(): several systems on the same images, with tests of their differences."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any

from cidery.captions.corpus import Candidates, Corpus, Missing, References
from cidery.captions.tokenizers import TokenizerLike
from cidery.errors import MismatchError, SettingError
from cidery.metrics import MetricsLike, get_metrics
from cidery.metrics.base import Faithful
from cidery.scoring.scorer import FrequenciesLike, Scorer
from cidery.scoring.tables import ScoreTable
from cidery.statistics import RESAMPLES, PairedTest, holm, paired_test
from cidery.text_tables import latex_table, markdown_table


@dataclass(frozen=True, eq=False)
class Comparison:
    """Several systems on the same images, metric by metric."""

    tables: Mapping[str, ScoreTable]
    """system -> its scores"""
    tests: Mapping[str, Mapping[tuple[str, str], PairedTest]]
    """metric -> (system, other system) -> test"""
    resamples: int
    seed: int

    @property
    def note(self) -> str:
        """What the p-values are, and what they were corrected for."""
        count = sum(map(len, self.tests.values()))
        holm_note = (
            f"p is Holm-corrected for the {count} comparisons made here"
            if count > 1
            else "one comparison was made, so p needs no correction"
        )
        return (
            f"paired permutation test and paired bootstrap, {self.resamples} samples, seed "
            f"{self.seed}; {holm_note}. A large p means that no difference was found, not that "
            "there is none."
        )

    def to_dict(self) -> dict[str, Any]:
        """Return everything but the captions' scores, ready for JSON."""
        first = next(iter(self.tables.values()))
        return {
            "images": first.image_count,
            "scores": {name: dict(table.corpus) for name, table in self.tables.items()},
            "signatures": dict(first.signatures),
            "tests": {
                metric: [{"systems": list(pair), **vars(test)} for pair, test in pairs.items()]
                for metric, pairs in self.tests.items()
            },
            "note": self.note,
        }

    def records(self) -> list[dict[str, Any]]:
        """Return a row per metric and pair of systems with all digits, for CSV."""
        signatures = next(iter(self.tables.values())).signatures
        return [
            {
                "metric": metric,
                "system": one,
                "other": other,
                "score": self.tables[one].corpus[metric],
                "other_score": self.tables[other].corpus[metric],
                **vars(test),
                "signature": signatures[metric],
            }
            for metric, pairs in self.tests.items()
            for (one, other), test in pairs.items()
        ]

    def header(self) -> list[str]:
        """Return the columns of `lines`."""
        return ["metric", *self.tables, "diff", "interval", "p", "effect", "wins"]

    def lines(self, digits: int = 4) -> list[list[str]]:
        """Return the comparison as text cells, a row per metric and pair of systems."""
        several = len(self.tables) > 2
        lines = []
        for metric, pairs in self.tests.items():
            scores = [f"{table.corpus[metric]:.{digits}f}" for table in self.tables.values()]
            for number, ((one, other), test) in enumerate(pairs.items()):
                verdict = f"{test.difference:+.{digits}f}"
                lines.append(
                    [
                        metric if number == 0 else "",
                        *(scores if number == 0 else [""] * len(scores)),
                        f"{one} - {other}: {verdict}" if several else verdict,
                        f"[{test.low:+.{digits}f}, {test.high:+.{digits}f}]",
                        format_p(test.adjusted_p),
                        f"{test.effect:+.2f}",
                        f"{100 * test.wins:.0f} %",
                    ]
                )
        return lines

    def to_markdown(self, digits: int = 4) -> str:
        """Return the comparison as a Markdown table."""
        return markdown_table(self.header(), self.lines(digits))

    def to_latex(self, digits: int = 4) -> str:
        """Return the comparison as a LaTeX tabular (booktabs)."""
        return latex_table(self.header(), self.lines(digits))


def format_p(p: float) -> str:
    """Spell a p-value for people."""
    return "< 0.001" if p < 0.001 else f"{p:.3f}"


def compare(
    systems: Mapping[str, Candidates],
    references: References,
    metrics: MetricsLike = None,
    *,
    tokenizer: TokenizerLike = "ptb",
    frequencies: FrequenciesLike = "references",
    faithful: Faithful | None = None,
    missing: Missing = "error",
    threads: int = 0,
    confidence: float = 0.95,
    resamples: int = RESAMPLES,
    seed: int = 0,
    references_name: str = "references",
) -> Comparison:
    """Compare systems on the same images: every pair, every metric.

    Arguments are those of `score`, and of the resampling. With `missing="skip"`, images are kept
    that all systems describe.

    ```python
    comparison = cidery.compare({"ours": a, "theirs": b}, references)
    comparison.tests["cider-d"]["ours", "theirs"].p_permutation
    ```
    """
    if len(systems) < 2:
        raise SettingError("compare needs at least two systems")
    chosen = get_metrics(metrics, faithful)
    corpora = _common_corpora(systems, references, missing, references_name)
    scorer = Scorer.build(
        next(iter(corpora.values())),
        chosen,
        tokenizer=tokenizer,
        frequencies=frequencies,
        threads=threads,
    )
    tables = {
        name: scorer.score(c.candidates, c.candidate_images, c.candidate_ids)
        for name, c in corpora.items()
    }
    tests: dict[str, dict[tuple[str, str], PairedTest]] = {label: {} for label in chosen}
    for label in chosen:
        for one, other in combinations(tables, 2):
            first, second = tables[one].resampling[label], tables[other].resampling[label]
            tests[label][one, other] = paired_test(
                first.rows,
                second.rows,
                first.pool,
                (first.pool(first.rows), second.pool(second.rows)),
                confidence=confidence,
                resamples=resamples,
                seed=seed,
            )
    adjusted = iter(holm([t.p_permutation for p in tests.values() for t in p.values()]))
    corrected = {
        label: {pair: replace(test, adjusted_p=next(adjusted)) for pair, test in pairs.items()}
        for label, pairs in tests.items()
    }
    return Comparison(tables, corrected, resamples, seed)


def _common_corpora(
    systems: Mapping[str, Candidates],
    references: References,
    missing: Missing,
    references_name: str,
) -> dict[str, Corpus]:
    corpora = {
        name: Corpus.build(
            candidates,
            references,
            missing=missing,
            candidates_name=name,
            references_name=references_name,
        )
        for name, candidates in systems.items()
    }
    images = {name: set(corpus.images) for name, corpus in corpora.items()}
    common = set.intersection(*images.values())
    if all(found == common for found in images.values()):
        return corpora
    if not common:
        raise MismatchError(f"no image is described by all of {', '.join(systems)}")
    return {name: corpus.only(common) for name, corpus in corpora.items()}
