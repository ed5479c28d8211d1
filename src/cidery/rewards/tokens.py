"""Captions as strings, token lists, or token ids of a vocabulary."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from cidery._native import Captions, TokenReader, Vocabulary, with_last_word
from cidery.corpus import References
from cidery.errors import InputError, SettingError
from cidery.frequencies import DocumentFrequencies
from cidery.text import TokenizedCaptions, Tokenizer, TokenizerLike, choose_tokenizer

if TYPE_CHECKING:
    from numpy.typing import NDArray

VocabularyLike: TypeAlias = Mapping[Any, str] | Sequence[str]

END_WORD = "<eos>"
"""Word of the end token if the vocabulary has none."""
_MAX_IDS = 1 << 27


@dataclass(frozen=True)
class EndingTokenizer(Tokenizer):
    """A tokenizer that ends every caption with one more word."""

    end_word: str = END_WORD
    plain: Tokenizer = Tokenizer("whitespace")  # noqa: RUF009 - frozen

    @classmethod
    def extend(cls, tokenizer: Tokenizer, end_word: str) -> EndingTokenizer:
        """Return the tokenizer with that word after every caption."""
        return cls(
            f"{tokenizer.id}+eos",
            tokenizer.function,
            tokenizer.language,
            end_word=end_word,
            plain=tokenizer,
        )

    def __call__(self, captions: list[str], threads: int = 0) -> TokenizedCaptions:
        """Tokenize all captions and end each."""
        return self.end(self.plain(captions, threads).captions)

    def end(self, captions: Captions) -> TokenizedCaptions:
        """Return tokenized captions, each with the end word."""
        return TokenizedCaptions(with_last_word(captions, self.end_word))

    @property
    def family(self) -> str:
        """Family of the tokenizer; `end_captions` checks that frequencies have the end word."""
        return self.plain.family


def count_ended_frequencies(
    references: References,
    *,
    tokenizer: TokenizerLike | None = None,
    language: str | None = None,
    name: str = "unnamed",
) -> DocumentFrequencies:
    """Count document frequencies of references that end in `<eos>`, for `count_eos=True`.

    Saved, they serve all processes of a training run.

    ```python
    counted = count_ended_frequencies({"a": ["a dog"], "b": ["a cat", "a tree"]})
    counted.count(["<eos>"])          # 2
    counted.count(["dog", "<eos>"])   # 1
    ```
    """
    cutter = EndingTokenizer.extend(choose_tokenizer(tokenizer, language), END_WORD)
    return DocumentFrequencies.from_references(references, tokenizer=cutter, name=name)


@dataclass(frozen=True, eq=False)
class TokenVocabulary:
    """Words by token id."""

    reader: TokenReader
    words: TokenizedCaptions
    """Empty caption that holds the numbering of the vocabulary's words."""

    @classmethod
    def build(
        cls,
        vocabulary: VocabularyLike,
        *,
        pad: int | None,
        bos: int | None,
        eos: int | None,
        end_word: str | None,
    ) -> TokenVocabulary:
        """Check ids and words; `end_word` None means that the end token is not a word."""
        words = _words_by_id(vocabulary)
        for name, token in (("pad", pad), ("bos", bos), ("eos", eos)):
            if token is not None and not _is_integer(token):
                raise SettingError(f"{name} is a token id, not {token!r}")
        known = list(dict.fromkeys([*words.values(), *([end_word] if end_word else [])]))
        place = {word: i for i, word in enumerate(known)}
        by_id = np.full(max(words) + 1, 0xFFFFFFFF, np.uint32)
        by_id[list(words)] = [place[word] for word in words.values()]
        reader = TokenReader(
            Vocabulary(known),
            by_id,
            pad=pad,
            bos=bos,
            eos=eos,
            eos_word=place[end_word] if end_word else None,
        )
        return cls(reader, TokenizedCaptions(reader.read(np.zeros((1, 0), np.int64))))

    def read(self, ids: NDArray[np.int64]) -> TokenizedCaptions:
        """Return rows of token ids as captions."""
        return self._share(_refuse_unknown(self.reader.read, ids))

    def read_ragged(self, rows: Sequence[Any]) -> TokenizedCaptions:
        """Return lists or 1-D arrays of token ids as captions."""
        lengths = np.fromiter(map(len, rows), np.uint64, len(rows))
        offsets = np.concatenate([np.zeros(1, np.uint64), np.cumsum(lengths, dtype=np.uint64)])
        if any(map(is_array, rows)):
            flat = np.concatenate([as_integers(row, 1) for row in rows])
        else:
            flat = as_integers(np.asarray(list(chain.from_iterable(rows))), 1)
        return self._share(_refuse_unknown(self.reader.read_ragged, flat, offsets))

    def _share(self, captions: Captions) -> TokenizedCaptions:
        return TokenizedCaptions(captions, same_words_as=self.words)


