"""The command line, through its real door."""

from __future__ import annotations

import csv
import importlib.util
import json
import os
import pickle
import pkgutil
import re
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow.parquet
import pytest
import typer
from typer.main import get_command

import cidery
from cidery import statistics
from cidery.cli import COMMANDS, GROUPS, app, main, options
from cidery.cli.progress_bar import BIG_FILE
from cidery.cli.rendering import draw_bar
from cidery.corpus import bundled
from cidery.files import read_candidates, read_references
from cidery.text import KINDS

ROOT = Path(__file__).parents[2]
CIDERY = Path(sys.executable).parent / "cidery"
COCO = ("--frequencies", "coco-val2014")


@dataclass(frozen=True)
class Ran:
    """What a command did."""

    status: int
    out: str
    err: str


Run = Callable[..., Ran]


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    """Run a command in a folder that has the example files."""
    for name in bundled.NAMES:
        (tmp_path / name).write_bytes(bundled.path(name).read_bytes())
    monkeypatch.chdir(tmp_path)

    def call(*arguments: str) -> Ran:
        status = main(arguments)
        return Ran(status, *capsys.readouterr())

    return call


def start(*arguments: str, **settings: Any) -> subprocess.Popen[bytes]:
    """Start the installed executable."""
    pipe = subprocess.PIPE
    pipes: dict[str, Any] = {"stdin": pipe, "stdout": pipe, "stderr": pipe}
    folder = bundled.path("references.json").parent
    return subprocess.Popen([str(CIDERY), *arguments], cwd=folder, **(pipes | settings))


def finish(*arguments: str, given: bytes = b"") -> Ran:
    """Run the installed executable to its end."""
    with start(*arguments) as process:
        out, err = process.communicate(given)
    return Ran(process.returncode, out.decode(), err.decode())


def expected(*metrics: str, system: str = "system_a.json") -> cidery.ScoreTable:
    return cidery.score(
        read_candidates(bundled.path(system)),
        read_references(bundled.path("references.json")),
        metrics,
        frequencies="coco-val2014",
    )


class TestDoor:
    def test_version(self) -> None:
        assert finish("--version") == Ran(0, f"cidery {cidery.__version__}\n", "")

    def test_help_lists_every_command(self, run: Run) -> None:
        ran = run("--help")
        assert ran.status == 0
        assert all(re.search(rf"^  {name}  +\w.*\.$", ran.out, re.MULTILINE) for name in COMMANDS)
        assert "..." not in ran.out.partition("Scores:")[2], "a description is cut"
        assert all(f"\n{heading}:\n" in ran.out for heading in GROUPS)

    def test_every_module_with_an_app_is_a_command(self) -> None:
        names = [module.name for module in pkgutil.iter_modules(cidery.cli.__path__)]
        modules = {name: importlib.import_module(f"cidery.cli.{name}") for name in names}
        with_app = {name for name, module in modules.items() if hasattr(module, "app")}
        assert {name.replace("_", "-") for name in with_app} == set(COMMANDS)
        assert all(isinstance(modules[name].app, typer.Typer) for name in with_app)

    def test_light_help(self) -> None:
        code = "import sys; from cidery.cli import main; main(['--help']); print(*sys.modules)"
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True)
        loaded = set(done.stdout.decode().rpartition("\n\n")[2].split())
        assert not loaded & {"scipy", "rich", "pydantic", "pandas", "pyarrow", "Stemmer"}

    def test_defaults_that_are_written_twice(self) -> None:
        assert options.RESAMPLES == statistics.RESAMPLES
        assert tuple(name for name, kind in KINDS.items() if kind.clean) == options.DEBRIS

    @pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
    def test_completion(self, shell: str) -> None:
        words = {"COMP_WORDS": "cidery score -m cider", "COMP_CWORD": "3"}
        words |= {"_TYPER_COMPLETE_ARGS": "cidery score -m cider"}
        words |= {
            "_CIDERY_COMPLETE": f"complete_{shell}",
            "_TYPER_COMPLETE_FISH_ACTION": "get-args",
        }
        done = subprocess.run(
            [str(CIDERY)], env=os.environ | words, capture_output=True, check=True, text=True
        )
        assert set(re.findall(r"cider\S?\w?\b", done.stdout)) == {"cider", "cider-d", "cider-r"}


