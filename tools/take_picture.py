"""Make docs/images/*.svg from what `cidery` prints on a terminal.

    python tools/take_picture.py

Each command runs in the folder of the example files, on a pseudo-terminal, and Rich turns what it
prints into SVG.
"""

from __future__ import annotations

import fcntl
import io
import os
import pty
import re
import shlex
import struct
import subprocess
import sys
import termios
from pathlib import Path

from rich.console import Console
from rich.text import Text

from cidery.corpus import bundled

IMAGES = Path(__file__).parent.parent / "docs" / "images"
COLUMNS = 96
PICTURES = {
    "compare.svg": [
        "compare references.json system_a.json system_b.json -m bleu-4 -m rouge-l -m cider-d"
        " --frequencies coco-val2014"
    ],
    "stats.svg": ["stats references.json"],
    "explain.svg": [
        'explain "A dog runs on the grass." "The dog is running." "A brown dog on green grass"'
        " -m cider-d -m rouge-l"
    ],
    "ledger.svg": [
        'ledger "A red dog sits on the sofa. It is looking at a cat. There are no people."'
        ' "A black dog is sitting on a couch." "A dog on a sofa with two people."'
    ],
}


def run_on_terminal(arguments: list[str], folder: Path, columns: int = COLUMNS) -> str:
    """Return what a command prints on a terminal of that width, escape sequences included."""
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 50, columns, 0, 0))
    environment = {
        # A bar would come and go with how busy the machine is.
        "CIDERY_PROGRESS": "never",
        **os.environ,
        "TERM": "xterm-256color",
        "COLUMNS": str(columns),
    }
    with subprocess.Popen(
        arguments, cwd=folder, stdin=theirs, stdout=theirs, stderr=theirs, env=environment
    ) as process:
        os.close(theirs)
        output = bytearray()
        while True:
            try:
                block = os.read(ours, 1 << 16)
            except OSError:  # Linux's way to say that the other side is closed
                break
            if not block:
                break
            output += block
    os.close(ours)
    if process.returncode:
        raise SystemExit(f"{' '.join(arguments)} failed:\n{output.decode()}")
    return output.decode().replace("\r\n", "\n")


def take_picture(commands: list[str], target: Path) -> None:
    """Write the picture of a terminal in which the commands have run."""
    console = Console(record=True, width=COLUMNS, file=io.StringIO(), force_terminal=True)
    cidery = Path(sys.executable).parent / "cidery"
    folder = bundled.path("references.json").parent
    for command in commands:
        console.print(f"[bold green]$[/] [bold]cidery {command}[/]", highlight=False)
        console.print(Text.from_ansi(run_on_terminal([str(cidery), *shlex.split(command)], folder)))
    # A fixed id, so that the file changes only when the picture does.
    picture = console.export_svg(title="cidery", unique_id=f"cidery-{target.stem}")
    # Rich's template fetches a font from the network; the reader's own monospace will do.
    picture = re.sub(r"\s*@font-face \{.*?\}", "", picture, flags=re.DOTALL)
    target.write_text(picture, encoding="utf-8")


if __name__ == "__main__":
    for name, commands in PICTURES.items():
        take_picture(commands, IMAGES / name)
