"""explain() and explain_captions(), and what notebooks show."""

from __future__ import annotations

import json
import pickle
from dataclasses import dataclass
from html.parser import HTMLParser
from typing import Any

import numpy as np
import pytest

import cidery
from cidery.errors import InputError, LanguageWarning, MismatchError, SettingError
from cidery.markup import html_page, mark_text
from cidery.metrics import FunctionMetric
from cidery.metrics.base import Metric, Prepared, TokenizedReferences
from cidery.metrics.explanations import Contributions, Span
from cidery.runtime import Workspace
from cidery.scoring.explaining import choose_explaining
from cidery.scoring.pipeline import Pipeline
from support.example import Example

pytestmark = pytest.mark.filterwarnings("ignore::cidery.errors.UnreliableWarning")

NASTY = "<script>alert(\"1\")</script> & 'dog' ${x}"


class _Text(HTMLParser):
    """The text of a page, its tags, and what it would load."""

    def __init__(self) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.text = ""
        self.loaded: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.loaded += [str(v) for k, v in attrs if k in ("src", "href", "srcset")]
        self.loaded += [str(v) for k, v in attrs if k == "style" and "url" in str(v)]

    def handle_data(self, data: str) -> None:
        self.text += data


def read_html(html: str) -> _Text:
    page = _Text()
    page.feed(html)
    assert "script" not in page.tags and page.loaded == []
    return page


def _count(candidate: str, references: list[str]) -> float:
    return float(len(candidate) + len(references))


class TestExplain:
    def test_weights_of_one_caption_are_those_of_coco(self) -> None:
        found = cidery.explain("a dog runs", ["a dog is running"], ["cider-d", "bleu-2"])
        assert list(found) == ["cider-d", "bleu-2"]
        assert "frequencies:coco-val2014-" in found.signatures["cider-d"]
        table = cidery.score(
            ["a dog runs"], [["a dog is running"]], ["cider-d"], frequencies="coco-val2014"
        )
        assert found["cider-d"].score == table.each["cider-d"][0]

    def test_metrics_by_default(self) -> None:
        assert list(choose_explaining().metrics)[:2] == ["cider-d", "rouge-l"]
        assert set(choose_explaining().metrics) <= {"cider-d", "rouge-l", "meteor"}

    def test_captions_of_a_set_have_the_scores_that_they_have_in_it(self, example: Example) -> None:
        table = cidery.score(example.system_a, example.references, ["cider-d", "rouge-l"])
        image = list(example.system_a)[5]
        [found] = cidery.explain_captions(
            example.system_a, example.references, [str(image)], ["cider-d", "rouge-l"]
        )
        assert found.image == image
        assert found["cider-d"].candidate == example.system_a[image]
        assert found["cider-d"].score == table.each["cider-d"][5]
        assert "frequencies:references-72" in found.signatures["cider-d"]
        everything = cidery.explain_captions(example.system_a, example.references, None, "cider-d")
        assert [one["cider-d"].score for one in everything] == table.each["cider-d"].tolist()

    def test_an_image_with_several_captions(self, example: Example) -> None:
        image = next(iter(example.references))
        found = cidery.explain_captions(
            {image: ["a dog", "a cat"]}, {image: example.references[image]}, [image], "rouge-l"
        )
        assert [one["rouge-l"].candidate for one in found] == ["a dog", "a cat"]

    def test_what_cannot_be_explained(self, example: Example) -> None:
        with pytest.raises(InputError, match=r"^expected a list of references with at least one"):
            cidery.explain("a dog", "a dog")
        with pytest.raises(InputError, match=r"^candidates: caption 1 of image 0 is 3, expected t"):
            cidery.explain(3, ["a dog"])  # type: ignore[arg-type]
        with pytest.raises(InputError, match=r"half of a surrogate pair"):
            cidery.explain("a dog \ud83d", ["a dog"])
        with pytest.raises(SettingError, match=r"^ours cannot explain its scores; remove it, or "):
            cidery.explain("a dog", ["a dog"], {"ours": _count})
        with pytest.raises(MismatchError, match=r"^candidates has no caption of image 'x'; there "):
            cidery.explain_captions(example.system_a, example.references, ["x"])

    def test_a_scorer_says_which_metrics_it_has(self, example: Example) -> None:
        metrics = {"a": cidery.Bleu(1), "b": FunctionMetric(_count)}
        corpus = cidery.Corpus.build(example.system_a, example.references)
        scorer = Pipeline.choose(metrics).prepare(corpus)
        with pytest.raises(SettingError, match=r"^no metric 'c' here; there are a, b$"):
            scorer.explain("c", [], [])
        with pytest.raises(SettingError, match=r"^b cannot explain its scores; remove it$"):
            scorer.explain("b", [], [])
        assert scorer.explain("a", [], []) == []

    def test_results_can_be_kept_and_sent(self) -> None:
        found = cidery.explain("a dog runs", ["a dog is running"], ["cider-d", "bleu"])
        again = pickle.loads(pickle.dumps(found))
        assert dict(again) == dict(found)
        content = json.loads(json.dumps(found.to_dict()))
        assert content["references"] == ["a dog is running"]
        assert content["metrics"]["cider-d"]["spans"][0].keys() == {"start", "end", "value", "note"}
        assert str(found).startswith("cider-d ")

    def test_other_tokenizers_and_words_at_the_end(self) -> None:
        counts = cidery.DocumentFrequencies.from_references([["A Dog", "a cat"]] * 3)

        def cut(caption: str) -> list[str]:
            return [*caption.lower().split(), "<end>"]

        found = cidery.explain("A Dog", ["a dog"], ["bleu-1"], tokenizer=cut)["bleu-1"]
        assert [(s.start, s.end) for s in found.spans] == [(0, 1), (2, 5)]
        assert found.rest == pytest.approx(1 / 3)  # the end has no place in the caption
        with pytest.raises(cidery.CideryError, match="tokenizer"):
            cidery.explain("a", ["a"], ["cider-d"], tokenizer=cut, frequencies=counts)


