"""`cidery tokenize`."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from io import BufferedReader
from typing import Annotated, Literal, cast

import typer

from cidery.cli import options, parsing
from cidery.errors import FormatError

BLOCK = 1 << 16

app = parsing.new_app()


@app.command(
    epilog=parsing.examples(
        'echo "A dog\'s bone." | cidery tokenize',
        "cidery tokenize --stemmer english < captions.txt",
        "cidery tokenize --language zh < captions.txt",
        "cidery tokenize --tokenizer words --format json < captions.txt > words.jsonl",
    )
)
def tokenize(
    tokenizer: options.Tokenizer = None,
    language: options.Language = None,
    stemmer: options.Stemmer = None,
    format: Annotated[
        Literal["text", "json"],
        typer.Option(
            "--format",
            "-f",
            help="text: words separated by spaces; json: a JSON list per line.",
        ),
    ] = "text",
) -> None:
    """Tokenize captions from stdin.

    Each line is a caption. Lines are written as they are read, except with ptb-coco, which reads
    all captions as one document.
    """
    from cidery.text import tokenize as tokenize_captions

    tokenize_captions([], tokenizer, stemmer, language=language)  # checks the settings first
    blocks = _read_blocks()
    if tokenizer == "ptb-coco":
        blocks = iter([[line for block in blocks for line in block]])
    for lines in blocks:
        for words in tokenize_captions(lines, tokenizer, stemmer, language=language):
            line = " ".join(words) if format == "text" else json.dumps(words, ensure_ascii=False)
            sys.stdout.write(line + "\n")
        sys.stdout.flush()


def _read_blocks() -> Iterator[list[str]]:
    """Yield the lines of standard input, as many at a time as have arrived."""
    number, rest = 0, b""
    stream = cast(BufferedReader, sys.stdin.buffer)
    while block := stream.read1(BLOCK):
        *complete, rest = (rest + block).split(b"\n")
        yield [_decode(line, number + place) for place, line in enumerate(complete, start=1)]
        number += len(complete)
    if rest:
        yield [_decode(rest, number + 1)]


def _decode(line: bytes, number: int) -> str:
    try:
        return line.decode().removesuffix("\r")
    except UnicodeDecodeError as error:
        raise FormatError(f"standard input, line {number}: {error.reason} in UTF-8") from None
