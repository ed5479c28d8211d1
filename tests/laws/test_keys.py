"""Every key changes with each dependency of what is stored under it: docs/caches.md.

Tables here have an entry for each setting. A new setting, or a new cached function, makes a test
fail until it is in a table. What a run of a stream does with another manifest is tested in
tests/engines/test_resuming.py, what the hash of a function depends on in
tests/storage/test_content_hash.py.
"""

from __future__ import annotations

import ast
import gzip
import inspect
import json
import os
import subprocess
import sys
import typing
from collections.abc import Callable, Iterator, Mapping
from contextlib import nullcontext
from dataclasses import dataclass, fields, replace
from pathlib import Path
from types import MappingProxyType, SimpleNamespace
from typing import Any

import numpy as np
import pytest

import cidery
from cidery import meta, storage
from cidery.diversity import MEASURES, EncoderKernel, SelfCider
from cidery.encoders import clip, vector_cache
from cidery.encoders.clip import ClipModel
from cidery.encoders.vector_cache import CachedEncoder
from cidery.engines import content, plan
from cidery.engines.content import list_content
from cidery.engines.plan import MANIFEST
from cidery.errors import InputError, ProcessError
from cidery.files import chunks
from cidery.meta import cache as agreement
from cidery.meta.cache import can_be_cached, make_key
from cidery.meta.evaluation import evaluate, find_keys
from cidery.metrics import METRICS, Metric
from cidery.metrics.base import Needs
from cidery.metrics.settings import list_choices
from cidery.metrics.spice import graph_cache
from cidery.scoring.pipeline import Pipeline, PipelineSettings
from cidery.storage import METEOR_WORDS, hash_content, hash_file, identify_file
from support.available import skip_unless_available
from support.example import Example
from support.streams import Stopping, score_here, write_streams

pytestmark = pytest.mark.filterwarnings("ignore::cidery.errors.UnreliableWarning")

ROOT = Path(__file__).parents[2]
CLASSES = {type(metric).__name__: metric for metric in reversed(list(METRICS.values()))}
CODE = ("hash_library", "list_dependencies", "list_versions")
"""Functions that return versions of code."""


def change_code(monkeypatch: pytest.MonkeyPatch, *modules: Any) -> Iterator[str]:
    """Change the library's hash, then versions of packages; yield the name of what is changed."""
    for module in modules:
        for name in CODE:
            if hasattr(module, name):
                other: Any = "0" * 64 if name == "hash_library" else {"numpy": "0.1"}
                with monkeypatch.context() as patched:
                    patched.setattr(module, name, lambda *_, other=other: other)
                    yield name


# --- Settings of metrics ---

VALUES: Mapping[str, Any] = MappingProxyType(
    {
        "baseline": (0.1, 0.1, 0.1),
        "beta": 0.5,
        "device": "torch",
        "encoder": "mpnet",
        "features": "other.npz",
        "images": "other",
        "instances": "other.json",
        "kernel": "cider-d",
        "layer": 1,
        "model": "other",
        "n": 2,
        "parser": "en_core_web_md",
        "prompt": "other ",
        "seed": 1,
        "skip": 2,
        "stemmer": None,
        "stop_words": "german",
        "table": "other.table",
        "weight": 1.5,
    }
)
"""Other values of settings whose types do not tell one."""
PAIRS: Mapping[tuple[str, str], tuple[Metric, Metric]] = MappingProxyType(
    {
        ("Chair", "references"): (
            cidery.Chair(instances="own.json"),
            cidery.Chair(instances="own.json", references=False),
        ),
        ("Bleu", "smoothing"): (
            cidery.Bleu(4, faithful="paper"),
            cidery.Bleu(4, faithful="paper", smoothing="add-one"),
        ),
        ("Bleu", "effective_order"): (
            cidery.Bleu(4, faithful="paper"),
            cidery.Bleu(4, faithful="paper", effective_order=True),
        ),
        ("Meteor", "language"): (cidery.Meteor(), cidery.Meteor(language="fr")),
        ("Meteor", "function_words"): (
            cidery.Meteor(language="fr"),
            cidery.Meteor(language="fr", function_words="own"),
        ),
    }
)
"""Metrics that differ in a setting that cannot be changed alone."""
FILES = {"baseline", "encoder", "features", "images", "instances", "model", "stop_words", "table"}
"""Settings that may name a file or folder, whose content is part of keys."""
NAMES = {"device", "language", "parser", "prompt", "stemmer"}
"""Settings that are texts, but no files."""


