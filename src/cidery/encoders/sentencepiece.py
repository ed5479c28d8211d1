"""SentencePiece's files, `sentencepiece.bpe.model`, as tokenizers: for folders that have no other.

The format is that of `sentencepiece_model.proto` (protocol buffers), of which a few fields matter.
The numbers of tokens are those of XLM-R: four of its own, the pieces without SentencePiece's first
three, and `<mask>`.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from cidery.errors import DataError

if TYPE_CHECKING:
    import tokenizers

NAME = "sentencepiece.bpe.model"

# Numbers of fields in sentencepiece_model.proto.
_PIECES, _TRAINING, _NORMALIZING = 1, 2, 3
_TEXT, _SCORE = 1, 2
_KIND, _UNIGRAM = 3, 1
_CHARACTERS = 2

_FIRST = ("<s>", "<pad>", "</s>", "<unk>")
_LEFT_OUT = 3
_VARINT, _EIGHT_BYTES, _BYTES, _FOUR_BYTES = 0, 1, 2, 5


def read_sentencepiece(path: Path) -> tokenizers.Tokenizer:
    """Read a file with a Unigram model; DataError says what is wrong with it."""
    try:
        fields = list(_read_fields(path.read_bytes()))
        kinds = [
            field for key, value in fields if key == _TRAINING for field in _read_fields(value)
        ]
        pieces = [_read_piece(value) for key, value in fields if key == _PIECES]
        spelling = [
            field for key, value in fields if key == _NORMALIZING for field in _read_fields(value)
        ]
    except (IndexError, ValueError, TypeError, struct.error) as error:
        raise DataError(f"{path} is damaged: it is no SentencePiece model") from error
    if len(pieces) <= _LEFT_OUT:
        raise DataError(f"{path} is damaged: it has no pieces")
    if dict(kinds).get(_KIND, _UNIGRAM) != _UNIGRAM:
        raise DataError(f"{path} is no Unigram model; save the folder with a tokenizer.json")
    characters = dict(spelling).get(_CHARACTERS, b"")
    return _build(pieces, characters if isinstance(characters, bytes) else b"")


def _build(pieces: list[tuple[str, float]], characters: bytes) -> tokenizers.Tokenizer:
    from tokenizers import Regex, Tokenizer, models, normalizers, pre_tokenizers, processors

    vocabulary = [(text, 0.0) for text in _FIRST] + pieces[_LEFT_OUT:] + [("<mask>", 0.0)]
    tokenizer = Tokenizer(models.Unigram(vocabulary, unk_id=_FIRST.index("<unk>")))
    steps = [normalizers.Precompiled(characters)] if characters else []
    tokenizer.normalizer = normalizers.Sequence([*steps, normalizers.Replace(Regex(" {2,}"), " ")])
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [pre_tokenizers.WhitespaceSplit(), pre_tokenizers.Metaspace()]
    )
    tokenizer.post_processor = processors.TemplateProcessing(
        single="<s> $A </s>", special_tokens=[("<s>", 0), ("</s>", 2)]
    )
    tokenizer.add_special_tokens([*_FIRST, "<mask>"])
    return tokenizer


def _read_piece(message: object) -> tuple[str, float]:
    fields = dict(_read_fields(message))
    text, score = fields[_TEXT], fields.get(_SCORE, 0.0)
    if not isinstance(text, bytes) or not isinstance(score, float):
        raise TypeError("a piece is a text and a score")
    return text.decode(), score


def _read_fields(message: object) -> Iterator[tuple[int, int | float | bytes]]:
    """Yield the fields of a message of protocol buffers, by number."""
    if not isinstance(message, bytes):
        raise TypeError("expected a message")
    at = 0
    while at < len(message):
        key, at = _read_number(message, at)
        value: int | float | bytes
        if key & 7 == _VARINT:
            value, at = _read_number(message, at)
        elif key & 7 == _FOUR_BYTES:
            value, at = struct.unpack_from("<f", message, at)[0], at + 4
        elif key & 7 == _EIGHT_BYTES:
            value, at = struct.unpack_from("<d", message, at)[0], at + 8
        elif key & 7 == _BYTES:
            length, at = _read_number(message, at)
            if at + length > len(message):
                raise ValueError("a field ends behind its message")
            value, at = message[at : at + length], at + length
        else:
            raise ValueError("an unknown kind of field")
        yield key >> 3, value


def _read_number(message: bytes, at: int) -> tuple[int, int]:
    number = shift = 0
    while True:
        byte = message[at]
        number |= (byte & 0x7F) << shift
        at, shift = at + 1, shift + 7
        if byte < 0x80:
            return number, at
