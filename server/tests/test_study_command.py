"""`cidery study`, in a database of the test's own; and real ratings counted by a study."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from cidery import meta
from support.commands import run_cidery

EXAMPLES = Path(__file__).parents[2] / "src" / "cidery" / "corpus" / "bundled"
STUDY: dict[str, Any] = {
    "name": "closer",
    "title": "Which is closer?",
    "design": "triplet",
    "items": {
        "results": {"ours": "system_a.json", "theirs": "system_b.json"},
        "references": "references.json",
        "sample": 4,
        "references_each": 2,
    },
    "checks": [{"image": "x", "pair": ["a dog", "a cat"], "reference": "dogs", "vote": 1}],
}


class Command:
    """Runs `cidery study` in a folder that also holds its data."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def __call__(self, *arguments: str, status: int = 0) -> str:
        environment = os.environ | {"CIDERY_DATA": str(self.folder / "data")}
        done = run_cidery(arguments, environment=environment, folder=self.folder)
        assert done.status == status, done.stderr
        return done.stdout if status == 0 else done.stderr

    def create(self, status: int = 0, **changes: Any) -> str:
        (self.folder / "study.json").write_text(json.dumps(STUDY | changes))
        return self("study", "create", "study.json", status=status)


def new_command(folder: Path) -> Command:
    for name in ("system_a.json", "system_b.json", "references.json"):
        shutil.copy(EXAMPLES / name, folder)
    return Command(folder)


@pytest.fixture(scope="module")
def command(tmp_path_factory: pytest.TempPathFactory) -> Command:
    return new_command(tmp_path_factory.mktemp("studies"))


def test_a_study_from_a_file(tmp_path: Path) -> None:
    command = new_command(tmp_path)
    output = command.create()
    assert output.startswith("closer: 8 items, 3 judges per item, 1 attention checks")
    (listed,) = json.loads(command("study", "list", "--format", "json"))
    assert (listed["name"], listed["needed"], listed["state"]) == ("closer", 24, "open")
    assert "0 of 24" in command("study", "status", "closer")
    assert command("study", "close", "closer") == "closer is closed\n"
    assert command("study", "open", "closer") == "closer is open\n"
    links = command("study", "invite", "closer", "--personal", "3", "--url", "https://x.org")
    assert links.count("https://x.org/studies/closer/join/") == 3
    assert "study.json, name: There is a study of this name" in command.create(status=2)
    missing = command("study", "status", "farther", status=2)
    assert "unknown study 'farther'; known: closer" in missing


REFUSED: list[tuple[dict[str, Any], str]] = [
    ({"name": "Two Words"}, "name: A name consists of lowercase letters, digits and hyphens"),
    ({"design": "quartet"}, 'design: "quartet" is not a valid choice.'),
    ({"judges_each": 0}, "judges_each: Ensure this value is greater than or equal"),
    ({"scale_low": 5}, "scale_high: The highest rating must be above the lowest."),
    ({"scale_step": 0.01}, "scale_step: The scale must have 2 to 21 steps."),
    ({"images": "photo.jpg"}, "images: The address must contain {image}."),
    ({"completion_url": "ftp://x.org/"}, "completion_url: The address must begin with https"),
    ({"examples": [{}]}, "examples, entry 1, sentence: This field is required."),
    ({"items": {"sample": 0}}, "items, sample: Ensure this value is greater"),
    ({"items": {"results": {"a": "system_a.json"}}}, "pairs need the results of two systems"),
    ({"checks": [{"image": "x"}]}, "check 1: expected a list of texts in 'pair'"),
    (
        {"checks": [{"image": "x", "pair": ["a", "b"], "reference": "c"}]},
        "check 1: an attention check has one right answer",
    ),
]
READ_ALL = """
import json, sys
from pathlib import Path
from cidery.errors import CideryError
from cidery_server.web.environment import Environment, set_up

set_up(Environment.read())
from cidery_server.studies.definition import read_definition

for line in sys.stdin:
    Path("refused.json").write_text(line)
    try:
        read_definition("refused.json")
        print("nothing is wrong")
    except CideryError as error:
        print(error)
"""


def test_refused_files(command: Command) -> None:
    """Every file is read in one process: starting one takes longer than all the reading."""
    command.create(name="makes-the-tables")
    given = [STUDY | {"name": "refused"} | changes for changes, _ in REFUSED]
    done = subprocess.run(
        [sys.executable, "-c", READ_ALL],
        input="".join(json.dumps(study) + "\n" for study in given),
        cwd=command.folder,
        env=os.environ | {"CIDERY_DATA": str(command.folder / "data")},
        capture_output=True,
        encoding="utf-8",
        check=True,
    )
    for output, (changes, message) in zip(done.stdout.splitlines(), REFUSED, strict=True):
        assert output.startswith("refused.json, ") == ("two systems" not in message), (
            changes,
            output,
        )
        assert message in output, (changes, output)


def test_unknown_fields_and_missing_files(command: Command) -> None:
    output = command.create(status=2, name="refused", color="red")
    assert "study.json: unknown 'color'; known: name, title," in output
    output = command.create(status=2, name="refused", items={"results": {"a": "no.json"}})
    assert "no.json: No such file" in output
    output = command.create(status=2, name="refused", items={"result": {"a": "no.json"}})
    assert "study.json, items: unknown 'result'; known: sets, " in output


