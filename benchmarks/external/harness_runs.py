"""Run the evaluation code of a harness from PyPI on captions from stdin.

    python harness_runs.py HARNESS[+HARNESS] cidery|original [NAME ...] < captions.json

`captions.json` is `{"references": {id: [text, …]}, "candidates": {id: text}}`; the last line of the
output is `{"scores": {harness: …}, "seconds": …, "processor": …}`, the time of the scoring without
that of the imports. Names are tasks of lmms-eval (`task` or `task:metric`) or a harness's metrics.
The files of the harnesses are imported as they are, from `build/harnesses` (`make harnesses`).
A package whose own `__init__` would import models is given by its folder alone, and what the
evaluation code imports but does not call for these scores is replaced by a placeholder: both are
listed at each harness. benchmarks/run.py harnesses and tests/compat run this file.
"""

from __future__ import annotations

import contextlib
import importlib
import importlib.util
import json
import os
import resource
import signal
import sys
import tempfile
import time
import warnings
from argparse import Namespace
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder
from pathlib import Path
from types import ModuleType
from typing import Any, TypeAlias

FOLDER = Path(__file__).parents[2] / "build" / "harnesses"

Captions: TypeAlias = tuple[dict[int, list[str]], dict[int, str]]
"""References and candidates by image."""


class _Placeholder(ModuleType):
    """A module that is imported, but of which nothing is called."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return type(name, (), {})


class _Placeholders(MetaPathFinder, Loader):
    """Answers imports of packages that are left out, and of all that lies in them."""

    def __init__(self, names: Sequence[str]) -> None:
        self.names = names

    def find_spec(self, fullname: str, *_: Any) -> ModuleSpec | None:
        if any(f"{fullname}.".startswith(f"{name}.") for name in self.names):
            return ModuleSpec(fullname, self, is_package=True)
        return None

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        return _Placeholder(spec.name)

    def exec_module(self, module: ModuleType) -> None:
        """Do nothing."""


def leave_out(*names: str) -> None:
    """Put placeholders for packages that these scores do not need."""
    sys.meta_path.insert(0, _Placeholders(names))


def give_folder(*names: str) -> None:
    """Make packages known by their folders, without running their `__init__`."""
    for name in names:
        package = ModuleType(name)
        package.__path__ = [str(FOLDER.joinpath(*name.split(".")))]
        sys.modules[name] = package


@dataclass(frozen=True)
class Run:
    """Function that returns scores by name, called after all imports."""

    score: Callable[[], Mapping[str, Any]]


# --- lmms-eval -----------------------------------------------------------------------------------


@dataclass(frozen=True)
class Task:
    """A task of lmms-eval whose scores come from pycocoevalcap."""

    file: str
    make_document: Callable[[int, list[str]], dict[str, Any]]
    process: str = ""
    """The function, where the task's own asks a paid service too."""
    left_out: tuple[str, ...] = ()
    """Metrics that are not pycocoevalcap's."""


def _coco(image: int, references: list[str]) -> dict[str, Any]:
    return {"question_id": f"COCO_val2014_{image:012d}.jpg", "id": image, "answer": references}


def _karpathy(image: int, references: list[str]) -> dict[str, Any]:
    return {"filename": f"COCO_val2014_{image:012d}.jpg", "imgid": image, "sentences": references}


def _region(image: int, references: list[str]) -> dict[str, Any]:
    return {"question_id": image, "answer": references}


def _detailed(image: int, references: list[str]) -> dict[str, Any]:
    models = ("GPT4O", "GPT4V", "Gemini15Pro")
    named = {f"GT_Caption_{m}": text for m, text in zip(models, references, strict=False)}
    return {"image": image, **named}


