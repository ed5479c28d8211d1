"""Debris of generation in captions: special tokens, labels, quotes, Markdown, refusals, ….

A kind is found by a pattern per caption. The patterns are narrow, so that captions which people
wrote are rarely found. Nothing is removed unless `clean_captions` is called with its kind.
"""

from __future__ import annotations

import html
import re
from bisect import bisect_right
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from html.entities import html5
from itertools import accumulate
from types import MappingProxyType

from cidery.errors import SettingError


@dataclass(frozen=True)
class DebrisKind:
    """Text in captions that is not part of the description."""

    name: str
    """Name in messages, settings and signatures."""
    description: str
    """Noun phrase with examples."""
    find: Callable[[str], bool]
    """Return True for a caption that has it."""
    clean: Callable[[str], str] | None = None
    """Return the caption without it; None where the caption itself is missing or incomplete."""
    hints: Sequence[str] = ()
    """Texts of which every caption that has it contains one, in lower case, for a quick search of
    many captions; empty: any caption may have it."""


_SPECIAL_TOKEN = re.compile(
    r"""<\|(?:im_start|start_header_id)\|>\s*(?:assistant|user|system)\b(?:<\|end_header_id\|>)?
    |<start_of_turn>\s*(?:model|user)\b
    |<[|｜][\w▁/ -]{1,40}[|｜]>
    |</?(?:s|bos|eos|sos|pad|sep|cls|mask|start|end|eot|eod|image|img|video|grounding
        |image_soft_token|fake_token_around_image|end_of_utterance|end_of_turn|start_of_turn
        |endoftext|begin_of_text|end_of_text|extra_id_[0-9]+|0x[0-9a-f]{2})>
    |\[/?(?:PAD|CLS|SEP|MASK|BOS|EOS|INST|IMG|END)\]""",
    re.VERBOSE | re.IGNORECASE,
)
"""Without `<unk>`, which stands for a word of the caption."""

_LABEL = (
    r"(?:(?:final|short|model)\s+)?answer|(?:(?:image|generated|final|short|brief|detailed)\s+)?"
    r"(?:caption|description)|response|output|assistant|completion|gpt|chatbot"
    r"|antwort|réponse|respuesta|resposta|risposta|légende|descripción|descrição|beschreibung"
    r"|回答|答案|答|描述|标题|標題|キャプション|説明"
)
_PREFIX = re.compile(
    rf"""\s*(?:
    (?:system\s*\n.*?)?(?:user\s*\n.*?\n)?assistant\s*\n+          # a chat template, decoded
    |user\s*:.*?\bassistant\s*:
    |assistant\s+(?=(?:an?|the|this|there|two|three|several)\b)
    |(?:[\#>*_]+\s*)?(?:{_LABEL})(?:\s+\#?[0-9]{{1,2}})?\s*[*_]*[:：][*_]*(?!\S*//)
    |(?:(?:sure|certainly|of\ course)\s*[,!.]\s*)?here(?:'s|’s|\ is|\ are)\b[^:.\n]{{0,60}}
        \b(?:caption|description|answer)s?\b[^:.\n]{{0,60}}:
    )\s*""",
    re.VERBOSE | re.IGNORECASE | re.DOTALL,
)

_QUOTED = re.compile(
    r"""\s*(?:"([^"]+)"|'((?:[^']|(?<=\w)'(?=\w))+)'|“([^“”]+)”|‘((?:[^‘’]|(?<=\w)’(?=\w))+)’"""
    r"""|«([^«»]+)»|„([^„“”]+)[“”]|「([^「」]+)」|『([^『』]+)』)([.!?。]?)\s*"""
)

_MARKDOWN = re.compile(
    r"""^[ \t]*\#{1,6}[ \t]+(?=\S)                       # a heading
    |^[ \t]*[-*+•][ \t]+(?=[^\W\d_"“*])                  # an item of a list
    |!?\[(?P<link>[^\[\]\n]*)\]\((?:https?:|/|\.|data:)[^()\s]*\)
    |(?P<mark>\*\*|__|(?<![\w*])\*(?![\s*])|(?<![\w_])_(?![\s_])|(?<!`)`(?!`))(?=\S)
        (?P<text>[^\n*_`]*?[^\s*_`])(?P=mark)(?!\w)
    |</?(?:br|p|b|i|em|strong|ul|li|h[1-6])\ ?/?>""",
    re.VERBOSE | re.MULTILINE | re.IGNORECASE,
)

_ENTITY = re.compile(
    r"&(?:#[0-9]{1,7};|#x[0-9a-f]{1,6};|[a-z][a-z0-9]{1,30};|(?:amp|quot|lt|gt|nbsp)\b)", re.I
)

_REASONING_TAG = r"(?:think|thinking|thought|reasoning|analysis|scratchpad)"
_REASONING = re.compile(
    rf"""\A.*</{_REASONING_TAG}>                     # with or without the opening tag
    |\A.*◁/think▷
    |(?:<{_REASONING_TAG}>|◁think▷).*\Z              # without an end: there is no caption
    |\A.*<\|channel\|>\s*final\s*<\|message\|>
    |</?answer>""",
    re.VERBOSE | re.IGNORECASE | re.DOTALL,
)

