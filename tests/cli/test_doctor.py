"""`cidery doctor`: what it finds here, and in environments that are broken on purpose."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

import cidery
from cidery.cli import main
from cidery.doctor import (
    DEEP_PROBES,
    EXTRA_CHECKS,
    PROBES,
    Diagnosis,
    Finding,
    diagnose,
    probe_every_metric,
)
from cidery.metrics import METRICS
from cidery.plugins import install_command

CIDERY = Path(sys.executable).parent / "cidery"

TOPICS = set(PROBES) - (set() if find_spec("cidery_server") else {"services"})
"""Topics with findings: services are those of cidery-server."""


@pytest.fixture(scope="module")
def here() -> Diagnosis:
    return cidery.diagnose()


def find(found: Diagnosis, topic: str, name: str) -> Finding:
    (finding,) = [f for f in found.findings if (f.topic, f.name) == (topic, name)]
    return finding


def run(*command: str | Path, **environment: str) -> Any:
    """Run a command with these environment variables; return what it prints and its status."""
    done = subprocess.run(
        command, env=os.environ | environment, capture_output=True, encoding="utf-8", check=False
    )
    assert "Traceback" not in done.stderr
    return done


def test_this_environment(here: Diagnosis) -> None:
    assert here.works
    assert set(here.topics) == TOPICS
    assert cidery.__version__ in find(here, "installation", "cidery").detail
    assert find(here, "installation", "native core").state == "ok"
    assert find(here, "required packages", "numpy").state == "ok"
    assert find(here, "data", "coco-val2014").state == "ok"
    assert find(here, "data", "cache folder").state == "ok"
    named = {f.name for topic in ("core metrics", "other metrics") for f in here.topics[topic]}
    assert named == set(METRICS)
    for finding in here.topics["extras"]:
        assert finding.state == "ok" or finding.remedy == install_command(finding.name)


def test_every_extra_of_a_metric_is_checked() -> None:
    assert {metric.needs.extra for metric in METRICS.values()} - {None} == set(EXTRA_CHECKS)


def test_the_command(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["doctor", "--format", "json"]) == 0
    content = json.loads(capsys.readouterr().out)
    assert content["works"] is True
    assert {"topic", "name", "state", "detail", "remedy"} == set(content["findings"][0])
    assert main(["doctor"]) == 0
    printed = capsys.readouterr().out
    assert "Core metrics: OK" in printed
    assert "cider-d       ok" in printed


def test_a_broken_package_is_an_answer(tmp_path: Path) -> None:
    (tmp_path / "numpy").mkdir()
    problem = "numpy/_core/x.so: wrong ELF class: ELFCLASS32"
    (tmp_path / "numpy" / "__init__.py").write_text(f"raise ImportError({problem!r}, name='numpy')")
    done = run(CIDERY, "doctor", "--format", "json", PYTHONPATH=str(tmp_path))
    assert done.returncode == 1
    content = json.loads(done.stdout)
    assert content["works"] is False
    assert {finding["topic"] for finding in content["findings"]} == TOPICS
    states = {f["name"]: f for f in content["findings"]}
    assert states["numpy"]["state"] == states["core metrics"]["state"] == "problem"
    assert states["numpy"]["detail"].startswith("built for another processor or Python: ")
    assert states["numpy"]["remedy"] == "pip install --force-reinstall numpy"


def test_a_world_where_little_is_right(tmp_path: Path) -> None:
    """No Typer, a cache that is a file, a second cidery, a queue that does not answer."""
    (tmp_path / "typer.py").write_text("raise SystemExit('no')")
    (tmp_path / "cache").write_text("not a folder")
    other = tmp_path / "cidery-0.0.9.dist-info"
    other.mkdir()
    (other / "METADATA").write_text("Metadata-Version: 2.1\nName: cidery\nVersion: 0.0.9\n")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    done = run(
        *(sys.executable, "-m", "cidery.doctor"),
        PYTHONPATH=str(tmp_path),
        CIDERY_CACHE=str(tmp_path / "cache"),
        CIDERY_QUEUE=f"redis://:secret@127.0.0.1:{port}",
    )
    assert done.returncode == 0, "the core metrics need none of it"
    assert "is not a folder: set CIDERY_CACHE to a writable folder" in done.stdout
    assert "cidery is installed 2 times: 0.0.9 in" in done.stdout
    assert "secret" not in done.stdout
    if "services" in TOPICS and cidery.diagnose().topics["services"][0].state != "missing":
        assert "ConnectionRefusedError" in done.stdout


def test_no_probe_can_break_the_rest(monkeypatch: pytest.MonkeyPatch) -> None:
    def exit_at_once() -> list[Finding]:
        raise SystemExit("a package that ends the process when it is imported")

    monkeypatch.setattr("cidery.doctor.PROBES", {"first": exit_at_once, "data": PROBES["data"]})
    found = diagnose()
    assert find(found, "first", "first").detail.startswith("SystemExit: a package that ends")
    assert find(found, "data", "coco-val2014").state == "ok"
    assert not found.works


@pytest.mark.model
def test_a_metric_that_is_said_to_run_runs(here: Diagnosis) -> None:
    tried = {finding.name: finding for finding in probe_every_metric(("cider-d", "bertscore"))}
    assert tried["cider-d"].state == find(here, "core metrics", "cider-d").state
    assert tried["bertscore"].state == find(here, "other metrics", "bertscore").state
    assert tried["cider-d"].detail.startswith("1.1193 on 12 images, ")
    assert set(DEEP_PROBES) == {"every metric", "every encoder", "every plug-in"}