class TestErrors:
    @pytest.mark.parametrize(
        ("arguments", "message"),
        [
            (["score", "nowhere.json", "references.json"], "nowhere.json: No such file"),
            (
                ["score", "system_a.json", "references.json", "-m", "cidre"],
                "unknown metric 'cidre'",
            ),
            (["score", "system_a.json"], "Missing argument"),
            (["score", "system_a.json", "references.json", "--format", "xml"], "--format"),
            (["score", "system_a.json", "references.json", "--confidence", "2"], "confidence"),
            (["score", "system_a.json", "references.json", "--split", "test"], "no splits"),
            (["score", "system_a.json", "references.json", "--frequencies", "x"], "named 'x'"),
            (["score", "system_a.json", "references.json", "--tokenizer", "x"], "tokenizer 'x'"),
            (["score", "system_a.json", "references.json", "--captions", "x.doc"], ".parquet"),
            (["score", "sampled_a.json", "references.json"], "48 of 72 images have references but"),
            (["compare", "references.json", "system_a.json"], "at least two systems"),
            (["compare", "references.json", "system_a.json", "system_a.json"], "given twice"),
            (["compare", "references.json", "a=system_a.json", "a=system_b.json"], "given twice"),
            (
                ["compare", "references.json", "=system_a.json", "system_b.json"],
                "expected NAME=FILE, not '=system_a.json'",
            ),
            (["compare", "references.json", "a=", "system_b.json"], "expected NAME=FILE, not 'a='"),
            (["score", "-", "-"], "standard input can be read once only"),
            (["frequencies", "show", "system_a.json"], "is not a document-frequency file"),
            (["frequencies", "merge", "one.df", "-o", "two.df"], "at least two"),
            (["frequencies", "nothing"], "No such command 'nothing'"),
            (["stats", "."], "Is a directory"),
            (["metrics", "cidre"], "unknown metric 'cidre'"),
            (["scroe"], "No such command 'scroe'; did you mean 'score'? See cidery --help"),
            (["wine"], "No such command 'wine'; see cidery --help"),
        ],
    )
    def test_one_line_and_status_2(self, run: Run, arguments: list[str], message: str) -> None:
        ran = run(*arguments)
        assert ran.status == 2
        assert ran.out == ""
        *warnings, error = ran.err.splitlines()
        assert error.startswith("error: ")
        assert message in error
        assert all(line.startswith("warning: ") for line in warnings)

    @pytest.mark.parametrize("command", [[], ["frequencies"], ["meta"]])
    def test_help_without_arguments(self, run: Run, command: list[str]) -> None:
        assert run(*command) == Ran(0, run(*command, "--help").out, "")

    def test_usage_errors_point_to_help(self, run: Run) -> None:
        assert run("score").err.endswith("; see cidery score --help\n")

    def test_mismatch_shows_both_sides_and_both_files(self, run: Run) -> None:
        Path("other.json").write_text('[{"image_id": "beach.jpg", "caption": "a dog"}]')
        error = run("score", "other.json", "references.json").err
        assert "other.json have strings such as 'beach.jpg'" in error
        assert "references.json have integers such as 1, 2, 3" in error

    def test_mismatch_can_be_skipped(self, run: Run) -> None:
        arguments = ("score", "sampled_a.json", "references.json", *COCO)
        assert "--missing skip" in run(*arguments).err
        assert "sampled_a.json: 24 images" in run(*arguments, "--missing", "skip").out

    def test_unreliable_scores_are_flagged_in_one_line(self, run: Run) -> None:
        ran = run("score", "system_a.json", "references.json", "-m", "cider-d")
        assert ran.status == 0
        assert ran.err.startswith("warning: document frequencies are counted on only 72 images")
        assert ran.err.count("\n") == 1

    def test_no_traceback_from_the_executable(self) -> None:
        ran = finish("score", "nowhere.json", "references.json")
        assert ran == Ran(2, "", "error: nowhere.json: No such file or directory\n")

    def test_broken_pipe_is_quiet(self) -> None:
        with start("tokenize") as process:
            assert process.stdin and process.stdout and process.stderr
            process.stdout.close()
            process.stdin.write(b"a dog\n")
            process.stdin.close()
            assert process.stderr.read() == b""
        assert process.returncode == 141


