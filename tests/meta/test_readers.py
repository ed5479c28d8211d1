"""Readers of published judgments, on files in their authors' layouts."""

from __future__ import annotations

import itertools
import json
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import cidery
from cidery import meta
from cidery.cli import main
from cidery.errors import CideryError, FormatError
from support import judged as made

WORDS = ["a dog runs", "a dog is running", "the dog runs fast", "a running dog"]


def read_ratings(name: str, path: Path) -> meta.Ratings:
    found = meta.read_dataset(name, path)
    assert isinstance(found, meta.Ratings)
    return found


def read_pairs(name: str, path: Path) -> meta.Pairs:
    found = meta.read_dataset(name, path)
    assert isinstance(found, meta.Pairs)
    return found


# THumB


def thumb_line(image: str, system: str, caption: str, precision: float) -> dict[str, Any]:
    return {
        "P": precision, "R": 4, "Flu": -0.5, "Con": 0, "Inc": 0,
        "human_score": (precision + 4) / 2 - 0.5,
        "SYS": system, "seg_id": 7, "set_id": 1, "hyp": caption, "image": image,
    }  # fmt: skip


def test_thumb_as_published(tmp_path: Path) -> None:
    lines = [thumb_line(f"{i}.jpg", s, f"a {s} {i}", i) for i in (1, 2) for s in ("Human", "VinVL")]
    made.write_lines(tmp_path / "mscoco_THumB-1.0.jsonl", lines)
    with pytest.raises(FormatError, match=r"line 1: image '1\.jpg' has no references: put the"):
        meta.read_dataset("thumb", tmp_path)
    references = [{"image": f"{i}.jpg", "refs": WORDS} for i in (1, 2)]
    made.write_lines(tmp_path / "mscoco_references.jsonl", references)
    found = read_ratings("thumb", tmp_path)
    assert found.systems == ["Human", "VinVL", "Human", "VinVL"]
    assert found.ratings.tolist() == [2.0, 2.0, 2.5, 2.5]
    assert found.ask("precision").ratings.tolist() == [1, 1, 2, 2]
    assert found.judged.names == ["1.jpg", "2.jpg"]
    assert found.judged.references == [WORDS, WORDS]


def test_thumb_with_the_references_of_its_authors(tmp_path: Path) -> None:
    """`mscoco_references.json` has JSON lines by `seg_id`; some copies call fluency `Fl`."""
    lines = [
        thumb_line(f"COCO_val2014_{i:012}.jpg", "Human", f"a dog {i}", i) | {"seg_id": i, "Fl": -i}
        for i in (1, 2)
    ]
    for line in lines:
        del line["Flu"]
    made.write_lines(tmp_path / "mscoco_THumB-1.0.jsonl", lines)
    references = [{"seg_id": f"{i:03}", "refs": [*WORDS, f"{i} dogs"]} for i in (2, 1)]
    made.write_lines(tmp_path / "mscoco_references.json", references)
    found = read_ratings("thumb", tmp_path)
    assert [group[-1] for group in found.judged.references] == ["1 dogs", "2 dogs"]
    assert found.ask("fluency").ratings.tolist() == [-1, -2]
    made.write_lines(tmp_path / "mscoco_references.json", references[1:])
    with pytest.raises(FormatError, match=r"line 2: image .* put the authors' mscoco_references"):
        meta.read_dataset("thumb", tmp_path)
    (tmp_path / "mscoco_THumB-1.0.jsonl").write_text("\n")
    with pytest.raises(FormatError, match=r"mscoco_THumB-1\.0\.jsonl: the file is empty"):
        meta.read_dataset("thumb", tmp_path)


def test_thumb_of_the_development_half(shared: Path) -> None:
    found = read_ratings("thumb", shared / "data")
    assert (len(found), len(found.judged.references)) == (1260, 252)
    machine = meta.evaluate(found, "cider-d", without_system="Human", resamples=0)
    assert round(machine.results["cider-d"]["pearson"], 3) == 0.358
    recall = meta.evaluate(found, "cider-d", without_system="Human", question="recall", resamples=0)
    assert recall.results["cider-d"]["captions"] == 1008


# Polaris and Nebula


