"""METEOR: the golden files, live against the jar, the real model, alignments, settings."""

from __future__ import annotations

import gzip
import json
import os
import pickle
import random
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import cidery
from cidery import _native
from cidery.errors import SettingError
from cidery.files import read_candidates, read_references
from cidery.metrics import get_metrics
from cidery.metrics.base import GroupedCaptions, TokenizedCandidates, TokenizedReferences
from cidery.metrics.meteor_languages import METEOR_LANGUAGES
from cidery.runtime import Workspace
from cidery.storage import METEOR, load, write_meteor_table
from cidery.storage.meteor_table import JAR, PARAPHRASES
from cidery.text import get_stemmer, get_tokenizer
from support import meteor_jar, reference_tools
from support.example import Example
from support.meteor_segments import Paraphrase, SegmentMaker, sample_paraphrases

CHUNKS = 20
pytestmark = [
    pytest.mark.usefixtures("meteor_data"),
    pytest.mark.filterwarnings("ignore::cidery.errors.InputWarning"),
]


def split_at_blanks(text: Any) -> Any:
    """Cut as METEOR itself does, so that its normalizer sees any other blank."""
    return text.split(" ")


def meteor_captions(texts: Any, paraphrases: Any = True) -> Any:
    tokens = get_tokenizer(split_at_blanks)(texts).captions
    return _native.MeteorCaptions.from_tokens(
        load(METEOR), tokens, get_stemmer("english"), paraphrases
    )


def statistics(segments: Any, paraphrases: Any = True) -> Any:
    """Return the 23 statistics of each (candidate, references) segment."""
    references = [text for _, group in segments for text in group]
    offsets = np.cumsum([0, *(len(group) for _, group in segments)]).astype(np.uint64)
    images = np.arange(len(segments), dtype=np.uint32)
    return _native.meteor_measure(
        meteor_captions(references, paraphrases),
        offsets,
        meteor_captions([candidate for candidate, _ in segments], paraphrases),
        images,
        METEOR_LANGUAGES["en"].parameters,
    )


def score(segments: Any, **settings: Any) -> Any:
    """Score segments as they stand through the front door."""
    return cidery.score(
        [candidate for candidate, _ in segments],
        [group for _, group in segments],
        metrics=[cidery.Meteor(**settings)],
        tokenizer=split_at_blanks,
    )


@pytest.fixture(scope="module")
def golden(shared: Path) -> Any:
    lines = (shared / "golden" / "meteor.jsonl").read_text().splitlines()
    *segments, last = [json.loads(line) for line in lines]
    return segments, last["corpus_score"]


def test_golden_statistics(golden: Any) -> None:
    segments, _ = golden
    assert len(segments) == 3000
    rows = statistics([(segment["cand"], segment["refs"]) for segment in segments])
    expected = np.array([segment["stats"].split() for segment in segments], np.float64)
    np.testing.assert_array_equal(rows, expected)


def test_golden_scores(golden: Any) -> None:
    segments, corpus = golden
    table = score([(segment["cand"], segment["refs"]) for segment in segments])
    expected = [segment["score"] for segment in segments]
    np.testing.assert_allclose(table.each["meteor"], expected, rtol=0, atol=1e-9)
    assert table.corpus["meteor"] == pytest.approx(corpus, abs=1e-12)


def test_golden_normalizer(shared: Path) -> None:
    lines = (shared / "golden" / "meteor_normalised.jsonl").read_text().splitlines()
    pairs = [json.loads(line) for line in lines]
    captions = meteor_captions([pair["text"] for pair in pairs])
    found = [" ".join(captions.words(place)) for place in range(len(captions))]
    assert found == [pair["norm"] for pair in pairs]


@pytest.fixture(scope="module")
def paraphrases(meteor_data: Path) -> list[Paraphrase]:
    """A tenth of METEOR's paraphrases, from everywhere in its file."""
    return sample_paraphrases(meteor_data / PARAPHRASES, every=10)


