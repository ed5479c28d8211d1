"""Problems in captions are found with their cost; correct captions give no findings."""

from __future__ import annotations

from pathlib import Path

import pytest

import cidery
from cidery.auditing import FileAudit, Finding, audit_systems
from cidery.scoring import Pipeline, Scorer
from support.example import Example

Captions = dict[int, str]


def find(found: FileAudit, id: str) -> Finding:
    return next(finding for finding in found.findings if finding.id == id)


def ids(found: FileAudit) -> set[str]:
    return {finding.id for finding in found.findings}


def test_right_captions(example: Example) -> None:
    for system in (example.system_a, example.system_b):
        assert cidery.audit_files(system, example.references).findings == ()


def test_special_tokens(example: Example) -> None:
    marked = {i: f"{text} <eos>" for i, text in example.system_a.items()}
    found = cidery.audit_files(marked, example.references)
    right = cidery.audit_files(example.system_a, example.references)
    finding = find(found, "special-tokens")
    assert finding.count == len(marked)
    assert finding.examples[0].endswith("<eos>")
    assert finding.cost is not None
    assert found.score + finding.cost == pytest.approx(right.score)


def test_shifted_from_some_row_on(example: Example) -> None:
    texts = list(example.system_a.values())
    moved = dict(zip(example.system_a, [*texts[:20], "a dog", *texts[20:-1]], strict=True))
    finding = find(cidery.audit_files(moved, example.references), "shifted-ids")
    assert "from row 2" in finding.title
    assert finding.cost is not None
    assert finding.cost > 0.5


def test_swapped(example: Example) -> None:
    rows = [(i, text) for i, texts in example.references.items() for text in texts]
    candidates = {i: [text] for i, text in example.system_b.items()}
    assert "swapped" in ids(cidery.audit_files(rows, candidates))


def test_images(example: Example) -> None:
    rows = [
        *list(example.system_a.items())[3:],
        (-1, "a cat"),
        (list(example.system_a)[5], "a cat"),
    ]
    found = cidery.audit_files(rows, example.references)
    assert ids(found) == {"missing-images", "unknown-images", "duplicated-images"}
    assert find(found, "missing-images").count == 3
    assert find(found, "unknown-images").examples == ("-1",)
    assert "| a cat" in find(found, "duplicated-images").examples[0]


def test_truncated(example: Example) -> None:
    cut = {i: " ".join([*text.split()[:5], "of", "the"]) for i, text in example.system_a.items()}
    finding = find(cidery.audit_files(cut, example.references), "truncated")
    assert finding.count == len(cut)
    assert "at 7 words" in finding.title
    assert finding.cost is not None


@pytest.mark.parametrize(
    ("id", "text"),
    [
        ("mojibake", "a dogâ€™s cafÃ©"),
        ("html-entities", "a dog &amp; a cat"),
        ("escapes", "a dog\\n"),
        ("special-tokens", "a dog<|im_end|>"),
        ("prefix", "Answer: a dog"),
        ("quotes", '"a dog"'),
        ("markdown", "**a dog**"),
        ("reasoning", "<think>A dog?</think>a dog"),
        ("refusal", "I'm sorry, I cannot describe this image."),
        ("empty-captions", " . "),
    ],
)
def test_blemishes(example: Example, id: str, text: str) -> None:
    candidates = example.system_a | {next(iter(example.system_a)): text}
    finding = find(cidery.audit_files(candidates, example.references), id)
    assert finding.count == 1


def test_blemishes_of_references(example: Example) -> None:
    image = next(iter(example.references))
    references = example.references | {image: ["a dog � runs", "a dog"]}
    found = cidery.audit_files(example.system_a, references)
    assert find(found, "mojibake-in-references").count == 1


def test_names_are_no_mojibake(example: Example) -> None:
    image = next(iter(example.system_a))
    candidates = example.system_a | {image: "a café, a piñata and a naïve façade at Çeşme"}
    assert cidery.audit_files(candidates, example.references).findings == ()


def test_copies(example: Example) -> None:
    copied = {i: texts[0] for i, texts in example.references.items()}
    assert "references-among-candidates" in ids(cidery.audit_files(copied, example.references))


def test_one_caption_for_many(example: Example) -> None:
    same = dict.fromkeys(example.system_a, "a man riding a wave on a surfboard")
    found = cidery.audit_files(same, example.references)
    assert find(found, "one-caption-for-many").count == len(same)


def test_prompts(example: Example) -> None:
    prompted = {i: f"The image features {text}" for i, text in example.system_a.items()}
    finding = find(cidery.audit_files(prompted, example.references), "same-beginning")
    assert "the image features" in finding.title
    assert finding.cost is not None
    assert finding.cost > 0


def test_scripts_and_languages(example: Example) -> None:
    chinese = dict.fromkeys(example.system_a, "一只狗在海滩上奔跑")
    finding = find(cidery.audit_files(chinese, example.references), "unknown-script-in-captions")
    assert finding.advice == "Score with --language zh, or with --tokenizer words."
    arabic = dict.fromkeys(example.system_a, "كلب")  # too short to know the language
    finding = find(cidery.audit_files(arabic, example.references), "unknown-script-in-captions")
    assert finding.advice.startswith("Score with --language and its code, or")
    german = {i: f"ein Hund läuft am Strand entlang {i}" for i in example.system_a}
    assert "other-language" in ids(cidery.audit_files(german, example.references))


def test_ready_for_json(example: Example) -> None:
    content = cidery.audit_files(example.system_a, example.references).to_dict()
    assert content["images"] == len(example.system_a)
    assert content["findings"] == []


def test_real_systems(shared: Path) -> None:
    """Findings of real files are few and true: M² Transformer's captions end in `on a`."""
    folder = shared / "data" / "audit"
    references = cidery.read_references(folder / "references.json")
    found = {
        system: ids(
            cidery.audit_files(cidery.read_candidates(folder / f"{system}.json"), references)
        )
        for system in ("m2_transformer", "blip2")
    }
    assert found == {
        "m2_transformer": {"truncated"},
        "blip2": set(),
    }


@pytest.mark.filterwarnings("ignore::cidery.errors.UnreliableWarning")
def test_systems_share_prepared_references(
    example: Example, monkeypatch: pytest.MonkeyPatch
) -> None:
    prepared = []
    prepare = Pipeline.prepare

    def count(pipeline: Pipeline, corpus: cidery.Corpus) -> Scorer:
        prepared.append(corpus)
        return prepare(pipeline, corpus)

    monkeypatch.setattr(Pipeline, "prepare", count)
    systems = {"a": example.system_a, "b": example.system_b}
    found = audit_systems(systems, example.references, "references.json")
    assert len(prepared) == 1
    for name, captions in systems.items():
        expected = cidery.score(captions, example.references, "cider-d").corpus["cider-d"]
        assert found[name].score == expected
