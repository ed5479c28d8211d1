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
from cidery.encoders.long_text import find_middle, warn_long_captions
from cidery.encoders.model import Model, read_model
from cidery.encoders.sentencepiece import NAME as SENTENCEPIECE
from cidery.encoders.sentencepiece import read_sentencepiece
from cidery.errors import DataError, MissingExtraError, SettingError
from cidery.runtime import current_progress, current_runner, share_work

if TYPE_CHECKING:
    import tokenizers
    from numpy.typing import NDArray

_T = TypeVar("_T")

SPACE = "▁"
"""Space in SentencePiece's tokens."""
UNSPACED_SCRIPTS = ("CJK", "HIRAGANA", "KATAKANA", "THAI", "LAO", "KHMER", "MYANMAR", "TIBETAN")
"""Prefixes of Unicode names of letters in scripts without spaces between words."""
CHUNK_SIZE = 1024
"""Number of captions between two progress reports."""


class TransformerEncoder(Encoder):
    """Encoder of a model folder; each distinct caption is encoded once per call."""

    def __init__(self, folder: Path, files: tuple[str, ...], name: str, device: str) -> None:
        """Read a folder.

        Args:
            folder: Folder in Hugging Face's layout.
            files: SHA-256 of each of its files, the weights first.
            name: Name in signatures.
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
        """Name in signatures."""
        return self._name

    @property
    def fingerprint(self) -> str:
        """First 12 digits of the SHA-256 of the weights."""
        return self._files[0][:12]

    @property
    def files(self) -> str:
        """Digest of all files, including settings and tokenizer."""
        return sha256("\n".join(self._files).encode()).hexdigest()

    @property
    def kernel(self) -> str:
        """`avx2`, `portable`, or the device of torch."""
        return self._layers.kernel

    @property
    def layers(self) -> int:
        """Number of its last layer."""
        return len(self._model.layers)

    @property
    def window(self) -> int:
        """Maximum number of tokens; longer captions are split at sentences."""
        return self._model.longest

    @cached_property
    def vocabulary(self) -> Mapping[int, str]:
        """Texts of tokens by id, in BERT's notation."""
        # RoBERTa and SentencePiece mark the space before a word, BERT the lack of it.
        mark = (
            "Ġ" if self._model.architecture.leading_space else SPACE if self._marks_spaces else ""
        )
        texts = {}
        for text, place in self._tokenizer.get_vocab().items():
            continues = mark and text[:1].isalnum() and text[0] != mark
            texts[place] = f"##{text}" if continues else text.removeprefix(mark)
        return MappingProxyType(texts)

    @cached_property
    def _marks_spaces(self) -> bool:
        """True for SentencePiece, which marks spaces."""
        return any(text.startswith(SPACE) for text in self._tokenizer.get_vocab())

    def embed(self, captions: Sequence[str], threads: int = 0) -> Floats32:
        """Return float32[captions, width]: mean of each caption's states, scaled to length 1."""
        distinct, places = number_distinct(captions)
        batch = self._tokenize(distinct)
        offsets = batch.offsets
        sums = np.empty((len(offsets) - 1, self._model.words.shape[1]), np.float32)
        for first, last, states in self._run(batch.ids, offsets, self.layers, threads):
            starts = offsets[first:last] - offsets[first]
            sums[first:last] = np.add.reduceat(states, starts)
        counts = np.diff(batch.bounds)
        if len(distinct) < len(sums):
            sums = np.add.reduceat(sums, batch.firsts[:-1])
        embedded: Floats32 = normalize((sums / counts[:, None]).astype(np.float32))[places]
        return embedded

    def tokens(
        self, captions: Sequence[str], layer: int | None = None, threads: int = 0
    ) -> TokenStates:
        """Return the tokens of captions with their states in a layer; None: the last."""
        count = self.layers if layer is None else layer
        if not 0 <= count <= self.layers:
            raise SettingError(f"{self.name} has layers 0 to {self.layers}, not {layer}")
        distinct, places = number_distinct(captions)
        batch = self._tokenize(distinct)
        states = np.empty((len(batch.ids), self._model.words.shape[1]), np.float32)
        for first, last, part in self._run(batch.ids, batch.offsets, count, threads):
            states[batch.offsets[first] : batch.offsets[last]] = part
        return TokenStates(
            captions,
            states,
            batch.ids,
            batch.special,
            batch.bounds[:-1][places],
            batch.bounds[1:][places],
            self.tokenize,
            self.vocabulary,
        )

    def tokenize(self, caption: str) -> list[Token]:
        """Return the tokens of one caption; for a long one, those of its parts in order."""
        tokens: list[Token] = []
        begin = known = 0
        for part in self._split(caption):
            of_part = self._tokenize_part(part)
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

    def _tokenize_part(self, caption: str) -> list[Token]:
        found = self._tokenizer.encode(self._prepare_text(caption))
        added = len(caption) - len(caption.lstrip()) - self._model.architecture.leading_space
        words = found.word_ids
        if self._marks_spaces:
            words = _number_words(found.tokens, words)
        tokens = [
            Token(text, max(0, start + added), max(0, end + added), word)
            for text, (start, end), word in zip(found.tokens, found.offsets, words, strict=True)
        ]
        return self._shorten(tokens)

    def _split(self, caption: str) -> list[str]:
        """Return parts that fit the model: the caption, or recursively its halves."""
        if self._fits(caption) or len(caption) < 2:
            return [caption]
        middle = find_middle(caption)
        return [*self._split(caption[:middle]), *self._split(caption[middle:])]

    def _fits(self, caption: str) -> bool:
        # A token has at least one byte; a character has at most four.
        if len(caption) * 4 + 2 <= self.window:
            return True
        return len(self._tokenizer.encode(self._prepare_text(caption)).ids) <= self.window

    def _shorten(self, tokens: list[_T]) -> list[_T]:
        """Truncate a single character that has more tokens than the window."""
        return [*tokens[: self.window - 1], tokens[-1]] if len(tokens) > self.window else tokens

    def _prepare_text(self, caption: str) -> str:
        """Return the tokenizer's input, with a leading space where the model needs one."""
        if not self._model.architecture.leading_space or not caption.strip():
            return caption.strip()
        return f" {caption.strip()}"

    def _tokenize(self, captions: list[str]) -> _TokenizedBatch:
        """Tokenize captions; long ones are split first, with a warning."""
        found = self._tokenizer.encode_batch_fast([self._prepare_text(text) for text in captions])
        parts = [[one] for one in found]
        long = [number for number, one in enumerate(found) if len(one.ids) > self.window]
        for number in long:
            spelled = [self._prepare_text(part) for part in self._split(captions[number])]
            parts[number] = self._tokenizer.encode_batch_fast(spelled)
        if long:
            warn_long_captions(self.name, self.window, len(long))
        windows = [one for of_caption in parts for one in of_caption]
        ids = [self._shorten(one.ids) for one in windows]
        special = [self._shorten(one.special_tokens_mask) for one in windows]
        offsets = _to_offsets(map(len, ids))
        firsts = _to_offsets(map(len, parts))
        return _TokenizedBatch(
            np.fromiter(chain.from_iterable(ids), np.int64, int(offsets[-1])),
            np.fromiter(chain.from_iterable(special), bool, int(offsets[-1])),
            offsets,
            firsts,
        )

    def _run(
        self, ids: Integers, offsets: Integers, layers: int, threads: int
    ) -> Iterator[tuple[int, int, Floats32]]:
        """Yield the states of captions [first, last), some at a time."""
        progress: Callable[[str, float], None] = current_progress()
        total = len(offsets) - 1
        starts = range(0, total, CHUNK_SIZE)
        chunks = [
            (ids[offsets[first] : offsets[last]], offsets[first : last + 1] - offsets[first])
            for first in starts
            if (last := min(total, first + CHUNK_SIZE))
        ]
        here = partial(self._run_chunk, layers, threads)
        there = partial(_run_in_worker, self._opened, self.kernel, layers)
        # The native layers use threads; only other machines make it faster.
        helpers = 1 if current_runner() is not None and len(chunks) > 1 else 0
        for first, states in zip(starts, share_work(chunks, here, there, helpers), strict=True):
            progress(f"encoding captions by {self.name}", first / total)
            yield first, min(total, first + CHUNK_SIZE), states

    def _run_chunk(self, layers: int, threads: int, chunk: tuple[Integers, Integers]) -> Floats32:
        """Return the states of captions, given as token ids and offsets."""
        ids, offsets = chunk
        states = self._layers.run(self._embed_tokens(ids, offsets), offsets, layers, threads)
        if not np.isfinite(states).all():
            raise DataError(f"{self._folder}: the model returns NaN or infinite values")
        return states

    def _embed_tokens(self, ids: Integers, offsets: Integers) -> Floats32:
        """Return the sum of word, position and type embeddings, normalized."""
        model = self._model
        places = np.arange(len(ids)) - np.repeat(offsets[:-1], np.diff(offsets))
        # Equal words at equal positions have the same vector.
        keys, back = np.unique(ids * model.longest + places, return_inverse=True)
        words, positions = np.divmod(keys, model.longest)
        sums = model.words[words] + model.kind
        sums += model.positions[positions + model.architecture.first_position]
        sums -= sums.mean(axis=1, keepdims=True)
        variance = np.square(sums).mean(axis=1, keepdims=True)
        sums = sums / np.sqrt(variance + np.float32(model.epsilon)) * model.scale + model.shift
        embedded: Floats32 = sums.astype(np.float32, copy=False)[back]
        return embedded


