from __future__ import annotations

import codecs
import csv
import gc
import gzip
import io
import json
import math
import os
import pickle
import stat
import sys
from collections import Counter, OrderedDict, defaultdict
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

from cidery.corpus import Corpus
from cidery.errors import (
    FormatError,
    FrequenciesError,
    InputError,
    MissingExtraError,
    SettingError,
)
from cidery.files import (
    FORMATS,
    read_candidates,
    read_frequency_pickle,
    read_references,
    write_rows,
)
from support.captions import (
    CANDIDATES,
    REFERENCES,
    coco_annotations,
    in_one_directory,
    reference_sets,
    write_json,
)

SHARED = Path(__file__).parents[3] / "shared" / "data"
SHARED_KARPATHY = SHARED / "coco_karpathy"


def save(path: Path, content: str | bytes) -> Path:
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


def complaint(path: Path, **choices: Any) -> str:
    """Return what reading references says, without the directory in front."""
    with pytest.raises(FormatError) as caught:
        read_references(path, **choices)
    message = str(caught.value)
    assert message.startswith(str(path))
    return message.removeprefix(f"{path.parent}{os.sep}")


def json_complaint(directory: Path, document: Any, **choices: Any) -> str:
    return complaint(write_json(directory / "data.json", document), **choices)


def karpathy(*extra: dict[str, Any]) -> dict[str, Any]:
    """Return a small dataset in the shape of `dataset_coco.json`."""
    images = [
        {"split": split, "cocoid": cocoid, "imgid": number, "filename": f"{cocoid}.jpg"}
        | {"sentences": [{"raw": f"a {split} image", "tokens": ["a"]}, {"raw": "Another."}]}
        for number, (split, cocoid) in enumerate([("train", 40), ("restval", 30), ("test", 20)])
    ]
    return {"dataset": "coco", "images": [*images, *extra]}


# COCO, results and mappings


@in_one_directory
@given(references=reference_sets())
def test_json_shapes_hold_the_same_references(
    tmp_path: Path, references: dict[Any, list[str]]
) -> None:
    shapes = {
        "coco": {"annotations": coco_annotations(references)},
        "results": coco_annotations(references),
        "grouped": [{"image_id": i, "captions": group} for i, group in references.items()],
        "karpathy": {
            "images": [
                {"imgid": image, "sentences": [{"raw": caption} for caption in group]}
                for image, group in references.items()
            ]
        },
    }
    for name, document in shapes.items():
        assert read_references(write_json(tmp_path / f"{name}.json.gz", document)) == references
    rows = [(image, caption) for image, group in references.items() for caption in group]
    for name in shapes:
        assert read_candidates(tmp_path / f"{name}.json.gz") == rows
    spelled = {str(image): group for image, group in references.items()}
    assert read_references(write_json(tmp_path / "mapping.json", spelled)) == spelled


def test_images_without_annotations_and_extra_fields_are_tolerated(tmp_path: Path) -> None:
    document = {
        "info": {},
        "licenses": [],
        "images": [{"id": 1}, {"id": 2}],
        "annotations": [{"image_id": 1, "id": 9, "caption": "a", "area": 3}] * 2,
    }
    assert read_references(write_json(tmp_path / "a.json", document)) == {1: ["a", "a"]}


def test_mappings_hold_one_caption_or_several_or_objects(tmp_path: Path) -> None:
    document = {"a": "one", "b": ["two", "three"], "c": [{"caption": "four"}], "d": []}
    path = write_json(tmp_path / "a.json", document)
    expected = {"a": ["one"], "b": ["two", "three"], "c": ["four"], "d": []}
    assert read_references(path) == expected
    assert read_candidates(path) == [("a", "one"), ("b", "two"), ("b", "three"), ("c", "four")]


def test_integer_and_string_ids_keep_their_type(tmp_path: Path) -> None:
    records = [{"image_id": 7, "caption": "a"}, {"image_id": "007", "caption": "b"}]
    assert read_candidates(write_json(tmp_path / "a.json", records)) == [(7, "a"), ("007", "b")]


def test_a_record_with_both_sides_serves_both(tmp_path: Path) -> None:
    records = [
        {"image_id": 1, "candidate": "x", "references": ["a", "b"]},
        {"image_id": 1, "candidate": "y", "references": ["a", "b"]},
    ]
    path = write_json(tmp_path / "a.json", records)
    assert read_candidates(path) == [(1, "x"), (1, "y")]
    assert read_references(path) == {1: ["a", "b"]}, "repeated with each candidate"


def test_the_id_of_the_image_goes_before_that_of_the_annotation(tmp_path: Path) -> None:
    records = [{"id": 5, "image_id": 1, "file_name": "x.jpg", "caption": "a"}]
    assert read_candidates(write_json(tmp_path / "a.json", records)) == [(1, "a")]