class TestScore:
    def test_table(self, run: Run) -> None:
        ran = run("score", "system_a.json", "references.json", "-m", "bleu", "-m", "cider-d", *COCO)
        table = expected("bleu", "cider-d")
        title, _, header, *rows = ran.out.splitlines()
        assert title == "system_a.json: 72 images scored against references.json"
        assert header.split() == ["metric", "score", "95", "%", "interval"]
        for row, (name, score) in zip(rows, table.corpus.items(), strict=False):
            found = table.interval(name)
            assert row.split() == [name, f"{score:.4f}", f"[{found.low:.4f},", f"{found.high:.4f}]"]
        assert rows[6:] == list(table.signatures.values())

    def test_json_is_the_contract(self, run: Run) -> None:
        ran = run("score", "system_a.json", "references.json", "-f", "json", *COCO)
        table = expected("bleu", "rouge-l", "cider-d", "cider-r")
        assert list(json.loads(ran.out)) == ["images", "scores", "signatures"]
        assert json.loads(ran.out) == table.to_dict()

    def test_json_with_intervals(self, run: Run) -> None:
        options = ("--confidence", "0.9", "--seed", "3", "--resamples", "200")
        ran = run("score", "system_a.json", "references.json", "-f", "json", *options, *COCO)
        found = expected("cider-d").interval("cider-d", 0.9, seed=3, resamples=200)
        content = json.loads(ran.out)["intervals"]["cider-d"]
        assert content == {"low": found.low, "high": found.high, "confidence": 0.9}

    def test_csv_has_all_digits(self, run: Run) -> None:
        ran = run("score", "system_a.json", "references.json", "-f", "csv", "-m", "bleu-4")
        table = expected("bleu-4")
        score, signature = table.corpus["bleu-4"], table.signatures["bleu-4"]
        assert ran.out == f"metric,score,signature\nbleu-4,{score!r},{signature}\n"

    def test_csv_with_intervals(self, run: Run) -> None:
        options = ("-f", "csv", "-m", "bleu-4", "--confidence", "0.5")
        ran = run("score", "system_a.json", "references.json", *options)
        assert ran.out.startswith("metric,score,low,high,signature\n")

    @pytest.mark.parametrize(
        ("format", "start"), [("markdown", "| metric |"), ("latex", "\\begin{tabular}")]
    )
    def test_tables_for_papers(self, run: Run, format: str, start: str) -> None:
        ran = run("score", "system_a.json", "references.json", "-f", format, "-m", "bleu-4")
        assert ran.out.startswith(start)
        assert f"{expected('bleu-4').corpus['bleu-4']:.4f}" in ran.out

    def test_presets_have_the_row_of_a_paper(self, run: Run) -> None:
        Path("two.toml").write_text('[two]\nmetrics = ["bleu-4", "cider-d", "vocab"]')
        arguments = ("score", "system_a.json", "references.json", "--preset", "two.toml", *COCO)
        scores = expected("bleu-4", "cider-d", "vocab").corpus
        bleu, cider, size = scores["bleu-4"], scores["cider-d"], scores["vocab"]
        shown = run(*arguments, "-f", "latex").out
        assert f"system\\_a & {100 * bleu:.1f} & {100 * cider:.1f} & {size:.0f} \\\\\n" in shown
        caption = r"\caption{Scores on 72 images. Scores are times 100, except vocab.}"
        assert caption in shown and "\n% cider-d|n:4" in shown
        shown = run(*arguments, "-f", "markdown", "--no-percent", "--confidence", "0.9").out
        assert re.search(rf"\| system_a \| {bleu:.4f} \[0\.\d{{4}}, 0\.\d{{4}}\] \|", shown)
        assert "In brackets: 90 % bootstrap intervals." in shown
        shown = run(*arguments, "--percent", "--digits", "2").out
        assert re.search(rf"cider-d +{100 * cider:.2f} +\[\d+\.\d\d, ", shown)
        content = json.loads(run(*arguments, "-f", "json", "--percent").out)
        assert content["scores"] == dict(scores)

    def test_no_intervals(self, run: Run) -> None:
        options = ("-m", "bleu-4", "--no-intervals")
        assert "interval" not in run("score", "system_a.json", "references.json", *options).out

    def test_settings_reach_the_metric(self, run: Run) -> None:
        options = ("-m", "rouge-l:beta=1", "--faithful", "paper", "--tokenizer", "words")
        ran = run("score", "system_a.json", "references.json", *options)
        assert "rouge-l|beta:1|faithful:paper|refs:5|tokenizer:words" in ran.out

    @pytest.mark.parametrize("suffix", [".csv", ".jsonl", ".parquet"])
    def test_captions_read_back(self, run: Run, suffix: str) -> None:
        path = Path(f"each{suffix}")
        run("score", "system_a.json", "references.json", "--captions", str(path), *COCO)
        if suffix == ".csv":
            with path.open(encoding="utf-8") as file:
                rows = list(csv.DictReader(file))
        elif suffix == ".jsonl":
            rows = list(map(json.loads, path.read_text().splitlines()))
        else:
            rows = pyarrow.parquet.read_table(path).to_pylist()
        table = expected("cider-d")
        assert [int(row["image_id"]) for row in rows] == list(table.ids)
        assert [float(row["cider-d"]) for row in rows] == table.each["cider-d"].tolist()

    def test_split(self, run: Run) -> None:
        images = [
            {"cocoid": 1, "split": "test", "sentences": [{"raw": "a dog"}]},
            {"cocoid": 2, "split": "train", "sentences": [{"raw": "a cat"}]},
        ]
        Path("dataset.json").write_text(json.dumps({"images": images}))
        Path("results.json").write_text('[{"image_id": 1, "caption": "a dog"}]')
        options = ("--split", "test", "-m", "bleu-1", "-f", "json")
        content = json.loads(run("score", "results.json", "dataset.json", *options).out)
        assert content["images"] == 1
        assert content["scores"]["bleu-1"] == pytest.approx(1)

    def test_standard_input(self) -> None:
        results = bundled.path("system_a.json").read_bytes()
        ran = finish("score", "-", "references.json", "-m", "bleu-4", "-f", "json", given=results)
        assert json.loads(ran.out)["scores"] == dict(expected("bleu-4").corpus)