def change_setting(settings: Any, name: str) -> tuple[Any, Any]:
    """Return settings, and others that differ in one field."""
    if (kind := type(settings).__name__, name) in PAIRS:
        return PAIRS[kind, name]
    value = getattr(settings, name)
    others = [choice for choice in list_choices(settings, name) if choice != value]
    if name in VALUES and VALUES[name] != value:
        other = VALUES[name]
    elif others:
        other = others[0]
    else:
        other = (not value) if isinstance(value, bool) else value / 2 if value else 1
    return settings, replace(settings, **{name: other})


def list_settings() -> Iterator[Any]:
    measures = {type(measure).__name__: measure for measure in MEASURES.values()}
    for settings in (*CLASSES.values(), *measures.values(), EncoderKernel()):
        for field in fields(settings):
            kind = f"{type(settings).__module__}.{type(settings).__name__}"
            yield pytest.param(settings, field.name, id=f"{kind}.{field.name}")


@pytest.mark.parametrize(("settings", "name"), [*list_settings()])
def test_every_setting_of_metrics_changes_the_hash(settings: Any, name: str) -> None:
    before, after = change_setting(settings, name)
    assert hash_content(before) != hash_content(after)
    assert hash_content(before) == hash_content(replace(before))


def test_every_setting_that_is_text_is_a_file_or_a_name() -> None:
    texts = {
        field.name
        for metric in CLASSES.values()
        for field in fields(metric)
        if not list_choices(metric, field.name)
        and "str" in str(typing.get_type_hints(type(metric))[field.name])
    }
    assert (
        texts - FILES - NAMES == {"weights"} & texts
    )  # weights of n-grams are a choice or numbers


@pytest.mark.parametrize("name", sorted(FILES))
def test_files_are_needs(name: str, tmp_path: Path) -> None:
    """`list_content` has the content of all files that `needs` names."""
    (tmp_path / "given").mkdir()
    given = [
        replace(metric, **{name: str(tmp_path / "given")})
        for metric in CLASSES.values()
        if name in {field.name for field in fields(metric)}
    ]
    assert given
    for metric in given:
        assert metric.needs.files.get(name) == str(tmp_path / "given"), metric.name


def write_features(path: Path, value: float) -> Metric:
    np.savez(path, names=["a"], features=[[1.0, value]], captions=["x"], text_features=[[1.0, 0]])
    return cidery.ClipScore(features=str(path))


def write_instances(path: Path, value: float) -> Metric:
    path.write_text(json.dumps({"1": ["dog" if value else "cat"]}))
    return cidery.Chair(instances=str(path))


def write_stop_words(path: Path, value: float) -> Metric:
    path.write_text("the" if value else "and")
    return cidery.IrvUnigram(stop_words=str(path))


def write_table(path: Path, value: float) -> Metric:
    skip_unless_available("meteor")
    packed = path.with_suffix(".gz")
    packed.write_bytes(gzip.compress(f"0.5\na dog\na {'puppy' if value else 'hound'}\n".encode()))
    storage.write_meteor_table(path, packed)
    return cidery.Meteor(table=str(path))


@pytest.mark.parametrize(
    ("write", "file"),
    [
        (write_features, "own.npz"),
        (write_instances, "own.json"),
        (write_stop_words, "own.txt"),
        (write_table, "own.table"),
    ],
)
def test_files_of_metrics(
    write: Callable[[Path, float], Metric], file: str, tmp_path: Path
) -> None:
    """The content of files counts in resumed streams and in the cache of `cidery meta`."""
    path = tmp_path / file
    keys = []
    for value in (0.0, 1.0, 0.0):  # at once, and with the same size
        metric = write(path, value)
        keys.append((hash_content(list(list_content(metric))), make_key("scores", "", metric, {})))
    first, second, third = keys
    assert first[0] != second[0] and first[1] != second[1]
    assert first == third or file.endswith(".npz")  # whose bytes have the time


