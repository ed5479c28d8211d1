"""Which fields are read, which are ambiguous, and how to name one."""

from __future__ import annotations

import json
from typing import Any

import pytest

from cidery.errors import FormatError
from cidery.files import read_candidates, read_references

SYSTEM = "what a system said"
PEOPLE = ["what people said", "or this"]


def lines(*records: dict[str, Any]) -> bytes:
    return "\n".join(json.dumps({"image_id": n} | r) for n, r in enumerate(records, 1)).encode()


def candidates(record: dict[str, Any], **chosen: str) -> list[str]:
    return [caption for _, caption in read_candidates(lines(record), name="x.jsonl", **chosen)]  # type: ignore[arg-type]


def references(record: dict[str, Any], **chosen: str) -> list[str]:
    return read_references(lines(record), name="x.jsonl", **chosen)[1]  # type: ignore[arg-type]


def refusal(read: Any, record: dict[str, Any]) -> str:
    with pytest.raises(FormatError) as caught:
        read(record)
    return str(caught.value)


@pytest.mark.parametrize(
    "field",
    [
        *("prediction", "predictions", "pred", "output", "outputs", "response", "answer"),
        *("generated", "generated_caption", "generated_text", "hypothesis", "hypotheses", "hyp"),
        *("candidate", "candidates", "model_output", "modelOutput", "pred_caption", "caption_pred"),
        *("predicted-caption", "completion", "text", "result"),
    ],
)
@pytest.mark.parametrize("caption", ["caption", "captions", "sentences", "caption_1"])
def test_captions_beside_a_systems_output_are_ambiguous(field: str, caption: str) -> None:
    record = {caption: PEOPLE if caption != "caption_1" else PEOPLE[0], field: SYSTEM}
    if field.startswith("candidate") and caption == "caption_1":
        assert candidates(record) == [SYSTEM], "numbered captions are the references"
        return
    message = refusal(candidates, record)
    assert repr(field) in message
    assert repr(caption) in message
    assert message.endswith(
        " may both hold the captions to score; name one with caption_field= (--caption-field)"
    )
    assert candidates(record, caption_field=field) == [SYSTEM]
    assert references(record) == (PEOPLE if caption != "caption_1" else PEOPLE[:1])


@pytest.mark.parametrize("field", ["ground_truth", "gt", "gold_caption", "target", "groundTruth"])
def test_captions_beside_ground_truth_are_ambiguous_as_references(field: str) -> None:
    record = {"caption": SYSTEM, field: PEOPLE}
    assert refusal(references, record) == (
        f"x.jsonl: 'caption' and {field!r} may both hold the references; name one with "
        "caption_field= (--reference-field)"
    )
    assert references(record, caption_field=field) == PEOPLE
    assert candidates(record) == [SYSTEM]


@pytest.mark.parametrize(
    "record",
    [
        {"caption": SYSTEM, "captions": PEOPLE},
        {"captions": PEOPLE, "sentences": PEOPLE},
        {"caption": SYSTEM, "caption_1": PEOPLE[0]},
    ],
)
def test_captions_twice_are_ambiguous_on_both_sides(record: dict[str, Any]) -> None:
    for read in (candidates, references):
        assert "may both hold" in refusal(read, record)


@pytest.mark.parametrize("own", ["references", "refs"])
@pytest.mark.parametrize("shared", ["caption", "captions", "candidate", "candidates"])
def test_references_say_what_they_are(own: str, shared: str) -> None:
    record = {shared: SYSTEM, own: PEOPLE}
    assert candidates(record) == [SYSTEM]
    assert references(record) == PEOPLE


def test_references_under_two_names_are_ambiguous() -> None:
    assert "'references' and 'refs' may both hold the references" in refusal(
        references, {"references": PEOPLE, "refs": PEOPLE}
    )
    assert "'references' and 'ground_truth' may both" in refusal(
        references, {"references": PEOPLE, "ground_truth": PEOPLE}
    )


def test_three_fields_are_listed() -> None:
    record = {"caption": "a", "prediction": "b", "output": "c"}
    assert "'caption', 'prediction' and 'output' may all hold" in refusal(candidates, record)


@pytest.mark.parametrize(
    "more",
    [
        {"prediction": 0.93},
        {"answer": 7, "output": {"tokens": []}},
        {"answer_id": "a1", "output_length": "7", "prediction_2": "x", "pred_score": "0.1"},
        {"question": "what?", "model": "ours", "image": "x.jpg", "tokens": ["a"]},
    ],
)
def test_what_cannot_hold_captions_is_no_rival(more: dict[str, Any]) -> None:
    assert candidates({"caption": SYSTEM} | more) == [SYSTEM]
    assert references({"captions": PEOPLE} | more) == PEOPLE