# Splits


def test_splits_are_chosen_and_combined(tmp_path: Path) -> None:
    path = write_json(tmp_path / "dataset_coco.json", karpathy())
    assert list(read_references(path)) == [40, 30, 20]
    assert read_references(path, split="test") == {20: ["a test image", "Another."]}
    assert list(read_references(path, split="restval+train")) == [40, 30]


def test_karpathy_ids_fall_back_to_imgid_and_filename(tmp_path: Path) -> None:
    document = karpathy()
    for image in document["images"]:
        del image["cocoid"]
    assert list(read_references(write_json(tmp_path / "a.json", document))) == [0, 1, 2]
    for image in document["images"]:
        del image["imgid"]
    assert "40.jpg" in read_references(write_json(tmp_path / "a.json", document))


def test_lists_of_files_have_splits_too(tmp_path: Path) -> None:
    records = [
        {"split": "val", "image_name": "a.jpg", "file_path": "val2014", "captions": ["x", "y"]},
        {"split": "test", "image_name": "b.jpg", "file_path": "val2014", "captions": ["z"]},
    ]
    path = write_json(tmp_path / "a.json", records)
    assert read_references(path, split="val") == {"a.jpg": ["x", "y"]}


def test_unknown_splits_are_refused_with_those_there_are(tmp_path: Path) -> None:
    path = write_json(tmp_path / "a.json", karpathy())
    with pytest.raises(SettingError) as caught:
        read_references(path, split="test+dev")
    assert str(caught.value) == (
        f"{path} has no split 'dev'; it has restval (1), test (1), train (1)"
    )


@pytest.mark.parametrize("document", [{"a": ["x"]}, [{"id": 1, "caption": "x"}]])
def test_a_split_of_a_file_without_splits_is_refused(tmp_path: Path, document: Any) -> None:
    path = write_json(tmp_path / "a.json", document)
    with pytest.raises(SettingError, match=r"has no splits; leave split='test' \(--split\) out"):
        read_references(path, split="test")


# JSON lines, CSV, Parquet


def test_json_lines_are_read_with_and_without_their_suffix(tmp_path: Path) -> None:
    lines = '{"id": 1, "captions": ["a", "b"]}\r\n\n{"id": "x", "captions": ["c\u2028d"]}\n'
    for name in ("a.jsonl", "a.ndjson", "a.json", "a"):
        assert read_references(save(tmp_path / name, lines)) == {1: ["a", "b"], "x": ["c\u2028d"]}


@pytest.mark.parametrize("name", ["a.jsonl", "a"])
def test_one_json_line_is_a_record(tmp_path: Path, name: str) -> None:
    path = save(tmp_path / name, '{"image_id": 1, "caption": "a"}')
    assert read_candidates(path) == [(1, "a")]


@in_one_directory
@given(references=reference_sets(), dialect=st.sampled_from(["excel", "excel-tab", "unix"]))
def test_csv_holds_any_caption(
    tmp_path: Path, references: dict[Any, list[str]], dialect: str
) -> None:
    # The csv module of Python 3.10 can neither write nor read NUL.
    assume(sys.version_info >= (3, 11) or "\0" not in str(references).replace(r"\x00", "\0"))
    text = io.StringIO()
    writer = csv.writer(text, dialect)
    writer.writerow(["image_id", "caption"])
    rows = [(str(image), caption) for image, group in references.items() for caption in group]
    writer.writerows(rows)
    path = save(tmp_path / ("a.tsv" if dialect == "excel-tab" else "a.csv"), text.getvalue())
    assert read_candidates(path) == rows


def test_csv_with_numbered_captions_skips_blank_cells(tmp_path: Path) -> None:
    names = ",".join(f"caption_{number}" for number in (1, 2, 10, 9))
    path = save(tmp_path / "clotho.csv", f"file_name,{names}\r\na.wav,x,y,last,\r\nb.wav,z,,,\r\n")
    assert read_references(path) == {"a.wav": ["x", "y", "last"], "b.wav": ["z"]}


def test_csv_keeps_empty_candidates(tmp_path: Path) -> None:
    path = save(tmp_path / "a.csv", "audio,caption\na.wav,\n")
    assert read_candidates(path) == [("a.wav", "")]


@pytest.mark.parametrize("delimiter", [",", "\t", ";"])
def test_the_header_tells_the_delimiter(tmp_path: Path, delimiter: str) -> None:
    path = save(tmp_path / "a", f"id{delimiter}caption\n1{delimiter}a: cat\n")
    assert read_candidates(path) == [("1", "a: cat")]