@pytest.mark.filterwarnings("ignore::cidery.errors.LanguageWarning")
def test_live_on_many_segments(java: str, meteor_data: Path, paraphrases: list[Paraphrase]) -> None:
    """Real captions as they are, doubled, shuffled, joined, rewritten, up to 200 words, unicode."""
    rng = random.Random(3)
    groups = [
        [" ".join(caption.replace("|||", " ").split()) for caption in group]
        for group in list(reference_tools.coco_captions("val2014").values())[:5000]
    ]
    maker = SegmentMaker(groups, paraphrases, rng)
    segments = maker.make(2_000 if os.environ.get("CIDERY_EXAMPLES") == "new" else 500)
    with meteor_jar.Session(meteor_data / JAR) as session:
        expected = meteor_jar.statistics(session, segments)
        scores, corpus = meteor_jar.scores(session, expected)
    np.testing.assert_array_equal(statistics(segments), expected)
    table = score(segments)
    np.testing.assert_allclose(table.each["meteor"], scores, rtol=0, atol=1e-12)
    assert table.corpus["meteor"] == pytest.approx(corpus, abs=1e-12)


def test_the_real_model_gets_the_score_that_the_community_reports(shared: Path) -> None:
    folder = shared / "data" / "coco_karpathy"
    references = read_references(folder / "captions_test5k.json")
    candidates = dict(read_candidates(folder / "tden_karpathy_test_result.json"))
    candidates = {image: candidates[image] for image in references}
    table = cidery.score(candidates, references, metrics=["meteor"], tokenizer="ptb-coco")
    assert table.corpus["meteor"] == pytest.approx(0.297, abs=5e-4)


# METEOR 1.5 on Java 17 through pycocoevalcap 1.2: Meteor().compute_score on PTBTokenizer's output
GOLDEN_EXAMPLE = {"system_a": 0.2696879863774527, "system_b": 0.14684677074593802}


@pytest.mark.parametrize("system", GOLDEN_EXAMPLE)
def test_the_example_gets_the_number_of_the_original(example: Example, system: Any) -> None:
    table = cidery.score(
        getattr(example, system), example.references, ["meteor"], tokenizer="ptb-coco"
    )
    assert table.corpus["meteor"] == pytest.approx(GOLDEN_EXAMPLE[system], abs=1e-12)


def test_a_sum_of_rows_pools_to_the_corpus_score(example: Example) -> None:
    """Parts summed apart give the whole: intervals, tests and sharding rest on it."""
    metric = cidery.Meteor()
    cut = get_tokenizer("ptb")
    captions = [caption for group in example.references.values() for caption in group]
    offsets = np.arange(0, len(captions) + 1, 5, np.uint64)
    references = TokenizedReferences(GroupedCaptions(cut(captions), offsets), cut)
    candidates = list(example.system_a.values())
    candidates[3] = captions[15]  # perfect: its chunk is not counted
    images = np.arange(len(candidates), dtype=np.uint32)
    work = Workspace()
    rows = metric.prepare(references, work).measure(
        TokenizedCandidates(cut(candidates), images), work
    )
    assert rows[3, CHUNKS] == 0 and metric.each(rows)[3] == 1.0
    whole = metric.reduce(rows)
    parts = rows[:20].sum(axis=0) + rows[20:].sum(axis=0)
    assert metric.pool(parts, np.asarray(72.0)) == whole
    assert whole != pytest.approx(metric.each(rows).mean(), abs=1e-4)
    stacked = metric.pool(np.stack([parts, rows[0]]), np.ones(2))
    assert stacked.tolist() == [whole, metric.each(rows)[0]]


def test_a_perfect_caption_counts_no_chunk() -> None:
    """Pooled, one perfect caption stays perfect; METEOR's own sum would see a chunk otherwise."""
    table = score([("a dog runs", ["a dog runs"]), ("the cat sits", ["the cat sits"])])
    assert table.each["meteor"].tolist() == [1.0, 1.0]
    assert table.corpus["meteor"] == 1.0


def test_without_paraphrases(example: Example) -> None:
    table = cidery.score(example.system_a, example.references, ["meteor", "meteor:paraphrases=no"])
    assert table.corpus["meteor"] > table.corpus["meteor:paraphrases=no"] > 0.2
    with_them, without = table.signatures.values()
    assert "|paraphrases:yes|table:" in with_them
    assert "|paraphrases:no|table:" in without


def test_without_paraphrases_a_full_table_gives_the_same_as_a_small_one(example: Example) -> None:
    own = cidery.Meteor(paraphrases=False, table=METEOR.path)
    table = cidery.score(
        example.system_a, example.references, [cidery.Meteor(paraphrases=False), own]
    )
    small, full = table.each.values()
    np.testing.assert_array_equal(small, full)


