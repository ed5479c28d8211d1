"""Readers take a path, bytes or an open file, and messages call it what the caller says."""

from __future__ import annotations

import gzip
import io
import json
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import IO, Any

import pytest

from cidery import DocumentFrequencies
from cidery.errors import FormatError, FrequenciesError, InputError
from cidery.files import (
    read_candidates,
    read_frequency_pickle,
    read_json_lines,
    read_json_objects,
    read_references,
)
from support.captions import CANDIDATES, REFERENCES

JSON = json.dumps(REFERENCES).encode()
CSV = b"photo,caption\n1,a cat\n"


@pytest.mark.parametrize(
    "given",
    [
        JSON,
        gzip.compress(JSON),
        b"\xef\xbb\xbf" + JSON,
        io.BytesIO(JSON),
        io.BytesIO(gzip.compress(JSON)),
        io.StringIO(JSON.decode()),
    ],
    ids=["bytes", "gzipped", "byte order mark", "binary file", "gzipped file", "text file"],
)
def test_references_from_anything(given: bytes | IO[Any]) -> None:
    assert read_references(given) == REFERENCES


@pytest.mark.parametrize("mode", ["rb", "r"])
def test_an_open_file_is_read_and_stays_open(tmp_path: Path, mode: str) -> None:
    path = tmp_path / "captions.json"
    path.write_text(json.dumps(CANDIDATES), encoding="utf-8")
    with path.open(mode, encoding=None if mode == "rb" else "utf-8") as file:
        assert dict(read_candidates(file)) == CANDIDATES
        assert not file.closed


def test_parquet_from_bytes(tmp_path: Path) -> None:
    pyarrow = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    content = io.BytesIO()
    parquet.write_table(pyarrow.table({"image_id": [1], "caption": ["a cat"]}), content)
    assert read_candidates(content.getvalue()) == [(1, "a cat")]


def test_the_name_has_the_suffix_that_paths_have() -> None:
    with pytest.raises(FormatError, match=r"^candidates: unknown format"):
        read_candidates(CSV)
    assert read_candidates(CSV, name="upload.csv", id_field="photo") == [("1", "a cat")]
    assert read_candidates(CSV, id_field="photo") == [("1", "a cat")], "the header tells"


def test_a_path_keeps_its_suffix_whatever_it_is_called(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_bytes(b"photo,caption\n1,a cat, black\n")
    with pytest.raises(FormatError, match=r"^the upload, row 1: 3 cells"):
        read_candidates(path, name="the upload")


def failure(read: Callable[[], object]) -> str:
    with pytest.raises(InputError) as caught:
        read()
    return str(caught.value)


def test_messages_name_the_source(tmp_path: Path) -> None:
    broken = b"[3]"
    path = tmp_path / "a.json"
    path.write_bytes(broken)
    with path.open("rb") as file:
        assert failure(lambda: read_candidates(file)).startswith(f"{path}, entry 1: expected")
    assert failure(lambda: read_candidates(broken)).startswith("candidates, entry 1: expected")
    assert failure(lambda: read_references(broken)).startswith("references, entry 1: expected")
    assert failure(lambda: read_references(broken, name="up.json")).startswith("up.json, entry 1")
    assert failure(lambda: read_references(gzip.compress(broken)[:-3], name="x")).startswith(
        "x: the gzip data is damaged"
    )


def test_text_that_utf8_cannot_hold_is_located() -> None:
    assert "in line 2 is not UTF-8" in failure(
        lambda: read_references(io.StringIO('{"a":\n"\ud800"}'), name="x.json")
    )


def test_what_is_no_source_is_refused() -> None:
    message = failure(lambda: read_references({"a": ["b"]}))  # type: ignore[arg-type]
    assert message == "expected a path, bytes or an open file, not dict"


def test_frequency_pickles_from_anything() -> None:
    content = pickle.dumps({"df": {("a",): 1}, "ref_len": 5})
    for given in (content, io.BytesIO(content)):
        assert read_frequency_pickle(given).counts == {("a",): 1.0}
    with pytest.raises(FrequenciesError, match=r"^mine: not a complete pickle"):
        read_frequency_pickle(content[:9], name="mine")
    imported = DocumentFrequencies.from_pickle(content, name="mine")
    assert (imported.name, imported.count(["a"])) == ("mine", 1)


def test_saved_frequencies_from_anything(tmp_path: Path) -> None:
    saved = DocumentFrequencies.from_references({"a": ["a dog"], "b": ["a cat"]})
    path = tmp_path / "mine.df"
    saved.save(path)
    with path.open("rb") as file:
        for given in (path, str(path), path.read_bytes(), file):
            loaded = DocumentFrequencies.load(given)
            assert loaded.fingerprint == saved.fingerprint
            assert loaded.count(["a"]) == 2
    with pytest.raises(FrequenciesError, match=r"^upload is not a document-frequency file"):
        DocumentFrequencies.load(b"other", name="upload")
    damaged = bytearray(path.read_bytes())
    damaged[-1] ^= 1
    with pytest.raises(FrequenciesError, match=r"^upload is damaged"):
        DocumentFrequencies.load(bytes(damaged), name="upload")


def test_json_lines_are_numbered_as_they_stand() -> None:
    text = '{"a": "x\u2028y"}\r\n\n  \n[1]'
    assert list(read_json_lines(text, "x")) == [(1, {"a": "x\u2028y"}), (4, [1])]
    with pytest.raises(FormatError, match=r"^x: line 2 is not JSON: Expecting value"):
        list(read_json_lines("1\nno", "x"))
    with pytest.raises(FormatError, match=r"^x: line 1 is not JSON"):
        list(read_json_lines("[" * 100_000, "x"))


def test_json_objects_say_where_they_stand() -> None:
    assert list(read_json_objects('\n{"a": 1}', "x")) == [("x, line 2", {"a": 1})]
    with pytest.raises(FormatError, match=r"^x, line 1: expected a JSON object, found \[1\]$"):
        list(read_json_objects("[1]", "x"))