LMMS_TASKS = {
    "coco2014_cap_val": Task("coco_cap/coco2014_cap_val.yaml", _coco),
    "coco2017_cap_val": Task("coco_cap/coco2017_cap_val.yaml", _coco),
    "coco2017_cap_val_lite": Task("coco_cap/coco2017_cap_val_lite.yaml", _coco),
    "coco_karpathy_val": Task("coco_cap/coco_karpathy_val.yaml", _karpathy),
    "coco_karpathy_test": Task("coco_cap/coco_karpathy_test.yaml", _karpathy),
    "nocaps_val": Task(
        "nocaps/nocaps_val.yaml", lambda i, r: {"image_id": i, "annotations_captions": r}
    ),
    "flickr30k_test": Task(
        "flickr30k/flickr30k_test.yaml", lambda i, r: {"img_id": i, "caption": r}
    ),
    "textcaps_val": Task(
        "textcaps/textcaps_val.yaml", lambda i, r: {"image_id": i, "caption_str": r}
    ),
    "vatex_test": Task("vatex/vatex_test.yaml", lambda i, r: {"videoID": i, "enCap": r}),
    "vatex_val_zh": Task("vatex/vatex_val_zh.yaml", lambda i, r: {"videoID": i, "chCap": r}),
    "refcoco_bbox_val": Task("refcoco/refcoco_bbox_val.yaml", _region),
    "refcoco+_bbox_val": Task("refcoco+/refcoco+_bbox_val.yaml", _region),
    "refcocog_bbox_val": Task("refcocog/refcocog_bbox_val.yaml", _region),
    "detailcaps": Task("detailcaps/detailcaps.yaml", _detailed, left_out=("detailcaps_CAPTURE",)),
    "screenspot_reg_test": Task(
        "screenspot/screenspot_reg_test.yaml",
        lambda i, r: {"instruction": r[0], "file_name": i, "data_type": "", "data_source": ""},
    ),
    "youcook2_val": Task(
        "youcook2/youcook2_val.yaml",
        lambda i, r: {"youtube_id": i % 3, "segment": [0, 1], "sentence": r[0]},
    ),
    "cuva_test": Task(
        "cuva/cuva_test.yaml",
        lambda i, r: {"answer": r[0], "task": ("Description", "Cause", "Result")[i % 3]},
        left_out=("cuva_BLEURT",),
    ),
    "funqa_test": Task(
        "funqa/funqa_test.yaml",
        lambda i, r: {"answer": r[0], "task": ("H2", "H3", "C2")[i % 3]},
        process="none",
        left_out=("submission", "funqa_gpt", "funqa_BLEURT"),
    ),
}


def prepare_lmms_eval(captions: Captions, names: Sequence[str], folder: Path) -> Run:
    """All metrics of tasks, or those named as `task:metric`, through the functions of their files.

    BLEURT, CAPTURE and GPT are other scores of these tasks; `torch` is only for BLEURT.
    """
    import yaml
    from loguru import logger

    logger.remove()
    give_folder("lmms_eval", "lmms_eval.tasks")
    leave_out("bleurt_pytorch", "capture_metric")
    if importlib.util.find_spec("torch") is None:
        leave_out("torch")
    os.environ.setdefault("HF_HOME", str(folder))
    chosen: dict[str, list[str]] = {}
    for name in names or LMMS_TASKS:
        task, _, metric = name.partition(":")
        chosen.setdefault(task, []).extend(filter(None, [metric]))
    configs = {
        name: _read_task(yaml, FOLDER / "lmms_eval" / "tasks" / LMMS_TASKS[name].file)
        for name in chosen
    }

    def score() -> dict[str, Any]:
        return {
            name: _score_task(configs[name], LMMS_TASKS[name], captions, metrics, folder)
            for name, metrics in chosen.items()
        }

    return Run(score)