@pytest.mark.parametrize("name", ["a.csv", "a.json"])
@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16"])
def test_byte_order_marks_are_understood(tmp_path: Path, name: str, encoding: str) -> None:
    text = "id,caption\n1,café\n" if name == "a.csv" else '[{"id": "1", "caption": "café"}]'
    assert read_candidates(save(tmp_path / name, text.encode(encoding))) == [("1", "café")]


@pytest.mark.parametrize("suffix", ["parquet", "arrow", "feather", "stream", "bin"])
def test_parquet_and_arrow(tmp_path: Path, suffix: str) -> None:
    pyarrow = pytest.importorskip("pyarrow")
    ipc = pytest.importorskip("pyarrow.ipc")
    table = pyarrow.table(
        {
            "image": [b"pixels", b"pixels"],
            "image_id": [7, 8],
            "split": ["val", "test"],
            "captions": [["a", "b"], ["c"]],
        }
    )
    path = tmp_path / f"a.{suffix}"
    if suffix == "feather":
        pytest.importorskip("pyarrow.feather").write_feather(table, path)
    elif suffix in ("arrow", "stream"):
        new = ipc.new_file if suffix == "arrow" else ipc.new_stream
        with new(path, table.schema) as writer:
            writer.write_table(table)
    else:
        pytest.importorskip("pyarrow.parquet").write_table(table, path)
    assert read_references(path) == {7: ["a", "b"], 8: ["c"]}
    assert read_candidates(path, split="test") == [(8, "c")]
    save(path, path.read_bytes()[:-20] if suffix != "stream" else path.read_bytes()[:40])
    assert ": not a complete " in complaint(path)


def test_parquet_rows_are_named(tmp_path: Path) -> None:
    pytest.importorskip("pyarrow")
    path = tmp_path / "a.parquet"
    write_rows(path, {"id": [1, 2], "caption": ["a", None]})
    assert complaint(path) == (
        "a.parquet, row 2: the caption is null, expected text or a list of texts"
    )


def test_without_pyarrow_the_extra_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    path = save(tmp_path / "a.parquet", b"PAR1")
    with pytest.raises(MissingExtraError, match=r"read Parquet .* pip install 'cidery\[parquet\]'"):
        read_references(path)
    with pytest.raises(
        MissingExtraError, match=r"write Parquet .* pip install 'cidery\[parquet\]'"
    ):
        write_rows(tmp_path / "b.parquet", {"id": [1]})
    assert not list(tmp_path.glob("*b.parquet*"))


# Where content comes from


@pytest.mark.parametrize("name", ["a.json.gz", "a.json"])
def test_gzip_is_recognized_by_content(tmp_path: Path, name: str) -> None:
    path = save(tmp_path / name, gzip.compress(json.dumps(REFERENCES).encode()))
    assert read_references(path) == REFERENCES


def test_suffixes_count_below_gz(tmp_path: Path) -> None:
    path = save(tmp_path / "a.jsonl.gz", gzip.compress(b'{"id": 1, "caption": "a"}'))
    assert read_candidates(path) == [(1, "a")]


@pytest.mark.parametrize("damage", ["cut", "flip", "header"])
def test_damaged_gzip_is_refused(tmp_path: Path, damage: str) -> None:
    content = bytearray(gzip.compress(json.dumps(REFERENCES).encode()))
    if damage == "cut":
        del content[-12:]
    else:
        content[20 if damage == "flip" else 2] ^= 0xFF
    message = complaint(save(tmp_path / "a.json.gz", bytes(content)))
    assert message.startswith("a.json.gz: the gzip data is damaged or cut short (")


def test_a_dash_is_standard_input(monkeypatch: pytest.MonkeyPatch) -> None:
    def feed(content: bytes) -> None:
        monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(content)))

    feed(json.dumps(CANDIDATES).encode())
    assert dict(read_candidates("-")) == CANDIDATES
    feed(b"[3]")
    with pytest.raises(FormatError, match=r"^standard input, entry 1: expected an object"):
        read_candidates("-")