class TestCompare:
    def test_table(self, run: Run) -> None:
        ran = run("compare", "references.json", "system_a.json", "b=system_b.json", *COCO)
        header, first, *_ = ran.out.splitlines()[2:]
        assert header.split()[:4] == ["metric", "system_a", "b", "diff"]
        assert first.split()[1] == f"{expected('bleu-1').corpus['bleu-1']:.4f}"
        assert "p-values are not corrected, since there is one comparison by each met" in ran.out
        ran = run(
            "compare",
            "references.json",
            "system_a.json",
            "b=system_b.json",
            *COCO,
            "--correct",
            "all",
        )
        assert "adjusted p" in ran.out and "Holm-corrected for the 7 comparisons made" in ran.out

    def test_json_and_csv_agree(self, run: Run) -> None:
        arguments = ("compare", "references.json", "system_a.json", "system_b.json", "-m", "bleu-4")
        content = json.loads(run(*arguments, "-f", "json").out)
        (row,) = csv.DictReader(run(*arguments, "-f", "csv").out.splitlines())
        (test,) = content["tests"]["bleu-4"]
        assert test["systems"] == [row["system"], row["other"]] == ["system_a", "system_b"]
        assert float(row["p"]) == test["p"]
        assert float(row["other_score"]) == content["scores"]["system_b"]["bleu-4"]

    @pytest.mark.parametrize(
        ("format", "start"), [("markdown", "| system |"), ("latex", "\\begin{table}")]
    )
    def test_tables_for_papers(self, run: Run, format: str, start: str) -> None:
        systems = ("system_a.json", "system_b.json")
        arguments = ("compare", "references.json", *systems, "-m", "bleu-4", *COCO)
        shown = run(*arguments, "-f", format).out
        score = expected("bleu-4").corpus["bleu-4"]
        assert shown.startswith(start)
        assert f"{100 * score:.1f}" in shown and "Scores are times 100." in shown
        shown = run(*arguments, "-f", format, "--no-percent", "--digits", "3").out
        assert f"{score:.3f}" in shown and "times 100" not in shown
        shown = run(*arguments, "-f", format, "--pairs").out
        assert "adjusted" not in shown and "effect" in shown and f"{100 * score:.1f}" in shown

    def test_baseline(self, run: Run) -> None:
        arguments = ("compare", "references.json", "system_a.json", "system_b.json", "-m", "bleu-4")
        ran = run(*arguments, *COCO, "--baseline", "system_b", "--percent")
        scores = [
            100 * expected("bleu-4", system=f"system_{n}.json").corpus["bleu-4"] for n in "ab"
        ]
        lines = [line.split() for line in ran.out.splitlines()[2:5]]
        assert lines[0] == ["system", "bleu-4"]
        assert lines[1] == ["system_b", f"{scores[1]:.1f}"]
        assert lines[2] == ["system_a", f"{scores[0]:.1f}", f"({scores[0] - scores[1]:+.1f})", "*"]
        for format in ("json", "csv"):
            options = ("-f", format, "--baseline", "system_b", "--percent", "--digits", "1")
            assert run(*arguments, *options).out == run(*arguments, "-f", format).out
        refused = run(*arguments, "--baseline", "other")
        assert "'other' is not a system; there are system_a, system_b" in refused.err
        assert "--baseline" in run(*arguments, "--baseline", "system_a", "--pairs").err

    def test_three_systems_make_three_pairs(self, run: Run) -> None:
        systems = ("a=system_a.json", "b=system_b.json", "c=system_a.json")
        ran = run("compare", "references.json", *systems, "-m", "bleu-4")
        lines = [line.split() for line in ran.out.splitlines()[2:6]]
        assert lines[0][-4:] == ["cluster", "1", "2", "3"]
        assert [line[-4:] for line in lines[1:]] == [
            ["a", "·", "=", ">"],
            ["a", "=", "·", ">"],
            ["b", "<", "<", "·"],
        ]
        ran = run("compare", "references.json", *systems, "-m", "bleu-4", "--pairs")
        pairs = [line.replace("bleu-4", "").split()[:2] for line in ran.out.splitlines()[3:6]]
        assert pairs == [["a", "b"], ["a", "c"], ["b", "c"]]

    def test_clashing_names_become_paths(self, run: Run) -> None:
        Path("other").mkdir()
        Path("other/system_a.json").write_bytes(Path("system_b.json").read_bytes())
        systems = ("system_a.json", "other/system_a.json")
        ran = run("compare", "references.json", *systems, "-m", "bleu-4")
        assert ran.out.splitlines()[2].split()[1:3] == list(systems)


class TestStats:
    def test_table(self, run: Run) -> None:
        ran = run("stats", "references.json")
        assert re.search(r"^images +72$", ran.out, re.MULTILINE)
        assert "█" in ran.out
        assert "→ fewer than 100 images" in ran.out

    def test_json(self, run: Run) -> None:
        content = json.loads(run("stats", "references.json", "-f", "json").out)
        references = read_references(bundled.path("references.json"))
        detectable = cidery.estimate_detectable(references, ["bleu-4", "rouge-l", "cider-d"])
        described = cidery.describe(references).to_dict() | {"detectable": detectable}
        assert content == json.loads(json.dumps(described))

    def test_several_files(self, run: Run) -> None:
        Path("one.json").write_text(json.dumps({"1": ["a dog", "a dog runs"], "2": ["a cat"]}))
        ran = run("stats", "references.json", "one.json")
        assert re.search(r"^references.json +72 +360 +5.00 +11.5 +2.1 +1,180", ran.out, re.M)
        assert re.search(r"^one.json +2 +3 +1.50 +2.3 +0.5 +4 +Latin$", ran.out, re.M)
        assert re.search(r"^ *2 +0.0% +66.7% +█+$", ran.out, re.M)
        assert "→ one.json: there are fewer than two references per image" in ran.out
        content = json.loads(run("stats", "references.json", "one.json", "-f", "json").out)
        assert list(content["files"]) == ["references.json", "one.json"]
        assert content["files"]["one.json"]["captions"] == 3
        assert "given twice" in run("stats", "one.json", "one.json").err

    def test_language(self, run: Run) -> None:
        Path("german.json").write_text(json.dumps({"1": ["Zwei Hunde"], "2": ["ein Ｍann"]}))
        content = json.loads(run("stats", "german.json", "--language", "de", "-f", "json").out)
        assert (content["tokenizer"], content["problems"]) == ("words+clean", [])
        ran = run("score", "german.json", "german.json", "--language", "de", "-m", "rouge-l")
        assert "|language:de|tokenizer:words+clean|" in ran.out
        segmented = run(
            *("compare", "german.json", "a=german.json", "b=german.json", "--language", "de"),
            *("--segmenters", "words,char", "-m", "rouge-l", "--resamples", "5"),
        )
        assert "under all segmenters (words+clean, char+clean)" in segmented.out
        assert "unknown language" in run("stats", "german.json", "--language", "x").err

    @pytest.mark.parametrize(
        ("share", "bar"), [(0, ""), (1, "████"), (0.5, "██"), (0.28125, "█▏"), (0.001, "▏")]
    )
    def test_bars(self, share: float, bar: str) -> None:
        assert draw_bar(share, 4) == bar


