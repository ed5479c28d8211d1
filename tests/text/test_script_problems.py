"""How captions are written: scripts, and warnings where the settings do not fit them."""

from __future__ import annotations

import sys
import unicodedata
import warnings
from collections import Counter
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

import cidery
from cidery.coco import COCO, Bleu, COCOEvalCap
from cidery.errors import LanguageWarning, UnreliableWarning
from cidery.text import (
    TOKENIZERS,
    ScannedCaptions,
    classify_scripts,
    find_script,
    find_script_problems,
    get_tokenizer,
    split_characters,
)

# Sentences of the same meaning, "a dog runs along the beach with a child", by language.
SENTENCES = {
    "zh": "一只狗和一个孩子在海滩上奔跑",
    "ja": "犬が子供と一緒に浜辺を走っている",
    "th": "สุนัขวิ่งไปตามชายหาดกับเด็ก",
    "lo": "ໝາແລ່ນຕາມຫາດຊາຍກັບເດັກນ້ອຍ",
    "km": "ឆ្កែមួយរត់តាមឆ្នេរសមុទ្រជាមួយក្មេង",
    "my": "ခွေးတစ်ကောင်ကလေးနှင့်အတူကမ်းခြေတွင်ပြေးနေသည်",
}
SCRIPTS = ("Chinese", "Japanese", "Thai", "Lao", "Khmer", "Myanmar")


def find(caption: str, tokenizer: str = "ptb", **others: str) -> list[str]:
    files = {"results.json": [caption], **{name: [text] for name, text in others.items()}}
    return find_script_problems(files, get_tokenizer(tokenizer))


def test_scripts_are_those_of_unicode() -> None:
    table = pytest.importorskip("fontTools.unicodedata")
    for code in (*range(0x3400), *range(0x4E00, 0x11000, 7), *range(0x16000, 0x32000, 31)):
        character = chr(code)
        if unicodedata.category(character) not in ("Cn", "Cs", "Co"):
            name = table.script_name(table.script(character)).replace("_", " ")
            expected = None if name in ("Common", "Inherited") else name
            assert find_script(character) == expected, hex(code)


def test_captions_have_the_script_of_most_of_their_letters() -> None:
    captions = ["a dog", "Собака Rex", "5 ☀", "", "\udcff", "une forêt", "ein 犬 Hund"]
    expected = ["Latin", "Cyrillic", None, None, None, "Latin", "Latin"]
    assert classify_scripts(captions) == expected
    assert classify_scripts([SENTENCES[code] for code in ("zh", "th", "km")]) == [
        *("Chinese", "Thai", "Khmer")
    ]
    # A caption in Han characters alone is Japanese among captions with kana.
    assert classify_scripts(["犬が走る", "二匹 犬"]) == ["Japanese", "Japanese"]
    assert [s.captions for s in ScannedCaptions(["a dog", "the dog", "一只狗"]).script_counts] == [
        2,
        1,
    ]


ALPHABET = st.sampled_from("ab5 é犬人がンคກ\u0301☀дש\n")


@given(st.lists(st.text(ALPHABET, max_size=6), max_size=6))
def test_scripts_are_counted_one_by_one(captions: list[str]) -> None:
    """What is found over all characters at once is what a plain loop finds."""
    plain: list[str | None] = []
    for caption in captions:
        found = [script for script in map(find_script, caption) if script is not None]
        han = ("Han", "Hiragana", "Katakana")
        groups = ["Chinese" if script in han else script for script in found]
        plain.append(max(sorted(set(groups)), key=groups.count) if groups else None)
    kana = ["が" in caption or "ン" in caption for caption in captions]
    chinese = [k for script, k in zip(plain, kana, strict=True) if script == "Chinese"]
    mostly = sum(chinese) >= 0.1 * max(1, len(chinese))
    expected = [
        "Japanese" if script == "Chinese" and (k or mostly) else script
        for script, k in zip(plain, kana, strict=True)
    ]
    assert classify_scripts(captions) == expected
    counted = {share.script: share.captions for share in ScannedCaptions(captions).script_counts}
    assert counted == Counter(filter(None, expected))


@given(st.lists(st.text(), max_size=5), st.sampled_from(TOKENIZERS))
def test_any_text_is_looked_at(captions: list[str], tokenizer: str) -> None:
    assert len(classify_scripts(captions)) == len(captions)
    assert all(map(str.strip, find_script_problems({"a": captions}, get_tokenizer(tokenizer))))
    if all(map(str.isascii, captions)):
        assert find_script_problems({"a": captions}, get_tokenizer(tokenizer)) == []


