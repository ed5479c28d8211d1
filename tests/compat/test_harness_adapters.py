"""cidery in other harnesses: aac-metrics' Evaluate, capevalkit's metrics, VLMEvalKit's scorer."""

from __future__ import annotations

import csv
import importlib
import json
import subprocess
import sys
import types
from pathlib import Path
from types import SimpleNamespace

import pytest

import cidery
from cidery.compat import capevalkit, lmms_eval, vlmeval
from cidery.errors import FormatError, InputError, SettingError
from support.example import Example

pytestmark = pytest.mark.filterwarnings("ignore::cidery.errors.UnreliableWarning")


@pytest.fixture
def found_by_python(harnesses: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The harnesses at the end of the path, until the test is over."""
    monkeypatch.syspath_prepend(str(harnesses))
    sys.path.append(sys.path.pop(0))
    return harnesses


# --- aac-metrics ---------------------------------------------------------------------------------


@pytest.mark.model
@pytest.mark.usefixtures("meteor_data")
def test_evaluate_keeps_forgets_and_refuses(example: Example) -> None:
    torch = pytest.importorskip("torch")
    from cidery.compat.aac_metrics import Evaluate

    candidates = list(example.system_a.values())[:6]
    references = list(example.references.values())[:6]
    evaluate = Evaluate(metrics=["cider_d", "meteor"])
    corpus, sentences = evaluate(candidates, references)
    table = cidery.score(candidates, references, ["cider-d", "meteor"], tokenizer="ptb-coco")
    assert list(corpus) == list(sentences) == ["cider_d", "meteor"]
    assert corpus["cider_d"].item() == table.corpus["cider-d"]
    assert sentences["meteor"].tolist() == table.each["meteor"].tolist()
    assert corpus["cider_d"].dtype == torch.float64
    evaluate.update(candidates[:3], references[:3])
    evaluate.update(candidates[3:], references[3:])
    assert evaluate.compute()[0] == corpus
    evaluate.reset()
    with pytest.raises(InputError, match="no candidates"):
        evaluate.compute()
    with pytest.raises(InputError, match="2 candidates but references for 1"):
        evaluate.update(["a", "b"], [["a"]])
    with pytest.raises(InputError):
        evaluate(["a"], [[]])
    assert evaluate(candidates, references)[0] == corpus, "what failed is not kept"
    with pytest.raises(SettingError, match=r"call aac_metrics\.Evaluate with their names"):
        Evaluate(metrics="fense")
    assert Evaluate(metrics="default").metrics[-1] == "spider"


@pytest.mark.model
def test_evaluate_takes_other_tokenizers() -> None:
    pytest.importorskip("torch")
    from cidery.compat.aac_metrics import Evaluate

    candidates, references = ["A dog.", "a bus"], [["a dog", "dogs"], ["A bus"]]
    plain, _ = Evaluate(False, ["bleu_1"])(candidates, references)
    own, _ = Evaluate(lambda texts: [t.lower().strip(".") for t in texts], ["bleu_1"])(
        candidates, references
    )
    assert plain["bleu_1"] < own["bleu_1"]
    assert own["bleu_1"].item() == pytest.approx(1)


# --- capevalkit ----------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def samples(example: Example) -> list[SimpleNamespace]:
    return [
        SimpleNamespace(id=str(image), references=references, prediction=example.system_a[image])
        for image, references in list(example.references.items())[:12]
    ]


def test_a_metric_of_ours_in_capevalkit(
    found_by_python: Path, samples: list[SimpleNamespace], tmp_path: Path
) -> None:
    """Its benchmark runs the metric on its own samples, here of a file instead of a download."""
    api = importlib.import_module("capevalkit.api")
    folder = tmp_path / "polaris"
    folder.mkdir()
    with (folder / "polaris_test.csv").open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["imgid", "mt", "refs", "score"])
        for number, sample in enumerate(samples):
            row = [f"{sample.id}.jpg", sample.prediction, repr(sample.references), number % 4 / 4]
            writer.writerow(row)
    settings = {"benchmark": "polaris", "data_root": str(tmp_path), "metric_name": "cidery"}
    result = api.evaluate_metric(metric=capevalkit.CaptionMetric("cider-d"), **settings)
    assert result["num_samples"] == len(samples)
    assert result["score_name"] == "cider-d"
    table = cidery.score(
        [sample.prediction for sample in samples],
        [sample.references for sample in samples],
        ["cider-d"],
        tokenizer="ptb-coco",
    )
    assert result["raw_metric_output"]["cider-d"]["score"] == table.corpus["cider-d"]
    assert "tauc" in str(result["correlations"]).replace("_", "").lower()


def test_metrics_on_capevalkit_s_command_line(
    found_by_python: Path, samples: list[SimpleNamespace], tmp_path: Path
) -> None:
    assert capevalkit.main(["--add-to", str(tmp_path), "cider-d", "rouge-l"]) == 0
    manifests = importlib.import_module("capevalkit.infrastructure.manifests.catalog")
    found = manifests.load_manifests(tmp_path / "metrics")
    assert sorted(found) == ["cidery-cider-d", "cidery-rouge-l"]
    assert (tmp_path / found["cidery-cider-d"].uv_project / "pyproject.toml").is_file()
    _, *command = found["cidery-rouge-l"].runner
    predictions, references = tmp_path / "predictions.jsonl", tmp_path / "references.jsonl"
    predictions.write_text(
        "\n".join(json.dumps({"id": s.id, "caption": s.prediction}) for s in samples)
    )
    references.write_text(
        "\n".join(json.dumps({"id": s.id, "references": s.references}) for s in samples)
    )
    output = tmp_path / "out" / "rouge.json"
    files = ["--predictions", predictions, "--references", references, "--output", output]
    subprocess.run([sys.executable, *command, *files], check=True)
    content = json.loads(output.read_text())["rouge-l"]
    assert content == capevalkit.CaptionMetric("rouge-l")(samples)["rouge-l"]
    assert content["signature"].startswith("rouge-l|")


def test_capevalkit_s_refusals(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(InputError, match="no samples"):
        capevalkit.CaptionMetric()([])
    with pytest.raises(InputError, match="sample '1' has no references"):
        capevalkit.CaptionMetric()([SimpleNamespace(id="1", references=[], prediction="a")])
    (tmp_path / "p.jsonl").write_text('{"id": 1}\n')
    files = ["--predictions", str(tmp_path / "p.jsonl"), "--references", "none", "--output", "x"]
    assert capevalkit.main(files) == 2
    assert "p.jsonl, line 1: expected {'id': …, 'caption': …}" in capsys.readouterr().err
    assert capevalkit.main([*files[:2], "--metrics", "bleuu", *files[2:]]) == 2
    with pytest.raises(SystemExit):
        capevalkit.main([])


# --- VLMEvalKit ----------------------------------------------------------------------------------


def make_vlmeval(monkeypatch: pytest.MonkeyPatch, folder: Path) -> None:
    """Make VLMEvalKit's packages known by their folders: their own files import all its models."""
    for name in ("vlmeval", "vlmeval.dataset"):
        package = types.ModuleType(name)
        package.__path__ = [str(folder.joinpath(*name.split(".")))]
        monkeypatch.setitem(sys.modules, name, package)


@pytest.mark.filterwarnings("ignore::ResourceWarning")  # VLMEvalKit leaves a file open
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_cidery_scores_inside_vlmeval(
    found_by_python: Path, example: Example, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pandas = pytest.importorskip("pandas")
    pytest.importorskip("huggingface_hub", reason="VLMEvalKit imports it")
    make_vlmeval(monkeypatch, found_by_python)
    monkeypatch.setitem(sys.modules, "evaluate", None)  # MMSci's other metrics need it
    images = list(example.references)[:12]
    references = {image: example.references[image] for image in images}
    candidates = {image: example.system_a[image] for image in images}
    file = tmp_path / "model_COCO_VAL.tsv"
    rows = {
        "prediction": list(candidates.values()),
        "answer": [repr(listed) for listed in references.values()],
    }
    pandas.DataFrame(rows).to_csv(file, sep="\t", index=False)
    assert vlmeval.install() == ["vlmeval.dataset.image_caption.COCO_Caption_Scorer"]
    module = importlib.import_module("vlmeval.dataset.image_caption")
    try:
        scores = module.ImageCaptionDataset.evaluate(str(file))
    finally:
        for name in [name for name in sys.modules if name.startswith("vlmeval.")]:
            monkeypatch.delitem(sys.modules, name)
    table = cidery.score(candidates, references, ["cider-d", "bleu"], tokenizer="ptb-coco")
    assert scores["CIDEr"] == 100 * table.corpus["cider-d"]
    assert scores["Bleu"] == [100 * table.corpus[f"bleu-{n}"] for n in range(1, 5)]
    assert vlmeval.evaluate(file) == scores
    sheet = tmp_path / "model_COCO_VAL.xlsx"
    pandas.DataFrame(rows).to_excel(sheet, index=False)
    assert vlmeval.evaluate(sheet) == scores
    assert json.loads(next(tmp_path.glob("*_score.json")).read_text()) == scores
    plain = vlmeval.evaluate(file, tokenizer="whitespace")
    assert plain["CIDEr"] < scores["CIDEr"]


@pytest.mark.parametrize(
    ("system", "right", "without"), [("m2_transformer", 131.2, 99.3), ("blip2", 146.0, 109.3)]
)
def test_how_large_the_mistake_is(shared: Path, system: str, right: float, without: float) -> None:
    """The table of docs/harnesses.md, on captions of published systems."""
    folder = shared / "data" / "audit"
    results = json.loads((folder / f"{system}.json").read_text())
    predictions = {str(row["image_id"]): [row["caption"]] for row in results}
    references = json.loads((folder / "references.json").read_text())
    scores = vlmeval.CaptionScorer(predictions, references).compute_scores()
    assert round(scores["CIDEr"], 1) == right
    plain = vlmeval.CaptionScorer(predictions, references, tokenizer="whitespace")
    assert round(plain.compute_scores()["CIDEr"], 1) == without
    page = (Path(__file__).parents[2] / "docs" / "harnesses.md").read_text(encoding="utf-8")
    assert f" {right} " in page
    assert f" {without} " in page


def test_files_of_predictions(tmp_path: Path) -> None:
    rows = [{"prediction": "a dog", "answer": ["A dog runs."]}, {"prediction": 3, "answer": ["b"]}]
    (tmp_path / "a.json").write_text(json.dumps(rows))
    assert vlmeval.evaluate(tmp_path / "a.json")["ROUGE_L"] > 0
    (tmp_path / "b.tsv").write_text("prediction\tanswer\na dog\tnot a list\n")
    with pytest.raises(FormatError, match="row 1: expected a prediction and an answer"):
        vlmeval.evaluate(tmp_path / "b.tsv")
    (tmp_path / "c.csv").write_text("prediction,answer\n")
    with pytest.raises(FormatError, match="no rows"):
        vlmeval.evaluate(tmp_path / "c.csv")


def test_mmsci_s_cider_is_not_0(monkeypatch: pytest.MonkeyPatch) -> None:
    science = types.ModuleType("vlmeval.dataset.utils.mmsci")
    captions = types.ModuleType("vlmeval.dataset.image_caption")
    for name in ("vlmeval", "vlmeval.dataset"):
        monkeypatch.setitem(sys.modules, name, types.ModuleType(name))
    monkeypatch.setitem(sys.modules, captions.__name__, captions)
    monkeypatch.setitem(sys.modules, science.__name__, science)
    assert vlmeval.install()[1] == "vlmeval.dataset.utils.mmsci.compute_cider"
    assert science.compute_cider(["a dog runs"], [["a dog is running", "the dog runs"]]) > 0.5


# --- lmms-eval -----------------------------------------------------------------------------------


def test_lmms_eval_values_are_scored_once(monkeypatch: pytest.MonkeyPatch) -> None:
    calls = []
    real = lmms_eval.score

    def count(*arguments: object, **settings: object) -> object:
        calls.append(arguments)
        return real(*arguments, **settings)

    monkeypatch.setattr(lmms_eval, "score", count)
    monkeypatch.setattr(lmms_eval, "_why_missing", lambda metric: f"needs cidery[{metric}]")
    documents = [
        {"image_id": n, "annotations_captions": [f"a dog number {n} runs", "a dog"]}
        for n in range(4)
    ]
    # lmms-eval gathers the items of each metric by themselves: they are equal, not the same.
    gathered = {
        name: [
            json.loads(json.dumps(lmms_eval.process_nocaps(document, ["a dog runs"])[name]))
            for document in documents
        ]
        for name in lmms_eval.AGGREGATIONS
    }
    values = {
        name: getattr(lmms_eval, f"aggregate_{name}")(items) for name, items in gathered.items()
    }
    assert len(calls) == 1
    assert values["METEOR"] == values["METEOR_interval"] == "needs cidery[meteor]"
    low, high = json.loads(values["CIDEr_interval"])
    assert low <= values["CIDEr"] <= high
    assert lmms_eval.process_nocaps(documents[0], [])["CIDEr"]["candidate"] == ""
    with pytest.raises(AttributeError, match="no attribute 'aggregate_Bleu_9'"):
        lmms_eval.aggregate_Bleu_9  # noqa: B018


def test_the_folder_for_include_path() -> None:
    command = [sys.executable, "-m", "cidery.compat.lmms_eval"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert Path(done.stdout.strip()) == lmms_eval.TASKS
    assert (lmms_eval.TASKS / "nocaps_val.yaml").is_file()
