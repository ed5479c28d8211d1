"""consensus: its cone, its parts, what it does not forgive, and how it agrees with people."""

from __future__ import annotations

import json
from dataclasses import replace
from hashlib import sha256
from itertools import chain, combinations
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import cidery
from cidery import Consensus
from cidery.corpus import bundled
from cidery.encoders import Encoder, TokenStates, find_lens, get_encoder
from cidery.encoders.lens import FOLDER
from cidery.errors import SettingError
from cidery.files import read_references
from cidery.meta import evaluate, read_dataset
from cidery.metrics.contextual.consensus import PARTS, measure_agreement, measure_cone
from cidery.storage import MODELS

pytestmark = pytest.mark.filterwarnings("ignore::cidery.errors.InputWarning")

SHARED = Path(__file__).parents[3] / "shared" / "data"
DOG = ["a dog is sleeping on a sofa", "the dog naps", "a brown dog asleep on the couch"]
CAPTION = st.lists(
    st.sampled_from(["a", "dog", "man", "runs", "red", "two", "grass"]), min_size=2, max_size=9
)


@pytest.fixture(scope="module")
def consensus(minilm: Encoder) -> Any:
    return Consensus(encoder=minilm)


def explain_one(metric: Any, candidate: str, references: list[str]) -> Any:
    return cidery.explain(candidate, references, [metric])["consensus"]


def score_one(metric: Any, candidate: Any, references: Any) -> Any:
    return cidery.score([candidate], [references], metrics=[metric]).each["consensus"][0]


def score_faces(whole: Any, references: Any) -> Any:
    """Return the highest cosine over all faces of the cone, each solved in closed form."""
    best = 0.0
    places = range(len(references))
    for face in chain.from_iterable(combinations(places, n) for n in range(1, len(references) + 1)):
        side = references[list(face)]
        weights = np.linalg.solve(side @ side.T, side @ whole)
        if (weights >= 0).all():
            blend = weights @ side
            best = max(best, whole @ blend / np.linalg.norm(blend))
    return best


class TestCone:
    @pytest.mark.parametrize("count", [1, 2, 3, 5, 8])
    def test_is_the_best_of_all_faces(self, count: Any) -> None:
        rng = np.random.default_rng(count)
        for _ in range(20):
            vectors = rng.normal(size=(count + 1, 12)) + rng.normal(size=12)
            vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
            found, weights = measure_cone(vectors[0], vectors[1:])
            assert found == pytest.approx(score_faces(vectors[0], vectors[1:]), abs=1e-12)
            assert (weights >= 0).all()

    def test_no_blend_is_nearer(self) -> None:
        rng = np.random.default_rng(0)
        vectors = rng.normal(size=(5, 6)) + 1
        whole = vectors[0] / np.linalg.norm(vectors[0])
        found, _ = measure_cone(whole, vectors[1:])
        for weights in rng.exponential(size=(500, 4)):
            blend = weights @ vectors[1:]
            assert whole @ blend / np.linalg.norm(blend) <= found + 1e-12

    def test_of_opposite_references_is_0(self) -> None:
        found, weights = measure_cone(
            np.asarray([1.0, 0.0]), np.asarray([[-1.0, 0.0], [-0.6, -0.8]])
        )
        assert found == 0
        assert weights.tolist() == [0, 0]

    def test_the_same_reference_twice_changes_nothing(self, consensus: Any) -> None:
        once = score_one(consensus, "a puppy sleeps", DOG)
        parts = explain_one(consensus, "a puppy sleeps", [*DOG, DOG[0]]).parts
        assert parts["cone"] == pytest.approx(
            explain_one(consensus, "a puppy sleeps", DOG).parts["cone"]
        )
        assert once > 0


