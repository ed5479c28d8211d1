"""Files of judgments as people have them: their columns, and errors that lead to the options."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from cidery import meta
from cidery.cli import main
from cidery.errors import DataWarning, FormatError, InputNote, SettingError
from cidery.meta import evaluate, read_dataset

CAPTIONS = {
    "1": ["a dog runs", "a dog on grass", "the cat sleeps"],
    "2": ["a cat sleeps", "a cat on a sofa", "a bus in a street"],
    "3": ["a red bus", "a bus in the city", "two dogs play"],
    "4": ["a boat on a lake", "a small boat", "a boat sails"],
}
REFERENCES = {
    "1": ["a dog runs on grass", "the dog runs"],
    "2": ["a cat sleeps on a sofa", "the cat sleeps"],
    "3": ["a red bus in the city", "the bus drives"],
    "4": ["a small boat on a lake", "the boat sails"],
}
RATINGS = [5, 4, 1, 5, 3.5, 1, 4, 4, 2, 5, 4, 3]
ROWS = [(image, caption) for image, group in CAPTIONS.items() for caption in group]


def table(header: str, cells: Callable[[str, str, float], list[Any]], separator: str = ",") -> str:
    """Return a table with a row for each caption."""
    lines = [header]
    for (image, caption), rating in zip(ROWS, RATINGS, strict=True):
        quoted = ['"{}"'.format(str(c).replace('"', '""')) for c in cells(image, caption, rating)]
        lines.append(separator.join(quoted))
    return "\n".join(lines) + "\n"


def listed(image: str) -> str:
    return str(REFERENCES[image])


FILES: dict[str, tuple[str, list[str]]] = {
    # Without options.
    "image_id and score": (
        table("image_id,caption,references,score", lambda i, c, r: [i, c, listed(i), r]),
        [],
    ),
    "ref1 and ref2": (
        table("image_id,caption,ref1,ref2,rating", lambda i, c, r: [i, c, *REFERENCES[i], r]),
        [],
    ),
    "several raters": (
        table(
            "image,prediction,refs,rating_1,rating_2,system",
            lambda i, c, r: [i, c, listed(i), r, r, "ours"],
        ),
        [],
    ),
    "semicolons and decimal commas": (
        table(
            "image_id;candidate;reference_1;mos",
            lambda i, c, r: [i, c, REFERENCES[i][0], str(r).replace(".", ",")],
            ";",
        ),
        [],
    ),
    # With the options that their errors name.
    "references in another file": (
        table("image_id,caption,score", lambda i, c, r: [i, c, r]),
        ["--references references.json"],
    ),
    "names of files as ids": (
        table("image_id,caption,score", lambda i, c, r: [f"COCO_val2014_{int(i):012}.jpg", c, r]),
        ["--references references.json"],
    ),
    "unknown rating": (
        table("image_id,caption,ref1,quality", lambda i, c, r: [i, c, REFERENCES[i][0], r]),
        ["--rating-field quality"],
    ),
    "everything unknown": (
        table("photo,sentence,gold,quality", lambda i, c, r: [i, c, listed(i), r]),
        [
            "--id-field photo",
            "--caption-field sentence",
            "--rating-field quality",
            "--reference-field gold",
        ],
    ),
    "caption is a reference": (
        table("image_id,caption,candidate,score", lambda i, c, r: [i, REFERENCES[i][0], c, r]),
        ["--caption-field candidate", "--reference-field caption"],
    ),
    "two ratings": (
        table("image_id,caption,ref1,score,mos", lambda i, c, r: [i, c, REFERENCES[i][0], 0, r]),
        ["--rating-field mos"],
    ),
}
MEANING = {"NAME": "", "FILE": "references.json"}


@pytest.mark.parametrize("name", FILES)
@pytest.mark.filterwarnings("ignore::cidery.errors.InputNote")
def test_dialogues_end_in_success(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Follow the remedies of errors; each names its option, what was found, and no JSON lines."""
    monkeypatch.chdir(tmp_path)
    content, remedies = FILES[name]
    Path("mine.csv").write_text(content)
    Path("references.json").write_text(json.dumps(REFERENCES))
    command = ["meta", "judgments", "mine.csv", "-m", "rouge-l", "--no-cache", "--resamples", "0"]
    header = re.split("[,;]", content.partition("\n")[0])
    given: list[str] = []
    pending = list(remedies)
    while True:
        status = main([*command, *shlex.split(" ".join(given)), "-f", "json"])
        shown = capsys.readouterr()
        if status == 0:
            break
        error = shown.err.splitlines()[-1]
        assert error.startswith("error: mine.csv")
        assert "{" not in error
        assert "JSON" not in error
        assert all(column in error for column in header) or "may both have" in error, error
        following = [remedy for remedy in pending if f"{remedy.split()[0]} " in error]
        assert following, error
        pending.remove(following[0])
        given.append(following[0])
    assert pending == []
    found = json.loads(shown.out)["results"]["rouge-l"]
    assert found["ratings"] in (12, 24)
    assert found["pearson"] > 0.3