def test_files_that_are_not_there_stay_os_errors(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        read_references(tmp_path / "none.json")


@pytest.mark.parametrize("enabled", [True, False])
def test_the_collector_is_left_as_it_was(tmp_path: Path, enabled: bool) -> None:
    path = save(tmp_path / "a.json", "[")
    try:
        if not enabled:
            gc.disable()
        with pytest.raises(FormatError):
            read_references(path)
        assert gc.isenabled() == enabled
    finally:
        gc.enable()


# What is refused


def test_formats_can_be_named(tmp_path: Path) -> None:
    path = save(tmp_path / "captions.txt", "id;caption;x\n1;a\tb;c\n")
    assert read_candidates(path, format="csv") == [("1", "a\tb")]
    document = {"annotations": [{"id": 1, "caption": "a"}]}
    assert read_candidates(write_json(tmp_path / "x.csv", document), format="coco") == [(1, "a")]
    assert "there is no list of 'images', which the karpathy format has" in json_complaint(
        tmp_path, document, format="karpathy"
    )
    assert "expected an object that maps ids to captions" in json_complaint(
        tmp_path, [], format="mapping"
    )


def test_unknown_formats_are_refused(tmp_path: Path) -> None:
    with pytest.raises(SettingError) as caught:
        read_references(tmp_path / "a", format="xml")  # type: ignore[arg-type]
    assert str(caught.value) == f"unknown format 'xml'; known: {', '.join(FORMATS)}"


@pytest.mark.parametrize("document", [3, "text", None, {"a": 3}, {"images": [], "info": {}}])
def test_unknown_shapes_name_the_known_ones(tmp_path: Path, document: Any) -> None:
    message = json_complaint(tmp_path, document)
    assert message.startswith("data.json: unknown JSON format; ")
    for known in ("COCO annotations", "Karpathy", "{id: [captions]}", "CSV", "Parquet"):
        assert known in message


@pytest.mark.parametrize("content", [b"", b"plain text; no header\n", b"\x00\x01\x02"])
def test_unrecognized_files_name_the_known_formats(tmp_path: Path, content: bytes) -> None:
    message = complaint(save(tmp_path / "a.txt", content))
    assert message.startswith("a.txt: unknown format; supported are COCO")
    assert message.endswith(
        "; give the file the suffix of its format (.json, .jsonl, .ndjson, .csv, .tsv)"
    )


def test_broken_json_is_located(tmp_path: Path) -> None:
    path = save(tmp_path / "a.json", '{\n"a": ["x"\n')
    assert complaint(path) == (
        "a.json: not JSON: Expecting ',' delimiter in line 3, column 1; "
        "check that the file is complete"
    )
    path = save(tmp_path / "a.json", '{\n"a": ["x"]\n}]')
    assert "a.json: not JSON: Extra data in line 3, column 2" in complaint(path)
    path = save(tmp_path / "a.json", "<html>")
    assert "line 1, column 1" in complaint(path)


@pytest.mark.parametrize("text", ["[" * 200_000, "[" + "1" * 5000 + "]"])
def test_excessive_json_is_refused(tmp_path: Path, text: str) -> None:
    assert "a.json: not JSON" in complaint(save(tmp_path / "a.json", text))
    assert "a.jsonl: line 1 is not JSON" in complaint(save(tmp_path / "a.jsonl", text))


def test_broken_json_lines_are_located(tmp_path: Path) -> None:
    path = save(tmp_path / "a.jsonl", '{"id": 1, "caption": "a"}\n\n{"id": 2,\n')
    assert complaint(path) == (
        "a.jsonl: line 3 is not JSON: Expecting property name enclosed in double quotes; "
        "JSON lines have one object per line"
    )


@pytest.mark.parametrize("document", [[], {}, {"annotations": []}])
def test_files_without_captions_are_refused(tmp_path: Path, document: Any) -> None:
    assert json_complaint(tmp_path, document) == "data.json: there are no captions in it"


def test_bad_entries_are_named(tmp_path: Path) -> None:
    good = {"image_id": 1, "caption": "a"}
    for bad, problem in [
        ("x", 'expected an object with an id and captions, not "x"'),
        ({"caption": "a"}, "there is no 'image_id', as the entries before have; found caption"),
        ({"image_id": 1}, "there is no 'caption', as the entries before have; found image_id"),
        ({"image_id": None, "caption": "a"}, "the id is null, expected a string or an integer"),
        ({"image_id": 1.5, "caption": "a"}, "the id is 1.5, expected a string or an integer"),
        ({"image_id": True, "caption": "a"}, "the id is true, expected a string or an integer"),
        ({"image_id": 1, "caption": None}, "the caption is null, expected text or a list of texts"),
        ({"image_id": 1, "caption": ["a", 3]}, "a caption is 3, expected text"),
        ({"image_id": 1, "caption": [{"x": 1}]}, 'a caption is {"x": 1}, expected text'),
    ]:
        message = json_complaint(tmp_path, [good, good, bad])
        assert message == f"data.json, entry 3: {problem}"


def test_missing_fields_list_those_there_are(tmp_path: Path) -> None:
    assert json_complaint(tmp_path, [{"name": 1, "caption": "a"}]) == (
        "data.json: no field names the image; expected one of image_id, cocoid, imgid, id, image, "
        "image_name, file_name, filename, audio, audio_id, video, video_id, "
        "found name, caption; name one with id_field= (--id-field)"
    )
    assert json_complaint(tmp_path, [{"image_id": 1, "bbox": []}]) == (
        "data.json: no field has references; expected one of references, refs, captions, caption, "
        "sentences or caption_1, caption_2, …, found image_id, bbox; name one with "
        "caption_field= (--reference-field)"
    )
    assert "found none; name one" in json_complaint(tmp_path, [{}])


def test_wrong_encodings_are_located(tmp_path: Path) -> None:
    path = save(tmp_path / "a.csv", "id,caption\n1,tea\n2,café\n".encode("latin1"))
    assert complaint(path) == (
        "a.csv: byte 0xe9 in line 3 is not UTF-8; convert the file, "
        "for instance with: iconv -f latin1 -t utf-8"
    )
    path = save(tmp_path / "a.csv", codecs.BOM_UTF16_LE + b"a")
    assert "is not UTF-16" in complaint(path)


def test_broken_csv_is_located(tmp_path: Path) -> None:
    assert complaint(save(tmp_path / "a.csv", "id,caption\n1,a\n2,a cat, black\n")) == (
        "a.csv, row 2: 3 cells where the header has 2; quote captions that contain ','"
    )
    message = complaint(save(tmp_path / "a.csv", 'id,caption\n1,"a "cat""\n2,b\n'))
    assert message.startswith("a.csv: line 2: ")
    assert message.endswith("; double the quotes inside a quoted caption")
    assert "unexpected end of data" in complaint(
        save(tmp_path / "a.csv", 'id,caption\n1,"a\n2,b\n')
    )
    assert complaint(save(tmp_path / "a.csv", "\n")) == "a.csv: the file is empty"


# Laws over whatever a file may hold

field_names = st.sampled_from(
    ["annotations", "images", "sentences", "raw", "image_id", "id", "caption", "captions", "split"]
)
json_documents = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(field_names, inner, max_size=4),
    max_leaves=12,
)
suffixes = st.sampled_from(["", ".json", ".jsonl", ".csv", ".tsv", ".gz"])


