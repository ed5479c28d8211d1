"""Import of EvalAI challenges, and notes on unsupported settings."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from cidery.errors import FormatError
from server.tests.support.challenges import Host, captions, references

DEV, TEST = range(12), range(12, 30)
CONFIG: dict[str, Any] = {
    "title": "Orchard Challenge, 2026!",
    "short_description": "Describe apples.",
    "description": "templates/description.html",
    "terms_and_conditions": "templates/terms.html",
    "evaluation_script": "evaluation_script.zip",
    "image": "logo.jpg",
    "remote_evaluation": False,
    "start_date": "2019-01-01 00:00:00",
    "end_date": "2099-05-31 23:59:59",
    "published": True,
    "leaderboard": [
        {
            "id": 1,
            "schema": {
                "labels": ["Bleu_1", "CIDEr", "ROUGE-L", "Total"],
                "default_order_by": "CIDEr",
            },
        }
    ],
    "challenge_phases": [
        {
            "id": 1,
            "name": "Dev Phase",
            "codename": "dev",
            "description": "Only for <b>dev</b>",
            "leaderboard_public": True,
            "is_public": True,
            "start_date": "2019-01-19 00:00:00",
            "end_date": "2099-04-25 23:59:59",
            "test_annotation_file": "annotations/dev.json",
            "max_submissions_per_day": 7,
            "max_submissions_per_month": 40,
            "max_submissions": 70,
        },
        {
            "id": 2,
            "name": "Test Phase",
            "is_public": False,
            "test_annotation_file": "annotations/test.json",
            "max_submissions": 3,
        },
        {"id": 3, "name": "Secret", "test_annotation_file": "../secret.json"},
        {"id": 4, "name": "Empty"},
    ],
    "dataset_splits": [{"id": 1, "name": "All", "codename": "all_split"}],
    "challenge_phase_splits": [
        {"challenge_phase_id": 1, "leaderboard_id": 1, "dataset_split_id": 1, "visibility": 3},
        {
            "challenge_phase_id": 2,
            "leaderboard_id": 1,
            "dataset_split_id": 1,
            "visibility": 1,
            "leaderboard_decimal_precision": 2,
        },
    ],
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    import yaml

    made = tmp_path_factory.mktemp("evalai") / "challenge"
    for name in ("annotations", "templates"):
        (made / name).mkdir(parents=True)
    (made / "challenge_config.yaml").write_text(yaml.safe_dump(CONFIG, sort_keys=False))
    for name, images in (("dev", DEV), ("test", TEST)):
        (made / "annotations" / f"{name}.json").write_text(json.dumps(references(images)))
    (made.parent / "secret.json").write_text(json.dumps(references(DEV)))
    html = (
        "<head><style>p{}</style></head><h1>About</h1><p>Be <b>fair</b>\n and "
        '<a href="https://example.org">read</a>.</p><ul><li>one<li>two</ul><script>x()</script>'
    )
    (made / "templates" / "description.html").write_text(html)
    return made


@pytest.fixture(scope="module")
def host(local_app: None) -> Iterator[Host]:
    made = Host()
    yield made
    made.close()


def test_a_folder_becomes_a_challenge_with_phases(host: Host, folder: Path) -> None:
    from cidery_server.challenges.creation import create_from_definitions
    from cidery_server.challenges.evalai import read_evalai

    found = read_evalai(folder)
    made = create_from_definitions(found.definitions, "folder")
    assert [one.slug for one in made] == [
        "orchard-challenge-2026",
        "orchard-challenge-2026-test-phase",
    ]
    dev, test = (host.owner.get(f"/api/challenges/{one.slug}").json()["challenge"] for one in made)
    assert dev["metrics"] == ["cider-d", "bleu-1", "rouge-l"]
    assert (dev["opens"], dev["closes"]) == ("2019-01-19T00:00:00Z", "2099-04-25T23:59:59Z")
    assert (dev["per_day"], dev["in_all"], dev["reference_sets"]) == (7, 70, ["all-split"])
    assert (test["per_day"], test["in_all"], test["image_count"]) == (5, 3, 18)
    assert (test["visibility"], test["scores_hidden"], test["leaderboard_open"]) == (
        *("hidden", True),
        False,
    )
    assert test["closes"] == "2099-05-31T23:59:59Z"
    text = "# About\n\nBe **fair** and [read](https://example.org).\n\n- one\n- two"
    assert dev["description"].startswith(f"Describe apples.\n\n{text}")
    assert "x()" not in dev["description"] and "p{}" not in dev["description"]
    host.approve(made[0].slug, "Pickers")
    assert host.submit("Pickers", made[0].slug, captions(DEV))


def test_what_does_not_map_is_said_line_by_line(local_app: None, folder: Path) -> None:
    from cidery_server.challenges.evalai import read_evalai

    notes = read_evalai(folder).notes
    for start, words in {
        "evaluation_script": "it is not run",
        "image": "no logo",
        "remote_evaluation": "scores on its own server",
        "leaderboard label 'CIDEr'": "it becomes cider-d",
        "leaderboard label 'Total'": "it is not a metric of cidery",
        "phase 'dev', max_submissions_per_month": "limits per day and in all",
        "description": "description.html is HTML and becomes Markdown",
        "terms_and_conditions": "terms.html cannot be read",
        "phase 'test-phase', split, leaderboard_decimal_precision": "significant",
        "phase 'secret'": "../secret.json is outside",
        "phase 'empty'": "no test_annotation_file",
        "teams": "teams need your approval",
    }.items():
        assert any(note.startswith(f"{start}: ") and words in note for note in notes), start


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ("[", "challenge_config.yaml: "),
        ("title: x", 'expected a list "challenge_phases"'),
        ("challenge_phases: [{id: 1}]", "no metric of cidery; name some with --metrics"),
        ("a: !!python/object/apply:os.system [id]", "could not determine a constructor"),
    ],
)
def test_folders_that_cannot_be(local_app: None, tmp_path: Path, change: str, message: str) -> None:
    from cidery_server.challenges.evalai import read_evalai

    with pytest.raises(FormatError, match=r"challenge_config\.yaml not found"):
        read_evalai(tmp_path)
    (tmp_path / "challenge_config.yaml").write_text(change)
    with pytest.raises(FormatError, match=message):
        read_evalai(tmp_path)
    with pytest.raises(FormatError):
        read_evalai(tmp_path, metrics=["bleu-1"])


def test_the_command_says_what_it_would_make(folder: Path, tmp_path: Path) -> None:
    pytest.importorskip("yaml")
    from typer.testing import CliRunner

    from cidery_server.commands.challenge import app

    command = ["import", str(folder), "--dry-run", "--slug", "moved", "--data", str(tmp_path / "x")]
    done = CliRunner().invoke(app, command)
    assert done.exit_code == 0, done.output
    assert "would create moved, phase dev: 12 images" in done.output
    assert "evaluation_script: it is not run" in done.output
    assert not (tmp_path / "x").exists()