@pytest.mark.parametrize("tokenizer", ["ptb", "ptb-coco", "whitespace"])
@pytest.mark.parametrize("code", SENTENCES)
def test_sentences_without_blanks_are_told(code: str, tokenizer: str) -> None:
    (problem,) = find(SENTENCES[code], tokenizer)
    assert problem.startswith("results.json: ")
    if code in ("km", "my") and tokenizer != "whitespace":
        assert f"the tokenizer {tokenizer} drops " in problem  # and cuts where it drops
    else:
        assert f"has no spaces between words, and the tokenizer {tokenizer} makes" in problem
    assert (f'pass language="{code}"' if code in "zh ja th" else 'pass tokenizer="') in problem
    # What the advice says helps: characters, or blanks between words.
    assert find(SENTENCES[code], "char") == []
    assert find(" ".join(split_characters(SENTENCES[code])), "whitespace") == []


def test_letters_that_the_tokenizer_drops_are_told() -> None:
    (problem,) = find("කුක්කුරු")
    assert "drops 50% of the letters and vowel signs of Sinhala; pass tokenizer=" in problem
    assert find("කුක්කුරු", "words") == find("😀 𝛼 x") == []
    assert len(find("𠀀 𠀁 犬")) == 1  # ptb knows no characters above U+FFFF


def test_words_cut_by_anyone_are_not_told() -> None:
    assert find("一 只 狗 和 一个 孩子 在 海滩 上 奔跑") == []
    assert find("スケートボード に 乗る") == []
    assert find("หมา วิ่ง บน ชายหาด") == []
    assert find("犬", "words") == find("Ein Hündchen läuft über die Wiese") == []
    assert find("개가 아이와 함께 해변을 달린다") == find("कुत्ता दौड़ता है") == []
    cut: Callable[[str], list[str]] = list
    assert find_script_problems({"a": [SENTENCES["zh"]]}, get_tokenizer(cut)) == []
    blanks: Callable[[str], list[str]] = str.split
    assert len(find_script_problems({"a": [SENTENCES["zh"]]}, get_tokenizer(blanks))) == 1


def test_normal_forms() -> None:
    decomposed = unicodedata.normalize("NFD", "um café à beira-mar")
    for tokenizer in ("ptb-coco", "whitespace"):
        (problem,) = find(decomposed, tokenizer)
        assert "1 caption is not in Unicode's normal form C" in problem
    for tokenizer in ("ptb", "words", "char"):
        assert find(decomposed, tokenizer) == []
        assert cidery.tokenize([decomposed], tokenizer) == cidery.tokenize(
            ["um café à beira-mar"], tokenizer
        )


@given(st.text(alphabet=st.characters(exclude_categories=["Cs"])))
def test_a_caption_has_the_same_words_in_both_forms(text: str) -> None:
    forms = [unicodedata.normalize(form, text) for form in ("NFC", "NFD")]
    for tokenizer in ("ptb", "words", "char"):
        composed, decomposed = cidery.tokenize(forms, tokenizer)
        assert composed == decomposed


def test_the_same_caption_in_two_normal_forms_scores_1() -> None:
    caption = "dois cães estão à beira da praia"
    decomposed = unicodedata.normalize("NFD", caption)
    table = cidery.score({1: caption}, {1: [decomposed]}, ["bleu-4", "rouge-l"])
    assert list(table.corpus.values()) == pytest.approx([1, 1])


def test_invisible_characters() -> None:
    (problem,) = find("a do\u200bg")
    assert "1 caption has invisible characters (U+200B zero width space)" in problem
    assert len(find("\u200fکلب", "whitespace")) == 1
    assert find("\u200fکلب") == []  # ptb drops the mark
    # A zero width non-joiner is Persian spelling, a joiner is part of emoji.
    assert find("کتاب\u200cها", "whitespace") == find("👩\u200d👧 run", "whitespace") == []
    assert len(find("do\u200cg", "whitespace")) == 1


def test_widths() -> None:
    (problem,) = find("Ａ dog and ２ cats")
    assert "full-width letters or digits beside usual ones" in problem
    assert find("２ 匹 の 犬") == []  # all digits are written so
    (problem,) = find("ｽｹｰﾄ する", others="スケート する")
    assert "half-width kana beside usual ones" in problem