class TestAgreement:
    WHOLES = np.asarray([[1.0, 0.0], [0.6, 0.8], [0.0, 1.0]])

    def test_is_how_near_references_are_to_the_others(self) -> None:
        """The second lies between the others, which are nearest to it."""
        found = measure_agreement(self.WHOLES, [np.asarray([0, 1, 2])])
        assert found == pytest.approx((0.6 + 1 + 0.8) / 3)

    def test_of_groups(self) -> None:
        found = measure_agreement(self.WHOLES, [np.asarray([0, 1]), np.asarray([2])])
        assert found == pytest.approx(0.6)

    def test_of_one_reference_is_1(self, consensus: Any) -> None:
        found = explain_one(consensus, "a puppy sleeps", DOG[:1])
        assert found.parts["agreement"] == 1

    def test_a_caption_is_not_blamed_for_references_that_disagree(self, consensus: Any) -> None:
        caption, plain = "a dog sleeps", cidery.Consensus(encoder=consensus.encoder, agreement=0)
        for references in (DOG, [*DOG, "my grandmother's couch"]):
            found = explain_one(consensus, caption, references)
            raised = found.score / explain_one(plain, caption, references).score
            assert raised == pytest.approx(found.parts["agreement"] ** -0.2)


class TestScore:
    def test_is_made_of_its_parts(self, consensus: Any) -> None:
        found = explain_one(consensus, "a puppy sleeps on the", DOG)
        assert tuple(found.parts)[:9] == PARTS
        parts = found.parts
        close = parts["cone"] ** 0.5 * parts["mean"] ** 0.25 * parts["precision"] ** 0.25
        alike = close * (1 + close * (1.5 * parts["recall"] - 0.7 * parts["short"])) / 2.5
        factor = (1 - 0.3 * parts["repetition"]) * 0.7 * (1 - 0.25 * parts["oddity"])
        expected = (alike / parts["agreement"] ** 0.4 * factor) ** 0.5
        assert parts["dangling"] == 1 and 0 < parts["short"] < 1
        assert found.score == pytest.approx(expected)
        assert found.score == score_one(consensus, "a puppy sleeps on the", DOG)

    def test_meaning_counts_not_letters(self, consensus: Any) -> None:
        puppy = score_one(consensus, "a puppy is asleep on the sofa", DOG)
        horse = score_one(consensus, "a horse is eating in the field", DOG)
        assert puppy > 0.5 > horse

    def test_a_caption_without_words_scores_0(self, consensus: Any) -> None:
        assert score_one(consensus, "", DOG) == 0
        assert score_one(consensus, "a dog", [""]) == 0

    def test_many_references_in_any_order(self, consensus: Any) -> None:
        references = [text for group in list(read_example().values())[:3] for text in group]
        assert len(references) > 8
        forth, back = (
            score_one(consensus, "a dog shakes", order) for order in (references, references[::-1])
        )
        assert forth == pytest.approx(back, rel=1e-12)

    @settings(max_examples=25)
    @given(words=CAPTION, data=st.data())
    def test_repetition_never_helps(self, consensus: Any, words: Any, data: Any) -> None:
        """A caption of its own image, with some of its words said again."""
        start = data.draw(st.integers(0, len(words) - 2))
        again = [*words, *words[start:] * 2]
        references = [" ".join(words)]
        intact, repeated = (score_one(consensus, " ".join(w), references) for w in (words, again))
        assert repeated < intact

    def test_threads_do_not_change_the_bits(self, consensus: Any) -> None:
        references = dict(list(read_example().items())[:6])
        candidates = {image: group[0] + " and" for image, group in references.items()}
        one, two = (
            cidery.score(candidates, references, metrics=[consensus], threads=n) for n in (1, 2)
        )
        assert one.each["consensus"].tolist() == two.each["consensus"].tolist()

    def test_signature_names_encoder_and_weights(self, minilm: Encoder) -> None:
        signature = cidery.score(["a dog"], [DOG], metrics=["consensus"]).signatures["consensus"]
        assert "encoder:minilm" in signature or "encoder=minilm" in signature
        assert minilm.fingerprint in signature
        assert "edition:2" in signature

    def test_as_a_reward(self, consensus: Any) -> None:
        reward = cidery.Reward({"x": DOG}, metric=consensus)
        assert reward(["x"], ["a puppy sleeps"])[0] == score_one(consensus, "a puppy sleeps", DOG)

    @pytest.mark.parametrize(
        ("setting", "message"),
        [
            ({"recall": -1}, "recall must lie between 0 and 10, not -1"),
            ({"brevity": 2}, "brevity must lie between 0 and 1, not 2"),
            ({"dangling": float("nan")}, "dangling must lie between 0 and 1, not nan"),
        ],
    )
    def test_refuses_settings(self, setting: Any, message: Any) -> None:
        with pytest.raises(SettingError, match=message):
            Consensus(**setting)

    def test_an_encoder_that_is_nowhere(self) -> None:
        with pytest.raises(SettingError, match="no encoder 'nowhere'"):
            cidery.score(["a dog"], [DOG], metrics=[Consensus(encoder="nowhere")])


