"""Reading captions given as strings, token lists or token ids."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from cidery._native import Captions
from cidery.errors import InputError, SettingError
from cidery.rewards.tokens import (
    EndingTokenizer,
    TokenVocabulary,
    as_array,
    as_integers,
    is_array,
)
from cidery.text import TokenizedCaptions, Tokenizer


@dataclass(frozen=True, eq=False)
class CaptionReader:
    """Reads captions given as strings, token lists or token ids."""

    tokenizer: Tokenizer
    vocabulary: TokenVocabulary | None
    threads: int

    def read(self, captions: Any, finished: Sequence[bool] | None = None) -> TokenizedCaptions:
        """Return tokenized captions; those that are not finished get no end word."""
        if finished is None:
            return self._read(captions)
        if not isinstance(self.tokenizer, EndingTokenizer):
            raise SettingError("finished= is only valid with count_eos=True")
        read = self._read(captions)
        if len(finished) != len(read):
            raise InputError(
                f"{len(finished)} values of finished= for {len(read)} captions; one each is needed"
            )
        rows = read.captions.tokens()
        for row, ended in zip(rows, finished, strict=True):
            if not ended and row[-1:] == [self.tokenizer.end_word]:
                row.pop()
        return read if all(finished) else TokenizedCaptions(Captions.from_tokens(rows))

    def _read(self, captions: Any) -> TokenizedCaptions:
        if is_array(captions):
            array = as_array(captions)
            if array.dtype.kind not in "OU":
                return self.need_vocabulary().read(as_integers(array, 2))
            captions = array.tolist()
        if not isinstance(captions, list | tuple):
            raise InputError(
                "expected a list of captions or an array of token ids, not "
                f"{type(captions).__name__}"
            )
        rows = list(captions)
        kinds = set(map(type, rows))
        if kinds <= {str}:
            return self._read_text(rows)
        odd = [row for row in rows if not (isinstance(row, list | tuple) or is_array(row))]
        if odd:
            raise InputError(
                f"caption {_place(odd[0], rows)} is {odd[0]!r}: give strings, token lists or token "
                "ids, one kind for all"
            )
        first = next((row[0] for row in rows if len(row)), None)
        if isinstance(first, str):
            return self._read_tokens(rows)
        return self.need_vocabulary().read_ragged(rows)

    def need_vocabulary(self) -> TokenVocabulary:
        """Return the vocabulary; raise a SettingError without one."""
        if self.vocabulary is None:
            raise SettingError(
                "captions are token ids, which need a vocabulary: "
                "Reward(..., vocabulary={id: word}, pad=..., bos=..., eos=...)"
            )
        return self.vocabulary

    def _read_text(self, rows: list[str]) -> TokenizedCaptions:
        try:
            return self.tokenizer(rows, self.threads)
        except UnicodeEncodeError as error:
            raise InputError(
                f"caption {_place(error.object, rows)} has half of a surrogate pair, which is not "
                f"a valid character: {error.object!a}"
            ) from None

    def _read_tokens(self, rows: list[Sequence[str]]) -> TokenizedCaptions:
        for position, row in enumerate(rows):
            if not set(map(type, row)) <= {str}:
                raise InputError(f"caption {position} has a token that is not text: {row!r}")
        try:
            captions = Captions.from_tokens(rows)
        except UnicodeEncodeError as error:
            raise InputError(
                f"the token {error.object!a} has half of a surrogate pair, which is not a valid "
                "character"
            ) from None
        if isinstance(self.tokenizer, EndingTokenizer):
            return self.tokenizer.end(captions)
        return TokenizedCaptions(captions)


def first_unknown(ids: Sequence[Any], places: Mapping[Any, int]) -> int:
    """Return the position of the first id that names no image."""
    for position, image in enumerate(ids):
        try:
            if image not in places:
                return position
        except TypeError:  # not hashable, so no id
            return position
    raise AssertionError("every id is known")


def _place(item: Any, rows: Sequence[Any]) -> int:
    return next(i for i, row in enumerate(rows) if row is item)