_REFUSAL = re.compile(
    r"""[\s"'“]*(?:unfortunately,?\ )?(?:
    (?:i['’]?m|i\ am|we['’]?re|we\ are)\ (?:(?:very|so|really)\ )?(?:sorry|afraid)\b
    |sorry[,!.]
    |(?:my|i)\ apolog(?:ies|i[sz]e)\b
    |as\ an?\ (?:ai|language\ model|large\ language)\b
    |i\ (?:can\s?not|can['’]?t|could\ ?n['’]?t|could\ not|do\ not|don['’]?t)\b
    |i(?:['’]?m|\ am|\ was)\ (?:unable|not\ able)\b
    |unable\ to\ (?:see|view|load|process|describe|determine|identify|provide)\b
    |(?:it\ (?:seems|appears|looks\ like)\ (?:that\ )?)?(?:there\ is|there['’]s|you\ have)
        \ (?:no|not|n['’]t)\ (?:any\ |an\ |provided\ |included\ |attached\ )*image\b
    |no\ image\ (?:was|is|has\ been|provided|available|found|here|to)\b
    |(?:please|could\ you|can\ you)\ (?:please\ )?(?:provide|upload|share|attach|send|re-?upload)\b
    |很?抱歉|对不起|對不起|我无法|我無法|申し訳
    )""",
    re.VERBOSE | re.IGNORECASE,
)

_CUT = re.compile(
    r"""(?:
    \b(?:a|an|the|and|or|of|its|their|very|which|while|whose|an?\ (?:small|large))
    |[^\W\d_]\ ?-|\(
    )\s*\Z""",
    re.VERBOSE | re.IGNORECASE,
)

_CUT_ENDINGS = (
    *("a", "an", "the", "and", "or", "of", "its", "their", "very", "which", "while", "whose"),
    *("small", "large", "-", "("),
)
"""Endings of all matches, for a quick search."""

_PARAGRAPH = 25
"""Minimum number of words of a paragraph."""
_SENTENCE_END = re.compile(r"[^\W_][.!?]\s+(?=[A-Z])")
_OPEN = re.compile(r"[^\W_]\s*\Z")

_FENCE = re.compile(r"(?:```|~~~)[ \t]*(?:[\w+-]+[ \t]*(?=\n)|json\b|text\b|markdown\b)?")


def _search(pattern: re.Pattern[str]) -> Callable[[str], bool]:
    return lambda caption: pattern.search(caption) is not None


def _repeat(change: Callable[[str], str]) -> Callable[[str], str]:
    """Return a function that repeats a change until nothing changes, and strips the result."""

    def clean(caption: str) -> str:
        changed = change(caption)
        if changed == caption:
            return caption
        while (again := change(changed)) != changed:
            changed = again
        return changed.strip()

    return clean


def _drop_special_tokens(caption: str) -> str:
    # A token between two words stands where a blank is.
    changed = _SPECIAL_TOKEN.sub(" ", caption)
    return caption if changed == caption else re.sub(r"[ \t]{2,}", " ", changed).strip()


def _drop_prefix(caption: str) -> str:
    found = _PREFIX.match(caption)
    # A label with nothing after it is the caption.
    return caption[found.end() :] if found and caption[found.end() :].strip() else caption


def _has_prefix(caption: str) -> bool:
    return _drop_prefix(caption) != caption


def _drop_quotes(caption: str) -> str:
    found = _QUOTED.fullmatch(caption)
    if found is None:
        return caption
    text = next(group for group in found.groups() if group is not None).strip()
    end = "" if text.endswith((".", "!", "?", "。")) else found[found.re.groups]
    return text + end if text else caption


def _has_quotes(caption: str) -> bool:
    return _drop_quotes(caption) != caption


def _replace_markdown(found: re.Match[str]) -> str:
    if found[0].startswith("<"):
        return " "
    return found["text"] or found["link"] or ""


def _drop_markdown(caption: str) -> str:
    return _MARKDOWN.sub(_replace_markdown, caption)


def _replace_entity(found: re.Match[str]) -> str:
    return html.unescape(found[0]).replace("\xa0", " ")


def _drop_entities(caption: str) -> str:
    return _ENTITY.sub(_replace_entity, caption) if "&" in caption else caption


def _has_entities(caption: str) -> bool:
    return "&" in caption and any(
        match[0][1] == "#" or not match[0].endswith(";") or match[0][1:] in html5
        for match in _ENTITY.finditer(caption)
    )


def _is_cut(caption: str) -> bool:
    end = caption[-16:]  # the longest word of the pattern, and blanks
    if end.rstrip().lower().endswith(_CUT_ENDINGS) and _CUT.search(end):
        return len(caption.split()) > 3
    # Of a paragraph, whose other sentences end with a mark.
    return (
        len(caption) > 3 * _PARAGRAPH
        and _OPEN.search(caption[-16:]) is not None
        and len(caption.split()) >= _PARAGRAPH
        and len(_SENTENCE_END.findall(caption)) > 1
    )