class TestMetrics:
    def test_all_are_listed(self, run: Run) -> None:
        ran = run("metrics")
        assert all(re.search(rf"^{name} ", ran.out, re.MULTILINE) for name in cidery.METRICS)
        assert "bleu means bleu-1, bleu-2, bleu-3, bleu-4" in ran.out

    def test_json(self, run: Run) -> None:
        content = json.loads(run("metrics", "-f", "json").out)
        assert list(content) == list(cidery.METRICS)
        assert content["cider-d"]["range"] == [0, 10]
        assert content["cider-d"]["faithful"] == ["coco", "paper"]
        assert content["cider"]["faithful"] == ["paper", "coco"]

    def test_one_shows_its_settings(self, run: Run) -> None:
        assert re.search(r"^cider-d:sigma +6$", run("metrics", "cider-d").out, re.MULTILINE)


class TestFrequencies:
    def test_build_show_merge_and_score(self, run: Run) -> None:
        Path("one.json").write_text('{"a": ["a dog runs"], "b": ["a cat"]}')
        Path("two.json").write_text('{"c": ["a dog"]}')
        assert "one.df: 8 n-grams" in run("frequencies", "build", "one.json", "-o", "one.df").out
        run("frequencies", "build", "two.json", "-o", "two.df", "--name", "second")
        run("frequencies", "merge", "one.df", "two.df", "-o", "both.df")
        show = ("frequencies", "show", "both.df")
        content = json.loads(run(*show, "a", "a dog", "a mouse", "-f", "json").out)
        assert content["images"] == 3
        assert content["counts"] == {"a": 3, "a dog": 2, "a mouse": 0}
        assert run(*show, "a dog").out.splitlines()[1].split() == ["a", "dog", "2"]
        assert re.search(r"^tokenizer +ptb$", run(*show).out, re.MULTILINE)
        ran = run("score", "system_a.json", "references.json", "--frequencies", "both.df")
        assert f"-{content['fingerprint']}|" in ran.out
        assert ran.err == ""

    def test_build_with_stems_and_a_split(self, run: Run) -> None:
        rows = "image_id,caption_1,split\n1,dogs running,train\n2,cats,test\n"
        Path("captions.csv").write_text(rows)
        options = ("--stemmer", "english", "--split", "train", "-n", "2")
        run("frequencies", "build", "captions.csv", "-o", "stems.df", *options)
        content = json.loads(run("frequencies", "show", "stems.df", "dog run", "-f", "json").out)
        assert (content["order"], content["stemmer"], content["images"]) == (2, "english", 1)
        assert content["counts"] == {"dog run": 1}

    def test_import(self, run: Run) -> None:
        Path("df.p").write_bytes(pickle.dumps({("a",): 5.0, ("a", "dog"): 2.0}))
        assert "--images" in run("frequencies", "import", "df.p", "-o", "df.df").err
        run("frequencies", "import", "df.p", "--images", "9", "-o", "df.df")
        content = json.loads(run("frequencies", "show", "df.df", "a dog", "-f", "json").out)
        assert (content["images"], content["counts"]) == (9, {"a dog": 2})

    def test_list(self, run: Run) -> None:
        content = json.loads(run("frequencies", "list", "-f", "json").out)
        found = [(row["name"], row["stemmer"], row["images"]) for row in content]
        assert found == [
            ("coco-val2014", None, 40504),
            ("coco-val2014", "english", 40504),
            ("coco-train2014", None, 82783),
            ("coco-train2014", "english", 82783),
        ]
        assert "coco-train2014" in run("frequencies", "list").out


class TestTokenize:
    def test_text(self) -> None:
        given = b"A dog's bone.\n\r\n Zwei Hunde!\r\nlast"
        assert finish("tokenize", given=given).out == "a dog 's bone\n\nzwei hunde\nlast\n"

    def test_json_and_stems(self) -> None:
        ran = finish("tokenize", "--stemmer", "english", "-f", "json", given=b"Dogs running\n")
        assert ran.out == '["dog", "run"]\n'

    def test_lines_go_out_as_they_come_in(self) -> None:
        with start("tokenize") as process:
            assert process.stdin and process.stdout
            for line in (b"A dog.\n", b"A cat.\n"):
                process.stdin.write(line)
                process.stdin.flush()
                assert process.stdout.readline() == line.lower().replace(b".", b"")
            process.stdin.close()
            assert process.stdout.read() == b""

    def test_a_block_may_end_inside_a_character(self) -> None:
        given = ("ä" * 70_001 + "\n").encode()
        assert finish("tokenize", "--tokenizer", "words", given=given).out.encode() == given

    @pytest.mark.parametrize("tokenizer", ["ptb", "ptb-coco", "whitespace", "words"])
    def test_as_the_library(self, tokenizer: str) -> None:
        captions = [c for _, c in read_candidates(bundled.path("system_a.json"))]
        ran = finish("tokenize", "--tokenizer", tokenizer, given="\n".join(captions).encode())
        assert ran.out.splitlines() == list(map(" ".join, cidery.tokenize(captions, tokenizer)))

    def test_bad_bytes_are_located(self) -> None:
        ran = finish("tokenize", given=b"fine\nalso fine\n\xff\n")
        assert ran.status == 2
        assert ran.err.startswith("error: standard input, line 3: ")


class TestDemo:
    def test_scores_compares_and_describes(self) -> None:
        ran = finish("demo")
        assert ran.status == 0
        assert ran.err == ""
        assert re.findall(r"^\$ cidery (\w+)", ran.out, re.MULTILINE) == [
            "score",
            "score",
            "compare",
            "stats",
        ]

    def test_copy(self, run: Run) -> None:
        Path("there").mkdir()
        run("demo", "--copy", "there")
        assert sorted(p.name for p in Path("there").iterdir()) == sorted(bundled.NAMES)