@pytest.mark.model
@pytest.mark.parametrize("file", ["config.json", "tokenizer.json", "model.safetensors"])
def test_files_of_an_encoder(file: str, tmp_path: Path, make_model: Any) -> None:
    """Signatures have them, too: they would be equal for different scores."""
    make_model("bert", tmp_path)
    metric, kernel = cidery.BertScore(encoder=str(tmp_path)), EncoderKernel(str(tmp_path))
    measure = SelfCider(kernel)
    before = (
        metric.data_settings(),
        kernel.data_settings(),
        make_key("scores", "", metric, {}),
        make_key("scores", "", measure, {}),
    )
    found = bytearray((tmp_path / file).read_bytes())
    if file == "model.safetensors":
        found[-1] ^= 1
    else:
        found += b" "
    (tmp_path / file).write_bytes(found)
    after = (
        metric.data_settings(),
        kernel.data_settings(),
        make_key("scores", "", metric, {}),
        make_key("scores", "", measure, {}),
    )
    assert all(one != other for one, other in zip(before, after, strict=True))


def test_encoders_of_other_packages(monkeypatch: pytest.MonkeyPatch) -> None:
    """Their code may change while name and version stay the same."""

    def embed_one(captions: list[str]) -> Any:
        return np.ones((len(captions), 1))

    def embed_two(captions: list[str]) -> Any:
        return np.ones((len(captions), 2))

    class Described(cidery.BertScore):
        def settings(self) -> dict[str, str]:
            return {}

        def data_settings(self) -> dict[str, str]:
            return {}

        needs = Needs()

    hashes = []
    for function in (embed_one, embed_two):
        loaded = SimpleNamespace(value=function)
        monkeypatch.setattr(content, "load_plugin", lambda *_, loaded=loaded: loaded)
        hashes.append(hash_content(list(list_content(Described(encoder="other")))))
    assert hashes[0] != hashes[1]


# --- Streams ---

STREAM: Mapping[str, Any] = MappingProxyType(
    {
        "candidates": None,  # another file, below
        "references": None,
        "metrics": ["rouge-l", "bleu-1"],
        "captions": "other",
        "missing": "skip",
        "caption_field": "caption",
        "reference_field": "references",
        "id_field": "image_id",
        "reference_id_field": "image_id",
        "partitions": 8,
        "preset": "presets.toml",
        "tokenizer": "words",
        "language": "pt",
        "frequencies": "coco-val2014",
        "faithful": "paper",
    }
)
"""Other values of the arguments of `score_stream`."""
STREAM_WITHOUT_EFFECT = {
    "engine": "scores have the same bits on any engine",
    "work": "the folder that holds the manifest",
    "threads": "the engine sets it; scores have the same bits for any number",
}


def read_manifest(folder: Path, sides: tuple[str, str], **settings: Any) -> Any:
    """Return the manifest of a run that stops before its first step."""
    work = folder / f"work-{len(list(folder.iterdir()))}"
    given = {"metrics": ["bleu-1"], "captions": folder / "scores", "partitions": 4} | settings
    with pytest.raises(KeyboardInterrupt):
        score_here(folder, sides, work=work, engine=Stopping("_split", 0), **given)
    return json.loads((work / MANIFEST).read_text())


def test_every_argument_of_streams_is_in_the_manifest(example: Example, tmp_path: Path) -> None:
    arguments = {
        *inspect.signature(cidery.score_stream).parameters,
        *PipelineSettings.__annotations__,
    }
    assert arguments - {"settings"} == STREAM.keys() | STREAM_WITHOUT_EFFECT.keys()
    first, second = (tmp_path / name for name in ("first", "second"))
    sides, others = (
        write_streams(folder, *example.many(count)) for folder, count in ((first, 9), (second, 8))
    )
    (tmp_path / "presets.toml").write_text('[main]\nmetrics = ["rouge-l"]\n')
    before = read_manifest(first, sides)
    assert read_manifest(first, sides) == before
    changed: dict[str, Any] = {
        "candidates": read_manifest(first, (others[0], sides[1])),
        "references": read_manifest(first, (sides[0], others[1])),
    }
    for name, value in STREAM.items():
        if name == "preset":
            value = str(tmp_path / value)
        if name not in changed:
            changed[name] = read_manifest(first, sides, **{name: value})
    assert [name for name, found in changed.items() if found == before] == []