class TestLens:
    def test_is_of_these_weights(self, minilm: Encoder) -> None:
        """Each shipped lens belongs to a model that can be fetched, and is found for it alone."""
        assert {file.stem for file in FOLDER.glob("*.npy")} == {
            f"{name}-{model.sums['model.safetensors'][:12]}" for name, model in MODELS.items()
        }
        assert find_lens(minilm) is not None
        assert find_lens(get_encoder(spell)) is None

    def test_changes_what_it_sees(self, minilm: Encoder) -> None:
        lens = find_lens(minilm)
        assert lens is not None
        states = np.random.default_rng(0).normal(size=(5, 384))
        assert lens(states) == pytest.approx(
            states @ (np.eye(384) + lens.inward @ lens.outward.T), abs=1e-12
        )
        assert 0.01 < np.linalg.norm(lens(states) - states) / np.linalg.norm(states) < 1

    def test_can_be_left_out(self, consensus: Any, minilm: Encoder) -> None:
        raw = Consensus(encoder=minilm, lens=False)
        assert score_one(raw, "a puppy sleeps", DOG) != score_one(consensus, "a puppy sleeps", DOG)
        signatures = [
            cidery.score(["a dog"], [DOG], metrics=[metric]).signatures["consensus"]
            for metric in (consensus, raw, Consensus(encoder=minilm, layer=3))
        ]
        assert f"lens:{find_lens(minilm).fingerprint}" in signatures[0]
        assert all("lens:none" in signature for signature in signatures[1:])

    def test_of_a_function_is_none(self) -> None:
        table = cidery.score(["a dog"], [["a dog"]], metrics=[Consensus(encoder=spell)])
        assert "lens:none" in table.signatures["consensus"]
        assert table.each["consensus"][0] == pytest.approx(1)


def spell(captions: Any) -> Any:
    """Return each caption's words with the counts of their letters."""
    words = [text.split() for text in captions]
    return [
        (group, np.asarray([[word.count(chr(n)) + 0.1 for n in range(97, 123)] for word in group]))
        for group in words
    ]


class Layered(Encoder):
    """Words as letters in every layer but the last, where all words of a caption are alike."""

    name, fingerprint, kernel, layers = "mpnet", "0" * 12, "portable", 12

    def embed(self, captions: Any, threads: int = 0) -> Any:
        raise NotImplementedError

    def tokens(self, captions: Any, layer: int | None = None, threads: int = 0) -> TokenStates:  # noqa: ARG002
        found = get_encoder(spell).tokens(captions)
        if layer != self.layers:
            return found
        states = found.states.copy()
        for begin, end in zip(found.starts, found.ends, strict=True):
            states[begin:end] = states[begin:end].mean(axis=0)
        return replace(found, states=states)