def _read_task(yaml: Any, path: Path) -> dict[str, Any]:
    """Read a task's file and what it includes; `!function` is of the module beside it."""
    modules: dict[str, ModuleType] = {}

    def find(_loader: Any, node: Any) -> Any:
        module, _, function = node.value.rpartition(".")
        if module not in modules:
            spec = importlib.util.spec_from_file_location(module, path.parent / f"{module}.py")
            assert spec is not None
            assert spec.loader is not None
            modules[module] = importlib.util.module_from_spec(spec)
            spec.loader.exec_module(modules[module])
        return getattr(modules[module], function)

    loader = type("Loader", (yaml.SafeLoader,), {})
    loader.add_constructor("!function", find)  # type: ignore[attr-defined]
    config: dict[str, Any] = yaml.load(path.read_text(encoding="utf-8"), loader)
    if included := config.pop("include", None):
        template = yaml.load((path.parent / included).read_text(encoding="utf-8"), loader)
        config = {**template, **config}
    return config


def _score_task(
    config: Mapping[str, Any],
    task: Task,
    captions: Captions,
    metrics: Sequence[str],
    folder: Path,
) -> dict[str, Any]:
    """Do what lmms-eval's evaluator does: process each document, aggregate each metric."""
    references, candidates = captions
    documents = {image: task.make_document(image, listed) for image, listed in references.items()}
    if task.process == "none":  # its function asks GPT; the scores need these two alone
        processed = [
            {
                name: {"pred": candidates[image], **document}
                for name in ("funqa_BLEU", "funqa_ROUGE")
            }
            for image, document in documents.items()
        ]
    else:
        processed = [
            config["process_results"](document, [candidates[image]])
            for image, document in documents.items()
        ]
    scores = {}
    arguments = Namespace(output_path=str(folder))
    for entry in config["metric_list"]:
        name, aggregate = entry["metric"], entry["aggregation"]
        if name in task.left_out or (metrics and name not in metrics):
            continue
        items = [one[name] for one in processed]
        takes_arguments = "args" in aggregate.__code__.co_varnames
        scores[name] = aggregate(items, args=arguments) if takes_arguments else aggregate(items)
    return scores


OUR_TASKS = {
    "cidery_coco2014_cap_val": "coco2014_cap_val",
    "cidery_coco2017_cap_val": "coco2017_cap_val",
    "cidery_coco_karpathy_test": "coco_karpathy_test",
    "cidery_nocaps_val": "nocaps_val",
    "cidery_flickr30k_test": "flickr30k_test",
    "cidery_textcaps_val": "textcaps_val",
    "cidery_vatex_test": "vatex_test",
    "cidery_vatex_val_zh": "vatex_val_zh",
}
"""The tasks that cidery adds, and lmms-eval's own of the same data."""


def prepare_our_tasks(captions: Captions, names: Sequence[str], folder: Path) -> Run:
    """cidery's task files, found by lmms-eval's `--include_path` and run by its own classes.

    Their data, which lmms-eval downloads, are files here. `evaluate` and `transformers` are for
    other tasks and for models; all else is as it is.
    """  # noqa: D403
    from cidery.compat.lmms_eval import TASKS

    os.environ.setdefault("HF_HOME", str(folder))
    leave_out("evaluate", "transformers")
    from lmms_eval.tasks import TaskManager
    from loguru import logger

    logger.remove()
    references, _ = captions
    manager = TaskManager(include_path=str(TASKS), include_defaults=False)
    tasks = {}
    for name in names or OUR_TASKS:
        make_document = LMMS_TASKS[OUR_TASKS[name]].make_document
        rows = [make_document(image, listed) for image, listed in references.items()]
        file = folder / f"{name}.jsonl"
        file.write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
        split = manager._get_config(name)["test_split"]
        data = {"dataset_path": "json", "dataset_name": None}
        data |= {"dataset_kwargs": {"data_files": {split: str(file)}}}
        tasks |= manager.load_task_or_group([{"task": name, **data}])

    def score() -> dict[str, Any]:
        return {name: _score_our_task(name, task, captions) for name, task in tasks.items()}

    return Run(score)