def check_law(path: Path) -> None:
    """A file is refused with its name, or gives text by ids that a corpus can be built from."""
    try:
        references = read_references(path)
    except FormatError as error:
        assert str(error).startswith(str(path))
        return
    assert all(type(image) in (str, int) for image in references)
    assert all(type(caption) is str for group in references.values() for caption in group)


@in_one_directory
@given(document=json_documents, suffix=suffixes)
def test_any_json_is_read_or_refused(tmp_path: Path, document: Any, suffix: str) -> None:
    check_law(save(tmp_path / f"a{suffix}", json.dumps(document)))


@in_one_directory
@given(content=st.binary() | st.text().map(str.encode), suffix=suffixes)
@example(content=b"\x1f\x8b", suffix="")
@example(content=codecs.BOM_UTF8, suffix=".csv")
@example(content=b"id,caption", suffix=".csv")
@example(content=b"id,id,caption,caption\n1,2,3,4", suffix=".csv")
def test_any_bytes_are_read_or_refused(tmp_path: Path, content: bytes, suffix: str) -> None:
    check_law(save(tmp_path / f"a{suffix}", content))


# Tables


def test_csv_and_jsonl_rows_come_back(tmp_path: Path) -> None:
    columns: dict[str, Any] = {
        "id": ["a", 'b"'],
        "caption": ["x, y\r\nz", "é"],
        "cider-d": np.array([0.1, 2.0]),
    }
    write_rows(tmp_path / "a.csv", columns)
    with open(tmp_path / "a.csv", encoding="utf-8", newline="") as file:
        assert list(csv.reader(file)) == [
            ["id", "caption", "cider-d"],
            ["a", "x, y\r\nz", "0.1"],
            ['b"', "é", "2.0"],
        ]
    write_rows(tmp_path / "a.jsonl", columns)
    lines = (tmp_path / "a.jsonl").read_text("utf-8").splitlines()
    assert [json.loads(line) for line in lines] == [
        {"id": "a", "caption": "x, y\r\nz", "cider-d": 0.1},
        {"id": 'b"', "caption": "é", "cider-d": 2.0},
    ]
    for name in ("a.csv", "a.jsonl"):
        expected = [("a", "x, y\r\nz"), ('b"', "é")]
        assert read_candidates(tmp_path / name) == expected


def test_parquet_rows_come_back(tmp_path: Path) -> None:
    parquet = pytest.importorskip("pyarrow.parquet")
    columns: dict[str, Any] = {"id": [1, 2], "caption": ["a", "b"], "cider-d": np.array([0.1, 2.0])}
    write_rows(tmp_path / "a.parquet", columns)
    table = parquet.read_table(tmp_path / "a.parquet")
    assert table.to_pydict() == {"id": [1, 2], "caption": ["a", "b"], "cider-d": [0.1, 2.0]}


