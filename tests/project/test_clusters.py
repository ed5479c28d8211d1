"""The recipes for clusters: the shell reads them, and their fields and commands exist."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import yaml
from typer.main import get_command

from cidery.cli.score import app
from support.example import ROOT

FOLDER = ROOT / "examples" / "clusters"


def test_kuberay() -> None:
    pytest.importorskip("check_jsonschema", reason="the linter is in the extra `check`")
    command = [sys.executable, "-m", "check_jsonschema", "--schemafile"]
    files = [str(FOLDER / "rayjob.schema.json"), str(FOLDER / "kuberay.yaml")]
    done = subprocess.run([*command, *files], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    spec = yaml.safe_load((FOLDER / "kuberay.yaml").read_text())["spec"]
    check_options(spec["entrypoint"])


def test_slurm() -> None:
    script = FOLDER / "slurm.sh"
    subprocess.run(["bash", "-n", str(script)], check=True)
    text = script.read_text()
    check_options(text[text.index("cidery score") :])
    assert all(line.startswith("#") for line in text.splitlines()[: text.count("#SBATCH")])
    if shutil.which("shellcheck"):
        subprocess.run(["shellcheck", str(script)], check=True)


def test_processes_of_a_slurm_job_share_a_token(tmp_path: Path) -> None:
    commands = {
        "scontrol": "echo head",
        "srun": 'case "$*" in *"cidery score"*)\n'
        'echo "$RAY_AUTH_MODE $(cat "$RAY_AUTH_TOKEN_PATH") $(stat -c %a "$RAY_AUTH_TOKEN_PATH")"\n'
        "esac",
    }
    for name, body in commands.items():
        (tmp_path / name).write_text(f"#!/bin/sh\n{body}\n")
        (tmp_path / name).chmod(0o755)
    job = {"CIDERY_FOLDER": str(tmp_path), "SLURM_JOB_ID": "7", "SLURM_JOB_NUM_NODES": "2"}
    job |= {"SLURM_JOB_NODELIST": "head,other", "SLURM_CPUS_PER_TASK": "2"}
    done = subprocess.run(
        ["bash", str(FOLDER / "slurm.sh")],
        env={"PATH": f"{tmp_path}:{os.environ['PATH']}", **job},
        capture_output=True,
        text=True,
        check=True,
    )
    assert re.fullmatch(r"token [0-9a-f]{64} 600\n", done.stdout)
    assert {path.name for path in tmp_path.iterdir()} == set(commands)  # the token is gone


def check_options(command: str) -> None:
    known = {name for option in get_command(app).params for name in option.opts}
    used = set(re.findall(r"(?<=\s)--[a-z-]+", command))
    assert used and used <= known
    assert "ray" in Path(command.split("--engine ")[1].split()[0]).name
