"""Plug-ins of other packages, and messages about their problems."""

from __future__ import annotations

import gzip
import json
import re
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest

import cidery
from cidery import meta
from cidery.cli import main
from cidery.compat.huggingface import CaptionMetrics
from cidery.encoders import get_encoder
from cidery.errors import FormatError, PluginError, SettingError
from cidery.files import read_candidates, read_references
from cidery.metrics import METRICS, FunctionMetric, get_metrics, list_metrics
from cidery.plugins import find_package, list_plugins, load_plugin
from cidery.text import get_tokenizer
from support.packages import Install, make_installer

pytestmark = pytest.mark.filterwarnings("ignore::cidery.errors.UnreliableWarning")

CANDIDATES = {"a": "a dog runs", "b": "two cats"}
REFERENCES = {"a": ["a dog is running", "the dog"], "b": ["two small cats sleep", "cats"]}

METRIC_CODE = """
from dataclasses import dataclass
import numpy as np
from cidery import Metric
from cidery.metrics.base import Prepared

def count_letters(candidate, references):
    return float(len(candidate))

@dataclass(frozen=True)
class Constant(Metric):
    value: float = 0.5
    scale: float = 1.0

    @property
    def name(self):
        return "constant" if self.scale == 1 else f"constant-{self.scale:g}"

    @classmethod
    def variants(cls):
        return cls(), cls(scale=2.0)

    def prepare(self, references, work):
        return PreparedConstant(self.value * self.scale)

@dataclass(frozen=True, eq=False)
class PreparedConstant(Prepared):
    value: float

    def measure(self, candidates, work):
        return np.full((len(candidates), 1), self.value)

third = Constant(scale=3.0)
number = 7
"""


@pytest.fixture
def install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Install:
    return make_installer(tmp_path, monkeypatch)


def write_judgments(folder: Path) -> Path:
    """Write a file in which people prefer the longer of two captions."""
    lines = [
        {"image": "a", "references": REFERENCES["a"]},
        {"image": "a", "pair": ["a cat is here", "a dog"], "votes": [1]},
    ]
    file = folder / "judgments.jsonl"
    file.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return file


@pytest.fixture
def metrics(install: Install) -> None:
    points = {
        "letters": "count_letters",
        "constant": "Constant",
        "constant-2": "Constant",
        "constant-3": "third",
    }
    install("foreign-metrics", METRIC_CODE, {"metrics": points}, version="1.2")