@pytest.mark.parametrize("name", ["a.csv", "a.jsonl", "a.parquet"])
def test_a_failure_leaves_what_was_there(tmp_path: Path, name: str) -> None:
    if name == "a.parquet":
        pytest.importorskip("pyarrow")
    path = save(tmp_path / name, "before")
    with pytest.raises(Exception, match=r"surrogates|encode"):
        write_rows(path, {"id": ["fine"] * 10_000 + ["\ud800"]})
    assert path.read_text() == "before"
    assert list(tmp_path.iterdir()) == [path]


def test_written_files_are_as_readable_as_others(tmp_path: Path) -> None:
    usual = stat.S_IMODE(save(tmp_path / "usual", "").stat().st_mode)
    write_rows(tmp_path / "a.csv", {"id": [1]})
    assert stat.S_IMODE((tmp_path / "a.csv").stat().st_mode) == usual


def test_a_link_stays_a_link(tmp_path: Path) -> None:
    (tmp_path / "link.csv").symlink_to(tmp_path / "real.csv")
    write_rows(tmp_path / "link.csv", {"id": [1]})
    assert (tmp_path / "link.csv").is_symlink()
    assert (tmp_path / "real.csv").read_text() == "id\n1\n"


def test_tables_are_refused_for_good_reason(tmp_path: Path) -> None:
    with pytest.raises(
        SettingError, match=r"rows are written as .csv, .jsonl, .parquet, not '.xls'"
    ):
        write_rows(tmp_path / "a.xls", {"id": [1]})
    with pytest.raises(InputError, match=r"equal lengths, not {'id': 1, 'caption': 2}"):
        write_rows(tmp_path / "a.csv", {"id": [1], "caption": ["a", "b"]})
    assert list(tmp_path.iterdir()) == []


def test_json_lines_have_null_for_nan(tmp_path: Path) -> None:
    write_rows(tmp_path / "a.jsonl", {"id": [1, 2], "score": [math.nan, 0.5]})
    assert (tmp_path / "a.jsonl").read_text() == (
        '{"id": 1, "score": null}\n{"id": 2, "score": 0.5}\n'
    )


# Document frequencies in pickles

COUNTS = {("a",): 3.0, ("a", "cat"): 1.0}

# python2.7 -c "import pickle; from collections import defaultdict
# d = defaultdict(float); d[('a',)] = 2.0; d[('caf\xc3\xa9', 'b')] = 1.0
# for p in 0, 2: print(pickle.dumps({'document_frequency': d, 'ref_len': 3}, p).encode('hex'))"
PYTHON2 = {
    0: "286470300a53277265665f6c656e270a70310a49330a735327646f63756d656e745f6672657175656e6379270a"
    "70320a63636f6c6c656374696f6e730a64656661756c74646963740a70330a28635f5f6275696c74696e5f5f0a66"
    "6c6f61740a70340a7470350a5270360a2853276361665c7863335c786139270a70370a532762270a70380a747039"
    "0a46312e300a7328532761270a7031300a747031310a46322e300a73732e",
    2: "80027d71002855077265665f6c656e71014b035512646f63756d656e745f6672657175656e6379710263636f6c"
    "6c656374696f6e730a64656661756c74646963740a7103635f5f6275696c74696e5f5f0a666c6f61740a71048571"
    "05527106285505636166c3a971075501627108867109473ff0000000000000550161710a85710b47400000000000"
    "000075752e",
}


def pickled(directory: Path, document: Any, protocol: int = 4) -> Path:
    return save(directory / "df.p", pickle.dumps(document, protocol))


def refusal(path: Path, **choices: Any) -> str:
    with pytest.raises(FrequenciesError) as caught:
        read_frequency_pickle(path, **choices)
    message = str(caught.value)
    assert message.startswith(f"{path}: ")
    return message.removeprefix(f"{path}: ")


@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
@pytest.mark.parametrize("key", ["df", "document_frequency"])
@pytest.mark.parametrize("kind", [dict, OrderedDict, Counter, lambda x: defaultdict(float, x)])
def test_wrapped_counts(tmp_path: Path, protocol: int, key: str, kind: Any) -> None:
    path = pickled(tmp_path, {key: kind(COUNTS), "ref_len": 5}, protocol)
    frequencies = read_frequency_pickle(path)
    assert frequencies.counts == COUNTS
    assert type(frequencies.counts) is dict
    assert frequencies.log_image_count == math.log(5)


@pytest.mark.parametrize("protocol", PYTHON2)
def test_counts_of_python_2(tmp_path: Path, protocol: int) -> None:
    frequencies = read_frequency_pickle(save(tmp_path / "df.p", bytes.fromhex(PYTHON2[protocol])))
    assert frequencies.counts == {("a",): 2.0, ("café", "b"): 1.0}
    assert frequencies.log_image_count == math.log(3)