def test_a_blank_may_hold_captions_in_other_records() -> None:
    assert "may both hold" in refusal(candidates, {"captions": PEOPLE, "prediction": None})


def test_later_records_are_looked_at_too() -> None:
    content = lines({"caption": "a"}, {"caption": "b", "prediction": "c"})
    with pytest.raises(FormatError, match=r"^candidates, entry 2: 'caption' and 'prediction' may"):
        read_candidates(content)
    assert read_references(content) == {1: ["a"], 2: ["b"]}
    with pytest.raises(FormatError, match=r"entry 2: 'caption' and 'gt' may both hold the ref"):
        read_references(lines({"caption": "a"}, {"caption": "b", "gt": "c"}))
    assert read_references(lines({"references": ["a"]}, {"references": ["b"], "caption": "c"})) == {
        1: ["a"],
        2: ["b"],
    }


def test_tables_are_ambiguous_too() -> None:
    content = b"image_id,caption,prediction\n1,a,b\n"
    with pytest.raises(FormatError, match=r"^x.csv: 'caption' and 'prediction' may both"):
        read_candidates(content, name="x.csv")
    assert read_candidates(content, name="x.csv", caption_field="prediction") == [("1", "b")]


def test_parquet_is_ambiguous_too() -> None:
    pyarrow = pytest.importorskip("pyarrow")
    ipc = pytest.importorskip("pyarrow.ipc")

    def arrow(**columns: list[Any]) -> bytes:
        table = pyarrow.table({"image_id": [1], **columns})
        sink = pyarrow.BufferOutputStream()
        with ipc.new_stream(sink, table.schema) as writer:
            writer.write_table(table)
        return bytes(sink.getvalue())

    content = arrow(captions=[PEOPLE], prediction=[SYSTEM])
    with pytest.raises(FormatError, match="'captions' and 'prediction' may both"):
        read_candidates(content)
    assert read_candidates(content, caption_field="prediction") == [(1, SYSTEM)]
    assert read_references(content) == {1: PEOPLE}
    assert read_candidates(arrow(caption=[SYSTEM], prediction=[0.5])) == [(1, SYSTEM)]


def test_fields_can_be_named() -> None:
    content = b'[{"photo": 7, "id": 9, "said": "a cat", "human": ["the cat"]}]'
    assert read_candidates(content, id_field="photo", caption_field="said") == [(7, "a cat")]
    assert read_references(content, id_field="photo", caption_field="human") == {7: ["the cat"]}
    one = b'{"photo": 7, "said": "a cat"}'
    assert read_candidates(one, id_field="photo", caption_field="said") == [(7, "a cat")]


def test_named_fields_may_hold_objects() -> None:
    content = lines({"said": [{"raw": "a cat"}, {"caption": "the cat"}]})
    assert read_references(content, caption_field="said") == {1: ["a cat", "the cat"]}


def test_named_fields_must_be_there() -> None:
    content = b'[{"image_id": 7, "caption": "a"}]'
    with pytest.raises(FormatError) as caught:
        read_candidates(content, caption_field="said")
    assert str(caught.value) == (
        "candidates: there is no field 'said', which caption_field= (--caption-field) names; "
        "found image_id, caption"
    )
    with pytest.raises(FormatError) as caught:
        read_references(content, id_field="photo")
    assert str(caught.value) == (
        "references: there is no field 'photo', which id_field= (--id-field) names; found "
        "image_id, caption; --reference-id-field names that of the references alone"
    )


def test_a_systems_output_alone_must_be_named() -> None:
    message = refusal(candidates, {"prediction": SYSTEM})
    assert message.endswith(
        "found image_id, prediction; name one with caption_field= (--caption-field)"
    )


def test_a_single_record_is_no_mapping_of_ids() -> None:
    content = b'{"image_id": "a.jpg", "captions": ["x", "y"], "source": "mine"}'
    assert read_references(content) == {"a.jpg": ["x", "y"]}


def test_captions_by_id_have_no_fields() -> None:
    content = b'{"a": ["x"]}'
    assert read_references(content, id_field="photo") == {"a": ["x"]}
    with pytest.raises(FormatError, match=r"leave caption_field='said' \(--reference-field\) out"):
        read_references(content, caption_field="said")
