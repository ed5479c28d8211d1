"""Options of several commands: fields, files to write, numbers; bad values are told in one line."""

from __future__ import annotations

import dataclasses
import importlib
import inspect
import json
import typing
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from typer.main import get_command

from cidery.cli import COMMANDS, main, options
from cidery.corpus import bundled
from support.markers import mark_metrics

A_SCORE = ("score", "system_a.json", "references.json", "-m", "rouge-l", "--no-intervals")
A_COMPARISON = ("compare", "references.json", "system_a.json", "system_b.json", "-m", "rouge-l")
OUTPUTS = [
    {"image_id": 1, "captions": ["a dog runs", "the dog"], "prediction": "a dog runs fast"},
    {"image_id": 2, "captions": ["two cats", "cats sleep"], "prediction": "a cat"},
]

Run = Callable[..., tuple[int, str, str]]


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    """Run a command in a folder that has the example files, with an empty cache."""
    for name in bundled.NAMES:
        (tmp_path / name).write_bytes(bundled.path(name).read_bytes())
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("CIDERY_CACHE", str(tmp_path / "cache"))

    def call(*arguments: str) -> tuple[int, str, str]:
        return main(arguments), *capsys.readouterr()

    return call


def write_lines(name: str, records: list[dict[str, Any]]) -> None:
    Path(name).write_text("".join(json.dumps(record) + "\n" for record in records))


def rename(record: dict[str, Any], **names: str) -> dict[str, Any]:
    return {names.get(key, key): value for key, value in record.items()}


def score_of(ran: tuple[int, str, str]) -> float:
    status, out, err = ran
    assert status == 0, err
    return float(json.loads(out)["scores"]["rouge-l"])


class TestFields:
    SCORE = ("score", "all.jsonl", "all.jsonl", "-m", "rouge-l", "-f", "json")

    def test_records_are_not_scored_by_their_own_references(self, run: Run) -> None:
        write_lines("all.jsonl", OUTPUTS)
        status, out, err = run(*self.SCORE)
        assert (status, out) == (2, "")
        assert err == (
            "error: all.jsonl: 'captions' and 'prediction' may both hold the captions to score; "
            "name one with caption_field= (--caption-field)\n"
        )
        assert 0 < score_of(run(*self.SCORE, "--caption-field", "prediction")) < 1
        assert score_of(run(*self.SCORE, "--caption-field", "captions")) == 1

    def test_all_fields_can_be_named(self, run: Run) -> None:
        write_lines("all.jsonl", OUTPUTS)
        expected = score_of(run(*self.SCORE, "--caption-field", "prediction"))
        names = {"image_id": "photo", "captions": "people", "prediction": "said"}
        write_lines("all.jsonl", [rename(record, **names) for record in OUTPUTS])
        fields = ("--caption-field", "said", "--reference-field", "people")
        assert score_of(run(*self.SCORE, *fields, "--id-field", "photo")) == expected
        write_lines("mine.jsonl", [rename(record, **names) for record in OUTPUTS])
        write_lines("theirs.jsonl", [rename(r, **names | {"image_id": "key"}) for r in OUTPUTS])
        ran = run("score", "mine.jsonl", "theirs.jsonl", *self.SCORE[3:], *fields)
        assert "no field names the image" in ran[2]
        ids = ("--id-field", "photo", "--reference-id-field", "key")
        ran = run("score", "mine.jsonl", "theirs.jsonl", *self.SCORE[3:], *fields, *ids)
        assert score_of(ran) == expected

    def test_ids_of_one_side_beside_captions_by_id(self, run: Run) -> None:
        records = [{"photo": "1", "caption": "a dog"}, {"photo": "2", "caption": "a cat"}]
        write_lines("mine.jsonl", records)
        Path("known.json").write_text('{"1": ["a dog"], "2": ["a cat"]}')
        ran = run("score", "mine.jsonl", "known.json", *self.SCORE[3:], "--id-field", "photo")
        assert score_of(ran) == 1

    @pytest.mark.parametrize(
        "command",
        [
            ("compare", "all.jsonl", "a=all.jsonl", "b=all.jsonl", "-m", "rouge-l"),
            ("diversity", "sets.jsonl", "-m", "unique", "--references", "all.jsonl"),
        ],
    )
    def test_other_commands_of_both_sides(self, run: Run, command: tuple[str, ...]) -> None:
        names = {"image_id": "photo", "captions": "people", "prediction": "said"}
        records = [rename(record, **names) for record in OUTPUTS]
        write_lines("all.jsonl", records)
        write_lines("sets.jsonl", [r | {"said": [r["said"], "a tree"]} for r in records])
        assert run(*command)[0] == 2
        fields = ("--caption-field", "said", "--reference-field", "people", "--id-field", "photo")
        status, _, err = run(*command, *fields)
        assert status == 0, err

    @pytest.mark.parametrize("command", [("stats",), ("frequencies", "build", "-o", "x.df")])
    def test_commands_of_references(self, run: Run, command: tuple[str, ...]) -> None:
        write_lines("all.jsonl", [rename(r, image_id="photo", captions="people") for r in OUTPUTS])
        status, _, err = run(*command, "all.jsonl")
        assert (status, "no field names the image" in err) == (2, True)
        fields = ("--reference-field", "people", "--id-field", "photo")
        status, out, err = run(*command, "all.jsonl", *fields)
        assert status == 0, err
        assert "2" in out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            (*A_COMPARISON, "--seed", "-1"),
            "Invalid value for '--seed': -1 is not in the range x>=0",
        ),
        ((*A_COMPARISON, "--seed", str(1 << 64)), "seed must be between 0 and 2^64"),
        ((*A_COMPARISON, "--resamples", "1"), "Invalid value for '--resamples': 1 is not in"),
        ((*A_COMPARISON, "--confidence", "1"), "1 must be greater than 0 and less than 1"),
        ((*A_COMPARISON, "--confidence", "nan"), "nan must be greater than 0 and less than 1"),
        ((*A_SCORE, "--confidence", "0"), "0 must be greater than 0 and less than 1"),
        ((*A_SCORE, "--seed", "-1"), "-1 is not in the range"),
        ((*A_SCORE, "--threads", "-1"), "Invalid value for '--threads': -1 is not in the range"),
        ((*A_SCORE, "--threads", "99999999"), "99999999 is not in the range"),
        (("stats", "references.json", "--threads", "-1"), "-1 is not in the range"),
        (("diversity", "sampled_a.json", "--threads", "-1"), "-1 is not in the range"),
        (("meta", "judgments", "x.jsonl", "--seed", "-1"), "seed must be at least 0, not -1"),
        (("meta", "judgments", "x.jsonl", "--resamples", "-1"), "resamples must be at least 0"),
        (("frequencies", "build", "references.json", "-o", "x.df", "-n", "0"), "n (-n) must be"),
        (
            ("frequencies", "build", "references.json", "-o", "x.df", "--min-count", "0"),
            "min_count (--min-count) must be at least 1, not 0",
        ),
        (("score", ".", "references.json"), ".: no files found; streams read .parquet"),
        (("score", "none.json", "references.json"), "none.json: No such file or directory"),
        (("frequencies", "show", "references.json"), "is not a document-frequency file of cidery"),
        (("frequencies", "show", "empty"), "empty is not a document-frequency file of cidery"),
        (("tokenize", "--stemmer", "klingon"), "no stemmer for 'klingon'"),
        (("data", "remove", "xyz"), "no data named 'xyz'; known: meteor, meteor-words, minilm"),
        (("demo", "--copy", "references.json"), "references.json: File exists"),
    ],
)
def test_bad_values_are_told_in_one_line(
    run: Run, arguments: tuple[str, ...], message: str
) -> None:
    Path("empty").touch()
    status, out, err = run(*arguments)
    assert (status, out) == (2, "")
    assert err.startswith("error: ")
    assert message in err
    assert err.count("\n") == 1


