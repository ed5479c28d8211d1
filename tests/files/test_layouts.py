"""Layouts that pandas, spreadsheets and evaluation harnesses write, recognized by content."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from cidery.errors import FormatError, InputNote, MissingExtraError
from cidery.files import read_candidates, read_references
from cidery.files.list_cells import parse_list

pytestmark = pytest.mark.filterwarnings("ignore::cidery.errors.InputNote")

REFERENCES = {"1": ["a cat", "the cat's toy"], "2": ['a "big" dog', "two dogs"]}
CELLS = {
    "pandas": ['"[\'a cat\', ""the cat\'s toy""]"', '"[\'a ""big"" dog\', \'two dogs\']"'],
    "json": [
        '"[""a cat"", ""the cat\'s toy""]"',
        '"[""a \\""big\\"" dog"", ""two dogs""]"',
    ],
    "numpy": ['"[\'a cat\' ""the cat\'s toy""]"', '"[\'a ""big"" dog\'\n \'two dogs\']"'],
    "tuples": ['"(\'a cat\', ""the cat\'s toy"")"', '"(\'a ""big"" dog\', \'two dogs\')"'],
    "joined": ["a cat ||| the cat's toy", '"a ""big"" dog|||two dogs"'],
}


@pytest.mark.parametrize("form", CELLS)
def test_lists_in_cells(form: str) -> None:
    first, second = CELLS[form]
    content = f"image_id,refs\n1,{first}\n2,{second}\n".encode()
    found = read_references(content, name="refs.csv")
    assert found == REFERENCES
    (notice,) = found.notices
    assert notice.kind == "list-text"
    assert "refs.csv: the column 'refs' has" in notice.message
    assert notice.message.endswith("2 references per row")
    with pytest.warns(InputNote, match="2 references per row"):
        read_references(content, name="refs.csv")


def test_lists_of_different_sizes_and_of_candidates() -> None:
    content = b"id,caption\n1,\"['a cat']\"\n2,\"['a', 'b']\"\n3,\n"
    found = read_candidates(content, name="c.csv")
    assert found == [("1", "a cat"), ("2", "a"), ("2", "b")]
    assert "0 to 2 candidates per row" in found.notices[0].message


@pytest.mark.parametrize(
    "caption", ["[UNK] a dog", "(a dog)", "[a dog]", "a dog [1]", "[a dog] and [a cat]", "5"]
)
def test_captions_in_brackets_stay(caption: str) -> None:
    found = read_candidates(f"id,caption\n1,{caption}\n".encode(), name="c.csv")
    assert found == [("1", caption)]
    assert found.notices == ()


def test_bars_in_json_stay() -> None:
    assert read_candidates(b'[{"image_id": 1, "caption": "a ||| b"}]') == [(1, "a ||| b")]


def test_a_cell_that_is_no_list_among_lists_is_an_error() -> None:
    content = b'id,refs\n1,"[\'a cat\']"\n2,"[\'a dog]"\n'
    with pytest.raises(
        FormatError, match=r"refs.csv, row 2: the cell of 'refs' begins like a list"
    ):
        read_references(content, name="refs.csv")


def test_lists_that_are_no_captions() -> None:
    assert parse_list("[1, 2]") is None
    assert parse_list("[") is None
    assert parse_list("(" * 5000) is None
    assert parse_list("a dog") is None


@pytest.mark.parametrize(
    "names",
    [
        *("ref1,ref2", "ref_1,ref_2", "reference_1,reference_2", "references[0],references[1]"),
        *("caption_1,caption_2", "Reference 1,Reference 2", "sentence.0,sentence.1"),
    ],
)
def test_numbered_columns(names: str) -> None:
    content = f"image_id,{names}\n1,a cat,the cat\n2,a dog,\n".encode()
    assert read_references(content, name="r.csv") == {"1": ["a cat", "the cat"], "2": ["a dog"]}


def test_numbered_references_beside_candidates() -> None:
    content = b"image_id,caption,ref2,ref1\n1,a cat sits,the cat,a cat\n"
    assert read_references(content, name="r.csv") == {"1": ["a cat", "the cat"]}
    assert read_candidates(content, name="r.csv") == [("1", "a cat sits")]


def test_several_rows_per_image() -> None:
    content = b"image_id,caption\n1,a cat\n1,the cat\n2,a dog\n"
    assert read_references(content, name="r.csv") == {"1": ["a cat", "the cat"], "2": ["a dog"]}


WRAPPED: list[tuple[Any, Any]] = [
    ({"results": [{"image_id": 1, "caption": "a cat"}]}, [(1, "a cat")]),
    ({"model": "m", "predictions": {"1": "a cat"}}, [("1", "a cat")]),
    ({"predictions": {"1": ["a cat"]}, "references": {"1": ["no"]}}, [("1", "a cat")]),
    ({"config": {}, "outputs": [{"id": "x", "candidate": "a cat"}]}, [("x", "a cat")]),
]


@pytest.mark.parametrize(("document", "expected"), WRAPPED)
def test_captions_under_a_key(document: Any, expected: Any) -> None:
    found = read_candidates(json.dumps(document).encode(), name="p.json")
    assert found == expected
    assert found.notices[0].kind == "wrapped"


def test_both_sides_under_keys() -> None:
    document = {"predictions": {"1": "a"}, "references": {"1": ["b", "c"]}}
    assert read_references(json.dumps(document).encode()) == {"1": ["b", "c"]}


def test_a_single_record_is_not_unwrapped() -> None:
    document = {"image_id": 7, "captions": [{"raw": "a cat", "imgid": 3}]}
    assert read_references(json.dumps(document).encode()) == {7: ["a cat"]}
    assert read_references(b'{"results": ["a cat"], "x": ["b"]}') == {
        "results": ["a cat"],
        "x": ["b"],
    }


LMMS_EVAL = "\n".join(
    json.dumps(
        {
            "doc_id": number,
            "doc": {
                "question_id": f"COCO_val2014_{number:012}.jpg",
                "answer": ["a cat", "the cat"],
            },
            "target": "['a cat', 'the cat']",
            "arguments": {},
            "resps": [["a black cat"]],
            "filtered_resps": [response],
            "coco_CIDEr": {"pred": "a black cat"},
        }
    )
    for number, response in ((0, "a black cat"), (1, ["a dog"]))
)
VLMEVALKIT = (
    "index\timage\tquestion\tanswer\tprediction\n"
    "0\t" + "A" * 200_000 + "\tDescribe.\t['a cat', 'the cat']\ta black cat\n"
    "1\tAAAA\tDescribe.\t\"['a cat', 'the cat']\"\ta dog\n"
)
OPENCOMPASS = json.dumps(
    {
        "0": {
            "origin_prompt": "Describe.",
            "prediction": "a black cat",
            "gold": ["a cat", "the cat"],
        },
        "1": {"origin_prompt": "Describe.", "prediction": "a dog", "gold": "['a cat', 'the cat']"},
    }
)
HELM = json.dumps(
    {
        "adapter_spec": {},
        "request_states": [
            {
                "instance": {
                    "id": str(number),
                    "references": [
                        {"output": {"text": text}, "tags": ["correct"]}
                        for text in ("a cat", "the cat")
                    ],
                },
                "result": {"completions": [{"text": caption}]},
            }
            for number, caption in enumerate(("a black cat", "a dog"))
        ],
    }
)


@pytest.mark.parametrize(
    ("name", "content", "ids"),
    [
        (
            "samples.jsonl",
            LMMS_EVAL,
            ["COCO_val2014_000000000000.jpg", "COCO_val2014_000000000001.jpg"],
        ),
        ("model_COCO_VAL.tsv", VLMEVALKIT, ["0", "1"]),
        ("predictions.json", OPENCOMPASS, ["0", "1"]),
        ("scenario_state.json", HELM, ["0", "1"]),
    ],
)
def test_logs_of_harnesses(name: str, content: str, ids: list[str]) -> None:
    candidates = read_candidates(content.encode(), name=name)
    assert candidates == list(zip(ids, ["a black cat", "a dog"], strict=True))
    assert candidates.notices[0].kind == "log"
    references = read_references(content.encode(), name=name)
    assert references == {key: ["a cat", "the cat"] for key in ids}


def test_helm_predictions() -> None:
    content = b'[{"instance_id": "id1", "train_trial_index": 0, "predicted_text": "a dog"}]'
    assert read_candidates(content) == [("id1", "a dog")]


def test_lmms_eval_without_documents() -> None:
    content = b'{"doc_id": 3, "target": "a cat", "filtered_resps": [["a", "b"]]}\n'
    assert read_candidates(content, name="s.jsonl") == [(3, "a"), (3, "b")]
    assert read_references(content, name="s.jsonl") == {3: ["a cat"]}


def test_chosen_fields_are_read_as_they_are() -> None:
    found = read_candidates(
        LMMS_EVAL.encode(), name="s.jsonl", id_field="doc_id", caption_field="target"
    )
    assert found[0] == (0, "a cat")


def write_xlsx(path: Path, rows: list[list[Any]]) -> Path:
    openpyxl = pytest.importorskip("openpyxl")
    book = openpyxl.Workbook()
    for row in rows:
        book.active.append(row)
    book.save(path)
    return path


def test_excel(tmp_path: Path) -> None:
    rows = [["image_id", "ref1", "ref2"], [391895, "a cat", None], [7, "a dog", "two dogs"]]
    path = write_xlsx(tmp_path / "refs.xlsx", rows)
    assert read_references(path) == {391895: ["a cat"], 7: ["a dog", "two dogs"]}
    assert read_references(path.read_bytes()) == read_references(path)
    rows = [["index", "question", "answer", "prediction"], [0, "Q", "['a', 'b']", "a dog"]]
    path = write_xlsx(tmp_path / "vlm.xlsx", rows)
    assert read_candidates(path) == [(0, "a dog")]
    assert read_references(path) == {0: ["a", "b"]}


def test_damaged_excel(tmp_path: Path) -> None:
    pytest.importorskip("openpyxl")
    path = tmp_path / "refs.xlsx"
    path.write_bytes(b"PK\x03\x04 damaged")
    with pytest.raises(
        FormatError, match=r"refs.xlsx: not an Excel file \(.xlsx\) that can be read"
    ):
        read_references(path)
    with pytest.raises(FormatError, match="the first sheet is empty"):
        read_references(write_xlsx(path, []))


def test_excel_needs_an_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "openpyxl", None)
    with pytest.raises(MissingExtraError, match=r"pip install 'cidery\[excel\]'"):
        read_references(b"PK\x03\x04", name="refs.xlsx")


def test_streams_refuse_what_they_would_read_differently(tmp_path: Path) -> None:
    from cidery.files import read_chunk, split_file

    path = tmp_path / "refs.jsonl"
    path.write_text('{"id": 1, "refs": "[\'a cat\', \'the cat\']"}\n')
    with pytest.raises(FormatError, match="the field 'refs' has lists in text, which are not"):
        list(read_chunk(split_file(str(path))[0], "references"))
    path.write_text(LMMS_EVAL)
    with pytest.raises(FormatError, match="this is a log of lmms-eval, which is not streamed"):
        list(read_chunk(split_file(str(path))[0], "references"))


def test_streams_of_parquet_refuse_lists_in_text(tmp_path: Path) -> None:
    pyarrow = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    from cidery.files import read_chunk, split_file

    path = tmp_path / "refs.parquet"
    for text in ("['a cat', 'the cat']", "a cat ||| the cat"):
        parquet.write_table(pyarrow.table({"id": [1], "refs": [text]}), path)
        with pytest.raises(FormatError, match="which are not streamed"):
            list(read_chunk(split_file(str(path))[0], "references"))
        assert read_references(path) == {1: ["a cat", "the cat"]}