def _run_in_worker(
    opened: tuple[Path, tuple[str, ...], str, str],
    kernel: str,
    layers: int,
    chunk: tuple[Integers, Integers],
) -> Floats32:
    """Call `TransformerEncoder._run_chunk` in another process, which loads the model once."""
    from cidery.encoders import _hash_files, _open

    folder, files, name, device = opened
    if not folder.is_dir() or _hash_files(folder) != files:
        raise DataError(f"{folder}: the model is missing or different on another machine")
    encoder = _open(folder, files, name, device)
    assert isinstance(encoder, TransformerEncoder)
    if encoder.kernel != kernel:
        raise DataError(
            f"machines use different kernels, {kernel} and {encoder.kernel}, so that last digits "
            "would differ; use machines with the same processor"
        )
    return encoder._run_chunk(layers, 1, chunk)


@dataclass(frozen=True, eq=False)
class _TokenizedBatch:
    """Tokens of windows; a caption has one window, or several if it is long."""

    ids: Integers
    special: NDArray[np.bool_]
    offsets: Integers
    """Offsets of windows."""
    firsts: Integers
    """First window of each caption, and the number of windows."""

    @property
    def bounds(self) -> Integers:
        """Offsets of captions."""
        return self.offsets[self.firsts]


def _to_offsets(lengths: Iterable[int]) -> Integers:
    return np.fromiter(accumulate(lengths, initial=0), np.int64)