PREFERENCES = [
    {"image": "1", "references": ["a cat sleeps", "the cat is warm"]},
    {"image": "2", "references": ["two dogs dig"]},
    {"image": "1", "pair": ["a cat", "a dog"], "votes": [1, 1, -1], "kind": "HM"},
    {"image": "2", "pair": ["a cat", "a dog"], "votes": [-1, 0], "kind": "MM"},
]


def test_what_is_imported_is_exported(command: Command) -> None:
    lines = "".join(json.dumps(line) + "\n" for line in PREFERENCES)
    (command.folder / "old.jsonl").write_text(lines)
    output = command("study", "import", "old.jsonl", "--name", "old")
    assert output == "old: 2 items, up to 3 answers each\n"
    old = meta.read_dataset("judgments", command.folder / "old.jsonl")
    for kind in ("jsonl", "csv"):
        command("study", "export", "old", "--format", kind, "-o", f"new.{kind}")
        new = meta.read_dataset("judgments", command.folder / f"new.{kind}")
        assert old.fingerprint == new.fingerprint
    refused = command("study", "export", "old", "--format", "coco", status=2)
    assert "collects no sentences; export its judgments instead" in refused


KNOWN = [{"image": str(n), "references": [f"a dog {n}", "dogs"]} for n in range(4)]
UNJUDGED: dict[str, list[dict[str, Any]]] = {
    "pairs": [{"image": str(n), "pair": ["a dog", "a cat"], "votes": [1, -1, 1]} for n in range(4)],
    "triplets": [
        {"image": str(n), "pair": ["a dog", "a cat"], "reference": f"dog {n}", "votes": [1]}
        for n in range(4)
    ],
    "questions": [
        {"image": str(n), "pair": ["a dog", "a cat"], "votes": {"style": [1], "truth": [-1]}}
        for n in range(4)
    ],
    "ratings": [{"image": str(n), "caption": f"a dog {n}", "ratings": [n, 5]} for n in range(4)],
    "sets": [{"image": str(n), "captions": [f"dog {n}", "cat"], "ratings": [n]} for n in range(4)],
}


@pytest.mark.parametrize("kind", list(UNJUDGED))
def test_items_that_were_not_judged_are_imported_and_exported(command: Command, kind: str) -> None:
    """Two of four items have answers; `cidery meta judgments` finds what it finds in these two."""
    known = [] if kind == "triplets" else KNOWN
    keys = ("votes", "ratings")
    bare = [{k: v for k, v in line.items() if k not in keys} for line in UNJUDGED[kind]]
    lines = [*known, *UNJUDGED[kind][:2], *bare[2:]]
    (command.folder / f"{kind}.jsonl").write_text("".join(f"{json.dumps(x)}\n" for x in lines))
    command("study", "import", f"{kind}.jsonl", "--name", kind)
    for format in ("jsonl", "csv"):
        command("study", "export", kind, "--format", format, "-o", f"{kind}-new.{format}")
    exported = (command.folder / f"{kind}-new.jsonl").read_text().splitlines()
    assert [json.loads(line) for line in exported] == lines
    judged = [*known, *UNJUDGED[kind][:2]]
    (command.folder / "judged.jsonl").write_text("".join(f"{json.dumps(x)}\n" for x in judged))
    measure = "distinct" if kind == "sets" else "rouge-l"
    arguments = ("-m", measure, "--format", "json", "--resamples", "0")
    files = (f"{kind}-new.jsonl", f"{kind}-new.csv", "judged.jsonl")
    found = [json.loads(command("meta", "judgments", file, *arguments)) for file in files]
    assert found[0]["results"] == found[1]["results"] == found[2]["results"]
    if kind != "sets":
        message = command("meta", "estimate", "judgments", files[0], "-m", "rouge-l")
        assert "2 of 4 items were judged" in message


def test_what_cannot_be_imported(command: Command) -> None:
    (command.folder / "none.jsonl").write_text('{"image": 1, "pair": ["a", "b"]}\n')
    message = command("study", "import", "none.jsonl", "--name", "none", status=2)
    assert "none.jsonl: no judgments found" in message


def test_real_ratings_counted_by_a_study(command: Command, shared: Path) -> None:
    """ABSTRACT-50S through a study: the winners and accuracies are those of the data set itself."""
    folder = shared / "data" / "abstract50s"
    known = meta.read_dataset("abstract-50s", folder)
    assert isinstance(known, meta.Pairs)
    images = known.judged.image_of_caption[known.first]
    with (folder / "triplets.jsonl").open() as source:
        records = [json.loads(line) for line in source]
    assert len(records) == 19_200
    place = {pair: number for number, pair in enumerate(dict.fromkeys(r["pair"] for r in records))}
    lines = [
        {
            "image": f"scene {images[place[record['pair']]]:03}",
            "pair": [record["B"], record["C"]],
            "reference": record["A"],
            "vote": record["rating"],
        }
        for record in records
    ]
    path = command.folder / "abstract.jsonl"
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    command("study", "import", "abstract.jsonl", "--name", "abstract-50s")
    command("study", "export", "abstract-50s", "-o", "counted.jsonl")
    counted = meta.read_dataset("judgments", command.folder / "counted.jsonl")
    assert isinstance(counted, meta.Pairs)
    assert counted.votes["triplets"].tolist() == known.votes["triplets"].tolist()
    metrics = ["cider-d", "bleu-4", "rouge-l"]
    theirs, ours = (meta.evaluate(pairs, metrics).results for pairs in (known, counted))
    assert theirs["cider-d"]["correct"] == 320
    assert ours == theirs
