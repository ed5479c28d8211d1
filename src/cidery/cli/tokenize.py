"""`cidery tokenize`."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from io import BufferedReader
from typing import Annotated, Literal, cast

import typer

from cidery.cli import parsing
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
    tokenizer: parsing.LanguageTokenizer = None,
    language: parsing.Language = None,
    stemmer: parsing.Stemmer = None,
    format: Annotated[
        Literal["text", "json"],
        typer.Option(
            "--format",
            "-f",
            help="text: words with blanks between them; json: a JSON list per line.",
        ),
    ] = "text",
) -> None:
    """Cut captions into words, from stdin to stdout.

    There is a caption per line. Lines go out as they come in, except with ptb-coco, which reads
    all captions as one document.
    """
    from cidery.text import tokenize as cut

    cut(
        [], tokenizer, stemmer, language=language
    )  # a name that is wrong is told before anything is read
    blocks = _read_blocks()
    if tokenizer == "ptb-coco":
        blocks = iter([[line for block in blocks for line in block]])
    for lines in blocks:
        for words in cut(lines, tokenizer, stemmer, language=language):
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
