"""Encoders from model folders: BERT, RoBERTa, XLM-R and MPNet."""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from hashlib import sha256
from itertools import accumulate, chain
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, TypeVar

import numpy as np

from cidery.encoders.base import (
    Encoder,
    Floats32,
    Integers,
    Token,
    TokenStates,
    normalize,
    number_distinct,
)
from cidery.encoders.layers import Layers, NativeLayers, TorchLayers
from cidery.encoders.long_text import find_middle, warn_of_long
from cidery.encoders.model import Model, read_model
from cidery.encoders.sentencepiece import NAME as SENTENCEPIECE
from cidery.encoders.sentencepiece import read_sentencepiece
from cidery.errors import DataError, MissingExtraError, SettingError
from cidery.runtime import current_progress, current_runner, share_work

if TYPE_CHECKING:
    import tokenizers
    from numpy.typing import NDArray

_T = TypeVar("_T")

BLANK = "▁"
"""How SentencePiece writes a blank."""
UNSPACED = ("CJK", "HIRAGANA", "KATAKANA", "THAI", "LAO", "KHMER", "MYANMAR", "TIBETAN")
"""How the names of letters begin in scripts that have no blanks between words."""
AT_ONCE = 1024
"""Captions between two reports of progress."""


class TransformerEncoder(Encoder):
    """A model folder, read once; every distinct caption goes through it once per call."""

    def __init__(self, folder: Path, files: tuple[str, ...], name: str, device: str) -> None:
        """Read a folder.

        Args:
            folder: As Hugging Face lays it out.
            files: The SHA-256 of each of its files, the weights' first.
            name: What signatures call it.
            device: As for `get_encoder`.
        """
        self._folder, self._files, self._name = folder, files, name
        self._opened = (folder, files, name, device)
        self._model: Model = read_model(folder)
        self._layers: Layers = (
            NativeLayers(self._model) if device == "cpu" else TorchLayers(self._model, device)
        )
        self._tokenizer = _open_tokenizer(folder, self._model)

    @property
    def name(self) -> str:
        """What signatures call it."""
        return self._name

    @property
    def fingerprint(self) -> str:
        """The beginning of its weights' SHA-256."""
        return self._files[0][:12]

    @property
    def files(self) -> str:
        """A digest of all files: states depend on the settings and the tokenizer, too."""
        return sha256("\n".join(self._files).encode()).hexdigest()

    @property
    def kernel(self) -> str:
        """What computes: `avx2`, `portable`, or what torch uses."""
        return self._layers.kernel

    @property
    def layers(self) -> int:
        """The number of its last layer."""
        return len(self._model.layers)

    @property
    def window(self) -> int:
        """How many tokens it sees at once; longer captions are split at sentences."""
        return self._model.longest

    @cached_property
    def vocabulary(self) -> Mapping[int, str]:
        """The tokens' texts by id, as BERT's vocabulary has them."""
        # RoBERTa and SentencePiece mark the blank before a word, not that there is none.
        mark = "Ġ" if self._model.naming.blank else BLANK if self._marks_blanks else ""
        texts = {}
        for text, place in self._tokenizer.get_vocab().items():
            continues = mark and text[:1].isalnum() and text[0] != mark
            texts[place] = f"##{text}" if continues else text.removeprefix(mark)
        return MappingProxyType(texts)

    @cached_property
    def _marks_blanks(self) -> bool:
        """Whether the tokenizer is SentencePiece's, which writes a blank as a low line."""
        return any(text.startswith(BLANK) for text in self._tokenizer.get_vocab())

    def embed(self, captions: Sequence[str], threads: int = 0) -> Floats32:
        """Return float32[captions, width]: the mean of each caption's states, of length 1."""
        distinct, places = number_distinct(captions)
        cut = self._cut(distinct)
        offsets = cut.offsets
        sums = np.empty((len(offsets) - 1, self._model.words.shape[1]), np.float32)
        for first, last, states in self._run(cut.ids, offsets, self.layers, threads):
            starts = offsets[first:last] - offsets[first]
            sums[first:last] = np.add.reduceat(states, starts)
        counts = np.diff(cut.bounds)
        if len(distinct) < len(sums):
            sums = np.add.reduceat(sums, cut.firsts[:-1])
        embedded: Floats32 = normalize((sums / counts[:, None]).astype(np.float32))[places]
        return embedded

    def tokens(
        self, captions: Sequence[str], layer: int | None = None, threads: int = 0
    ) -> TokenStates:
        """Return the tokens of all captions with their states in that layer; None: the last."""
        count = self.layers if layer is None else layer
        if not 0 <= count <= self.layers:
            raise SettingError(f"{self.name} has layers 0 to {self.layers}, not {layer}")
        distinct, places = number_distinct(captions)
        cut = self._cut(distinct)
        states = np.empty((len(cut.ids), self._model.words.shape[1]), np.float32)
        for first, last, part in self._run(cut.ids, cut.offsets, count, threads):
            states[cut.offsets[first] : cut.offsets[last]] = part
        return TokenStates(
            captions,
            states,
            cut.ids,
            cut.special,
            cut.bounds[:-1][places],
            cut.bounds[1:][places],
            self.cut,
            self.vocabulary,
        )

    def cut(self, caption: str) -> list[Token]:
        """Return the tokens of one caption; of a long one, those of its parts in a row."""
        tokens: list[Token] = []
        begin = known = 0
        for part in self._split(caption):
            of_part = self._cut_part(part)
            tokens += [
                Token(
                    token.text,
                    token.start + begin,
                    token.end + begin,
                    None if token.word is None else token.word + known,
                )
                for token in of_part
            ]
            known += 1 + max((t.word for t in of_part if t.word is not None), default=-1)
            begin += len(part)
        return tokens

    def _cut_part(self, caption: str) -> list[Token]:
        found = self._tokenizer.encode(self._spell(caption))
        added = len(caption) - len(caption.lstrip()) - self._model.naming.blank
        words = found.word_ids
        if self._marks_blanks:
            words = _part_words(found.tokens, words)
        tokens = [
            Token(text, max(0, start + added), max(0, end + added), word)
            for text, (start, end), word in zip(found.tokens, found.offsets, words, strict=True)
        ]
        return self._shorten(tokens)

    def _split(self, caption: str) -> list[str]:
        """Return parts that the model can see at once: the caption, or halves of it, and so on."""
        if self._fits(caption) or len(caption) < 2:
            return [caption]
        middle = find_middle(caption)
        return [*self._split(caption[:middle]), *self._split(caption[middle:])]

    def _fits(self, caption: str) -> bool:
        # A token is a character at least, unless characters are written as bytes.
        if len(caption) * 4 + 2 <= self.window:
            return True
        return len(self._tokenizer.encode(self._spell(caption)).ids) <= self.window

    def _shorten(self, tokens: list[_T]) -> list[_T]:
        """Cut a single character of more tokens than the window has."""
        return [*tokens[: self.window - 1], tokens[-1]] if len(tokens) > self.window else tokens

    def _spell(self, caption: str) -> str:
        """Return what the tokenizer gets: with a blank before the first word, if that matters."""
        if not self._model.naming.blank or not caption.strip():
            return caption.strip()
        return f" {caption.strip()}"

    def _cut(self, captions: list[str]) -> _Cut:
        """Cut captions into tokens; those that are too long are split first, with a warning."""
        found = self._tokenizer.encode_batch_fast([self._spell(text) for text in captions])
        parts = [[one] for one in found]
        long = [number for number, one in enumerate(found) if len(one.ids) > self.window]
        for number in long:
            spelled = [self._spell(part) for part in self._split(captions[number])]
            parts[number] = self._tokenizer.encode_batch_fast(spelled)
        if long:
            warn_of_long(self.name, self.window, len(long))
        windows = [one for of_caption in parts for one in of_caption]
        ids = [self._shorten(one.ids) for one in windows]
        special = [self._shorten(one.special_tokens_mask) for one in windows]
        offsets = _add_up(map(len, ids))
        firsts = _add_up(map(len, parts))
        return _Cut(
            np.fromiter(chain.from_iterable(ids), np.int64, int(offsets[-1])),
            np.fromiter(chain.from_iterable(special), bool, int(offsets[-1])),
            offsets,
            firsts,
        )

    def _run(
        self, ids: Integers, offsets: Integers, layers: int, threads: int
    ) -> Iterator[tuple[int, int, Floats32]]:
        """Yield the states of captions [first, last), some at a time."""
        report: Callable[[str, float], None] = current_progress()
        total = len(offsets) - 1
        starts = range(0, total, AT_ONCE)
        chunks = [
            (ids[offsets[first] : offsets[last]], offsets[first : last + 1] - offsets[first])
            for first in starts
            if (last := min(total, first + AT_ONCE))
        ]
        here = partial(self._run_chunk, layers, threads)
        there = partial(_run_there, self._opened, self.kernel, layers)
        # The native layers use threads of their own: only other machines can help.
        helpers = 1 if current_runner() is not None and len(chunks) > 1 else 0
        for first, states in zip(starts, share_work(chunks, here, there, helpers), strict=True):
            report(f"encoding captions by {self.name}", first / total)
            yield first, min(total, first + AT_ONCE), states

    def _run_chunk(self, layers: int, threads: int, chunk: tuple[Integers, Integers]) -> Floats32:
        """Return the states of some captions, given as tokens and where captions begin."""
        ids, offsets = chunk
        states = self._layers.run(self._embed_tokens(ids, offsets), offsets, layers, threads)
        if not np.isfinite(states).all():
            raise DataError(f"{self._folder}: the weights give states that are no numbers")
        return states

    def _embed_tokens(self, ids: Integers, offsets: Integers) -> Floats32:
        """Return word, position and kind of each token, summed and normalized."""
        model = self._model
        places = np.arange(len(ids)) - np.repeat(offsets[:-1], np.diff(offsets))
        # The same word at the same place is the same vector, wherever it occurs.
        keys, back = np.unique(ids * model.longest + places, return_inverse=True)
        words, positions = np.divmod(keys, model.longest)
        sums = model.words[words] + model.kind
        sums += model.positions[positions + model.naming.first_position]
        sums -= sums.mean(axis=1, keepdims=True)
        variance = np.square(sums).mean(axis=1, keepdims=True)
        sums = sums / np.sqrt(variance + np.float32(model.epsilon)) * model.scale + model.shift
        embedded: Floats32 = sums.astype(np.float32, copy=False)[back]
        return embedded