@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
@pytest.mark.parametrize("kind", [np.float64, np.float32, np.int64, np.int32, np.uint8])
def test_numpy_numbers(tmp_path: Path, protocol: int, kind: Any) -> None:
    document = {"df": {("a",): kind(3)}, "ref_len": np.float64(math.log(5))}
    frequencies = read_frequency_pickle(pickled(tmp_path, document, protocol))
    assert frequencies.counts == {("a",): 3.0}
    assert type(frequencies.counts["a",]) is float
    assert frequencies.log_image_count == math.log(5)


def test_numpy_numbers_of_python_2_and_of_other_machines(tmp_path: Path) -> None:
    for order, raw in (("<", b"\0\0\0\0\0\0\x14@"), (">", b"@\x14\0\0\0\0\0\0")):
        number = (
            b"cnumpy.core.multiarray\nscalar\n(cnumpy\ndtype\n(U\x02f8K\x00K\x01tR(K\x03U\x01"
            + order.encode()
            + b"NNNJ\xff\xff\xff\xffJ\xff\xff\xff\xffK\x00tbU\x08"
            + raw
            + b"tR"
        )
        content = b"\x80\x02}(U\x02df}U\x01aK\x03sU\x07ref_len" + number + b"u."
        frequencies = read_frequency_pickle(save(tmp_path / "df.p", content))
        assert frequencies.log_image_count == math.log(5)


@pytest.mark.parametrize(
    ("keys", "expected"),
    [
        ([("1", "22")], ("1", "22")),
        ([(1, 22)], ("1", "22")),
        ([(np.int64(1), np.int32(22))], ("1", "22")),
        (["1 22"], ("1", "22")),
        (["a cat"], ("a", "cat")),
        ([(b"a", b"\xe9")], ("a", "é")),
    ],
)
def test_ngrams_of_any_spelling(tmp_path: Path, keys: list[Any], expected: Any) -> None:
    document = {"df": dict.fromkeys(keys, 1), "ref_len": 2}
    assert read_frequency_pickle(pickled(tmp_path, document)).counts == {expected: 1.0}


def test_zeros_that_lookups_left_are_dropped(tmp_path: Path) -> None:
    counts = defaultdict(float, COUNTS)
    assert counts["never", "seen"] == 0
    document = {"df": counts, "ref_len": 5}
    assert read_frequency_pickle(pickled(tmp_path, document)).counts == COUNTS


@given(images=st.integers(3, 10**9), as_float=st.booleans(), as_log=st.booleans())
@in_one_directory
def test_image_counts_and_their_logarithms_are_told_apart(
    tmp_path: Path, images: int, as_float: bool, as_log: bool
) -> None:
    length = math.log(images) if as_log else float(images) if as_float else images
    path = pickled(tmp_path, {"df": COUNTS, "ref_len": length})
    assert read_frequency_pickle(path).log_image_count == math.log(images)
    assert read_frequency_pickle(path, image_count=7).log_image_count == math.log(7)


def test_a_single_image_has_logarithm_zero(tmp_path: Path) -> None:
    for length in (0, 0.0, 1):
        path = pickled(tmp_path, {"df": {("a",): 1}, "ref_len": length})
        assert read_frequency_pickle(path).log_image_count == 0


@pytest.mark.parametrize("document", [COUNTS, {"df": COUNTS}])
def test_bare_counts_need_an_image_count(tmp_path: Path, document: Any) -> None:
    path = pickled(tmp_path, document)
    assert refusal(path) == (
        "the file does not say how many images were counted; pass image_count= "
        "(--images), 40504 for coco-val-df.p, which counts COCO val2014"
    )
    frequencies = read_frequency_pickle(path, image_count=4)
    assert frequencies.counts == COUNTS
    assert frequencies.log_image_count == math.log(4)
    assert refusal(path, image_count=2) == (
        "an n-gram occurs in 3 images, so image_count=2 (--images) is too small"
    )


@pytest.mark.parametrize("length", [2, 0.5])
def test_too_few_images_are_refused(tmp_path: Path, length: float) -> None:
    assert refusal(pickled(tmp_path, {"df": COUNTS, "ref_len": length})) == (
        f"'ref_len' is {length}, too small as the number of images or its logarithm: "
        "an n-gram occurs in 3 images; pass image_count= (--images)"
    )


@pytest.mark.parametrize("length", ["5", -1, math.nan, math.inf, True, [5]])
def test_odd_lengths_are_refused(tmp_path: Path, length: Any) -> None:
    message = refusal(pickled(tmp_path, {"df": COUNTS, "ref_len": length}))
    assert message.startswith(f"'ref_len' is {length!r}, expected the number of images")