@dataclass(frozen=True)
class Initials(Metric):
    """A metric of another package: the share of words that begin as the caption does."""

    @property
    def name(self) -> str:
        return "initials"

    @property
    def explanation_unit(self) -> str:
        return "word"

    def prepare(self, references: TokenizedReferences, work: Workspace) -> Prepared:  # noqa: ARG002
        return _PreparedInitials()


class _PreparedInitials(Prepared):
    def measure(self, candidates: Any, work: Any) -> Any:  # noqa: ARG002
        return np.full((len(candidates), 1), 0.5)

    def explain(self, candidates: Any, work: Any) -> list[Contributions]:  # noqa: ARG002
        spans = [Span(0, 1, 0.25, "begins")]
        return [Contributions(0.5, spans, exact=False) for _ in range(len(candidates))]


def test_metrics_of_others_explain_themselves() -> None:
    found = cidery.explain("dog", ["cat"], [Initials()])["initials"]
    assert found.spans == (Span(0, 1, 0.25, "begins"),) and found.rest == 0.25
    comparison = cidery.compare({"a": ["dog"], "b": ["cat"]}, [["cat"]], [Initials()], why=True)
    [difference] = comparison.differences
    assert [piece.piece for piece in difference.pieces] == ["d", "c"]


class TestNotebooks:
    def test_captions_are_text(self) -> None:
        found = cidery.explain(NASTY, [NASTY, "a dog"], ["cider-d", "rouge-l"])
        page = read_html(found._repr_html_())
        assert page.text.count(NASTY) == 4  # the caption and its reference, twice
        assert page.tags.count("span") > 4
        read_html(html_page(NASTY, found.to_html()))

    def test_marks(self) -> None:
        html = mark_text("a <dog>", [Span(0, 1, -0.5, '"why"'), Span(2, 7, 1.0)])
        assert read_html(html).text == "a <dog>"
        assert 'title="-0.5000 &quot;why&quot;"' in html and "dashed" in html
        assert mark_text("a < b", []) == "a &lt; b"
        assert "dotted" in mark_text("a", [Span(0, 1, 0.0)])

    def test_tables(self, example: Example) -> None:
        systems = {"<a>": example.system_a, "b": example.system_b}
        comparison = cidery.compare(systems, example.references, ["cider-d"], why=True)
        page = read_html(comparison._repr_html_())
        assert "<a>" in page.text and page.tags.count("table") == 3
        table = cidery.score(example.system_a, example.references, ["rouge-l"])
        html = table._repr_html_()
        assert f"{table.corpus['rouge-l']:.4f}" in html and "95 % interval" in html
        assert table.signatures["rouge-l"] in read_html(html).text
        one = cidery.score(["a dog"], [["a dog"]], ["rouge-l"])
        assert "interval" not in one._repr_html_()
        sets = {"x": ["a dog", "a cat"], "y": ["a man", "a woman"]}
        assert "self-cider" in read_html(cidery.measure_diversity(sets)._repr_html_()).text
        found = cidery.diversity.compare_diversity({"<ours>": sets})
        assert "<ours>" in read_html(found._repr_html_()).text


def test_captions_that_cannot_be_cut_are_warned_of() -> None:
    with pytest.warns(LanguageWarning, match="Japanese has no spaces"):
        cidery.explain("犬が走る", ["犬が走っている"], "rouge-l")
    with pytest.warns(LanguageWarning, match="Japanese has no spaces"):
        cidery.explain_captions({1: "犬が走る"}, {1: ["犬が走っている"]}, metrics="rouge-l")
