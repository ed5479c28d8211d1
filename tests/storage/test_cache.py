"""Compiled data: built once, found again, rebuilt when damaged, whatever the cache directory is."""

from __future__ import annotations

import gzip
import json
import os
import shutil
import struct
import subprocess
import sys
import tempfile
import warnings
import zipfile
from pathlib import Path
from typing import Any

import pytest

import cidery
from cidery import storage
from cidery._native import MeteorTable, MeteorTableBuilder
from cidery.cli import main
from cidery.errors import DataError, DataWarning, MissingExtraError, SettingError
from cidery.runtime import progress
from cidery.storage import METEOR, METEOR_WORDS, Resource, find_sources
from cidery.storage.meteor_table import JAR, PARAPHRASES, WORD_LISTS

LISTS = (
    b"the\na\n.\n",
    b"v\nNo #NUMERIC_ONLY#\n",
    b"dog\n1 2\nhound\n2 3\nrun\n4\n",
    b"run\nran\n",
)
"""Function words, prefixes, synsets, exceptions: enough for a table."""
ENTRIES = b"0.5\na pair of\ntwo\n0.5\ntwo\na couple of\n"

PROGRAM = """
import sys, warnings
warnings.simplefilter("error")
import cidery
from cidery import storage
from cidery.runtime import progress
built = []
def watch(what, share):
    if share == 0 and what == "compiling METEOR's table":
        built.append(what)
with progress.use_progress(watch):
    table = cidery.score(["two dogs ran"], [["a pair of dogs run"]], metrics=sys.argv[1])
print(len(built), table.corpus, table.signatures)
"""


def tiny_table(paraphrases: Any = ENTRIES) -> Any:
    builder = MeteorTableBuilder(*LISTS)
    builder.add_paraphrases(paraphrases)
    return builder.finish()


def write_sources(folder: Any, *, lists: Any = LISTS, paraphrases: Any = None) -> Any:
    """Write what looks like an installed pycocoevalcap, with a tiny METEOR."""
    sources = folder / "pycocoevalcap" / "meteor"
    (sources / "data").mkdir(parents=True)
    with zipfile.ZipFile(sources / JAR, "w") as archive:
        for name, content in zip(WORD_LISTS, lists, strict=False):
            archive.writestr(name, content)
    packed = gzip.compress(ENTRIES) if paraphrases is None else paraphrases
    (sources / PARAPHRASES).write_bytes(packed)
    return sources


@pytest.fixture
def cache_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """An empty cache directory, which does not exist yet."""
    folder = tmp_path / "some" / "cache"
    monkeypatch.setenv("CIDERY_CACHE", str(folder))
    return folder