# Java's String.hashCode is the same for the two words of each pair, or for their stems; the
# statistics are what the jar answers to the first as the candidate and the second as its reference.
COLLISIONS = [
    ("pn", "r0", "1 1 0 0 1 1 0 0 0 0 0 0 0 0 0 0 0 0 0 0 1 1 1"),
    ("rw0ning", "running", "1 1 0 0 1 1 0 0 0 0 0 0 0 0 0 0 0 0 0 0 1 1 1"),
    ("nq6 a", "not a", "2 2 1 2 1 0 1 2 0 0 0 0 0 0 0 0 0 0 0 0 1 2 2"),
    ("a steeple is", "a steer. is", "3 3 2 2 0 0 2 2 1 1 0 0 0 0 0 0 0 0 0 0 1 3 3"),
    ("i see an aw6omobile here", "i see an car here",
     "5 5 2 2 2 2 2 2 0 0 0 0 0 0 0 0 0 0 0 0 2 4 4"),
    ("two dogs are rw0ning fast", "a pair of dogs run fast",
     "5 6 2 2 2 2 0 0 0 0 0 0 0 0 0 0 0 1 1 0 2 3 3"),
]  # fmt: skip


@pytest.mark.parametrize(("candidate", "reference", "expected"), COLLISIONS)
def test_words_with_the_same_hash_match(candidate: str, reference: str, expected: str) -> None:
    """Synonyms, paraphrases and function words are looked up by the word itself."""
    assert statistics([(candidate, [reference])])[0].tolist() == [
        float(x) for x in expected.split()
    ]


def test_live_without_paraphrases(java: str, meteor_data: Path, example: Example) -> None:
    """The jar with its first three modules, `-m "exact stem synonym"`."""
    segments = [(example.system_b[i], group[:1]) for i, group in example.references.items()]
    modules = ["-m", "exact stem synonym", "-w", "1.0 0.6 0.8"]
    with meteor_jar.Session(meteor_data / JAR, *modules) as session:
        expected = meteor_jar.statistics(session, segments)
    rows = statistics(segments, paraphrases=False)
    assert (rows != statistics(segments)).any()
    np.testing.assert_array_equal(rows, expected)


def test_one_pass_serves_all_metrics(example: Example) -> None:
    names = ["bleu-4", "rouge-l", "meteor"]
    together = cidery.score(example.system_a, example.references, names)
    for name in names:
        alone = cidery.score(example.system_a, example.references, name)
        assert alone.each[name].tobytes() == together.each[name].tobytes()


def test_bars_are_taken_out_of_candidates_and_kept_in_references() -> None:
    bars, plain = "a ||| dog|||s", "a dogs"
    assert cidery.Meteor().align(bars, "x", split_at_blanks).candidate == ("a", "dogs")
    assert cidery.Meteor().align("x", bars, split_at_blanks).reference == (
        "a", "|", "|", "|", "dog", "|", "|", "|", "s",
    )  # fmt: skip
    table = score([(bars, [plain]), (plain, [plain])])
    assert table.each["meteor"][0] == table.each["meteor"][1] == 1.0


def test_of_equal_references_the_first_counts() -> None:
    """Neither matches; the lengths of the first go into the corpus score."""
    perfect = ("a dog", ["a dog"])
    short_first = score([perfect, ("cat", ["", "the big red house"])])
    long_first = score([perfect, ("cat", ["the big red house", ""])])
    assert short_first.each["meteor"].tolist() == long_first.each["meteor"].tolist() == [1.0, 0.0]
    assert short_first.corpus["meteor"] > long_first.corpus["meteor"]


def test_alignment() -> None:
    alignment = cidery.Meteor().align("two dogs are running fast", "a pair of dogs run fast")
    assert [(m.stage, m.candidate, m.reference) for m in alignment.matches] == [
        ("exact", ("dogs",), ("dogs",)),
        ("paraphrase", ("are", "running"), ("run",)),
        ("exact", ("fast",), ("fast",)),
    ]
    assert [(m.candidate_start, m.reference_start) for m in alignment.matches] == [
        (1, 3),
        (2, 4),
        (4, 5),
    ]
    assert alignment.chunks == (alignment.matches,)
    assert alignment.unmatched_candidate == ("two",)
    assert alignment.unmatched_reference == ("a", "pair", "of")
    assert str(alignment.matches[1]) == "are running = run (paraphrase)"
    assert str(alignment) == (
        "chunk  candidate    reference  stage\n"
        "1      dogs         dogs       exact\n"
        "1      are running  run        paraphrase\n"
        "1      fast         fast       exact\n"
        "\n"
        f"score {alignment.score:.4f}, chunks 1\n"
        "only in the candidate: two\n"
        "only in the reference: a pair of"
    )
    assert pickle.loads(pickle.dumps(alignment)) == alignment


