"""Pipeline: one choice of metrics, tokenizer, frequencies and threads for all functions."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from dataclasses import FrozenInstanceError
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import cidery
from cidery import Pipeline
from cidery.dense_video import Event
from cidery.diversity import compare_diversity, diversity_by_count, score_references
from cidery.engines import score_stream
from cidery.errors import SettingError, UnreliableWarning
from cidery.frequencies import DocumentFrequencies
from cidery.rewards import CompletionReward
from cidery.rewards.redteam import red_team
from cidery.scoring.pipeline import RESERVED_LABELS
from support.example import Example

pytestmark = pytest.mark.filterwarnings("ignore::cidery.errors.UnreliableWarning")

ONE = {"a": "a dog runs", "b": "two cats"}
REFERENCES = {"a": ["a dog is running", "the dog runs"], "b": ["two cats sit", "cats"]}
SETS = {"a": ["a dog", "the dog runs"], "b": ["two cats", "cats sit"]}


def test_functions_take_a_pipeline_in_place_of_metrics(example: Example) -> None:
    settings: Any = {"frequencies": "coco-val2014", "tokenizer": "words", "faithful": "paper"}
    settings["frequencies"] = DocumentFrequencies.from_references(
        example.references, tokenizer="words"
    )
    pipeline = Pipeline.choose(["cider-d", "rouge-l"], **settings)
    table = cidery.score(example.system_a, example.references, pipeline)
    same = cidery.score(example.system_a, example.references, ["cider-d", "rouge-l"], **settings)
    assert (table.corpus, table.signatures) == (same.corpus, same.signatures)
    systems = {"a": example.system_a, "b": example.system_b}
    compared = cidery.compare(systems, example.references, pipeline, resamples=20)
    assert compared.tables["a"].corpus == table.corpus
    explained = cidery.explain("a dog", ["a dog runs"], pipeline)
    assert "tokenizer:words" in explained.signatures["cider-d"]


def test_other_settings_beside_a_pipeline_are_refused() -> None:
    pipeline = Pipeline.choose("rouge-l")
    with pytest.raises(SettingError, match="a Pipeline contains all settings"):
        cidery.score(ONE, REFERENCES, pipeline, tokenizer="words")
    with pytest.raises(SettingError, match="a Pipeline contains all settings"):
        cidery.score(ONE, REFERENCES, pipeline, threads=2)


def test_a_pipeline_is_immutable_and_picklable(example: Example) -> None:
    pipeline = Pipeline.choose(["cider-d"], language="de", threads=2)
    with pytest.raises(FrozenInstanceError):
        pipeline.threads = 1  # type: ignore[misc]
    with pytest.raises(TypeError):
        pipeline.metrics["x"] = cidery.CiderD()  # type: ignore[index]
    copy = pickle.loads(pickle.dumps(pipeline))
    assert (copy.metrics, copy.tokenizer, copy.threads) == (
        pipeline.metrics, pipeline.tokenizer, 2,
    )  # fmt: skip
    assert copy.language == "de"
    tables = [cidery.score(example.system_a, example.references, p) for p in (pipeline, copy)]
    assert tables[0].corpus == tables[1].corpus


def test_signatures_need_no_references(example: Example) -> None:
    pipeline = Pipeline.choose(["cider-d", "rouge-l"])
    table = cidery.score(example.system_a, example.references, pipeline)
    sizes = [len(group) for group in example.references.values()]
    assert pipeline.sign(72, (min(sizes), max(sizes))) == dict(table.signatures)
    signed = pipeline.sign(7, (1, 3), slices="separate")["cider-d"]
    assert "|refs:1-3|" in signed
    assert "|frequencies:references-7|slices:separate|" in signed


def test_a_frequency_file_is_read_once(
    example: Example, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    DocumentFrequencies.from_references(example.references).save(tmp_path / "mine.df")
    load, loaded = DocumentFrequencies.load, []
    monkeypatch.setattr(DocumentFrequencies, "load", lambda path: loaded.append(path) or load(path))  # type: ignore[func-returns-value]
    systems = {"a": example.system_a, "b": example.system_b}
    cidery.write_report(
        tmp_path / "report.html",
        systems,
        example.references,
        "cider-d",
        frequencies=tmp_path / "mine.df",
        resamples=20,
    )
    compare_diversity(
        {"a": SETS, "b": SETS},
        "self-cider",
        references=REFERENCES,
        frequencies=tmp_path / "mine.df",
    )
    assert loaded == [tmp_path / "mine.df"] * 2


@pytest.mark.parametrize("label", RESERVED_LABELS)
def test_labels_that_are_names_of_columns_are_refused(label: str, tmp_path: Path) -> None:
    message = f"a metric cannot be labeled '{label}', the name of a column"
    with pytest.raises(SettingError, match=message):
        cidery.score(ONE, REFERENCES, {label: "rouge-l"})
    with pytest.raises(SettingError, match=message):
        score_stream("a.parquet", "b.parquet", {label: "rouge-l"}, work=tmp_path)

    def function(candidate: str, references: list[str]) -> float:
        return 1.0

    function.__name__ = function.__qualname__ = label
    with pytest.raises(SettingError, match=message):
        cidery.score(ONE, REFERENCES, function)


EVENTS = {"v": [Event(0, 1, "a dog")]}
CALLS: dict[str, Callable[[Any], object]] = {
    "Pipeline.choose": lambda threads: Pipeline.choose(threads=threads),
    "score": lambda threads: cidery.score(ONE, REFERENCES, threads=threads),
    "compare": lambda threads: cidery.compare({"a": ONE, "b": ONE}, REFERENCES, threads=threads),
    "explain": lambda threads: cidery.explain("a dog", ["a dog"], threads=threads),
    "explain_captions": lambda threads: cidery.explain_captions(ONE, REFERENCES, threads=threads),
    "score_stream": lambda threads: score_stream("a.parquet", "b.parquet", threads=threads),
    "Reward": lambda threads: cidery.Reward(REFERENCES, threads=threads),
    "CompletionReward": lambda threads: CompletionReward("rouge-l", threads=threads),
    "red_team": lambda threads: red_team(REFERENCES, threads=threads),
    "measure_diversity": lambda threads: cidery.measure_diversity(SETS, threads=threads),
    "diversity_by_count": lambda threads: diversity_by_count(SETS, REFERENCES, threads=threads),
    "compare_diversity": lambda threads: compare_diversity({"a": SETS}, threads=threads),
    "score_references": lambda threads: score_references(REFERENCES, threads=threads),
    "rank_references": lambda threads: cidery.rank_references(REFERENCES, threads=threads),
    "write_report": lambda threads: cidery.write_report(
        "no.html", {"a": ONE}, REFERENCES, threads=threads
    ),
    "judge_claims": lambda threads: cidery.judge_claims(ONE, REFERENCES, threads=threads),
    "score_dense_video": lambda threads: cidery.score_dense_video(
        EVENTS, EVENTS, "bleu-1", soda=False, threads=threads
    ),
    "describe": lambda threads: cidery.describe(REFERENCES, threads=threads),
    "audit": lambda threads: cidery.audit(ONE, REFERENCES, ["cider=0.5"], threads=threads),
}


@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
@pytest.mark.parametrize("threads", [-1, "2", None, 1.5, True])
def test_threads_are_checked(call: Callable[[Any], object], threads: Any) -> None:
    with pytest.raises(SettingError, match="threads must be an integer >= 0"):
        call(threads)


def test_threads_of_numpy_are_integers() -> None:
    assert Pipeline.choose(threads=np.int64(2)).threads == 2  # type: ignore[arg-type]


def test_preparing_does_not_warn_and_checking_does(recwarn: pytest.WarningsRecorder) -> None:
    pipeline = Pipeline.choose("cider-d")
    corpus = cidery.Corpus.build(ONE, REFERENCES)
    pipeline.prepare(corpus).score_corpus(corpus)
    assert not recwarn.list
    with pytest.warns(UnreliableWarning, match="counted on only 2 images") as messages:
        pipeline.check({"mine": corpus})
    assert messages[0].filename == __file__


def test_references_are_prepared_once(
    example: Example, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    prepare, prepared = Pipeline.prepare, []
    monkeypatch.setattr(
        Pipeline, "prepare", lambda self, corpus: prepared.append(corpus) or prepare(self, corpus)
    )  # type: ignore[func-returns-value]
    systems = {"a": example.system_a, "b": example.system_b}
    cidery.write_report(
        tmp_path / "report.html", systems, example.references, "rouge-l", audit=False, resamples=20
    )
    assert len(prepared) == 1