def _score_our_task(name: str, task: Any, captions: Captions) -> dict[str, Any]:
    from lmms_eval.evaluator_utils import TaskOutput, consolidate_results

    output = TaskOutput.from_taskdict(name, task)
    for document, candidate in zip(task.test_docs(), captions[1].values(), strict=True):
        for metric, value in task.process_results(document, [candidate]).items():
            output.sample_metrics[(metric, "none")].append(value)
    output.calculate_aggregate_metric(bootstrap_iters=0)  # the intervals are ours
    found = consolidate_results([output])[0][name]
    return {key.removesuffix(",none"): value for key, value in found.items()}


# --- the others ----------------------------------------------------------------------------------


def prepare_lavis(captions: Captions, names: Sequence[str], folder: Path) -> Run:  # noqa: ARG001
    """`CaptionTask._report_metrics`: its annotations are in place, so nothing is downloaded."""
    give_folder("lavis", "lavis.tasks", "lavis.datasets")
    leave_out("timm", "lavis.datasets.data_utils", "torchvision")
    downloads: Any = importlib.import_module("torchvision.datasets.utils")
    downloads.download_url = lambda _url, _root: None
    registry = importlib.import_module("lavis.common.registry").registry
    (folder / "coco_gt").mkdir()
    results = _write_coco(captions, folder / "coco_gt" / "coco_karpathy_test_gt.json", folder)
    for name in ("cache_root", "output_dir"):
        registry.register_path(name, str(folder))
    captioning = importlib.import_module("lavis.tasks.captioning")
    task = captioning.CaptionTask(num_beams=5, max_len=30, min_len=8, evaluate=True)
    return Run(lambda: task._report_metrics(eval_result_file=results, split_name="test"))


def prepare_open_flamingo(
    captions: Captions,
    names: Sequence[str],  # noqa: ARG001
    folder: Path,
) -> Run:
    """`compute_cider` of eval/coco_metric.py, which returns all metrics."""
    give_folder("open_flamingo", "open_flamingo.eval")
    module = importlib.import_module("open_flamingo.eval.coco_metric")
    results = _write_coco(captions, folder / "annotations.json", folder)
    return Run(lambda: module.compute_cider(results, str(folder / "annotations.json")))


def _write_coco(captions: Captions, annotations: Path, folder: Path) -> str:
    references, candidates = captions
    listed = [(image, text) for image, texts in references.items() for text in texts]
    content = {
        "images": [{"id": image} for image in references],
        "annotations": [
            {"image_id": image, "id": number, "caption": text}
            for number, (image, text) in enumerate(listed)
        ],
    }
    annotations.write_text(json.dumps(content), encoding="utf-8")
    results = folder / "results.json"
    rows = [{"image_id": image, "caption": text} for image, text in candidates.items()]
    results.write_text(json.dumps(rows), encoding="utf-8")
    return str(results)


def prepare_capevalkit(captions: Captions, names: Sequence[str], folder: Path) -> Run:
    """`compute_pycocoevalcap`, which its metrics bleu, meteor, rouge and cider run."""
    module = importlib.import_module("capevalkit.metrics.pycocoevalcap_metrics")
    references, candidates = captions
    rows = [{"id": str(image), "references": texts} for image, texts in references.items()]
    paths = folder / "predictions.jsonl", folder / "references.jsonl"
    paths[1].write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    rows = [{"id": str(image), "caption": text} for image, text in candidates.items()]
    paths[0].write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    metrics = list(names) or ["bleu", "meteor", "rouge", "cider"]

    def score() -> dict[str, Any]:
        found = module.compute_pycocoevalcap(str(paths[0]), str(paths[1]), metrics)
        return {name: content["score"] for name, content in found.items()}

    return Run(score)