def test_every_field_of_pipelines_is_content() -> None:
    """`Pipeline` has no field that the arguments of streams lack."""
    assert {field.name for field in fields(Pipeline)} <= STREAM.keys() | {"threads"}


def test_code_is_in_the_manifest(monkeypatch: pytest.MonkeyPatch) -> None:
    tokenizer = cidery.text.get_tokenizer("ptb")
    before = content.describe_content({}, tokenizer)
    for name in change_code(monkeypatch, content):
        assert content.describe_content({}, tokenizer) != before, name


def test_inputs_that_change_in_the_middle(tmp_path: Path) -> None:
    """Of large files only the ends are read: times tell of a change elsewhere."""
    path = tmp_path / "c.jsonl"
    path.write_text("x" * 300_000)
    status = path.stat()
    before = plan.Input.find(str(path), "candidates").describe()
    with path.open("r+") as file:
        file.seek(150_000)
        file.write("y")
    os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))
    assert path.stat().st_mtime_ns == status.st_mtime_ns
    assert plan.Input.find(str(path), "candidates").describe() != before


def test_inputs_without_a_version(
    example: Example, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A URL whose storage reports a size only is scored, but never resumed."""
    sides = write_streams(tmp_path, *example.many(6))
    monkeypatch.setattr(plan, "fingerprint_file", lambda _: [5, None])
    stopped: Any = {"engine": Stopping("_split", 0), "partitions": 4}
    with pytest.raises(KeyboardInterrupt):
        score_here(tmp_path, sides, "bleu-1", **stopped)
    with pytest.raises(InputError, match=r"cannot be resumed: .* reports no time or version"):
        score_here(tmp_path, sides, "bleu-1", **stopped)


def test_versions_of_urls(monkeypatch: pytest.MonkeyPatch) -> None:
    """The names that storages of fsspec use: S3, HTTP, Google, Azure, SFTP, memory."""
    info: dict[str, Any] = {"size": 5}
    system = SimpleNamespace(info=lambda _: info)
    monkeypatch.setattr(chunks, "_open_remote", lambda _: nullcontext((system, "path")))
    assert None in chunks.fingerprint_file("s3://bucket/c.jsonl")
    for name in (
        "ETag",
        "etag",
        "Last-Modified",
        "generation",
        "last_modified",
        "mtime",
        "created",
    ):
        found = []
        for version in (1, 2):
            info = {"size": 5, name: version}
            found.append(chunks.fingerprint_file("s3://bucket/c.jsonl"))
        assert found[0] != found[1] and None not in found[0], name


def test_nodes_with_other_code() -> None:
    """Tasks of one run may not mix versions."""
    from cidery.engines.ray import check_code

    own = content.describe_code()
    check_code(own)
    check_code({**own, "the package only-here": "1"})
    with pytest.raises(ProcessError, match=r"cidery differs between .* install the same versions"):
        check_code({**own, "cidery": "0"})
    with pytest.raises(ProcessError, match="the package numpy differs"):
        check_code({**own, "the package numpy": "0.1"})


# --- cidery meta ---

SETTINGS: Mapping[str, Any] = MappingProxyType(
    {
        "protocol": "wins",
        "references": 1,
        "draw": "first",
        "concatenate": True,
        "mean_ratings": True,
        "undecided": "half",
        "kind": "MM",
        "question": "recall",
        "system": ("own",),
        "without_system": ("own",),
        "sample": 5,
        "reference_counts": (2,),
        "draws": 7,
        "resamples": 7,
        "seed": 1,
        "tokenizer": "words",
        "language": "pt",
        "frequencies": "coco-val2014",
    }
)
"""Other values of the settings of `evaluate`."""
CAPTIONS = meta.JudgedCaptions(
    ["a dog", "a cat"], np.zeros(2, np.int64), [["a dog"]], np.zeros(1, np.int64)
)
ZEROS, ONES = np.zeros(1, np.int64), np.ones(1, np.int64)
JUDGMENTS: tuple[Any, ...] = (
    CAPTIONS,
    meta.Pairs("made", CAPTIONS, ZEROS, ONES, {"preference": ONES}),
    meta.Ratings("made", CAPTIONS, ZEROS, np.ones(1)),
    meta.Sets("made", ["a"], [["a dog", "a cat"]], np.ones(1)),
    meta.Systems("made", ["a"], {"M1": np.ones(1)}, {5: {"cider-d": np.ones(1)}}),
)


def find_key(settings: meta.Settings) -> bytes | None:
    return find_keys(JUDGMENTS[1], {"x": METRICS["bleu-1"]}, settings).get("x")


def test_every_setting_of_meta_changes_the_key() -> None:
    assert {field.name for field in fields(meta.Settings)} == {*SETTINGS, "tests"}
    before = find_key(meta.Settings())
    assert before is not None
    assert find_key(meta.Settings()) == before
    changed = {name: find_key(meta.Settings(**{name: v})) for name, v in SETTINGS.items()}
    assert [name for name, key in changed.items() if key in (before, None)] == []
    assert find_key(meta.Settings(tests=True)) is None  # p-values are of several metrics
    arguments = set(inspect.signature(evaluate).parameters)
    assert arguments - {"threads", "progress", "cache"} == {
        *("dataset", "metrics", "settings", "changes")
    }


@pytest.mark.parametrize(
    ("judgments", "name"),
    [
        pytest.param(one, field.name, id=f"{type(one).__name__}.{field.name}")
        for one in JUDGMENTS
        for field in fields(one)
    ],
)
def test_every_field_of_judgments_changes_the_fingerprint(judgments: Any, name: str) -> None:
    value = getattr(judgments, name)
    if isinstance(value, np.ndarray):
        other: Any = value + 1
    elif isinstance(value, Mapping):
        other = {**value, "other": ONES}
    elif isinstance(value, meta.JudgedCaptions):
        other = replace(value, captions=["a dog", "a bird"])
    elif name == "name":
        other = "other"
    else:
        other = [*(value if value is not None else ()), ["other"]]
    changed = replace(judgments, **{name: other})
    assert changed.fingerprint != judgments.fingerprint
    assert replace(judgments).fingerprint == judgments.fingerprint


def test_code_changes_the_keys_of_meta(monkeypatch: pytest.MonkeyPatch) -> None:
    before = find_key(meta.Settings())
    for name in change_code(monkeypatch, agreement):
        assert find_key(meta.Settings()) != before, name
    monkeypatch.setattr(agreement, "FORMAT", 0)
    assert find_key(meta.Settings()) != before


def test_numbers_change_the_key_to_the_last_bit() -> None:
    """Signatures round them."""
    sigmas = (6.0, np.nextafter(6.0, 7.0))
    keys = {make_key("scores", "", cidery.CiderD(sigma=float(sigma)), {}) for sigma in sigmas}
    assert len(keys) == 2


def test_contents_that_are_unknown_are_not_cached() -> None:
    class Open(cidery.encoders.Encoder):
        name, fingerprint, kernel = "own", "1", "own"

        def __init__(self) -> None:
            self.lines = (line for line in "abc")

        def embed(self, captions: Any, threads: int = 0) -> Any:
            raise NotImplementedError

        def tokens(self, captions: Any, layer: Any = None, threads: int = 0) -> Any:
            raise NotImplementedError

    assert not can_be_cached(cidery.BertScore(encoder=Open()))
    assert can_be_cached(cidery.CiderD())


# --- Vectors and scene graphs on disk ---


class Keys:
    """A cache that records the keys that it is asked for."""

    def __init__(self) -> None:
        self.found: list[bytes] = []

    def load(self, keys: Any) -> dict[bytes, bytes]:
        self.found += keys
        return {}

    def save(self, contents: Any) -> None:
        pass


@dataclass(frozen=True)
class FakeEncoder:
    """What `CachedEncoder` uses of an encoder."""

    name: str = "fake"
    files: str = "0"
    kernel: str = "avx2"
    window: int = 512
    layers: int = 2

    def embed(self, captions: Any, _threads: int) -> Any:
        return np.ones((len(captions), 2), np.float32)


@pytest.fixture
def keys(monkeypatch: pytest.MonkeyPatch) -> Keys:
    found = Keys()
    monkeypatch.setattr(vector_cache, "VECTORS", found)
    monkeypatch.setattr(clip, "VECTOR_CACHE", found)
    return found


def test_keys_of_cached_vectors(keys: Keys, monkeypatch: pytest.MonkeyPatch) -> None:
    """Another model folder has other `files`: test_files_of_an_encoder."""

    def find(encoder: Any, caption: str = "a dog", layer: int | None = None) -> bytes:
        cached = CachedEncoder(encoder)
        what = "mean" if layer is None else f"layer {layer}"
        cached._find([caption], what, lambda missing: iter([b""] * len(missing)))
        return keys.found[-1]

    before = find(FakeEncoder())
    assert find(FakeEncoder()) == before
    values: dict[str, Any] = {"name": "x", "files": "1", "kernel": "torch-avx2", "window": 8}
    assert values.keys() == {field.name for field in fields(FakeEncoder)} - {"layers"}
    changed = [find(replace(FakeEncoder(), **{name: v})) for name, v in values.items()]
    changed += [find(FakeEncoder(), "a cat"), find(FakeEncoder(), layer=1)]
    changed += [find(FakeEncoder()) for _ in change_code(monkeypatch, vector_cache)]
    assert len({before, *changed}) == 1 + len(changed)


class FakeClip(ClipModel):
    """What a cache key of CLIP depends on, without a model."""

    kernel = "cpu"

    def __init__(self, *digests: str) -> None:
        self.folder, self._digests = Path("clip"), digests


def test_keys_of_cached_clip_vectors(keys: Keys, monkeypatch: pytest.MonkeyPatch) -> None:
    def find(model: ClipModel, kind: str = "caption", content: bytes = b"1") -> bytes:
        model._embed(kind, [b"a"], lambda _: np.ones(2, np.float32), True, {b"a": content})
        return keys.found[-1]

    before = find(FakeClip("1", "2"))
    assert find(FakeClip("1", "2")) == before
    changed = [find(FakeClip("1", "3")), find(FakeClip("1", "2"), "image")]
    changed.append(find(FakeClip("1", "2"), content=b"2"))
    changed += [find(FakeClip("1", "2")) for _ in change_code(monkeypatch, clip)]
    monkeypatch.setattr(FakeClip, "kernel", "torch-cuda")
    changed.append(find(FakeClip("1", "2")))
    assert len({before, *changed}) == 1 + len(changed)


def test_every_file_of_a_clip_folder(tmp_path: Path) -> None:
    """Those that transformers reads in some versions, too."""
    names = ("model.safetensors", "config.json", "processor_config.json", "merges.txt")
    for name in names:
        (tmp_path / name).write_text("0")
    for name in (*names, "tokenizer_config.json"):
        before = tuple(clip._hash_files(tmp_path))
        (tmp_path / name).write_text("1")
        assert tuple(clip._hash_files(tmp_path)) != before, name


def test_keys_of_scene_graphs(monkeypatch: pytest.MonkeyPatch) -> None:
    def find(parser: str = "spacy", *words: str) -> bytes:
        graph_cache._describe_code.cache_clear()
        return graph_cache._key(parser, words)

    before = find("spacy", "a", "dog")
    assert find("spacy", "a", "dog") == before
    changed = [find("other", "a", "dog"), find("spacy", "a", "cat")]
    changed += [find("spacy", "a", "dog") for _ in change_code(monkeypatch, graph_cache)]
    graph_cache._describe_code.cache_clear()
    assert len({before, *changed}) == 1 + len(changed)


@pytest.mark.model
def test_pipelines_of_ones_own(tmp_path: Path) -> None:
    """Their version does not tell what they contain."""
    spacy = pytest.importorskip("spacy", reason="spaCy is not installed")
    from cidery.metrics.spice.parser import Parser

    versions = []
    for words in ({"dogs": "dog"}, {"dogs": "hound"}):
        pipeline = spacy.blank("en", meta={"name": "own", "version": "1.0"})
        for word in words.values():
            pipeline.vocab.strings.add(word)
        pipeline.to_disk(tmp_path / "own")
        versions.append(Parser.build(spacy.load(tmp_path / "own")).version)
    assert len(set(versions)) == 2
    assert versions[0].startswith("spacy-en_own-1.0-")


# --- Files ---


def write_again(path: Path) -> None:
    path.write_text("yy")


def write_with_its_time(path: Path) -> None:
    status = path.stat()
    path.write_text("yy")
    os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))


def replace_file(path: Path) -> None:
    path.with_suffix(".new").write_text("yy")
    path.with_suffix(".new").replace(path)


@pytest.mark.parametrize("change", [write_again, write_with_its_time, replace_file])
def test_files_of_the_same_size(change: Callable[[Path], None], tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_text("xx")
    key, digest = identify_file(path), hash_file(path)
    assert (identify_file(path), hash_file(path)) == (key, digest)
    change(path)
    assert identify_file(path) != key
    assert hash_file(path) != digest


def test_a_resource_has_the_version_of_its_builder() -> None:
    """Raise `version` when the compiled table changes, or old tables are used."""
    skip_unless_available("meteor")
    table = METEOR_WORDS.open(METEOR_WORDS.build(lambda *_: None))
    assert (METEOR_WORDS.version, f"{table.checksum:016x}") == (1, "668864be0997eee6")


def test_every_field_of_frequencies_changes_the_fingerprint() -> None:
    counted = cidery.DocumentFrequencies.from_references([["a dog runs"], ["a cat"]], name="own")
    other = cidery.DocumentFrequencies.from_references([["a dog sits"], ["a dog"]], name="own")
    values: dict[str, Any] = {
        "words": other.words,
        "levels": other.levels,
        "image_count": 9,
        "tokenizer": "words",
        "stemmer": "english",
        "min_count": 2,
        "name": "other",
        "source": "other",
    }
    assert values.keys() == {field.name for field in fields(counted)}
    same = {
        name
        for name, value in values.items()
        if replace(counted, **{name: value}).fingerprint == counted.fingerprint
    }
    assert same == {"name", "source"}  # equal counts give equal scores


# --- All keys ---

SCRIPT = """
import cidery
from cidery.engines.content import describe_content, list_content
from cidery.meta.cache import make_key
from cidery.storage import hash_content
metrics = {"a": cidery.CiderD(), "b": cidery.IrvUnigram(stop_words=("a", "the"))}
print(describe_content(metrics, cidery.text.get_tokenizer("words")))
print([make_key("scores", "1", metric, {"a": 1}) for metric in metrics.values()])
print([hash_content(list(list_content(metric))) for metric in metrics.values()])
"""


def test_keys_do_not_depend_on_the_process() -> None:
    found = {
        subprocess.run(
            [sys.executable, "-c", SCRIPT],
            env={**os.environ, "PYTHONHASHSEED": str(seed), "PYTHONPATH": ":".join(sys.path)},
            check=True,
            capture_output=True,
            text=True,
        ).stdout
        for seed in (1, 2)
    }
    assert len(found) == 1


def find_cached_functions(tree: ast.AST) -> Iterator[str]:
    """Yield functions whose results are cached in memory."""
    for node in ast.walk(tree):
        for decorator in getattr(node, "decorator_list", ()):
            if ast.unparse(decorator).partition("(")[0] in ("cache", "lru_cache"):
                yield node.name  # type: ignore[attr-defined]


def test_every_cached_function_is_documented() -> None:
    """A new one belongs in the table, with the reason why its arguments are all that it needs."""
    page = (ROOT / "docs" / "caches.md").read_text(encoding="utf-8")
    missing = []
    for package in ("src/cidery", "lab/src/cidery_lab", "server/src/cidery_server"):
        for path in sorted((ROOT / package).rglob("*.py")):
            name = path.relative_to(ROOT / package).as_posix()
            functions = [*find_cached_functions(ast.parse(path.read_text(encoding="utf-8")))]
            if functions and f"`{name}`" not in page:
                missing.append(f"{name}: {', '.join(functions)}")
    assert missing == []


def test_every_cache_on_disk_is_documented() -> None:
    page = (ROOT / "docs" / "caches.md").read_text(encoding="utf-8")
    for name in (*storage.CACHES, *storage.RESOURCES, *storage.MODELS):
        assert f"`{name}`" in page, name