def _number_words(pieces: Sequence[str], words: Sequence[int | None]) -> list[int | None]:
    """Return the word index of each piece of a tokenizer that splits at spaces only.

    Punctuation is a word, and so is each piece in a script without spaces between words.
    """
    numbers: list[int | None] = []
    before: tuple[int | None, str] = (None, "")
    number = -1
    for piece, word in zip(pieces, words, strict=True):
        kind = _find_kind(piece.removeprefix(SPACE))
        if (word, kind) != before or kind == "unspaced":
            # A separate space belongs to the next piece.
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
    return "unspaced" if name.startswith(UNSPACED_SCRIPTS) else "letters"


def _open_tokenizer(folder: Path, model: Model) -> tokenizers.Tokenizer:
    try:
        from tokenizers import Tokenizer
    except ImportError:
        raise MissingExtraError.to(
            "tokenize captions for language models", package="tokenizers", extra="contextual"
        ) from None
    path = folder / "tokenizer.json"
    if not path.is_file() and (folder / SENTENCEPIECE).is_file():
        path = folder / SENTENCEPIECE
    if not path.is_file():
        raise DataError(f"no tokenizer.json or {SENTENCEPIECE} in {folder}")
    try:
        tokenizer = (
            read_sentencepiece(path)
            if path.name == SENTENCEPIECE
            else Tokenizer.from_file(str(path))
        )
    except DataError:
        raise
    except Exception as error:  # the package raises no specific type
        raise DataError(f"{path} cannot be read: {error}") from error
    tokenizer.no_padding()
    tokenizer.no_truncation()
    if not tokenizer.encode("").ids:
        raise DataError(f"{path} adds no special tokens such as [CLS], which the model needs")
    if max(tokenizer.get_vocab().values()) >= len(model.words):
        raise DataError(f"{path} has more tokens than the model, which has {len(model.words)}")
    return tokenizer