def prepare_vlmeval(captions: Captions, names: Sequence[str], folder: Path) -> Run:
    """`ImageCaptionDataset.evaluate`, and MMSci's `compute_cider`; `vlmeval` reads no settings."""
    give_folder("vlmeval", "vlmeval.dataset", "vlmeval.dataset.utils")
    # MMSci's file also loads other metrics, by Hugging Face's evaluate.
    leave_out("evaluate")
    import pandas

    references, candidates = captions
    file = folder / "model_COCO_VAL.tsv"
    pandas.DataFrame(
        {
            "index": list(references),
            "prediction": [candidates[image] for image in references],
            "answer": [repr(texts) for texts in references.values()],
        }
    ).to_csv(file, sep="\t", index=False)
    if names == ["mmsci"]:
        smp = importlib.import_module("vlmeval.smp")
        package = sys.modules["vlmeval"]
        package.dump, package.load, package.track_progress_rich = smp.dump, smp.load, None
        mmsci = importlib.import_module("vlmeval.dataset.utils.mmsci")
        return Run(lambda: _score_mmsci(mmsci, captions))
    module = importlib.import_module("vlmeval.dataset.image_caption")
    return Run(lambda: _flatten(module.ImageCaptionDataset.evaluate(str(file))))


def _score_mmsci(mmsci: Any, captions: Captions) -> dict[str, float]:
    """Return the mean of what its loop keeps for each caption: 0 where an error is raised."""
    references, candidates = captions
    found = []
    for image, texts in references.items():
        try:
            found.append(mmsci.compute_cider([candidates[image]], [texts]))
        except Exception:
            found.append(0.0)
    return {"CIDEr": sum(found) / len(found)}


def _flatten(scores: Mapping[str, Any]) -> dict[str, float]:
    bleu = {f"Bleu_{n}": value for n, value in enumerate(scores["Bleu"], start=1)}
    return {**bleu, **{name: value for name, value in scores.items() if name != "Bleu"}}


def prepare_aac_metrics(captions: Captions, names: Sequence[str], folder: Path) -> Run:
    """`Evaluate`; `msclap` and the two packages of transformers are for metrics on models.

    It refuses Java after 13, on which its jars run all the same: it is given one that calls itself
    11. The jars, which `aac-metrics-download` fetches, are those inside pycocoevalcap.
    """
    leave_out("msclap", "sentence_transformers", "transformers")
    module = importlib.import_module("aac_metrics")
    java = folder / "java"
    java.write_text(
        "#!/bin/sh\n"
        """[ "$1" = -version ] && echo 'openjdk version "11.0.0"' && exit\n"""
        'exec java "$@"\n'
    )
    java.chmod(0o755)
    _link_jars(folder / "aac-metrics")
    # For all: what Evaluate is given does not reach its METEOR.
    module.set_default_cache_path(str(folder))
    module.set_default_tmp_path(str(folder))
    module.set_default_java_path(str(java))
    evaluate = module.Evaluate(metrics=list(names) or AAC_METRICS)
    return Run(lambda: _as_floats(evaluate, captions))


AAC_METRICS = ["bleu_1", "bleu_2", "bleu_3", "bleu_4", "meteor", "rouge_l", "cider_d"]


def prepare_our_aac_metrics(
    captions: Captions,
    names: Sequence[str],
    folder: Path,  # noqa: ARG001
) -> Run:
    """The class of cidery with the same name."""
    from cidery.compat.aac_metrics import Evaluate

    evaluate = Evaluate(metrics=list(names) or AAC_METRICS)
    return Run(lambda: _as_floats(evaluate, captions))


def _as_floats(evaluate: Any, captions: Captions) -> dict[str, Any]:
    references, candidates = captions
    corpus, sentences = evaluate(
        [candidates[image] for image in references], [*references.values()]
    )
    return {
        "corpus": {name: value.item() for name, value in corpus.items()},
        "sentences": {name: values.tolist() for name, values in sentences.items()},
        "types": sorted(
            {f"{type(v).__name__}.{v.dtype}" for v in (*corpus.values(), *sentences.values())}
        ),
    }