def _run_there(
    opened: tuple[Path, tuple[str, ...], str, str],
    kernel: str,
    layers: int,
    chunk: tuple[Integers, Integers],
) -> Floats32:
    """Do `TransformerEncoder._run_chunk` in another process, which opens the model once."""
    from cidery.encoders import _hash_files, _open

    folder, files, name, device = opened
    if not folder.is_dir() or _hash_files(folder) != files:
        raise DataError(f"{folder}: another machine has no such model, or a different one, there")
    encoder = _open(folder, files, name, device)
    assert isinstance(encoder, TransformerEncoder)
    if encoder.kernel != kernel:
        raise DataError(
            f"one machine computes with {kernel} and another with {encoder.kernel}, so that last "
            "digits would differ; use machines of one kind"
        )
    return encoder._run_chunk(layers, 1, chunk)


@dataclass(frozen=True, eq=False)
class _Cut:
    """Tokens of windows, one after another; a caption has one window, or several if it is long."""

    ids: Integers
    special: NDArray[np.bool_]
    offsets: Integers
    """Where windows begin, and the end."""
    firsts: Integers
    """The first window of each caption, and how many there are."""

    @property
    def bounds(self) -> Integers:
        """Where captions begin, and the end."""
        return self.offsets[self.firsts]


def _add_up(lengths: Iterable[int]) -> Integers:
    return np.fromiter(accumulate(lengths, initial=0), np.int64)