@pytest.mark.parametrize("missing", ["NaN", "nan", "NA", "None", "-"])
def test_a_missing_rating_is_counted(missing: str, tmp_path: Path) -> None:
    content = FILES["image_id and score"][0].replace('"3.5"', missing)
    path = tmp_path / "mine.csv"
    path.write_text(content)
    with pytest.warns(DataWarning) as caught:
        found = read_dataset("judgments", path)
    assert str(caught[0].message) == (
        f"{path}: 1 rating is missing, such as {missing!r} in 'score' of line 6; captions without "
        "ratings are not judged"
    )
    assert isinstance(found, meta.Ratings)
    assert len(found.ratings) == 11
    assert len(found.judged.captions) == 12


def test_a_rating_that_is_no_number(tmp_path: Path) -> None:
    path = tmp_path / "mine.csv"
    path.write_text(FILES["image_id and score"][0].replace('"3.5"', "good"))
    with pytest.raises(
        FormatError, match=r"line 6: expected a number in 'score', found 'good'; if.*--rating-field"
    ):
        read_dataset("judgments", path)


def test_excel_and_tsv(tmp_path: Path) -> None:
    openpyxl = pytest.importorskip("openpyxl")
    book = openpyxl.Workbook()
    book.active.append(["image_id", "caption", "ref1", "ref2", "score"])
    for (image, caption), rating in zip(ROWS, RATINGS, strict=True):
        book.active.append([int(image), caption, *REFERENCES[image], rating])
    book.save(tmp_path / "mine.xlsx")
    text = FILES["ref1 and ref2"][0]
    (tmp_path / "mine.csv").write_text(text)
    (tmp_path / "mine.tsv").write_text(text.replace(",", "\t"))
    found = [
        evaluate(read_dataset("judgments", tmp_path / f"mine.{end}"), ["rouge-l"], cache=False)
        for end in ("csv", "tsv", "xlsx")
    ]
    assert found[0].results == found[1].results == found[2].results


def test_json_lines_with_other_names(tmp_path: Path) -> None:
    path = tmp_path / "mine.jsonl"
    records: list[Mapping[str, Any]] = [
        {"image_id": i, "caption": c, "refs": REFERENCES[i], "score": r}
        for (i, c), r in zip(ROWS, RATINGS, strict=True)
    ]
    path.write_text("".join(json.dumps(record) + "\n" for record in records))
    found = read_dataset("judgments", path)
    assert isinstance(found, meta.Ratings)
    assert found.ratings.tolist() == RATINGS
    path.write_text("".join(json.dumps({**r, "refs": None}) + "\n" for r in records))
    with pytest.raises(
        FormatError, match=r'add a line \{"image": ….*or? ?--references FILE|; --ref'
    ):
        read_dataset("judgments", path)


def test_references_of_another_file_say_how_ids_match(tmp_path: Path) -> None:
    (tmp_path / "mine.csv").write_text(FILES["names of files as ids"][0])
    references = tmp_path / "references.json"
    references.write_text(json.dumps(REFERENCES | {"99": ["a tree"]}))
    with pytest.warns(InputNote, match="'COCO_val2014_000000000001.jpg' is '1'"):
        found = read_dataset("judgments", tmp_path / "mine.csv", references=references)
    assert isinstance(found, meta.Ratings)
    assert found.judged.references == list(REFERENCES.values())


def test_a_field_that_is_not_there(tmp_path: Path) -> None:
    path = tmp_path / "mine.csv"
    path.write_text(FILES["image_id and score"][0])
    with pytest.raises(
        FormatError,
        match=r"mine.csv: there is no column 'mark', which --rating-field \(rating_field=\) names; "
        "found image_id, caption, references, score",
    ):
        read_dataset("judgments", path, rating_field="mark")


def test_fields_are_for_judgments_only(tmp_path: Path) -> None:
    with pytest.raises(SettingError, match="only valid for judgments, not thumb"):
        read_dataset("thumb", tmp_path, rating_field="score")