def _link_jars(folder: Path) -> None:
    spec = PathFinder.find_spec("pycocoevalcap")
    assert spec is not None
    assert spec.submodule_search_locations
    package = Path(next(iter(spec.submodule_search_locations)))
    for source, target in (
        ("tokenizer/stanford-corenlp-3.4.1.jar", "stanford_nlp/stanford-corenlp-3.4.1.jar"),
        ("meteor/meteor-1.5.jar", "meteor/meteor-1.5.jar"),
        ("meteor/data", "meteor/data"),
    ):
        (folder / target).parent.mkdir(parents=True, exist_ok=True)
        (folder / target).symlink_to(package / source)


PREPARE: Mapping[str, Callable[[Captions, Sequence[str], Path], Run]] = {
    "lmms-eval": prepare_lmms_eval,
    "lmms-eval-tasks": prepare_our_tasks,
    "lavis": prepare_lavis,
    "open-flamingo": prepare_open_flamingo,
    "capevalkit": prepare_capevalkit,
    "vlmeval": prepare_vlmeval,
    "aac-metrics": prepare_aac_metrics,
    "aac-metrics-of-cidery": prepare_our_aac_metrics,
}


class _NoSpice:
    def compute_score(self, gts: Any, _res: Any) -> tuple[float, list[float]]:
        return 0.0, [0.0] * len(gts)

    def method(self) -> str:
        return "SPICE"


def leave_original_spice_out() -> None:
    """Keep the original going without SPICE, whose parser it would download."""
    import pycocoevalcap.eval

    pycocoevalcap.eval.Spice = _NoSpice


def leave_our_spice_out() -> None:
    """Score without SPICE here too, to compare times."""
    from cidery.coco import evaluation
    from cidery.compat import lmms_eval

    evaluation.SCORERS = {**evaluation.SCORERS, "SPICE": lambda: (_NoSpice(), "SPICE")}
    lmms_eval._why_missing = lambda metric: "left out" if metric == "spice" else ""  # type: ignore[assignment]


def processor_seconds() -> float:
    """Return the time of processors that this process and its ended children took."""
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(one.ru_utime + one.ru_stime for one in used)


def end_children() -> None:
    """End METEOR's process, which the original leaves behind, so that its time is counted."""
    for listed in Path("/proc/self/task").glob("*/children"):
        for child in map(int, listed.read_text().split()):
            os.kill(child, signal.SIGKILL)
            with contextlib.suppress(ChildProcessError):
                os.waitpid(child, 0)


def main(harness: str, side: str, names: Sequence[str]) -> None:
    sys.path.append(str(FOLDER))
    warnings.simplefilter("ignore")
    content = json.load(sys.stdin)
    captions = (
        {int(image): texts for image, texts in content["references"].items()},
        {int(image): text for image, text in content["candidates"].items()},
    )
    several = harness.split("+")
    chosen = [name for name in names if name != "--without-spice"]
    prepare = dict(PREPARE)
    if side == "original":
        leave_original_spice_out()
    else:
        import cidery.coco

        cidery.coco.install()
        if "--without-spice" in names:
            leave_our_spice_out()
        # It has its own copy of the metrics: there the class is replaced.
        prepare["aac-metrics"] = prepare_our_aac_metrics
    scores, seconds, processor = {}, {}, {}
    with tempfile.TemporaryDirectory() as temporary, contextlib.redirect_stdout(sys.stderr):
        for name in several:
            folder = Path(temporary) / name
            folder.mkdir()
            run = prepare[name](captions, chosen, folder)
            start, cpu = time.perf_counter(), processor_seconds()
            scores[name] = run.score()
            seconds[name] = time.perf_counter() - start
            end_children()
            processor[name] = processor_seconds() - cpu
    found = {"scores": scores, "seconds": seconds, "processor": processor}
    print(json.dumps(found), flush=True)
    os._exit(0)  # the original leaves a thread behind that waits for METEOR


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], sys.argv[3:])