def test_different_scripts() -> None:
    (problem,) = find("犬 が 走る", others="a dog runs along the beach")
    assert "in different scripts: results.json: Japanese, others: Latin" in problem
    mixed = {"a.json": ["a dog"] * 8 + ["собака"] * 2, "b.json": ["a café"]}
    (problem,) = find_script_problems(mixed, get_tokenizer("ptb"))
    assert problem.startswith("a.json: captions are in different scripts (Latin 80%, Cyrillic 20%)")


def test_languages_of_one_script() -> None:
    assert ScannedCaptions([SENTENCES["zh"]]).language == "zh"
    assert ScannedCaptions(["5", ""]).language is None
    pytest.importorskip("py3langid")
    portuguese = [
        "dois cães correm pela praia com uma criança",
        "uma mulher está sentada no chão com um livro nas mãos",
        "um homem de camisa branca anda de bicicleta pela rua",
        "três meninos jogam futebol em um campo verde perto da escola",
    ]
    german = [
        "zwei Hunde laufen mit einem Kind über den Strand",
        "eine Frau sitzt mit einem Buch in den Händen auf dem Boden",
        "ein Mann in einem weißen Hemd fährt mit dem Fahrrad die Straße entlang",
        "drei Jungen spielen auf einer grünen Wiese in der Nähe der Schule Fußball",
    ]
    assert ScannedCaptions(german[:1]).language is None  # too short
    assert ScannedCaptions(portuguese).language == "pt"
    assert ScannedCaptions(german).language == "de"
    (problem,) = find_script_problems({"a": portuguese, "b": german}, get_tokenizer("ptb"))
    assert problem.endswith("in different languages (detected): a: pt, b: de")


def test_score_and_compare_warn_once_at_the_line_of_the_caller() -> None:
    candidates, references = {1: SENTENCES["zh"]}, {1: [SENTENCES["zh"] + "吧"]}
    with pytest.warns(LanguageWarning, match="candidates and references: Chinese") as told:
        cidery.score(candidates, references, ["rouge-l"])
    assert [str(warning.filename) for warning in told] == [__file__]
    with pytest.warns(LanguageWarning, match="a, b and references: Chinese") as told:
        cidery.compare({"a": candidates, "b": candidates}, references, ["rouge-l"], resamples=2)
    assert [str(warning.filename) for warning in told] == [__file__]


def test_metrics_and_frequencies_of_english_are_told() -> None:
    candidates, references = {1: "собака бежит по пляжу"}, {1: ["собака бежит"]}
    with pytest.warns(UnreliableWarning) as told:
        cidery.score(candidates, references, ["cider-d"], frequencies="coco-val2014")
    assert [str(warning.message) for warning in told] == [
        "candidates and references: captions are in Cyrillic, but these support "
        "English only: the document frequencies coco-val2014"
    ]


def test_the_drop_in_classes_warn() -> None:
    with pytest.warns(LanguageWarning, match="res and gts: Chinese") as told:
        Bleu(4).compute_score({1: [SENTENCES["zh"]]}, {1: [SENTENCES["zh"]]})
    assert [str(warning.filename) for warning in told] == [__file__]
    annotations = COCO([{"image_id": 1, "caption": SENTENCES["th"]}])
    results = annotations.loadRes([{"image_id": 1, "caption": SENTENCES["th"]}])
    with pytest.warns(LanguageWarning, match="res and gts: Thai"):
        COCOEvalCap(annotations, results, scorers=["Bleu"], verbose=False).evaluate()


def test_descriptions_have_scripts_language_and_advice() -> None:
    found = cidery.describe({1: [SENTENCES["ja"]], 2: ["犬が走る"]})
    assert (found.scripts[0].script, found.scripts[0].captions) == ("Japanese", 2)
    assert found.language == "ja"
    assert any("Japanese has no spaces" in sentence for sentence in found.advice)
    assert list(found.to_dict()["scripts"]) == [{"script": "Japanese", "captions": 2}]


def test_english_needs_no_library() -> None:
    """Neither the table of scripts nor py3langid is loaded for captions in ASCII."""
    before = "py3langid" in sys.modules
    with warnings.catch_warnings():
        warnings.simplefilter("error", LanguageWarning)
        cidery.score({1: "a dog"}, {1: ["a dog runs"]}, ["rouge-l"])
    assert ("py3langid" in sys.modules) == before


def test_characters() -> None:
    assert split_characters("Zwei ü, 犬!") == ["z", "w", "e", "i", "ü", "犬"]
    assert split_characters("วิ่ง") == ["วิ่", "ง"]
    assert split_characters("\u0301a ... b\u200d\u0301") == ["\u0301", "a", "b", "\u0301"]