def find_end_word(vocabulary: VocabularyLike | None, eos: int | None) -> str:
    """Return the vocabulary's own word for the end token, or `<eos>`."""
    if vocabulary is None or eos is None:
        return END_WORD
    return _words_by_id(vocabulary).get(eos) or END_WORD


def _words_by_id(vocabulary: VocabularyLike) -> dict[int, str]:
    if isinstance(vocabulary, str) or not isinstance(vocabulary, Mapping | Sequence):
        raise SettingError(
            "a vocabulary is {id: word} or a list of words by id, not "
            f"{type(vocabulary).__name__}"
        )
    if not isinstance(vocabulary, Mapping):
        vocabulary = dict(enumerate(vocabulary))
    try:
        words = {int(token): word for token, word in vocabulary.items()}  # JSON has string keys
    except (TypeError, ValueError):
        words = {-1: ""}
    if not words:
        raise SettingError("the vocabulary is empty")
    if min(words) < 0 or not all(isinstance(word, str) for word in words.values()):
        raise SettingError(
            "a vocabulary maps ids, from 0 on, to words; to turn {word: id} round, pass "
            "{id: word for word, id in vocabulary.items()}"
        )
    if max(words) >= _MAX_IDS:
        raise SettingError(f"the vocabulary has the id {max(words)}; ids must be below {_MAX_IDS}")
    return words


def _is_integer(value: Any) -> bool:
    return isinstance(value, int | np.integer) and not isinstance(value, bool)


def is_array(value: Any) -> bool:
    """Return True for arrays and tensors, of any library that supports DLPack."""
    return isinstance(value, np.ndarray) or hasattr(value, "__dlpack__")


def as_array(value: Any) -> NDArray[Any]:
    """Return an array or tensor as NumPy; one in another device's memory is copied here."""
    if isinstance(value, np.ndarray):
        return value
    if hasattr(value, "detach") and hasattr(value, "cpu"):  # PyTorch
        value = value.detach().cpu()
    try:
        return np.from_dlpack(value)
    except (BufferError, RuntimeError, TypeError, ValueError) as error:
        raise InputError(
            f"{type(value).__name__} cannot be read as an array ({error}); "
            "move it to the CPU's memory first"
        ) from None


def as_integers(value: Any, dimensions: int) -> NDArray[np.int64]:
    """Return token ids as contiguous int64 with this number of dimensions."""
    array = as_array(value)
    if array.size == 0 and array.ndim == dimensions:
        return np.zeros(array.shape, np.int64)
    if array.dtype.kind not in "iu":
        raise InputError(f"token ids must be integers, but these are {array.dtype}")
    if array.ndim != dimensions:
        hint = ""
        if dimensions == 2 and array.ndim == 3:
            hint = f"; .reshape(-1, {array.shape[-1]}) puts the samples of an image in a row"
        raise InputError(
            f"token ids have the shape {array.shape}; expected "
            f"{'(captions, tokens)' if dimensions == 2 else 'one row of ids per caption'}{hint}"
        )
    return np.ascontiguousarray(array, np.int64)


def _refuse_unknown(read: Any, *arrays: NDArray[Any]) -> Captions:
    try:
        captions: Captions = read(*arrays)
    except ValueError as error:
        raise InputError(f"{error}; name ids that are not words with pad=, bos= and eos=") from None
    return captions