def _part_words(pieces: Sequence[str], words: Sequence[int | None]) -> list[int | None]:
    """Number words where the tokenizer cuts at blanks alone.

    Punctuation is a word by itself, and so is each piece in a script without blanks between words.
    """
    numbers: list[int | None] = []
    before: tuple[int | None, str] = (None, "")
    number = -1
    for piece, word in zip(pieces, words, strict=True):
        kind = _find_kind(piece.removeprefix(BLANK))
        if (word, kind) != before or kind == "unspaced":
            # A blank by itself belongs to what follows.
            number += before != (word, "blank")
        before = (word, kind)
        numbers.append(None if word is None else number)
    return numbers


def _find_kind(piece: str) -> str:
    if not piece:
        return "blank"
    if not piece[0].isalnum():
        return "marks" if unicodedata.category(piece[0])[0] != "M" else "letters"
    name = unicodedata.name(piece[0], "")
    return "unspaced" if name.startswith(UNSPACED) else "letters"


def _open_tokenizer(folder: Path, model: Model) -> tokenizers.Tokenizer:
    try:
        from tokenizers import Tokenizer
    except ImportError:
        raise MissingExtraError.to(
            "cut captions as language models do", package="tokenizers", extra="contextual"
        ) from None
    path = folder / "tokenizer.json"
    if not path.is_file() and (folder / SENTENCEPIECE).is_file():
        path = folder / SENTENCEPIECE
    if not path.is_file():
        raise DataError(f"{folder} holds no tokenizer.json and no {SENTENCEPIECE}")
    try:
        tokenizer = (
            read_sentencepiece(path)
            if path.name == SENTENCEPIECE
            else Tokenizer.from_file(str(path))
        )
    except DataError:
        raise
    except Exception as error:  # the package raises nothing more particular
        raise DataError(f"{path} cannot be read: {error}") from error
    tokenizer.no_padding()
    tokenizer.no_truncation()
    if not tokenizer.encode("").ids:
        raise DataError(f"{path} adds no tokens such as [CLS]; the model cannot run without")
    if max(tokenizer.get_vocab().values()) >= len(model.words):
        raise DataError(f"{path} knows more tokens than the model, which has {len(model.words)}")
    return tokenizer
