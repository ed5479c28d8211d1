"""Drop-in replacement for the tokenizer: `PTBTokenizer`, in the forms that repositories use."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping
from functools import partial
from itertools import chain
from typing import Any

from cidery.errors import InputError, SettingError
from cidery.text import TokenizerLike, choose_tokenizer

PUNCTUATIONS = (
    *("''", "'", "``", "`", "-LRB-", "-RRB-", "-LCB-", "-RCB-"),
    *(".", "?", "!", ",", ":", "-", "--", "...", ";"),
)
"""Tokens that are removed."""


class _OnClassOrInstance:
    """Method that can also be called on the class, with default settings."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self.function = function
        self.__doc__ = function.__doc__

    def __get__(self, instance: Any, owner: type) -> Callable[..., Any]:
        return partial(self.function, owner() if instance is None else instance)


class PTBTokenizer:
    """Penn Treebank words in lower case without punctuation, all captions read as one document.

    ```python
    PTBTokenizer().tokenize({1: [{"caption": "A dog's bone."}]})   # {1: ["a dog 's bone"]}
    PTBTokenizer.tokenize(["A dog.", "A cat."])                    # {0: ["a dog"], 1: ["a cat"]}
    ```
    """

    punctuations = PUNCTUATIONS
    eos_token = "<eos>"

    def __init__(
        self,
        _source: str = "gts",
        *,
        tokenizer: TokenizerLike | None = None,
        language: str | None = None,
    ) -> None:
        """Set the input format and the tokenizer.

        Args:
            _source: `"gts"` for captions by image, `"res"` for pyciderevalcap's list of results.
            tokenizer: With `"ptb-coco"`, the default, the tokens of a caption depend on the next
                caption, as in the original; with `"ptb"` they do not.
            language: Language code that selects the tokenizer, such as `"zh"`.
        """
        if _source not in ("gts", "res"):
            raise SettingError(f'the source is "gts" or "res", not {_source!r}')
        self.source = _source
        self._tokenizer = choose_tokenizer(tokenizer, language, default="ptb-coco")

    @_OnClassOrInstance
    def tokenize(self, captions_for_image: Any, add_eos: bool = False) -> Any:
        """Return captions as text with a space between tokens, in the format of the input.

        `{id: [{"caption": text}, …]}`, `{id: [text, …]}`, `{id: text}`, `[text, …]` and
        `[[text, …], …]` become `{id: [text, …]}`, with positions as the ids of lists. A list of
        `{"image_id": id, "caption": text}`, for `PTBTokenizer("res")`, becomes a list of
        `{"image_id": id, "caption": [text]}`.
        """
        ending = f" {self.eos_token}" if add_eos else ""
        if self.source == "res":
            texts = self._tokenize(_text(entry, "the results") for entry in captions_for_image)
            return [
                {"image_id": entry["image_id"], "caption": [text + ending]}
                for entry, text in zip(captions_for_image, texts, strict=True)
            ]
        groups = read_groups(captions_for_image)
        tokens = iter(self._tokenize(chain.from_iterable(groups.values())))
        # An image without captions has no entry, here as in the original.
        return {
            image: [next(tokens) + ending for _ in group]
            for image, group in groups.items()
            if group
        }

    def _tokenize(self, texts: Iterable[str]) -> list[str]:
        tokenized = self._tokenizer([text.replace("\n", " ") for text in texts])
        return list(map(" ".join, tokenized.captions.tokens()))


def read_groups(captions: Any) -> dict[Hashable, list[str]]:
    """Return texts by image from any of the formats that `PTBTokenizer` accepts."""
    if not isinstance(captions, Mapping):
        if not isinstance(captions, list | tuple):
            raise InputError(
                "expected captions by image id or a list of captions, not "
                f"{type(captions).__name__}"
            )
        captions = dict(enumerate(captions))
    groups: dict[Hashable, Any] = {
        image: [group] if isinstance(group, str | dict) else group
        for image, group in captions.items()
    }
    try:  # annotations, as nearly always
        read = {image: [entry["caption"] for entry in group] for image, group in groups.items()}
        if set(map(type, chain.from_iterable(read.values()))) <= {str}:
            return read
    except (KeyError, TypeError):
        pass
    return {
        image: [_text(entry, f"image {image!r}") for entry in group]
        for image, group in groups.items()
    }


def _text(entry: Any, where: str) -> str:
    text = entry.get("caption") if isinstance(entry, Mapping) else entry
    if not isinstance(text, str):
        raise InputError(
            f"{where}: expected a caption as text or in {{'caption': text}}, not {entry!r}"
        )
    return text