@pytest.mark.parametrize(
    ("document", "problem"),
    [
        ([1], "expected a dict, not list"),
        ({}, "expected a dict of counts by n-gram, not {}"),
        ({"df": [1], "ref_len": 2}, "expected a dict of counts by n-gram, not [1]"),
        ({("a",): "x"}, "the count of ('a',) is 'x', expected a number"),
        ({("a",): -1.0}, "the count of ('a',) is -1.0, expected a number"),
        ({("a",): math.nan}, "the count of ('a',) is nan, expected a number"),
        ({("a",): True}, "the count of ('a',) is True, expected a number"),
        ({("a",): 0}, "all counts are zero"),
        ({(): 1}, "() is not an n-gram: expected a tuple of words or token ids"),
        ({"": 1}, "'' is not an n-gram: expected a tuple of words or token ids"),
        ({(None,): 1}, "(None,) is not an n-gram: expected a tuple of words or token ids"),
        ({3: 1}, "3 is not an n-gram: expected a tuple of words or token ids"),
    ],
)
def test_what_is_no_count_is_refused(tmp_path: Path, document: Any, problem: str) -> None:
    assert refusal(pickled(tmp_path, document), image_count=5) == problem


class Malicious:
    """A pickle that runs a command when it is loaded."""

    def __init__(self, witness: Path) -> None:
        self.witness = witness

    def __reduce__(self) -> Any:
        return os.mkdir, (str(self.witness),)


@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
def test_malicious_pickles_are_refused_and_do_not_run(tmp_path: Path, protocol: int) -> None:
    witness = tmp_path / "witness"
    path = pickled(tmp_path, {"df": Malicious(witness), "ref_len": 2}, protocol)
    assert refusal(path) == (
        f"refused to load {os.name}.mkdir from the pickle; document frequencies need only dicts, "
        "numbers and text, and other objects can run any code"
    )
    assert not witness.exists()
    pickle.loads(path.read_bytes())
    assert witness.exists(), "the plain unpickler runs it, so the test can fail"


@pytest.mark.parametrize(
    ("content", "refused"),
    [
        (b"cbuiltins\neval\n(V1\ntR.", "builtins.eval"),
        (b"\x80\x04\x8c\x08builtins\x8c\x0cdict.get.foo\x93.", "builtins.dict.get.foo"),
        (b"cnumpy.core.multiarray\n_reconstruct\n.", "numpy.core.multiarray._reconstruct"),
        (b"c_codecs\nencode\n(Vx\nVrot13\ntR.", "an encoder for 'rot13'"),
        (b"cnumpy\ndtype\n(VO8\nI0\nI1\ntR.", "a NumPy 'O8'"),
        (b"ccollections\nnamedtuple\n.", "collections.namedtuple"),
    ],
)
def test_other_callables_are_refused(tmp_path: Path, content: bytes, refused: str) -> None:
    message = refusal(save(tmp_path / "df.p", content))
    assert message.startswith(f"refused to load {refused} from the pickle")


@pytest.mark.parametrize("name", ["Counter", "OrderedDict", "defaultdict"])
def test_pickles_cannot_change_classes(tmp_path: Path, name: str) -> None:
    """BUILD with a pair sets attributes on whatever is on the stack, also on a class."""
    content = f"ccollections\n{name}\n(N(dVupdate\nVbroken\nstb.".encode()
    before = getattr(Counter, "update"), OrderedDict.update, defaultdict.update  # noqa: B009
    assert refusal(save(tmp_path / "df.p", content)).startswith("not a complete pickle: ")
    assert (Counter.update, OrderedDict.update, defaultdict.update) == before


@given(cut=st.integers(0, 70))
@in_one_directory
def test_cut_pickles_are_refused(tmp_path: Path, cut: int) -> None:
    content = pickle.dumps({"df": COUNTS, "ref_len": 5}, 2)
    assert len(content) > 70
    message = refusal(save(tmp_path / "df.p", content[:cut]))
    assert message.startswith("not a complete pickle: ")


def test_gzipped_pickles_are_read(tmp_path: Path) -> None:
    content = gzip.compress(pickle.dumps({"df": COUNTS, "ref_len": 5}))
    assert read_frequency_pickle(save(tmp_path / "df.pkl.gz", content)).counts == COUNTS


# Real files


@pytest.mark.skipif(not SHARED_KARPATHY.is_dir(), reason="needs ../shared/data/coco_karpathy")
def test_the_karpathy_test_split_fits_a_real_models_captions() -> None:
    references = read_references(SHARED_KARPATHY / "captions_test5k.json")
    candidates = read_candidates(SHARED_KARPATHY / "tden_karpathy_test_result.json")
    corpus = Corpus.build(candidates, references)
    assert (len(corpus.images), len(corpus.references), len(corpus.candidates)) == (
        5000,
        25010,
        5000,
    )
    assert corpus.candidate_ids[0] == 391895
    by_file = read_references(SHARED_KARPATHY / "mscoco_test.json", split="test")
    assert list(map(len, by_file.values())) == [len(references[image]) for image, _ in candidates]