def test_polaris_as_csv(tmp_path: Path) -> None:
    """References are a Python list; nothing else in it is evaluated."""
    (tmp_path / "polaris_test.csv").write_text(
        "mt,refs,score,imgid\n"
        f'a dog,"{WORDS}",0.75,1.jpg\n'
        f'a cat,"{WORDS}",0.25,1.jpg\n'
        f'a cow,"{WORDS[:2]}",0.5,2.jpg\n'
    )
    found = read_ratings("polaris", tmp_path)
    assert found.ratings.tolist() == [0.75, 0.25, 0.5]
    assert found.judged.images.tolist() == [0, 0, 1]
    assert found.judged.references[2] == WORDS[:2]
    bad = "mt,refs,score,imgid\na,\"__import__('os').getcwd()\",1,x\n"
    (tmp_path / "polaris_test.csv").write_text(bad)
    with pytest.raises(FormatError, match="line 2: cannot read 'refs'"):
        meta.read_dataset("polaris", tmp_path)
    with pytest.raises(FormatError, match=r"no nebula_test\.csv and no test-\*\.parquet"):
        meta.read_dataset("nebula", tmp_path)


def test_nebula_and_polaris_as_parquet(tmp_path: Path) -> None:
    """Images, which make the files large, are not read, and Polaris does not name them."""
    pyarrow = pytest.importorskip("pyarrow", reason="Parquet needs pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    rows = {"image": [b"x", b"y"], "refs": [WORDS, WORDS], "human_score": [0.0, 1.0]}
    for name, further in (
        ("nebula", {"mt": ["a dog", "a cat"], "file_name": ["1", "2"]}),
        ("polaris", {"cand": ["a dog", "a cat"]}),
    ):
        (tmp_path / name / "data").mkdir(parents=True)
        file = tmp_path / name / "data" / "test-00000-of-00001.parquet"
        parquet.write_table(pyarrow.table(rows | further), file)
        found = read_ratings(name, tmp_path)
        assert found.judged.captions == ["a dog", "a cat"]
        assert found.ratings.tolist() == [0.0, 1.0]
        assert len({*found.judged.images.tolist()}) == (2 if name == "nebula" else 1)


# AudioCaps-Eval and Clotho-Eval


def test_audio_as_published(tmp_path: Path) -> None:
    sound = {
        "references": WORDS,
        "HC": [WORDS[0], WORDS[1], [1, 1, -1, 0]],
        "HI": [WORDS[0], "rain", [1, 1, 1, 1]],
        "HM": [WORDS[2], "a cat", [1, -1, 1, -1]],
        "MM_1": ["a", "b", [-1, -1, -1, -1]],
    }
    (tmp_path / "clotho_eval.json").write_text(json.dumps([sound]))
    found = read_pairs("clotho-eval", tmp_path)
    assert found.name == "clotho-eval"
    assert found.kinds == ["HC", "HI", "HM", "MM"]
    assert found.votes["preference"].tolist() == [1, 4, 0, -4]
    references, documents = found.judged.references, found.judged.documents
    own = [
        [references[documents[side[i]]] for side in (found.first, found.second)] for i in range(4)
    ]
    assert own[0] == [WORDS[1:], [WORDS[0], *WORDS[2:]]]  # each without itself
    assert own[1] == [WORDS[1:]] * 2  # both without the human caption
    assert own[2] == [[*WORDS[:2], WORDS[3]]] * 2
    assert own[3] == [WORDS] * 2
    assert {*found.judged.image_of_caption.tolist()} == {0}
    (tmp_path / "clotho_eval.json").write_text(json.dumps([sound | {"HC": ["a", "b"]}]))
    with pytest.raises(FormatError, match="entry 1: expected two captions and votes in 'HC'"):
        meta.read_dataset("clotho-eval", tmp_path)


@pytest.mark.parametrize(
    ("name", "pairs", "tied", "accuracy"),
    [("audiocaps-eval", 743, 103, 0.715), ("clotho-eval", 761, 100, 0.622)],
)
def test_audio_of_the_development_half(
    name: str, pairs: int, tied: int, accuracy: float, shared: Path
) -> None:
    """The paper has 71.0 and 63.2 for CIDEr on the whole sets."""
    dataset = meta.read_dataset(name, shared / "data")
    found = meta.evaluate(dataset, "cider-d", resamples=0).results["cider-d"]
    assert (found["pairs"], found["tied"]) == (pairs, tied)
    assert round(found["accuracy"], 3) == accuracy


# FOIL


def test_foil_as_published(tmp_path: Path) -> None:
    coco: list[dict[str, Any]] = [
        {"image_id": 5, "id": i, "caption": text} for i, text in enumerate(WORDS)
    ]
    (tmp_path / "captions_val2014.json").write_text(json.dumps({"annotations": coco}))
    foil: list[dict[str, Any]] = [
        {"id": 1, "image_id": 5, "caption": WORDS[1], "foil": False},
        {"id": 1, "image_id": 5, "caption": "a cat is running", "foil": True},
        {"id": 1, "image_id": 5, "caption": "a cow is running", "foil": True},
    ]
    file = tmp_path / "foilv1.0_test_2017.json"
    file.write_text(json.dumps({"images": [], "annotations": foil}))
    found = read_pairs("foil", tmp_path)
    assert found.judged.captions[:2] == [WORDS[1], WORDS[1]]
    assert found.judged.references == [[WORDS[0], *WORDS[2:]]] * 2
    assert meta.evaluate(found, "bleu-1").results["bleu-1"]["accuracy"] == 1.0
    file.write_text(json.dumps({"annotations": foil[1:]}))
    with pytest.raises(FormatError, match="annotation 1 has no right caption"):
        meta.read_dataset("foil", tmp_path)
    for change, message in (
        ({"image_id": [5]}, r"annotation 2: expected a number or text in 'image_id', found \[5\]"),
        ({"id": {}}, r"annotation 2: expected a number or text in 'id', found {}"),
        ({"caption": 7}, "annotation 2: expected text in 'caption', found 7"),
    ):
        file.write_text(json.dumps({"annotations": [foil[0], foil[1] | change]}))
        with pytest.raises(FormatError, match=message):
            meta.read_dataset("foil", tmp_path)
    file.write_text(json.dumps({"annotations": foil}))
    coco[1]["image_id"] = [5]
    (tmp_path / "captions_val2014.json").write_text(json.dumps({"annotations": coco}))
    with pytest.raises(FormatError, match=r"captions_val2014\.json, annotation 2: .* \[5\]"):
        meta.read_dataset("foil", tmp_path)


# VATEX-EVAL


def write_pickles(folder: Path, **changes: Any) -> None:
    content: dict[str, Any] = {
        "candidates_list": np.asarray(["a dog", "a cat"]),
        "gts_list": np.asarray([WORDS, WORDS]),
        "human_scores": np.asarray([1, 2, 3, 4, 5, 5]),
        "video_ids": np.asarray(["v1", "v1"], dtype=object),
    }
    for name, value in (content | changes).items():
        (folder / f"{name}.pkl").write_bytes(pickle.dumps(value))


class Evil:
    def __reduce__(self) -> Any:
        return (eval, ("print('ran')",))


def test_vatex_as_published(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_pickles(tmp_path)
    found = read_ratings("vatex-eval", tmp_path)
    assert found.ratings.tolist() == [1, 3, 5, 2, 4, 5]  # by caption; the file is by person
    assert found.rows.tolist() == [0, 0, 0, 1, 1, 1]
    assert found.judged.images.tolist() == [0, 0]
    assert found.judged.references[0] == WORDS
    write_pickles(tmp_path, human_scores=np.asarray([1, 2, 3]))
    with pytest.raises(FormatError, match="3 ratings are inconsistent; expected 3 ratings per"):
        meta.read_dataset("vatex-eval", tmp_path)
    write_pickles(tmp_path, video_ids=Evil())
    with pytest.raises(FormatError, match=r"refused to load builtins\.eval"):
        meta.read_dataset("vatex-eval", tmp_path)
    assert capsys.readouterr().out == ""


# MATLAB


def cell(text: str) -> Any:
    """A text as MATLAB keeps it in a cell of a cell array."""
    box = np.empty((1, 1), dtype=object)
    box[0, 0] = text
    return box


def write_matlab(folder: Path, name: str, pairs: int, **changes: Any) -> None:
    """Write `consensus_NAME.mat`: 48 triplets of each pair, of which the first 30 prefer B."""
    savemat = pytest.importorskip("scipy.io", reason=".mat files need SciPy").savemat
    fields = [("a", object), ("b", object), ("c", object), ("rating", object)]
    triplets = np.empty((1, 48 * pairs), dtype=fields)
    for place in range(48 * pairs):
        pair, reference = divmod(place, 48)
        texts = (f"ref {pair} {reference}", f" b {pair}", f"c {pair} ")
        triplets[0, place] = (*map(cell, texts), 1.0 if reference < 30 else -1.0)
    savemat(folder / f"consensus_{name}.mat", {"triplets": triplets} | changes)


def test_matlab_files(tmp_path: Path) -> None:
    scipy_io = pytest.importorskip("scipy.io", reason=".mat files need SciPy")
    write_matlab(tmp_path, "pascal", 3)
    rows = np.empty((1, 3), dtype=object)
    for pair in range(3):
        row = np.empty((1, 3), dtype=object)
        row[0, :] = [f"{pair // 2}.jpg", f"b {pair}", f"c {pair}"]
        rows[0, pair] = row
    content = {
        "new_input": rows,
        "category": np.asarray([[1, 4, 3]]),
        "new_data": np.asarray([[6, 6], [1, 2], [6, 3]]),
    }
    scipy_io.savemat(tmp_path / "pair_pascal.mat", content)
    found = read_pairs("pascal-50s", tmp_path)
    assert found.votes["triplets"].tolist() == [12, 12, 12]
    assert found.kinds == ["HC", "MM", "HM"]
    assert found.systems == [("6", "6"), ("1", "2"), ("6", "3")]
    assert found.judged.names == ["0.jpg", "1.jpg"]
    assert found.judged.image_of_caption.tolist() == [0, 0, 1, 0, 0, 1]
    assert found.judged.captions[:2] == ["b 0", "b 1"]
    assert found.triplets is not None and found.triplets.shape == (3, 48)
    human = meta.evaluate(found, "rouge-l", protocol="human", draws=1)
    assert "human" in human.results
    write_matlab(tmp_path, "pascal", 2)
    with pytest.raises(FormatError, match=r"has 2 pairs, pair_pascal\.mat has 3"):
        meta.read_dataset("pascal-50s", tmp_path)


def test_matlab_pairs_as_a_struct_array(tmp_path: Path) -> None:
    """Public readers index `new_input[0, i][1][0].strip()`: the fields of a struct by place."""
    scipy_io = pytest.importorskip("scipy.io", reason=".mat files need SciPy")
    write_matlab(tmp_path, "pascal", 2)
    rows = np.empty((1, 2), dtype=[("im", object), ("s1", object), ("s2", object)])
    for pair in range(2):
        rows[0, pair] = (f"{pair}.jpg", f"b {pair} ", f" c {pair}")
    content = {
        "new_input": rows,
        "category": np.asarray([[1, 4]]),
        "new_data": np.asarray([[6, 6], [1, 2]]),
    }
    scipy_io.savemat(tmp_path / "pair_pascal.mat", content)
    assert scipy_io.loadmat(tmp_path / "pair_pascal.mat")["new_input"][0, 1][1][0] == "b 1 "
    found = read_pairs("pascal-50s", tmp_path)
    assert found.judged.names == ["0.jpg", "1.jpg"]
    assert found.judged.captions == ["b 0", "b 1", "c 0", "c 1"]
    short = np.empty((1, 2), dtype=[("im", object), ("s1", object)])
    for pair in range(2):
        short[0, pair] = (f"{pair}.jpg", f"b {pair}")
    scipy_io.savemat(tmp_path / "pair_pascal.mat", content | {"new_input": short})
    with pytest.raises(FormatError, match=r"pair 1: expected three fields, found 2"):
        meta.read_dataset("pascal-50s", tmp_path)


def test_matlab_files_of_abstract_scenes(tmp_path: Path) -> None:
    write_matlab(tmp_path, "abstract", 2)
    found = read_pairs("abstract-50s", tmp_path)
    assert found.votes["triplets"].tolist() == [12, 12]
    (tmp_path / "consensus_abstract.mat").write_bytes(b"nonsense" * 40)
    with pytest.raises(FormatError, match="not a MATLAB file that can be read"):
        meta.read_dataset("abstract-50s", tmp_path)


@pytest.mark.parametrize("name", list(meta.DATASETS))
def test_what_is_not_there(name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """An empty folder and no folder are told in one line that names the place."""
    (tmp_path / "empty").mkdir()
    for place in ("empty", "nowhere"):
        with pytest.raises((CideryError, OSError), match=place):
            meta.read_dataset(name, tmp_path / place)
    assert main(["meta", name, str(tmp_path / "nowhere"), "-m", "rouge-l"]) == 2
    assert "nowhere" in capsys.readouterr().err


# #PraCegoVer


SENTENCES = {
    "beach": ["cachorro corre na praia de areia", "um cão correndo na beira do mar"],
    "bus": ["ônibus vermelho parado na rua", "um ônibus na cidade", "rua com um ônibus grande"],
    "snow": ["homem de casaco sobe a montanha", "uma pessoa na montanha com neve"],
}


def make_triplets() -> dict[str, dict[str, list[Any]]]:
    """Triplets by the recipe of the authors' program, with our sentences."""
    images = list(SENTENCES.values())
    triplets: dict[str, dict[str, list[Any]]] = {"HCI": {}, "HII": {}}
    for image, group in enumerate(images):
        for reference, right in itertools.combinations(group, 2):
            wrong = images[(image + 1) % len(images)][0]
            number = str(len(triplets["HCI"]))
            triplets["HCI"][number] = [reference, right, wrong, 1]
            triplets["HII"][number] = [reference, " ".join(right.split()[:2]), wrong, 1]
    return triplets


@pytest.mark.filterwarnings("ignore::cidery.errors.UnreliableWarning")
def test_pracegover_triplets(tmp_path: Path) -> None:
    file = tmp_path / "pracegover_triplets.json"
    file.write_text(json.dumps(make_triplets()), encoding="utf-8")
    pairs = read_pairs("pracegover-triplets", file)
    assert len(pairs) == 10
    assert len(read_pairs("pracegover-triplets", tmp_path)) == 10
    assert len(pairs.judged.references) == 4  # HCI and HII share their references
    assert len(set(pairs.judged.images.tolist())) == len(SENTENCES)
    found = meta.evaluate(pairs, ["cider-r", "rouge-l"], language="pt").results
    assert {"accuracy", "accuracy_HCI", "accuracy_HII"} <= {*found["cider-r"]}
    hits = []
    for reference, right, wrong, _ in make_triplets()["HCI"].values():
        told = {"right": [reference], "wrong": [reference]}
        table = cidery.score({"right": right, "wrong": wrong}, told, "rouge-l", language="pt")
        hits.append(table.each["rouge-l"][0] > table.each["rouge-l"][1])
    assert found["rouge-l"]["accuracy_HCI"] == pytest.approx(np.mean(hits))
    assert found["rouge-l"]["pairs"] == 10


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ([], 'expected {"HCI"'),
        ({}, 'expected {"HCI"'),
        ({"HCI": 3}, "expected triplets under 'HCI'"),
        ({"HCI": {}}, "there are no triplets"),
        ({"HCI": {"4": ["a", "b", 1]}}, "HCI, triplet 4: expected .reference, caption, other"),
        ({"HII": [["a", "b", None, 1]]}, "HII, triplet 0: expected three texts"),
        ({"HCI": [[" ", "b", "c", 1]]}, "the reference has no words"),
        ({"HCI": [["a", "b", "c", "1"]]}, "the winner is 1 .* not '1'"),
    ],
)
def test_pracegover_triplets_that_cannot_be(tmp_path: Path, change: Any, message: str) -> None:
    file = tmp_path / "any name.json"
    file.write_text(json.dumps(change))
    with pytest.raises(FormatError, match=message):
        meta.read_dataset("pracegover-triplets", file)
    with pytest.raises(CideryError, match=r"there is no pracegover_triplets.json in this folder"):
        meta.read_dataset("pracegover-triplets", tmp_path)


@pytest.mark.filterwarnings("ignore::cidery.errors.UnreliableWarning")
def test_sweeps(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "triplets.json"
    file.write_text(json.dumps(make_triplets()), encoding="utf-8")
    dataset = meta.read_dataset("pracegover-triplets", file)
    found = meta.sweep(dataset, "cider-r", draws=5, seed=2)
    assert list(found.results) == sorted(found.results)
    assert len(found.results) == 5
    for value, results in found.results.items():
        alone = meta.evaluate(dataset, f"cider-r:repetition={value!r}", seed=2).results
        assert dict(results) == dict(next(iter(alone.values())))
    low, high = found.equivalent_range
    assert low <= found.best <= high
    assert list(meta.sweep(dataset, draws=5, seed=2).results) == list(found.results)
    assert list(meta.sweep(dataset, draws=5, seed=3).results) != list(found.results)
    status = main(
        ["meta", "sweep", "pracegover-triplets", str(file), "--values", "1,0", "--no-cache"]
    )
    printed = capsys.readouterr().out
    assert status == 0
    assert "accuracy_HII" in printed
    assert "no difference was found" in printed
    with pytest.raises(CideryError, match=r"no numeric setting 'color'; it has: .*repetition"):
        meta.sweep(dataset, setting="color")
    with pytest.raises(CideryError, match="names 4 metrics"):
        meta.sweep(dataset, "bleu")
    with pytest.raises(CideryError, match="repetition must lie between 0 and 1"):
        meta.sweep(dataset, values=[2])