@pytest.mark.usefixtures("metrics")
class TestMetrics:
    def test_score(self) -> None:
        table = cidery.score(
            CANDIDATES,
            REFERENCES,
            ["rouge-l", "letters", "constant", "constant-2", "constant-3", "constant:value=0.25"],
        )
        assert {name: table.corpus[name] for name in list(table.corpus)[1:]} == {
            "letters": 9.0,
            "constant": 0.5,
            "constant-2": 1.0,
            "constant-3": 1.5,
            "constant:value=0.25": 0.25,
        }
        end = f"|refs:2|tokenizer:ptb|package:foreign-metrics-1.2|version:{cidery.__version__}"
        assert table.signatures["letters"] == (
            f"letters|function:foreign_metrics.count_letters{end}"
        )
        assert table.signatures["constant-2"] == f"constant-2|value:0.5|scale:2{end}"

    def test_settings_keep_what_makes_a_variant(self) -> None:
        (metric,) = get_metrics("constant-2:value=4").values()
        assert metric.settings() == {"value": "4", "scale": "2"}
        with pytest.raises(SettingError, match="constant has no setting 'size'; it has: value, sc"):
            get_metrics("constant:size=1")
        with pytest.raises(SettingError, match="letters is a function and has no settings"):
            get_metrics("letters:size=1")

    def test_compare_reward_meta_diversity_and_an_adapter(self, tmp_path: Path) -> None:
        other = {"a": "a dog", "b": "cats and dogs"}
        compared = cidery.compare({"one": CANDIDATES, "two": other}, REFERENCES, "letters")
        assert compared.tests["letters"]["one", "two"].difference == 0.0
        reward = cidery.Reward(REFERENCES, {"letters": 1.0, "constant:value=2": 0.5})
        assert list(reward.weights) == ["letters", "constant:value=2"]
        assert reward(["a"], ["a dog"]).tolist() == [6.0]
        assert "|package:foreign-metrics-1.2|" in reward.signatures["letters"]
        judged = meta.read_dataset("judgments", write_judgments(tmp_path))
        found = meta.evaluate(judged, ["letters"], resamples=0)
        assert found.results["letters"]["accuracy"] == 1.0
        table = cidery.measure_diversity(REFERENCES, "distinct", references="leave-one-out",
                                         accuracy="letters")  # fmt: skip
        assert table.corpus["accuracy"] == np.mean([(16 + 7) / 2, (20 + 4) / 2])
        scored = CaptionMetrics(["letters"]).compute(
            predictions=["a dog"], references=[["a dog runs"]]
        )
        assert scored == {"letters": 5.0}

    def test_the_command_line(self, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
        for name, content in (("c", CANDIDATES), ("r", REFERENCES)):
            (tmp_path / f"{name}.json").write_text(json.dumps(content))
        files = [str(tmp_path / "c.json"), str(tmp_path / "r.json")]
        assert main(["score", *files, "-m", "letters", "-f", "csv"]) == 0
        out = capsys.readouterr().out
        assert out.startswith("metric,score,signature\nletters,9.0,letters|function:foreign_m")
        assert main(["metrics"]) == 0
        out = capsys.readouterr().out
        assert re.search(r"^letters +any .* foreign-metrics-1\.2$", out, re.MULTILINE)
        assert re.search(r"^cider-d .* cidery$", out, re.MULTILINE)
        assert main(["metrics", "-f", "json"]) == 0
        content = json.loads(capsys.readouterr().out)
        assert content["letters"]["range"] == [None, None]
        assert content["constant"]["package"] == "foreign-metrics-1.2"
        assert main(["metrics", "constant"]) == 0
        assert "constant:value  0.5" in capsys.readouterr().out

    def test_own_names_only_in_metrics(self) -> None:
        assert "letters" not in METRICS
        found, problems = list_metrics()
        assert list(found)[: len(METRICS)] == list(METRICS)
        assert list(found)[len(METRICS) :] == ["constant", "constant-2", "constant-3", "letters"]
        assert not problems

    def test_results_are_not_cached(self, tmp_path: Path) -> None:
        judged = meta.read_dataset("judgments", write_judgments(tmp_path))
        keys = []
        for metrics in (["letters", "constant", "rouge-l"], ["rouge-l"]):
            folder = tmp_path / f"cache-{len(metrics)}"
            meta.evaluate(judged, metrics, resamples=0, cache=folder)
            (file,) = folder.iterdir()
            with closing(sqlite3.connect(file)) as connection:
                keys.append(set(connection.execute("SELECT key FROM contents")))
        assert keys[0] == keys[1] != set()


def test_two_packages_with_one_name(install: Install, capsys: pytest.CaptureFixture[str]) -> None:
    for name in ("first-package", "second-package"):
        install(name, METRIC_CODE, {"metrics": {"letters": "count_letters"}})
    with pytest.raises(PluginError) as caught:
        get_metrics("letters")
    assert str(caught.value) == (
        "2 packages define the metric 'letters': first-package 1.0 (first_package:count_letters) "
        "and second-package 1.0 (second_package:count_letters); uninstall one of them"
    )
    assert get_metrics("rouge-l")
    assert main(["metrics"]) == 0
    shown = capsys.readouterr()
    assert shown.err.count("warning: 2 packages define the metric 'letters'") == 1
    assert "rouge-l" in shown.out


@pytest.mark.parametrize(
    ("code", "cause"),
    [
        ("import no_such_module", "ModuleNotFoundError: No module named 'no_such_module'"),
        ("1 / 0", "ZeroDivisionError: division by zero"),
        ("raise SystemExit('stop')", "SystemExit: stop"),
        ("", "AttributeError: module 'broken_one' has no attribute 'metric'"),
    ],
)
def test_a_package_that_cannot_be_imported(
    install: Install, code: str, cause: str, capsys: pytest.CaptureFixture[str]
) -> None:
    install("broken-one", code, {"metrics": {"broken": "metric"}})
    install("sound-one", METRIC_CODE, {"metrics": {"letters": "count_letters"}})
    message = (
        f"the metric 'broken' of the package broken-one 1.0 (broken_one:metric) cannot be "
        f"imported: {cause}"
    )
    with pytest.raises(PluginError) as caught:
        get_metrics("broken")
    assert str(caught.value) == message
    assert get_metrics(["letters", "rouge-l"])
    with pytest.raises(SettingError, match=r"unknown metric 'xyz'; known: cider, .*broken, lett"):
        get_metrics("xyz")
    assert main(["metrics"]) == 0
    shown = capsys.readouterr()
    assert f"warning: {message}\n" in shown.err
    assert "letters" in shown.out


@pytest.mark.parametrize(
    ("point", "target", "problem"),
    [
        ("mine", "Constant", "has the name 'constant' or 'constant-2'; the entry point must have"),
        ("seven", "number", "is int, expected a Metric class, a Metric or a function"),
        ("cider-d", "count_letters", "is not used: cidery has a metric of this name"),
        ("bleu", "count_letters", "is not used: cidery has a metric of this name"),
    ],
)
def test_metrics_that_do_not_fit(install: Install, point: str, target: str, problem: str) -> None:
    install("odd-one", METRIC_CODE, {"metrics": {point: target}})
    (found,) = list_metrics()[1]
    assert str(found).startswith(
        f"the metric {point!r} of the package odd-one 1.0 (odd_one:{target}) {problem}"
    )


def test_own_names_win(install: Install) -> None:
    install("odd-one", METRIC_CODE, {"metrics": {"cider-d": "count_letters"}})
    assert get_metrics("cider-d") == {"cider-d": cidery.CiderD()}


def test_own_names_search_no_packages() -> None:
    code = """
import importlib.metadata as metadata
def refuse(*arguments, **settings):
    raise AssertionError("searched")
metadata.entry_points = metadata.distribution = refuse
import cidery
from cidery.cli import main
from cidery.encoders import name_encoder
assert main(["--version"]) == 0
candidates, references = {"a": "a dog", "b": "cats"}, {"a": ["a dog runs"], "b": ["a cat"]}
table = cidery.score(candidates, references, ["bleu", "rouge-l", "cider-d:sigma=4"],
                     frequencies="coco-val2014")
cidery.compare({"one": candidates, "two": candidates}, references, "rouge-l")
cidery.Reward(references, "rouge-l", tokenizer="words")
assert name_encoder("minilm") == "minilm"
try:
    cidery.metrics.get_metrics("no-such-metric")
except AssertionError:
    print("searched at last")
"""
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, encoding="utf-8", check=False
    )
    assert done.stdout.endswith("searched at last\n"), done.stderr