@pytest.mark.parametrize(
    "command",
    [
        ("score", "system_a.json", "references.json", "--captions"),
        ("diversity", "sampled_a.json", "--images"),
        ("frequencies", "build", "references.json", "-o"),
        ("frequencies", "import", "references.json", "-o"),
        ("frequencies", "merge", "references.json", "references.json", "-o"),
        ("data", "build", "meteor", "--paraphrases", "references.json", "-o"),
    ],
    ids=lambda command: " ".join(command[:2]),
)
def test_outputs_are_checked_before_the_work(run: Run, command: tuple[str, ...]) -> None:
    status, _, err = run(*command, "none/x.csv")
    assert status == 2
    assert "none/x.csv cannot be written: there is no folder none" in err
    status, _, err = run(*command, ".")
    assert (status, ". is a folder; name a file" in err) == (2, True)


@pytest.mark.parametrize(
    "arguments",
    [
        ("frequencies", "build", "references.json", "-o", "./references.json"),
        ("frequencies", "import", "references.json", "-o", "references.json"),
        ("score", "system_a.json", "references.json", "--captions", "references.json"),
        ("diversity", "sampled_a.json", "--images", "sampled_a.json"),
    ],
)
def test_what_is_read_is_not_replaced(run: Run, arguments: tuple[str, ...]) -> None:
    before = {path.name: path.read_bytes() for path in Path().iterdir()}
    status, _, err = run(*arguments)
    assert (status, "is also an input; name another file" in err) == (2, True)
    assert {path.name: path.read_bytes() for path in Path().iterdir()} == before


def test_a_device_is_written_to_and_not_replaced(run: Run) -> None:
    assert run("frequencies", "build", "references.json", "-o", "/dev/null")[0] == 0
    assert Path("/dev/null").is_char_device()