@pytest.mark.parametrize(
    ("candidate", "reference", "stage"),
    [
        ("the dogs", "the dog", "stem"),
        ("the automobile", "the car", "synonym"),
        ("the men", "the man", "synonym"),
        ("the dog", "the dog", "exact"),
    ],
)
def test_stages(candidate: Any, reference: Any, stage: Any) -> None:
    matches = cidery.Meteor(paraphrases=False).align(candidate, reference).matches
    assert matches[-1].stage == stage


def test_nothing_to_align() -> None:
    alignment = cidery.Meteor().align("", "a dog")
    assert (alignment.matches, alignment.chunks, alignment.score) == ((), (), 0.0)


def test_alignments_agree_with_scores(example: Example) -> None:
    metric = cidery.Meteor()
    for image, candidate in example.system_b.items():
        reference = example.references[image][0]
        alignment = metric.align(candidate, reference)
        table = cidery.score([candidate], [[reference]], metrics=[metric])
        assert alignment.score == table.each["meteor"][0]
        rows = statistics([(" ".join(alignment.candidate), [" ".join(alignment.reference)])])
        assert len(alignment.chunks) == rows[0, CHUNKS]


def test_live_alignments(
    java: str,
    meteor_data: Path,
    example: Example,
    paraphrases: list[Paraphrase],
    tmp_path: Path,
) -> None:
    """The same matches as the jar's -writeAlignments, which counts stages from 0.

    Both have the same part of the paraphrases: the jar takes ten seconds to read all of them.
    """
    file = tmp_path / "part.gz"
    entries = (f"{p.probability}\n{p.first}\n{p.second}\n" for p in paraphrases)
    file.write_bytes(gzip.compress("".join(entries).encode(), 1))
    write_meteor_table(tmp_path / "part.table", file)
    metric = cidery.Meteor(table=tmp_path / "part.table")
    pairs = [(example.system_b[i], example.references[i][0]) for i in example.references]
    pairs += [(p.first, f"{p.second} .") for p in paraphrases[:: len(paraphrases) // 200]]
    stages = ("exact", "stem", "synonym", "paraphrase")
    used = set()
    for (candidate, reference), found in zip(
        pairs, meteor_jar.alignments(meteor_data / JAR, pairs, "-a", str(file)), strict=True
    ):
        alignment = metric.align(candidate, reference, split_at_blanks)
        words, reference_words, lines = found
        assert " ".join(alignment.candidate) == words
        assert " ".join(alignment.reference) == reference_words
        ours = [
            f"{m.reference_start}:{len(m.reference)}\t{m.candidate_start}:{len(m.candidate)}\t"
            f"{stages.index(m.stage)}"
            for m in alignment.matches
        ]
        assert ours == ["\t".join(line.split()[:3]) for line in lines]
        used |= {match.stage for match in alignment.matches}
    assert used == set(stages)


def test_settings() -> None:
    assert list(get_metrics("meteor")) == ["meteor"]
    assert get_metrics("meteor:paraphrases=no,table=x.table") == {
        "meteor:paraphrases=no,table=x.table": cidery.Meteor(paraphrases=False, table="x.table")
    }
    assert cidery.Meteor(table=METEOR.path) == cidery.Meteor(table=str(METEOR.path))
    assert hash(cidery.Meteor(table=METEOR.path)) == hash(cidery.Meteor(table=str(METEOR.path)))
    with pytest.raises(SettingError, match="table must be the path of a file"):
        cidery.Meteor(table="")


def test_it_is_not_a_default() -> None:
    assert "meteor" not in get_metrics()


def test_the_jar_is_the_zip_archive_that_we_read(meteor_data: Path) -> None:
    with zipfile.ZipFile(meteor_data / JAR) as archive:
        assert len(archive.read("function/english.words").split()) == 93