def test_a_tokenizer(install: Install) -> None:
    code = "def cut(caption):\n    return list(caption.replace(' ', ''))\nnumber = 7\n"
    install("letter-tokens", code, {"tokenizers": {"letters": "cut", "seven": "number"}}, "0.3")
    assert cidery.tokenize(["a dog"], "letters") == [["a", "d", "o", "g"]]
    table = cidery.score(["dog"], [["god"]], "bleu-1", tokenizer="letters")
    assert table.corpus["bleu-1"] == pytest.approx(1.0)
    assert "|tokenizer:letters@letter-tokens-0.3|" in table.signatures["bleu-1"]
    with pytest.raises(PluginError, match="is int, expected a function from a caption to its wo"):
        get_tokenizer("seven")
    with pytest.raises(SettingError, match=r"known: ptb, ptb-coco, .*, uax29, letters, seven"):
        get_tokenizer("syllables")


def test_a_file_format(install: Install, tmp_path: Path) -> None:
    code = """
def read(content):
    for line in content.decode().splitlines():
        image, _, caption = line.partition(": ")
        if not caption:
            raise ValueError(f"no caption in {line!r}")
        yield {"image_id": image, "caption": caption}
"""
    install("lines-format", code, {"formats": {"lines": "read"}})
    file = tmp_path / "captions.lines"
    file.write_text("a: a dog\nb: cats\na: the dog\n")
    assert read_candidates(file) == [("a", "a dog"), ("b", "cats"), ("a", "the dog")]
    assert read_references(file) == {"a": ["a dog", "the dog"], "b": ["cats"]}
    other = tmp_path / "captions.txt.gz"
    other.write_bytes(gzip.compress(file.read_bytes()))
    assert read_references(other, format="lines") == read_references(file)
    with pytest.raises(SettingError, match=r"unknown format 'xml'; known: coco, .*, lines$"):
        read_references(file, format="xml")
    file.write_text("nothing\n")
    with pytest.raises(FormatError) as caught:
        read_references(file)
    assert str(caught.value) == (
        f"{file}: the format 'lines' of the package lines-format 1.0 (lines_format:read) cannot "
        "read it: ValueError: no caption in 'nothing'"
    )