class TestDiversity:
    REFERENCES = ("--references", "references.json", "--missing", "skip")

    def test_table(self, run: Run) -> None:
        ran = run("diversity", "sampled_a.json", "-m", "self-cider", "-m", "vocabulary")
        table = cidery.measure_diversity(
            read_candidates(bundled.path("sampled_a.json")), ["self-cider", "vocabulary"]
        )
        assert ran.out.splitlines() == [
            "sampled_a.json: 24 images",
            "",
            "measure     sampled_a",
            f"self-cider     {table.corpus['self-cider']:.4f}",
            f"vocabulary        {table.corpus['vocabulary']:.0f}",
            "",
            *table.signatures.values(),
        ]

    def test_json_has_systems_and_humans(self, run: Run) -> None:
        alone = json.loads(run("diversity", "sampled_a.json", "-f", "json").out)
        assert set(alone) == {"images", "scores", "signatures"}
        ran = run(
            *("diversity", "sampled_a.json", "--system", "again=sampled_a.json", "-f", "json"),
            *self.REFERENCES,
        )
        found = json.loads(ran.out)
        assert found["systems"]["again"]["scores"] == found["scores"]
        assert found["systems"]["humans"]["scores"]["self-cider"] > found["scores"]["self-cider"]
        assert found["scores"].items() >= alone["scores"].items()
        assert set(found["scores"]) - set(alone["scores"]) == {"accuracy", "f"}

    def test_settings_reach_the_library(self, run: Run) -> None:
        rows = read_candidates(bundled.path("sampled_a.json"))
        known = read_references(bundled.path("references.json"))
        ran = run(
            *("diversity", "sampled_a.json", "-f", "json", "--kernel", "cider-d"),
            *("--accuracy", "rouge-l", "--beta-squared", "1", "--stop-words", "english"),
            *("--training", "references.json", "--frequencies", "coco-val2014", *self.REFERENCES),
        )
        table = cidery.measure_diversity(
            rows,
            kernel="cider-d",
            accuracy="rouge-l",
            beta_squared=1,
            stop_words="english",
            training=known,
            frequencies="coco-val2014",
            references=known,
            missing="skip",
        )
        found = json.loads(ran.out)
        assert found["scores"] == dict(table.corpus)
        assert found["signatures"] == dict(table.signatures)
        assert "novel" in found["scores"]

    def test_pictures(self, run: Run) -> None:
        ran = run("diversity", "sampled_a.json", "-m", "self-cider", "--plot", "out.png")
        drawn = re.search(r"^drawn: (.*)$", ran.out, re.MULTILINE)
        assert drawn
        assert all(Path(file).stat().st_size > 1000 for file in drawn[1].split(", "))
        assert len(drawn[1].split(", ")) == 3

    def test_pictures_with_references(self, run: Run) -> None:
        options = ("-m", "self-cider", "--plot", "out.pdf")
        assert run("diversity", "sampled_a.json", *options, *self.REFERENCES).status == 0
        assert [path.name for path in Path().glob("out*")] == ["out.pdf"]

    def test_values_per_image(self, run: Run) -> None:
        run("diversity", "sampled_a.json", "-m", "self-cider", "--images", "each.csv")
        rows = list(csv.DictReader(Path("each.csv").read_text().splitlines()))
        assert [row["image_id"] for row in rows] == [str(i) for i in range(1, 25)]
        assert all(0 <= float(row["self-cider"]) <= 1 for row in rows)

    @pytest.mark.parametrize("format", ["csv", "markdown", "latex"])
    def test_formats(self, run: Run, format: str) -> None:
        ran = run("diversity", "sampled_a.json", "-m", "lsa", "-f", format)
        assert ran.status == 0
        assert "lsa" in ran.out

    def test_results_in_other_shapes(self, run: Run) -> None:
        rows = read_candidates("sampled_a.json")
        repeated = [{"image_id": i, "caption": c} for i, c in rows]
        mapping: dict[str, list[str]] = {}
        for image, text in rows:
            mapping.setdefault(str(image), []).append(text)
        expected = json.loads(run("diversity", "sampled_a.json", "-f", "json").out)
        for number, document in enumerate((repeated, mapping)):
            Path(f"{number}.json").write_text(json.dumps(document))
            assert json.loads(run("diversity", f"{number}.json", "-f", "json").out) == expected

    def test_refusals(self, run: Run) -> None:
        ran = run("diversity", "system_a.json")
        assert ran.status == 2
        assert "image 1 has one caption (and 71 more of 72 images)" in ran.err
        ran = run("diversity", "sampled_a.json", "--system", "sampled_a.json")
        assert "expected NAME=FILE, not 'sampled_a.json'" in ran.err
        ran = run("diversity", "sampled_a.json", "--system", "humans=sampled_a.json")
        assert "the name 'humans' is taken; choose another" in ran.err

    def test_humans_need_two_references(self, run: Run) -> None:
        one = {i: c[:1] for i, c in read_references("references.json").items()}
        Path("one.json").write_text(json.dumps(one))
        ran = run(
            *("diversity", "sampled_a.json", "--references", "one.json", "--missing", "skip"),
            *("-m", "self-cider"),
        )
        assert ran.status == 0
        assert "humans are missing: captions: no image has two captions or more" in ran.out


def command_names() -> list[str]:
    """Return every command, `frequencies build` and its like included."""
    group: Any = get_command(app)
    names = []
    for name in COMMANDS:
        names.append(name)
        inner = getattr(group.get_command(None, name), "commands", {})
        names += [f"{name} {command}" for command in inner]
    return names


