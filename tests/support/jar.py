"""Run the original tokenizer (the jar inside the PyPI package pycocoevalcap) as a black box."""

from __future__ import annotations

import importlib.util
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path

LINE_BREAKS = "\r\x0b\x0c\u2028\u2029"
FOLLOWING_LINE = "the zzend"


def find_jar() -> Path:
    """The jar of the installed pycocoevalcap."""
    spec = importlib.util.find_spec("pycocoevalcap")
    if spec is None or not spec.submodule_search_locations:
        raise FileNotFoundError("pycocoevalcap is not installed; pip install pycocoevalcap")
    folder = Path(next(iter(spec.submodule_search_locations)))
    return folder / "tokenizer" / "stanford-corenlp-3.4.1.jar"


def run_jar(text: str) -> list[str]:
    """Output lines for a whole file."""
    with tempfile.NamedTemporaryFile("w", encoding="utf-8", newline="", suffix=".txt") as file:
        file.write(text)
        file.flush()
        command = ["java", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-cp", str(find_jar())]
        command += ["edu.stanford.nlp.process.PTBTokenizer", "-preserveLines", "-lowerCase"]
        done = subprocess.run([*command, file.name], capture_output=True, check=True)
    return done.stdout.decode("utf-8").split("\n")


def jar_document(captions: Sequence[str]) -> list[list[str]]:
    """Tokens of each caption of one document; no caption may break its line."""
    lines = run_jar("\n".join(caption.replace("\n", " ") for caption in captions))
    if len(lines) < len(captions):
        raise ValueError(f"{len(captions)} captions gave {len(lines)} lines")
    return [line.rstrip().split(" ") if line.rstrip() else [] for line in lines[: len(captions)]]


def jar_single(captions: Sequence[str], following: str = FOLLOWING_LINE) -> list[list[str]]:
    """Tokens of each caption by itself, with the line ``the zzend`` after it."""
    text = "".join(f"{caption.replace(chr(10), ' ')}\n{following}\n" for caption in captions)
    result: list[list[str]] = []
    tokens: list[str] = []
    end = following.lower()
    for line in run_jar(text):
        if line.rstrip() == end:
            result.append(tokens)
            tokens = []
        else:
            tokens = tokens + (line.rstrip().split(" ") if line.rstrip() else [])
    if len(result) != len(captions):
        raise ValueError(f"{len(captions)} captions gave {len(result)} results")
    return result