def test_the_example_is_copied_into_a_new_folder(run: Run) -> None:
    status, out, _ = run("demo", "--copy", "some/where")
    assert status == 0
    assert out.splitlines() == [f"some/where/{name}" for name in bundled.NAMES]
    assert {path.name for path in Path("some/where").iterdir()} == set(bundled.NAMES)


@pytest.mark.parametrize(
    "arguments",
    [
        A_SCORE,
        A_COMPARISON,
        ("stats", "references.json"),
        ("diversity", "sampled_a.json", "-m", "unique"),
        ("frequencies", "list"),
        ("frequencies", "show", "coco-val2014", "a dog"),
        ("metrics",),
        ("metrics", "cider-d"),
        ("data",),
        ("data", "remove", "meteor"),
    ],
    ids=lambda arguments: " ".join(arguments[:2]),
)
def test_reading_commands_write_nothing(run: Run, arguments: tuple[str, ...]) -> None:
    before = {path.name for path in Path().iterdir()}
    assert run(*arguments)[0] == 0
    assert {path.name for path in Path().iterdir()} == before


def test_data_that_cannot_be_built_leave_no_cache_folder(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.path", [])
    for arguments in (("data", "build", "meteor"), (*A_SCORE[:3], "-m", "meteor")):
        status, _, err = run(*arguments)
        assert (status, "pycocoevalcap is needed to score with METEOR" in err) == (2, True)
    assert not Path("cache").exists()


GROUPS = (options.PipelineOptions, options.InputOptions, options.EngineOptions)


def list_parameters() -> dict[str, dict[str, Any]]:
    """Return the options of every command, by name of the command and of the option."""
    found = {}
    for name in COMMANDS:
        module = importlib.import_module(f"cidery.cli.{name.replace('-', '_')}")
        command = get_command(module.app)
        for path, one in {name: command, **getattr(command, "commands", {})}.items():
            found[f"{name} {path}"] = {
                p.name: p for p in one.params if p.param_type_name == "option"
            }
    return found


@pytest.mark.parametrize("group", GROUPS)
def test_shared_options_have_one_declaration(group: type[Any]) -> None:
    kinds = typing.get_type_hints(group, include_extras=True)
    for field in dataclasses.fields(group):
        default = typing.get_args(kinds[field.name])[1].help.partition(" Default: ")[0]
        for command, parameters in list_parameters().items():
            if field.name not in parameters or (command, field.name) in OWN_OPTIONS:
                continue
            help_text = parameters[field.name].help.partition(" Default: ")[0]
            assert help_text == default, f"{command} --{field.name}"


OWN_OPTIONS = {
    ("audit audit", "metric"),  # metrics that audits know
    ("audit audit", "frequencies"),  # files that CIDEr's weights may have been counted on
    ("dense-video dense-video", "faithful"),  # source of SODA-c
    ("graph graph", "faithful"),  # reading of scene graphs
    ("data build", "language"),  # of METEOR's paraphrases
    ("frequencies import", "tokenizer"),  # of counts that were made elsewhere
}


def test_commands_take_groups_of_options() -> None:
    @options.with_options(only=("tokenizer", "threads", "missing"))
    def command(
        file: str, pipeline: options.PipelineOptions, inputs: options.InputOptions, top: int = 3
    ) -> tuple[Any, ...]:
        return file, pipeline, inputs, top

    assert list(inspect.signature(command).parameters) == [
        "file", "tokenizer", "threads", "missing", "top",
    ]  # fmt: skip
    found = command("a.json", tokenizer="char", missing="skip")
    assert found == (
        "a.json",
        options.PipelineOptions(tokenizer="char"),
        options.InputOptions(missing="skip"),
        3,
    )


@pytest.mark.parametrize("spice", mark_metrics(["spice"]))
def test_captions_without_a_score_are_null(run: Run, spice: str) -> None:
    metric = f"{spice}:of=color"
    arguments = ("-m", metric, "-m", "rouge-l", "--captions", "each.jsonl")
    status, out, err = run("score", "system_a.json", "references.json", *arguments)
    assert status == 0, err
    assert "spice:of=color" in out
    scores = [json.loads(line)[metric] for line in Path("each.jsonl").read_text().splitlines()]
    assert None in scores
    assert max(score for score in scores if score is not None) == 1
    compared = run("compare", "references.json", "system_a.json", "system_b.json", "-m", metric)
    assert "images, out of 72, that both have a score for" in compared[1]


@pytest.mark.parametrize("others", [(), ("--claimed", "cider=0.5")])
def test_audit_refuses_metrics_that_it_would_ignore(run: Run, others: tuple[str, ...]) -> None:
    status, out, err = run("audit", "system_a.json", "references.json", "-m", "bleu-4", *others)
    assert (status, out) == (2, "")
    assert "--metric: only valid with --apply and without --claimed" in err