_KINDS = (
    DebrisKind(
        "reasoning",
        "reasoning before the caption (<think>…</think>)",
        _search(_REASONING),
        _repeat(lambda caption: _REASONING.sub("", caption)),
        hints="<◁",
    ),
    DebrisKind(
        "special-tokens",
        "special tokens of a model (<|im_end|>, </s>, [PAD])",
        _search(_SPECIAL_TOKEN),
        _repeat(_drop_special_tokens),
        hints="<[",
    ),
    DebrisKind(
        "code-fence",
        "code fences (```)",
        _search(_FENCE),
        _repeat(lambda caption: _FENCE.sub("", caption)),
        hints="`~",
    ),
    DebrisKind(
        "html-entities",
        "HTML entities (&amp;, &#39;)",
        _has_entities,
        _repeat(_drop_entities),
        hints="&",
    ),
    DebrisKind(
        "markdown",
        "Markdown or HTML tags (**bold**, # heading, <br>)",
        _search(_MARKDOWN),
        _repeat(_drop_markdown),
        hints="*_`#<[•+-",
    ),
    DebrisKind(
        "prefix",
        "labels before the caption (Answer:, Caption:, assistant)",
        _has_prefix,
        _repeat(_drop_prefix),
        hints=(":", "：", "assistant"),
    ),
    DebrisKind(
        "quotes",
        "quotes around the whole caption",
        _has_quotes,
        _repeat(_drop_quotes),
        hints="\"'“‘«„「『",
    ),
    DebrisKind(
        "refusal",
        "refusals (I'm sorry, …)",
        lambda caption: _REFUSAL.match(caption) is not None,
        hints=(
            *("orry", "fraid", "polog", "nable", "not able", "i c", "i d", " ai", "anguage"),
            *("mage", "lease", "ould you", "an you", "抱歉", "对不起", "對不起", "我无法"),
            *("我無法", "申し訳"),
        ),
    ),
    DebrisKind(
        "truncated",
        "endings that are cut (“… and a”)",
        _is_cut,
    ),
)

KINDS: Mapping[str, DebrisKind] = MappingProxyType({kind.name: kind for kind in _KINDS})
"""Kinds of debris by name, in the order in which they are removed."""


def find_debris(captions: Sequence[str], without: Collection[str] = ()) -> dict[str, list[int]]:
    """Return the kinds of debris in captions, with the indexes of the captions that have them.

    ```python
    cidery.text.find_debris(["a dog</s>", "a cat"])  # {'special-tokens': [0]}
    ```

    Args:
        captions: any captions.
        without: names of kinds that are not looked for.
    """
    found = {}
    text = "\n".join(captions)
    lower = text.lower()
    has_places = len(lower) == len(text)  # some capital letters become two
    ends: list[int] = []
    for name, kind in KINDS.items():
        if name in without:
            continue
        hinted: Iterable[int] = range(len(captions))
        if kind.hints and has_places:
            places = [at for hint in kind.hints for at in _find_all(hint, lower)]
            ends = ends or list(accumulate(len(c) + 1 for c in captions)) if places else ends
            hinted = sorted({bisect_right(ends, at) for at in places})
        indexes = [index for index in hinted if kind.find(captions[index])]
        if indexes:
            found[name] = indexes
    return found


def _find_all(part: str, text: str) -> Iterator[int]:
    at = text.find(part)
    while at >= 0:
        yield at
        at = text.find(part, at + 1)


def check_debris_kinds(kinds: Iterable[str]) -> tuple[str, ...]:
    """Return kinds of debris that can be removed, in the order in which they are.

    Args:
        kinds: names, in any order.
    """
    if isinstance(kinds, str):
        kinds = kinds.split(",")
    names = {name.strip() for name in kinds}
    cleanable = [name for name, kind in KINDS.items() if kind.clean is not None]
    for name in sorted(names):
        if name in KINDS and KINDS[name].clean is None:
            raise SettingError(
                f"clean (--clean): {name!r} is found but cannot be removed, as the caption itself "
                f"is missing or incomplete; kinds that can be removed: {', '.join(cleanable)}"
            )
        if name not in KINDS:
            raise SettingError(
                f"clean (--clean): unknown kind of debris {name!r}; known: {', '.join(cleanable)}"
            )
    return tuple(name for name in cleanable if name in names)


def clean_captions(captions: Iterable[str], kinds: Iterable[str]) -> list[str]:
    """Return captions without some kinds of debris.

    Args:
        captions: captions of any kind.
        kinds: names of `KINDS`; the order does not matter.

    ```python
    cidery.text.clean_captions(["Answer: a dog</s>"], ["prefix", "special-tokens"])  # ['a dog']
    ```
    """
    functions = [KINDS[name].clean for name in check_debris_kinds(kinds)]

    def clean(caption: str) -> str:
        for function in functions:
            if function is not None:
                caption = function(caption)
        return caption

    return [_repeat(clean)(caption) for caption in captions]