@pytest.mark.parametrize("name", command_names())
def test_every_command_is_documented(run: Run, name: str) -> None:
    page = (ROOT / "docs" / "command-line.md").read_text(encoding="utf-8")
    assert re.search(rf"^##+ `cidery {name}`$", page, re.MULTILINE)
    ran = run(*name.split(), "--help")
    assert ran.status == 0
    if name != "frequencies":
        assert f"$ cidery {name}" in ran.out or f"| cidery {name}" in ran.out


@pytest.fixture(scope="module")
def on_terminal() -> Callable[..., str]:
    """Run a command on a terminal of some width, where the example files are."""
    pytest.importorskip("pty", reason="there are no pseudo-terminals here")
    path = ROOT / "tools" / "take_picture.py"
    spec = importlib.util.spec_from_file_location("take_picture", path)
    assert spec and spec.loader
    tool = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(tool)
    folder = bundled.path("references.json").parent

    def call(columns: int, *arguments: str, progress: str = "never") -> str:
        # Whether a bar appears by itself depends on how busy the machine is.
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv("CIDERY_PROGRESS", progress)
            printed: str = tool.run_on_terminal([str(CIDERY), *arguments], folder, columns)
        return printed

    return call


def show_plain(printed: str) -> str:
    """Return what a terminal shows, without colors."""
    return re.sub(r"\x1b\[[0-9;]*m", "", printed).replace("\r", "")