def test_a_data_set(install: Install, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code = """
from cidery.meta import read_dataset
def read(path):
    return read_dataset("judgments", path)
def read_nothing(path):
    return path
"""
    install("judged-dogs", code, {"datasets": {"dogs": "read", "nothing": "read_nothing"}})
    file = str(write_judgments(tmp_path))
    assert main(["meta", "dogs", file, "-m", "rouge-l", "-f", "json", "--no-cache"]) == 0
    content = json.loads(capsys.readouterr().out)
    assert content["results"]["rouge-l"]["accuracy"] == 0.0
    with pytest.raises(PluginError, match=r"returned .*Path, expected Pairs, Ratings, Sets or"):
        meta.read_dataset("nothing", tmp_path)
    with pytest.raises(SettingError, match=r"known: pascal-50s, .*, judgments, dogs, nothing"):
        meta.read_dataset("cats", tmp_path)


def test_an_encoder(install: Install, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    code = """
import numpy as np
from cidery.encoders.function_encoder import FunctionEncoder
def spell(captions):
    return [(c.split(), np.array([[w.count(x) for x in "adgost"] for w in c.split()])
             .reshape(len(c.split()), 6)) for c in captions]
class Speller(FunctionEncoder):
    def __init__(self):
        super().__init__(spell, "speller")
class Broken(Speller):
    def __init__(self):
        raise OSError("no weights")
ready = Speller()
number = 7
"""
    points = {
        "letters": "spell", "speller": "Speller", "ready": "ready", "broken": "Broken",
        "seven": "number",
    }  # fmt: skip
    install("letter-vectors", code, {"encoders": points})
    (tmp_path / "letters").mkdir()  # a folder of the same name is asked for with a slash
    monkeypatch.chdir(tmp_path)
    for name in ("letters", "speller", "ready"):
        assert get_encoder(name) is get_encoder(name)
        table = cidery.score(
            {"a": "a dog", "b": "cats"},
            {"a": ["the dogs", "a god"], "b": ["a cat"]},
            f"bertscore:encoder={name}",
        )
        (label,) = table.corpus
        assert label == f"bertscore:encoder={name}"
        assert table.each[label][0] == pytest.approx(1.0)
        assert f"|encoder:{name}@letter-vectors-1.0|" in table.signatures[label]
    with pytest.raises(PluginError, match="cannot be created: OSError: no weights"):
        get_encoder("broken")
    with pytest.raises(PluginError, match="is int, expected an Encoder class, an Encoder or a fu"):
        get_encoder("seven")
    with pytest.raises(SettingError, match="neither minilm nor mpnet nor broken nor letters nor"):
        get_encoder("glove")


def test_completion(install: Install) -> None:
    from cidery.cli import meta as meta_command
    from cidery.cli import parsing

    code = "def f(*a): ..."
    groups = {"metrics": {"my-metric": "f"}, "tokenizers": {"my-words": "f"}}
    install("my-things", code, groups | {"datasets": {"my-data": "f"}})
    assert parsing.complete_metrics("my") == ["my-metric"]
    assert parsing.complete_tokenizers("my") == ["my-words"]
    assert meta_command._complete_datasets("my") == ["my-data"]


def test_packages_of_modules(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert find_package("numpy.linalg") == f"numpy-{np.__version__}"
    assert find_package("builtins") is None
    assert find_package("__main__") is None
    # A file of the user's that is named like an installed package is not that package.
    (tmp_path / "typer.py").write_text("")
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.delitem(sys.modules, "typer")
    import typer

    assert typer.__file__ == str(tmp_path / "typer.py")
    assert find_package("typer") is None


def test_a_name_runs_no_code(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Names come from web forms and files, too; only the command line reads module:function."""
    (tmp_path / "touched.py").write_text("raise AssertionError('imported')")
    monkeypatch.syspath_prepend(str(tmp_path))
    for name in ("touched:f", "os:system", "os.path:join"):
        with pytest.raises(SettingError):
            get_metrics(name)
    assert "touched" not in sys.modules


def test_lists_import_nothing(install: Install) -> None:
    install("broken-one", "1 / 0", {"metrics": {"broken": "metric"}})
    assert [plugin.origin for plugin in list_plugins("metric")] == ["broken-one-1.0"]
    assert load_plugin("metric", "other") is None


def test_a_package_that_was_installed_meanwhile(install: Install) -> None:
    with pytest.raises(SettingError, match="unknown metric 'letters'"):
        get_metrics("letters")
    install("late-one", METRIC_CODE, {"metrics": {"letters": "count_letters"}})
    (found,) = get_metrics("letters").values()
    assert isinstance(found, FunctionMetric)