class TestLayers:
    def test_words_of_mpnet_are_compared_below_its_last_layer(self) -> None:
        """Where a caption's words are all alike, any part of it says everything that it says."""
        encoder = Layered()
        ours, last = Consensus(encoder=encoder), Consensus(encoder=encoder, layer=12)
        found = [explain_one(metric, "a dog", ["a dog barks"]) for metric in (ours, last)]
        words = [metric.data_settings().get("words") for metric in (ours, last)]
        assert words == ["10", None]
        parts, parts_of_last = (one.parts for one in found)
        assert parts["cone"] == parts_of_last["cone"]
        assert parts["precision"] == pytest.approx(1)
        assert parts["precision"] > parts_of_last["precision"]
        assert parts["recall"] < parts_of_last["recall"]


class TestExplain:
    def test_tells_faults_and_words(self, consensus: Any) -> None:
        found = explain_one(consensus, "a puppy puppy sleeps on the", DOG[:1])
        notes = [span.note for span in found.spans]
        assert "repeated" not in notes[1] and "repeated" in notes[2]
        assert "incomplete end" in notes[-1]
        assert found.spans[2].value < found.spans[1].value
        missing = [found.references[0][s.start : s.end] for s in found.reference_spans[0]]
        assert missing == ["sofa"]
        assert found.parts["blend 1"] == 1.0

    def test_odd_neighbors_bear_what_they_cost(self, consensus: Any) -> None:
        found = explain_one(consensus, "a dog the on sofa", DOG)
        assert found.parts["oddity"] > 0
        assert [("rare pair" in span.note) for span in found.spans] == [
            *(False, True, True, True, False)  # dog the, the on
        ]

    def test_scores_as_score_does(self) -> None:
        def letters(captions: Any) -> Any:
            return [(c.split(), np.eye(26)[[ord(w[0]) - 97 for w in c.split()]]) for c in captions]

        metric = Consensus(encoder=letters)
        found = explain_one(metric, "a puppy sleeps on the", DOG)
        table = cidery.score(["a puppy sleeps on the"], [DOG], metrics=[metric])
        assert found.score == table.corpus["consensus"]

    def test_shares_of_the_blend(self, consensus: Any) -> None:
        parts = explain_one(consensus, "a cat in a tree", [*DOG, "a cat sits in a tree"]).parts
        weights = [parts[f"blend {number}"] for number in range(1, 5)]
        assert sum(weights) == pytest.approx(1)
        assert max(weights) == weights[3]


def read_example() -> Any:
    return read_references(str(bundled.path("references.json")))


class TestJudgments:
    def test_is_not_gamed(self, consensus: Any, tmp_path: Path) -> None:
        file = tmp_path / "judged.jsonl"
        lines = []
        for image, group in read_example().items():
            lines.append({"image": str(image), "references": list(group)})
            lines.append({"image": str(image), "caption": group[0], "rating": 1})
        file.write_text("\n".join(map(json.dumps, lines)))
        agreement = evaluate(
            read_dataset("judgments", file), [consensus], protocol="corruption", resamples=0
        )
        found = agreement.results["consensus"]
        assert found["accuracy"] >= 0.98
        assert found["accuracy_repeated"] == 1

    @pytest.mark.skipif(not SHARED.is_dir(), reason="needs ../shared/data")
    def test_with_people_on_pascal_50s(self, minilm: Encoder) -> None:
        """On the pairs of every seventh image of the half that the lens was not learned from."""
        pairs = read_dataset("pascal-50s", SHARED)
        names = list(json.loads((SHARED / "pascal50s" / "refs50.json").read_text()))
        digests = [sha256(name.encode()).digest() for name in names]
        images = pairs.judged.image_of_caption[pairs.first]
        unseen = [image for image in np.unique(images) if digests[image][-1] % 2 == 1]
        chosen = np.flatnonzero(np.isin(images, unseen[::7]))
        metrics = {
            "seen": Consensus(encoder=minilm),
            "raw": Consensus(encoder=minilm, lens=False),
        }
        found = evaluate(
            pairs.take(chosen).with_own_references(), metrics, references=5, resamples=0
        ).results
        assert found["seen"]["pairs"] > 250
        assert found["seen"]["accuracy"] > 0.85
        assert found["seen"]["accuracy"] >= found["raw"]["accuracy"]