class TestTerminal:
    ARGUMENTS = ("compare", "references.json", "system_a.json", "system_b.json", "-m", "bleu-4")

    def test_colors(self, on_terminal: Callable[..., str], monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.delenv("NO_COLOR", raising=False)
        assert "\x1b[36mbleu-4" in on_terminal(80, *self.ARGUMENTS)
        monkeypatch.setenv("NO_COLOR", "1")
        assert "\x1b[36m" not in on_terminal(80, *self.ARGUMENTS)

    def test_words_are_colored_by_what_they_earned(
        self, on_terminal: Callable[..., str], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        arguments = ("explain", "a dog runs", "the dog is asleep", "-m", "cider-d")
        monkeypatch.delenv("NO_COLOR", raising=False)
        printed = on_terminal(80, *arguments)
        assert "\x1b[1;32mdog\x1b[0m" in printed and "\x1b[1;4;31mruns\x1b[0m" in printed
        monkeypatch.setenv("NO_COLOR", "1")
        plain = on_terminal(80, *arguments)
        assert "\x1b[1;32m" not in plain and "runs" in plain and "+" in plain

    def test_a_narrow_terminal_swallows_nothing(self, on_terminal: Callable[..., str]) -> None:
        systems = ("a_long_name=system_a.json", "b=system_b.json", "c=system_a.json")
        wide, narrow = (
            show_plain(on_terminal(columns, "compare", "references.json", *systems, "-m", "bleu-4"))
            for columns in (80, 40)
        )
        assert "…" not in narrow
        assert sorted(re.findall(r"\d", narrow)) == sorted(re.findall(r"\d", wide))

    def test_details_are_left_out_where_they_do_not_fit(
        self, on_terminal: Callable[..., str]
    ) -> None:
        hidden = "too wide for this terminal, in other formats: effect, wins"
        assert hidden not in show_plain(on_terminal(80, *self.ARGUMENTS))
        narrow = show_plain(on_terminal(60, *self.ARGUMENTS))
        assert hidden in " ".join(narrow.split()) and "effect  wins" not in narrow

    def test_three_systems_and_seven_metrics_in_80_columns(
        self, on_terminal: Callable[..., str]
    ) -> None:
        names = ("our_transformer_large_seed_1", "system_b", "c")
        files = ("system_a.json", "system_b.json", "system_a.json")
        systems = [f"{name}={file}" for name, file in zip(names, files, strict=True)]
        metrics = ("bleu", "rouge-l", "cider-d:sigma=4", "cider-r")
        options = [word for metric in metrics for word in ("-m", metric)]
        printed = show_plain(on_terminal(80, "compare", "references.json", *systems, *options))
        table = printed.partition("\n\n")[2].partition("\n\n")[0]
        assert len(re.findall(r"\[\d\.\d{4}, \d\.\d{4}\]", table)) == 3 * 7
        assert max(map(len, table.splitlines())) <= 80
        words = set(re.findall("[a-z]+", table))
        assert {"our", "transformer", "large", "seed", "system", "sigma", "cluster"} <= words

    def test_big_files_show_progress_and_wipe_it_away(
        self, on_terminal: Callable[..., str], tmp_path: Path
    ) -> None:
        big = tmp_path / "big.json"
        big.write_bytes(b'{"a": ["a dog", "a cat"]}' + b" " * BIG_FILE)
        printed = on_terminal(80, "stats", str(big), progress="")
        assert "reading references" in printed
        assert "\x1b[2K" in printed.partition("words per caption")[0]

    @pytest.mark.usefixtures("meteor_data")
    def test_compiling_data_shows_progress_and_wipes_it_away(
        self, on_terminal: Callable[..., str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
    ) -> None:
        monkeypatch.setenv("CIDERY_CACHE", str(tmp_path))
        arguments = ("score", "system_a.json", "references.json", "-m", "meteor:paraphrases=no")
        printed = on_terminal(80, *arguments, progress="always")
        before, _, _ = printed.partition("0.2667")
        assert "compiling METEOR's table" in before
        assert "\x1b[2K" in before
        again = on_terminal(80, *arguments, progress="always")
        assert "scoring" in again
        assert "compiling" not in again

    @pytest.mark.usefixtures("parser")
    def test_meta_shows_that_captions_are_parsed(
        self, on_terminal: Callable[..., str], tmp_path: Path
    ) -> None:
        judged = [
            {"image": "a", "references": ["a dog on a mat"]},
            {"image": "a", "pair": ["a cat", "a dog"], "votes": [-1]},
        ]
        file = tmp_path / "mine.jsonl"
        file.write_text("".join(json.dumps(line) + "\n" for line in judged))
        arguments = ("meta", "judgments", str(file), "-m", "spice", "--no-cache")
        printed = on_terminal(80, *arguments, progress="always")
        before, _, _ = printed.partition("in percent")
        assert "parsing captions" in before
        assert "\x1b[2K" in before

    def test_a_bar_can_be_switched_off(
        self, on_terminal: Callable[..., str], tmp_path: Path
    ) -> None:
        big = tmp_path / "big.json"
        big.write_bytes(b'{"a": ["a dog", "a cat"]}' + b" " * BIG_FILE)
        printed = on_terminal(80, "stats", str(big), progress="never")
        assert "reading references" not in printed
        assert "\x1b[2K" not in printed

    def test_no_progress_in_a_pipe(self, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
        monkeypatch.setenv("CIDERY_PROGRESS", "always")
        big = tmp_path / "big.json"
        big.write_bytes(b'{"a": ["a dog", "a cat"]}' + b" " * BIG_FILE)
        ran = finish("stats", str(big))
        assert (ran.status, ran.err) == (0, "")


@pytest.fixture
def nocaps(run: Run) -> str:  # it makes the folder
    """The example's references as nocaps has its annotations: domains in `images`."""
    content = json.loads(Path("references.json").read_text())
    images = sorted({annotation["image_id"] for annotation in content["annotations"]})
    names = ("in-domain", "near-domain", "out-domain")
    content["images"] = [{"id": i, "width": 640, "domain": names[i % 3]} for i in images]
    Path("nocaps.json").write_text(json.dumps(content))
    return "nocaps.json"


def test_score_by_slices(run: Run, nocaps: str) -> None:
    settings = ("-m", "cider-d", "-m", "bleu-4", *COCO, "--resamples", "50")
    ran = run("score", "system_a.json", nocaps, *settings, "--by", "domain", "--plot", "by.svg")
    assert (ran.status, ran.err) == (0, "")
    lines = [line.split() for line in ran.out.splitlines()[2:7]]
    assert lines[0][:3] == ["metric", "slice", "images"]
    assert lines[1][:4] == ["cider-d", "(all)", "72", "1.0748"]
    assert [line[0] for line in lines[2:]] == ["in-domain", "near-domain", "out-domain"]
    assert "slices by domain: captions have the scores of the whole set" in ran.out
    assert ">out-domain</text>" in Path("by.svg").read_text()
    rows = csv.DictReader(
        run("score", "system_a.json", "references.json", *settings, "-f", "csv",
            "--by", f"{nocaps}:domain", "--slices", "separate").out.splitlines()
    )  # fmt: skip
    signatures = {row["slice"]: row["signature"] for row in rows if row["metric"] == "cider-d"}
    assert "|slices:separate|" in signatures["in-domain"]
    assert "slices" not in signatures["(all)"]


def test_compare_by_slices(run: Run, nocaps: str) -> None:
    settings = ("-m", "cider-d", *COCO, "--by", "domain", "--resamples", "50")
    ran = run("compare", nocaps, "system_a.json", "system_b.json", *settings, "--format", "json")
    content = json.loads(ran.out)
    assert content["slices"]["by"] == "domain"
    found = content["slices"]["slices"]["near-domain"]
    assert found["images"] == 24
    assert found["tests"]["cider-d"][0]["adjusted_p"] >= found["tests"]["cider-d"][0]["p"]
    ran = run("compare", nocaps, "system_a.json", "system_b.json", *settings, "--plot", "by.png")
    assert "those of slices separately from those of all images" in ran.out
    assert Path("by.png").stat().st_size > 1000


def test_slices_that_do_not_fit(run: Run, nocaps: str) -> None:
    ran = run("score", "system_a.json", nocaps, "--by", "domian")
    assert ran.status == 2
    assert "nocaps.json has id, width, domain, image_id, caption; system_a.json has" in ran.err
    Path("tags.csv").write_text("image_id,tag\n1,a\n2,b|c\n999,a\n")
    ran = run("score", "system_a.json", nocaps, "-m", "bleu-1", "--by", "tags.csv", "-f", "latex")
    assert ran.status == 0
    assert "warning: tags.csv: 1 of 3 ids is not among the scored images: '999'" in ran.err
    assert "warning: tags.csv: 70 of 72 images have no slice and form '(none)': 3, 4, 5" in ran.err
    assert "warning: 3 slices ('a', 'b', 'c') have one image only" in ran.err
    ran = run("score", "system_a.json", nocaps, "--plot", "by.pdf")
    assert "only valid with --by" in ran.err
    ran = run("score", "system_a.json", nocaps, "--by", "domain", "--plot", "by.gif")
    assert "unsupported figure format" in ran.err


def test_scoring_imports_no_metric_that_was_not_asked_for(tmp_path: Path) -> None:
    """Also `python -m cidery`, which is the same command."""
    files = [str(bundled.path(name)) for name in ("system_a.json", "references.json")]
    command = [sys.executable, "-v", "-m", "cidery", "score", *files, *COCO]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True)
    assert "cider-d" in done.stdout
    imported = set(re.findall(r"^import 'cidery\.metrics\.([\w.]+)'", done.stderr, re.MULTILINE))
    assert "ngram.cider" in imported
    assert not {name for name in imported if name.startswith(("contextual", "spice", "meteor"))}