@pytest.fixture
def sources(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """A tiny METEOR instead of the installed one."""
    monkeypatch.syspath_prepend(tmp_path / "packages")
    return write_sources(tmp_path / "packages")


def start(program: Any, *arguments: Any, **environment: Any) -> Any:
    return subprocess.Popen(
        [sys.executable, "-c", program, *arguments],
        env=os.environ | environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def finish(process: Any) -> Any:
    out, err = process.communicate()
    assert process.returncode == 0, err
    return out


def test_first_use_builds_and_later_uses_find_it(cache_folder: Any, sources: Any) -> None:
    first = cidery.Meteor().align("two dogs", "a pair of dogs")
    assert [match.stage for match in first.matches] == ["paraphrase", "exact"]
    built = METEOR.path.stat()
    shutil.rmtree(sources)
    storage.cache._load_from.cache_clear()
    assert cidery.Meteor().align("two dogs", "a pair of dogs") == first
    assert METEOR.path.stat().st_mtime_ns == built.st_mtime_ns
    assert [path.name for path in cache_folder.glob("*.table")] == ["meteor-v1.table"]
    assert not list(cache_folder.glob("*.part"))


def test_the_cache_directory(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("CIDERY_CACHE", str(tmp_path))
    assert storage.cache_directory() == tmp_path
    monkeypatch.delenv("CIDERY_CACHE")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("HOME", str(tmp_path))
    assert storage.cache_directory().name == "cidery"
    assert tmp_path in storage.cache_directory().parents


def states() -> Any:
    return [status.state for status in storage.show() if status.name in storage.RESOURCES]


@pytest.mark.usefixtures("cache_folder", "sources")
def test_build_show_verify_remove() -> None:
    assert states() == ["missing", "missing"]
    path = storage.build("meteor")
    status = storage.verify("meteor")
    assert (status.state, status.path, status.size) == ("ready", path, path.stat().st_size)
    assert MeteorTable.open(str(path)).has_paraphrases
    old = path.with_name("meteor-v0.table")
    old.write_bytes(b"of another version")
    storage.build("meteor-words")
    assert storage.remove("meteor") == [old, path]
    assert states() == ["missing", "ready"]
    assert storage.remove("meteor") == []
    with pytest.raises(
        SettingError, match=r"^no data named 'spoons'; known: meteor, meteor-words$"
    ):
        storage.build("spoons")


@pytest.mark.usefixtures("cache_folder", "sources")
def test_building_is_reported() -> None:
    reports = []
    with progress.use_progress(lambda what, share: reports.append((what, share))):
        storage.build("meteor")
    storage.build("meteor")
    assert {what for what, _ in reports} == {"compiling METEOR's table"}
    shares = [share for _, share in reports]
    assert shares == sorted(shares) and shares[0] == 0.0 and shares[-1] == 1.0 and len(shares) >= 3


HEADER_SIZE = 8 + 4 + 4 + 8 + 8 + 12 * 16


def cut(content: Any) -> Any:
    return content[: len(content) // 2]


def flip(content: Any) -> Any:
    return content[:-5] + bytes([content[-5] ^ 1]) + content[-4:]


def other_version(content: Any) -> Any:
    return content[:8] + struct.pack("<I", 99) + content[12:]


DAMAGE = {
    "empty": (lambda _: b"", "this is not a METEOR table file"),
    "foreign": (lambda _: b"PK\x03\x04 something else" * 99, "this is not a METEOR table file"),
    "header": (lambda c: c[: HEADER_SIZE - 1], "METEOR table is damaged: the file is cut short"),
    "cut": (cut, "METEOR table is damaged: the file is cut short"),
    "longer": (lambda c: c + b"x", "METEOR table is damaged: the file is longer than it says"),
    "a bit": (flip, "METEOR table is damaged: its checksum does not fit"),
    "version": (
        other_version,
        "METEOR table file has format version 99, this program reads version 1; build it again",
    ),
}  # fmt: skip


@pytest.mark.parametrize("kind", DAMAGE)
@pytest.mark.usefixtures("cache_folder", "sources")
def test_a_damaged_cache_file_is_built_again_with_one_warning(kind: Any) -> None:
    spoil, message = DAMAGE[kind]
    path = storage.build("meteor")
    good = path.read_bytes()
    path.unlink()
    path.write_bytes(spoil(good))
    status = storage.verify("meteor")
    assert (status.state, status.problem) == ("damaged", f"{path}: {message}")
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        assert cidery.Meteor().align("two dogs", "a pair of dogs").score > 0
    assert [str(warning.message) for warning in caught] == [
        f"{path}: {message}; it was built again"
    ]
    assert path.read_bytes() == good


@pytest.mark.parametrize("kind", DAMAGE)
def test_a_damaged_table_of_ones_own_is_refused(tmp_path: Path, kind: Any) -> None:
    spoil, message = DAMAGE[kind]
    path = tmp_path / "own.table"
    path.write_bytes(spoil(tiny_table()))
    with pytest.raises(DataError) as caught:
        cidery.score(["a"], [["a"]], metrics=[cidery.Meteor(table=path)])
    assert str(caught.value) == f"{path}: {message}"


def test_every_truncation_and_every_changed_byte_is_noticed() -> None:
    good = tiny_table()
    for length in range(len(good)):
        with pytest.raises(RuntimeError, match="METEOR table"):
            MeteorTable.from_bytes(good[:length])
    for place in range(len(good)):
        changed = good[:place] + bytes([good[place] ^ 0x40]) + good[place + 1 :]
        with pytest.raises(RuntimeError, match="METEOR table"):
            MeteorTable.from_bytes(changed)


def checksum(content: Any) -> Any:
    """The table file's checksum, as native/meteor_table.cpp defines it."""
    first, second, whole = 0x9E3779B97F4A7C15, 0xC2B2AE3D27D4EB4F, (1 << 64) - 1

    def mix(lane: Any, block: Any) -> Any:
        lane ^= block * second & whole
        return ((lane << 31 | lane >> 33) & whole) * first & whole

    lanes = [first, second, first ^ second, len(content)]
    padded = content + bytes(32 - len(content) % 32)
    *blocks, rest = struct.iter_unpack("<4Q", padded)
    for block in blocks:
        lanes = list(map(mix, lanes, block))
    total = 0
    for lane, block in zip(lanes, rest, strict=True):
        total = mix(total, mix(lane, block))
    return total ^ total >> 32


def seal(content: Any) -> Any:
    return content[:16] + struct.pack("<Q", checksum(content[24:])) + content[24:]


@pytest.mark.parametrize("section", range(12))
def test_a_forged_table_is_never_read_past_its_end(tmp_path: Path, section: Any) -> None:
    """The checksum fits, but numbers inside point anywhere."""
    good = tiny_table()
    assert seal(good) == good
    start, size = struct.unpack_from("<QQ", good, 32 + 16 * section)
    path = tmp_path / "own.table"
    complaints = set()
    for place in range(start, start + size):
        forged = good[:place] + bytes([good[place] ^ 0xFF]) + good[place + 1 :]
        path.write_bytes(seal(forged))
        try:
            cidery.Meteor(table=path).align("two hounds ran", "a pair of dogs run")
        except DataError as error:
            complaints.add(str(error).removeprefix(f"{path}: METEOR table is damaged: "))
    assert all(len(complaint) < 60 for complaint in complaints)
    if section in (1, 4, 6, 9, 10):  # offsets
        assert "an offset points outside its section" in complaints


def test_a_table_of_ones_own(tmp_path: Path) -> None:
    path = tmp_path / "own.table"
    path.write_bytes(tiny_table())
    metric = cidery.Meteor(table=path)
    alignment = metric.align("two hounds ran", "a pair of dogs run")
    assert [m.stage for m in alignment.matches] == ["paraphrase", "synonym", "synonym"]
    table = cidery.score(["two dogs"], [["a pair of dogs"]], metrics=[metric])
    checksum = MeteorTable.open(str(path)).checksum
    assert f"|table:{checksum:016x}|" in table.signatures["meteor"]
    assert str(tmp_path) not in table.signatures["meteor"]
    path.write_bytes(tiny_table(b"0.5\nred\nblue\n"))
    assert metric.align("two", "a pair of").matches == ()


def test_a_table_of_ones_own_without_paraphrases(tmp_path: Path) -> None:
    path = tmp_path / "own.table"
    path.write_bytes(tiny_table(b""))
    with pytest.raises(
        SettingError, match=r"own\.table holds no paraphrases; pass paraphrases=False"
    ):
        cidery.Meteor(table=path).align("a", "a")
    assert cidery.Meteor(table=path, paraphrases=False).align("a dog", "a dog").score == 1.0


def test_a_table_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match=r"nowhere\.table"):
        cidery.Meteor(table=tmp_path / "nowhere.table").align("a", "a")
    with pytest.raises(IsADirectoryError):
        cidery.Meteor(table=tmp_path).align("a", "a")


@pytest.mark.usefixtures("sources")
def test_other_paraphrases(tmp_path: Path) -> None:
    (tmp_path / "own.gz").write_bytes(gzip.compress(b"0.1\nblue\nazure\n"))
    storage.write_meteor_table(tmp_path / "own.table", tmp_path / "own.gz")
    metric = cidery.Meteor(table=tmp_path / "own.table")
    assert metric.align("a blue dog", "a azure dog").matches[1].stage == "paraphrase"


@pytest.mark.usefixtures("cache_folder")
@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (lambda s: (s / JAR).write_bytes(b"no zip"), r"1\.5\.jar cannot be read: File is not"),
        (lambda s: (s / PARAPHRASES).write_bytes(b"no gzip"), r"en\.gz cannot be read: Not a"),
        (
            lambda s: (s / PARAPHRASES).write_bytes(gzip.compress(ENTRIES)[:-9]),
            r"paraphrase-en\.gz cannot be read: Compressed file ended",
        ),
        (
            lambda s: (s / PARAPHRASES).write_bytes(gzip.compress(b"0.5\na pair of\n")),
            r"paraphrase-en\.gz cannot be read: .*line",
        ),
    ],
)  # fmt: skip
def test_damaged_sources_are_named(sources: Any, spoil: Any, message: Any) -> None:
    spoil(sources)
    with pytest.raises(DataError, match=message) as caught:
        storage.build("meteor")
    assert "pip install --force-reinstall --no-deps pycocoevalcap==1.2" in str(caught.value)
    assert not METEOR.path.exists()


@pytest.mark.usefixtures("cache_folder")
def test_a_jar_without_a_list_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(tmp_path)
    write_sources(tmp_path, lists=LISTS[:2])
    with pytest.raises(DataError, match=r"no item named 'synonym/english\.synsets'"):
        storage.build("meteor-words")


@pytest.mark.usefixtures("cache_folder")
def test_without_the_paraphrase_file_words_still_match(sources: Any) -> None:
    (sources / PARAPHRASES).unlink()
    assert cidery.Meteor(paraphrases=False).align("a dog", "a hound").matches[1].stage == "synonym"
    assert [path.name for path in METEOR_WORDS.path.parent.glob("*.table")] == [
        "meteor-words-v1.table"
    ]
    message = r"paraphrase-en\.gz is missing; .* or use none: Meteor\(paraphrases=False\)"
    with pytest.raises(DataError, match=message):
        cidery.Meteor().align("a", "a")


def test_sources_are_found_behind_a_stand_in(sources: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """`cidery.coco.install` and others put modules of that name into sys.modules."""
    monkeypatch.setitem(sys.modules, "pycocoevalcap", type(sys)("pycocoevalcap"))
    assert find_sources() == sources


def test_synsets_of_words_and_their_base_forms() -> None:
    table = MeteorTable.from_bytes(tiny_table())
    assert table.synsets("dogs") == table.synsets("dog") == [1, 2]
    assert table.synsets("ran") == [4]
    assert table.synsets("zorb") == []


WITHOUT_PACKAGE = """
import sys
sys.path = [folder for folder in sys.path if "site-packages" not in folder] + [{packages!r}]
import cidery
from cidery.errors import MissingExtraError
references = [["a pair of dogs run"], ["a cat"]]
cidery.score(["two dogs ran", "a cat"], references, metrics=["bleu", "rouge-l"])
print(sorted(cidery.METRICS)[-6])
try:
    cidery.score(["two dogs ran", "a cat"], references, metrics=["bleu", "meteor"])
except MissingExtraError as error:
    print(error)
"""


def test_without_the_package_the_error_says_what_to_install(
    tmp_path: Path, cache_folder: Any
) -> None:
    """A real process whose path has everything but pycocoevalcap."""
    packages = tmp_path / "packages"
    packages.mkdir()
    for folder in map(Path, sys.path):
        if folder.name != "site-packages":
            continue
        for entry in folder.iterdir():
            if not entry.name.startswith("pycoco") and not (packages / entry.name).exists():
                (packages / entry.name).symlink_to(entry)
    program = WITHOUT_PACKAGE.format(packages=str(packages))
    lines = finish(start(program, CIDERY_CACHE=str(cache_folder))).splitlines()
    assert lines[-1] == (
        "pycocoevalcap is needed to score with METEOR, whose word lists and paraphrases it holds; "
        "install it with: pip install 'cidery[meteor]'"
    )
    assert not list(cache_folder.glob("*.table"))


def test_the_error_is_about_the_metric_alone(
    monkeypatch: pytest.MonkeyPatch, cache_folder: Any, tmp_path: Path
) -> None:
    pytest.importorskip("filelock")  # before it can no longer be found
    monkeypatch.setattr(sys, "path", [str(tmp_path)])
    sys.path_importer_cache.clear()
    with pytest.raises(MissingExtraError, match=r"pip install 'cidery\[meteor\]'") as caught:
        cidery.Meteor().align("a", "a")
    assert caught.value.name == "pycocoevalcap"
    assert not list(cache_folder.glob("*.table"))


@pytest.mark.usefixtures("meteor_data")
def test_processes_that_start_at_once_build_once(tmp_path: Path) -> None:
    folder = str(tmp_path / "cache")
    processes = [start(PROGRAM, "meteor:paraphrases=no", CIDERY_CACHE=folder) for _ in range(4)]
    outputs = [finish(process).split() for process in processes]
    assert sorted(output[0] for output in outputs) == ["0", "0", "0", "1"]
    assert len({tuple(output[1:]) for output in outputs}) == 1
    assert sorted(path.name for path in Path(folder).iterdir()) == [
        "meteor-words-v1.lock",
        "meteor-words-v1.table",
    ]


def test_a_process_that_dies_while_building_leaves_nothing_behind(
    tmp_path: Path, sources: Any
) -> None:
    program = """
import os, cidery
from cidery import storage
from cidery.runtime import progress
with progress.use_progress(lambda what, share: os._exit(3) if share == 1 else None):
    cidery.Meteor().align("a", "a")
"""
    environment = {"CIDERY_CACHE": str(tmp_path / "cache"), "PYTHONPATH": str(sources.parents[1])}
    process = start(program, **environment)
    process.communicate()
    assert process.returncode == 3
    assert not list((tmp_path / "cache").glob("*.table"))
    program = "import cidery\nprint(cidery.Meteor().align('a dog', 'a dog').score)"
    assert finish(start(program, **environment)) == "1.0\n"


READ_ONLY = """
import os, sys, warnings
import cidery
os.environ["CIDERY_CACHE"], folder = sys.argv[1:]
cidery.Meteor().align("two dogs", "a pair of dogs")   # imports all that root alone may read
os.environ["CIDERY_CACHE"] = folder
if os.geteuid() == 0:
    os.setgid(65534), os.setuid(65534)   # root may write anywhere
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    print(cidery.Meteor().align("two dogs", "a pair of dogs").score > 0)
    print(cidery.Meteor().align("two dogs", "two dogs").score)
print(*(f"{warning.category.__name__} {warning.message}" for warning in caught), sep="\\n")
"""


@pytest.mark.skipif(not hasattr(os, "geteuid"), reason="permissions of directories are POSIX")
def test_a_read_only_cache_directory() -> None:
    # Not in tmp_path, into which its owner alone may look.
    with tempfile.TemporaryDirectory() as name:
        Path(name).chmod(0o755)
        write_sources(Path(name, "packages"))
        folder = Path(name, "cache")
        folder.mkdir(mode=0o555)
        arguments = [str(Path(name, "writable")), str(folder)]
        out = finish(start(READ_ONLY, *arguments, PYTHONPATH=str(Path(name, "packages"))))
        assert not list(folder.iterdir())
    first, second, warning = out.splitlines()
    assert (first, second) == ("True", "1.0")
    assert warning == (
        f"DataWarning {folder / 'meteor-v1.table'} cannot be written (Permission denied), so the "
        "data of meteor were built in memory, again in every process; set CIDERY_CACHE to a "
        "directory that can be written"
    )


@pytest.mark.usefixtures("sources")
def test_a_cache_directory_that_cannot_be(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").write_text("in the way")
    monkeypatch.setenv("CIDERY_CACHE", str(tmp_path / "file" / "cache"))
    with pytest.warns(DataWarning, match=r"cannot be written \(Not a directory\)"):
        assert cidery.Meteor().align("two dogs", "two dogs").score == 1.0
    assert storage.verify("meteor").state == "missing"
    with pytest.raises(NotADirectoryError):
        storage.build("meteor")


@pytest.mark.usefixtures("cache_folder")
def test_a_resource_of_another_room() -> None:
    """The seam: anything that can be built as bytes and opened from them."""

    def read(source: Any) -> Any:
        return source if isinstance(source, bytes) else source.read_bytes()

    resource = Resource("greeting", 7, "an example", lambda _: b"hello", read)
    assert storage.load(resource) == b"hello"
    assert resource.path.name == "greeting-v7.table"


def test_importing_cidery_loads_none_of_this() -> None:
    program = "import sys, cidery\nprint(*sys.modules)"
    loaded = finish(start(program)).split()
    assert not {"filelock", "platformdirs", "zipfile", "Stemmer"} & set(loaded)


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Any:
    """Run a command of the command line; return its status, output and messages."""

    def call(*arguments: Any) -> Any:
        return main(arguments), *capsys.readouterr()

    return call


@pytest.mark.usefixtures("sources")
def test_the_command_shows_builds_and_removes(run: Any, cache_folder: Any) -> None:
    assert [row["state"] for row in json.loads(run("data", "--format", "json")[1])][:2] == [
        "missing",
        "missing",
    ]
    path = cache_folder / "meteor-v1.table"
    assert run("data", "build", "meteor") == (0, f"{path}\n", "")
    status, out, _ = run("data")
    assert status == 0
    assert [line.split()[:2] for line in out.splitlines()[1:3]] == [
        ["meteor", "ready"],
        ["meteor-words", "missing"],
    ]
    assert out.endswith(f"\nin {cache_folder}\n")
    path.write_bytes(b"something else")
    status, out, _ = run("data")
    assert "damaged" in out and out.endswith(f"{path}: this is not a METEOR table file\n")
    assert run("data", "remove", "meteor") == (0, f"removed {path}\n", "")
    assert run("data", "remove", "meteor") == (
        0,
        f"nothing to remove in {cache_folder}\n",
        "",
    )


@pytest.mark.usefixtures("sources", "cache_folder")
def test_the_command_compiles_other_paraphrases(run: Any, tmp_path: Path) -> None:
    own, table = tmp_path / "own.gz", tmp_path / "own.table"
    own.write_bytes(gzip.compress(b"0.1\nblue\nazure\n"))
    done = run("data", "build", "meteor", "--paraphrases", str(own), "-o", str(table))
    assert done == (0, f"{table}\n", "")
    metric = f"meteor:table={table}"
    status, out, _ = run("explain", "blue", "azure", "-m", metric, "--format", "json")
    assert status == 0
    [explained] = json.loads(out)["metrics"].values()
    assert explained["spans"][0]["note"] == "paraphrase: azure, chunk 1"
    status, _, err = run("data", "build", "meteor", "-o", str(table))
    assert status == 2 and "--paraphrases and --output must be given together" in err
    words = ("data", "build", "meteor-words", "--paraphrases", str(own), "-o", str(table))
    assert "--paraphrases is for meteor only" in run(*words)[2]
    assert run("data", "build", "spoons")[2].startswith("error: no data named 'spoons'")


@pytest.mark.usefixtures("sources", "cache_folder")
def test_the_command_shows_the_alignment(run: Any) -> None:
    # By hand: P = 0.7, R = 1.65 / 3.25, F = 0.5295, one chunk of (2 + 4) / 2 words. With P = 1 the
    # mean would be 0.5483; its part 1 - penalty is shared as 0.6 to 0.8, and what is lost of it as
    # 0.4 to 0.2. With R = 1 it would be 0.9396: `ran` has 0.75 of the 1.6 that do not match.
    captions = "two hounds", "a pair of dogs ran"
    status, out, _ = run("explain", *captions, "-m", "meteor")
    assert status == 0
    assert out.splitlines()[:8] == [
        "meteor 0.2745",
        "",
        "word      value  reason",
        "two     +0.1153  paraphrase: a pair of, chunk 1",
        "hounds  +0.1591  synonym: dogs, chunk 1",
        "",
        "only in reference 1: ran (-0.0996)",
        "precision 0.7, recall 0.5077, mean 0.5295, penalty 0.4816, chunks 1, reference 1",
    ]
    status, out, _ = run("explain", *captions, "-m", "meteor:paraphrases=no")
    assert "paraphrase:" not in out


@pytest.mark.usefixtures("sources")
def test_warnings_are_told_in_one_line(
    run: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").write_text("in the way")
    monkeypatch.setenv("CIDERY_CACHE", str(tmp_path / "file"))
    status, _, err = run("explain", "two dogs", "two dogs", "-m", "meteor")
    assert status == 0
    assert err.startswith("warning: ") and err.count("\n") == 1 and "built in memory" in err
