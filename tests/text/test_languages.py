"""`language=`: tokenizers, spelling and stemmers of other languages."""

from __future__ import annotations

import json
import pickle
import subprocess
import sys
import warnings
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import cidery
from cidery.cli import main
from cidery.errors import (
    DataError,
    LanguageWarning,
    MissingExtraError,
    SettingError,
    UnreliableWarning,
)
from cidery.runtime import use_progress
from cidery.text import (
    LANGUAGES,
    SEGMENTERS,
    choose_tokenizer,
    clean_caption,
    get_language,
    get_stemmer,
    get_tokenizer,
    segmenters,
)

CUT = {
    "jieba": ("一个男人正在攀登雪山。", ["一个", "男人", "正在", "攀登", "雪山"]),
    "fugashi": (
        "男の人がスケートボードに乗る。",
        ["男", "の", "人", "が", "スケートボード", "に", "乗る"],
    ),
    "sudachi": (
        "男の人がスケートボードに乗る。",
        ["男", "の", "人", "が", "スケートボード", "に", "乗る"],
    ),
    "janome": ("犬が走る。", ["犬", "が", "走る"]),
    "kiwi": ("개가 달린다.", ["개", "가", "달리", "ᆫ다"]),
    "pythainlp": ("หมาวิ่งบนชายหาด", ["หมา", "วิ่ง", "บน", "ชายหาด"]),
    "pyvi": ("Một sinh viên đang học.", ["một", "sinh_viên", "đang", "học"]),
    "underthesea": ("Một sinh viên đang học.", ["một", "sinh_viên", "đang", "học"]),
    "uax29": ("L'homme a 3.5 m, naïve!", ["l'homme", "a", "3.5", "m", "naïve"]),
}
SLOW = ("janome", "kiwi", "pyvi")
"""They take seconds to load.

`CUT` is of Janome 0.5, kiwipiepy 0.24, pyvi 0.1, SudachiPy 0.7 and underthesea 9.5.
"""


NAMES = ["bleu", "rouge-l", "cider:idf=no"]


def skip_unless_installed(name: str) -> None:
    if not SEGMENTERS[name].is_installed:
        pytest.skip(f"needs {' and '.join(SEGMENTERS[name].packages)}")


@pytest.mark.parametrize("name", CUT)
def test_what_segmenters_cut(name: str) -> None:
    skip_unless_installed(name)
    caption, words = CUT[name]
    assert cidery.tokenize([caption, caption], name) == [words, words]
    assert get_tokenizer(name).id.startswith(f"{name}@{SEGMENTERS[name].packages[0]}-")


@pytest.mark.parametrize("name", [name for name in SEGMENTERS if name not in (*SLOW, "pkuseg")])
def test_segmenters_take_any_text(name: str) -> None:
    skip_unless_installed(name)
    cut = get_tokenizer(name)

    @given(st.lists(st.text(alphabet=st.characters(exclude_categories=["Cs"])), max_size=3))
    def check(captions: list[str]) -> None:
        for words in cut(captions).captions.tokens():
            assert all(word and any(map(str.isalnum, word)) for word in words)

    check()
    odd = ["", " ", "\u200b", "👩\u200d👧", "\U000e0001", "\u0378", "犬" * 300, "\u200fאב\u0301"]
    assert len(cidery.tokenize(odd, name)) == len(odd)


def test_missing_packages_say_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(segmenters, "_find_version", lambda _package: None)
    with pytest.raises(MissingExtraError, match=r"pip install 'cidery\[chinese\]'"):
        cidery.score({1: "狗"}, {1: ["狗"]}, ["bleu-1"], language="zh")
    with pytest.raises(MissingExtraError, match="pip install SudachiPy SudachiDict-core"):
        cidery.tokenize(["犬"], "sudachi")


def test_pkuseg_downloads_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    skip_unless_installed("pkuseg")
    monkeypatch.setenv("PKUSEG_HOME", "/nonexistent")
    with pytest.raises(DataError, match="pkuseg needs its model"):
        cidery.tokenize(["狗"], "pkuseg")


def test_cleaning() -> None:
    assert clean_caption("Ａ ｶﾞ　Cafe\u0301 do\u200bg\ufeff") == "a ガ café dog"
    assert clean_caption("ឆ្កែ\u200bមួយ") == "ឆ្កែ មួយ"  # there a zero-width space ends a word
    assert clean_caption("กำ") == "กำ"  # normal form KC would take the letter apart
    assert clean_caption("کتاب\u200cها") == "کتاب\u200cها"


@given(st.text())
def test_cleaning_twice_is_cleaning_once(text: str) -> None:
    once = clean_caption(text)
    assert clean_caption(once) == once or "İ" in text or once.lower() != once


def test_every_language_has_its_stemmer_and_tokenizer() -> None:
    for code, language in LANGUAGES.items():
        assert language.code == code and len(code) == 2
        if language.stemmer is not None:
            get_stemmer(language.stemmer)
        if language.tokenizer in SEGMENTERS:
            assert SEGMENTERS[language.tokenizer].language == code
            assert SEGMENTERS[language.tokenizer].extra is not None
    assert get_language("pt-BR") is get_language("portuguese") is LANGUAGES["pt"]
    with pytest.raises(SettingError, match="unknown language 'xx'; known: ar, bg"):
        get_language("xx")
    with pytest.raises(SettingError, match="not int"):
        get_language(5)


def test_a_language_chooses_tokenizer_stemmer_and_spelling() -> None:
    captions = {1: "Zwei ＨＵＮＤＥ laufen", 2: "ein Mann"}, {1: ["zwei Hunde"], 2: ["ein Mann"]}
    table = cidery.score(*captions, ["cider:idf=no", "rouge-l"], language="de")
    assert "|stemmer:german|" in table.signatures["cider:idf=no"]
    assert "|language:de|tokenizer:words+clean|" in table.signatures["rouge-l"]
    plain = cidery.score(
        {1: "zwei hunde laufen", 2: "ein mann"}, captions[1], ["rouge-l"], tokenizer="words"
    )
    assert table.corpus["rouge-l"] == plain.corpus["rouge-l"]
    assert "language" not in plain.signatures["rouge-l"]
    asked = cidery.score(
        captions[1], captions[1], ["cider:idf=no,stemmer=none"], language="de", tokenizer="ptb"
    )
    (signature,) = asked.signatures.values()
    assert "|stemmer:none|" in signature and "|language:de|tokenizer:ptb|" in signature


def test_english_is_what_it_was() -> None:
    captions = {1: "A dog's bone.", 2: "a cat"}, {1: ["the dog's bone"], 2: ["the cat"]}
    english = cidery.score(*captions, NAMES, language="en")
    usual = cidery.score(*captions, NAMES)
    assert dict(english.corpus) == dict(usual.corpus)
    assert "|tokenizer:ptb|" in usual.signatures["rouge-l"]


def test_chinese_with_jieba() -> None:
    skip_unless_installed("jieba")
    candidates = {1: "一个男人正在攀登雪山。", 2: "一个男人在打架子鼓。"}
    references = {1: ["一个男人正在雪山上攀登。", "一名男子在爬雪山。"], 2: ["男人在打架子鼓。"]}
    table = cidery.score(candidates, references, ["bleu-2", "rouge-l"], language="zh")
    assert table.corpus["bleu-2"] > 0.5
    assert "|language:zh|tokenizer:jieba@jieba-" in table.signatures["bleu-2"]
    described = cidery.describe(references, language="zh")
    assert described.problems == () and described.tokenizer.startswith("jieba@")


def test_another_language_than_the_one_asked_for_is_told() -> None:
    with pytest.warns(LanguageWarning) as told:
        cidery.score({1: "犬が走る"}, {1: ["犬が走る"]}, ["rouge-l"], language="lo")
    assert "captions are in Japanese, but the language is set to 'lo'; pass language=\"ja\"" in (
        str(told[0].message)
    )
    with pytest.warns(
        LanguageWarning, match="in the language 'id', but these support English only"
    ):
        cidery.score(
            {1: "seekor anjing"},
            {1: ["anjing"]},
            ["cider-d"],
            language="id",
            tokenizer="ptb",
            frequencies="coco-val2014",
        )


def test_frequencies_of_a_language() -> None:
    """What the warning of few images says can be done."""
    captions = {1: "Zwei Ｈunde", 2: "ein Mann"}, {1: ["zwei Hunde"], 2: ["ein Mann"]}
    with pytest.warns(UnreliableWarning, match=r"frequencies build --tokenizer words\+clean`"):
        few = cidery.score(*captions, ["cider-d"], language="de")
    counted = cidery.DocumentFrequencies.from_references(captions[1], tokenizer="words+clean")
    table = cidery.score(*captions, ["cider-d"], language="de", frequencies=counted)
    assert table.corpus["cider-d"] == pytest.approx(few.corpus["cider-d"])


def test_tokenizers_of_a_language_compare_equal() -> None:
    assert choose_tokenizer(None, "de") == choose_tokenizer("words", "de")
    assert choose_tokenizer("ptb", "de") == replace(get_tokenizer("ptb"), language="de")
    assert choose_tokenizer(None, None) == get_tokenizer("ptb")


def test_nothing_is_loaded_before_it_is_asked_for() -> None:
    code = (
        "import sys, cidery; cidery.score({1: 'a dog'}, {1: ['a dog']}, ['rouge-l']);"
        "print(sorted({'jieba', 'fugashi', 'regex', 'py3langid'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


GERMAN = {
    "beach": ["zwei Hunde rennen am Strand entlang", "Hunde laufen über den Strand"],
    "bus": ["ein roter Bus hält an der Straße", "ein Bus in der Stadt"],
}
SAID = {"beach": "Zwei Hunde laufen am Strand", "bus": "ein roter Bus"}


@pytest.mark.filterwarnings("ignore::cidery.errors.UnreliableWarning")
class TestLanguageEverywhere:
    """The same scores and signatures wherever a language can be given."""

    @pytest.fixture
    def table(self) -> cidery.ScoreTable:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UnreliableWarning)
            return cidery.score(SAID, GERMAN, ["cider", "rouge-l"], language="de")

    def test_rewards(self, table: cidery.ScoreTable) -> None:
        reward = cidery.Reward(GERMAN, "cider", language="de")
        assert reward.signatures["cider"] == table.signatures["cider"]
        values = reward(list(SAID), list(SAID.values()))
        assert values.tolist() == table.each["cider"].tolist()
        copied = pickle.loads(pickle.dumps(reward))
        assert copied(list(SAID), list(SAID.values())).tolist() == values.tolist()
        with pytest.warns(LanguageWarning, match='pass language="zh"'):
            cidery.Reward({"a": ["一个男人正在攀登雪山"], "b": ["一名男子在爬雪山"]})

    def test_explanations(self, table: cidery.ScoreTable) -> None:
        found = cidery.explain_captions(SAID, GERMAN, metrics=["cider"], language="de")
        assert [one["cider"].score for one in found] == pytest.approx(table.each["cider"])
        assert found[0].signatures["cider"] == table.signatures["cider"]
        alone = cidery.explain(SAID["bus"], GERMAN["bus"], language="de")
        assert list(alone) == ["rouge-l"]

    def test_adapters(self, table: cidery.ScoreTable) -> None:
        from cidery.compat.capevalkit import CaptionMetric
        from cidery.compat.huggingface import CaptionMetrics
        from cidery.compat.vlmeval import CaptionScorer

        taken = CaptionMetrics(["cider", "rouge-l"], language="de")
        computed = taken.compute(predictions=[*SAID.values()], references=[*GERMAN.values()])
        assert computed == dict(table.corpus)
        by_name = CaptionMetric("cider", language="de").score(SAID, GERMAN)
        assert by_name["cider"]["signature"] == table.signatures["cider"]
        listed = {image: [caption] for image, caption in SAID.items()}
        scored = CaptionScorer(listed, GERMAN, language="de").compute_scores()
        assert scored["signatures"]["rouge-l"] == table.signatures["rouge-l"]
        frames = pytest.importorskip("pandas")
        from cidery.compat.frames import score_frame

        frame = frames.DataFrame({"caption": [*SAID.values()], "references": [*GERMAN.values()]})
        made = score_frame(frame, metrics=["rouge-l"], language="de")
        assert made["rouge-l"].tolist() == table.each["rouge-l"].tolist()

    def test_drop_in_classes(self) -> None:
        from cidery.coco import COCO, COCOEvalCap, PTBTokenizer

        cut = PTBTokenizer(language="de").tokenize({1: ["Ein Hund läuft – schnell!"]})
        assert cut == {1: ["ein hund läuft schnell"]}
        coco = COCO([{"image_id": i, "caption": c} for i, g in GERMAN.items() for c in g])
        results = coco.loadRes([{"image_id": i, "caption": c} for i, c in SAID.items()])
        evaluation = COCOEvalCap(coco, results, scorers=["ROUGE_L"], language="de", verbose=False)
        evaluation.evaluate()
        expected = cidery.score(SAID, GERMAN, ["rouge-l"], language="de").corpus["rouge-l"]
        assert evaluation.eval["ROUGE_L"] == pytest.approx(expected)

    def test_english_leaves_defaults(self) -> None:
        from cidery.coco import PTBTokenizer

        texts = {1: ["A dog's bone."], 2: ["a cat"]}
        assert PTBTokenizer(language="en").tokenize(texts) == PTBTokenizer().tokenize(texts)

    def test_diversity(self) -> None:
        sets = {image: [*group, SAID[image]] for image, group in GERMAN.items()}
        table = cidery.measure_diversity(sets, ["lsa", "mbleu"], language="de")
        assert "|language:de|tokenizer:words+clean|" in table.signatures["lsa"]
        weighed = cidery.measure_diversity(sets, ["self-cider"], references=GERMAN, language="de")
        assert "frequencies:references-2" in weighed.signatures["self-cider"]
        with pytest.raises(SettingError, match="no references to count them on"):
            cidery.measure_diversity(sets, ["self-cider"], language="de")
        with pytest.warns(LanguageWarning, match="Chinese has no spaces"):
            cidery.measure_diversity({1: ["一个男人正在攀登雪山", "一名男子在爬雪山"]}, "lsa")
        found = cidery.diversity.score_references(GERMAN, "cider", language="de")
        assert "stemmer:german" in found.signatures["cider"]

    def test_frequencies(self) -> None:
        counted = cidery.DocumentFrequencies.from_references(GERMAN, language="de")
        assert counted.tokenizer == "words+clean"
        weighed = cidery.score(SAID, GERMAN, ["cider-d"], language="de", frequencies=counted)
        assert weighed.corpus["cider-d"] > 0

    def test_judgments(self, tmp_path: Path) -> None:
        from cidery import meta

        lines: list[dict[str, object]] = [
            {"image": image, "references": group} for image, group in GERMAN.items()
        ]
        lines += [
            {"image": image, "caption": caption, "rating": place}
            for image in GERMAN
            for place, caption in enumerate([SAID[image], "eine Katze", "der Himmel"])
        ]
        file = tmp_path / "judged.jsonl"
        file.write_text("\n".join(map(json.dumps, lines)), encoding="utf-8")
        dataset = meta.read_dataset("judgments", file)
        found = meta.evaluate(dataset, ["cider", "rouge-l"], language="de", cache=tmp_path)
        assert "stemmer:german" in found.signatures["cider"]
        assert "|language:de|tokenizer:words+clean|" in found.signatures["rouge-l"]
        other = meta.evaluate(dataset, ["rouge-l"], cache=tmp_path)
        assert "|tokenizer:ptb|" in other.signatures["rouge-l"]
        again = meta.evaluate(dataset, ["cider", "rouge-l"], language="de", cache=tmp_path)
        assert again.signatures == found.signatures


def test_commands_take_a_language(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file, counted = tmp_path / "captions.json", tmp_path / "mine.df"
    file.write_text(json.dumps(GERMAN), encoding="utf-8")
    german = ("--language", "de")
    assert main(["diversity", str(file), "-m", "mbleu", *german, "-f", "json"]) == 0
    assert "language:de" in capsys.readouterr().out
    assert main(["frequencies", "build", str(file), "-o", str(counted), *german]) == 0
    assert cidery.DocumentFrequencies.load(counted).tokenizer == "words+clean"
    assert main(["explain", "ein Hund", "der Hund läuft", *german, "-f", "json"]) == 0
    assert "language:de" in capsys.readouterr().out
    assert cidery.tokenize(["Um cafe\u0301 – DOIS cães!"], language="pt") == [
        ["um", "café", "dois", "cães"]
    ]


def test_segmenters_can_be_sent_to_other_processes() -> None:
    skip_unless_installed("jieba")
    for tokenizer in (choose_tokenizer(None, "zh"), choose_tokenizer("words", "zh")):
        assert pickle.loads(pickle.dumps(tokenizer)) == tokenizer


def test_helper_processes_cut_alike(monkeypatch: pytest.MonkeyPatch) -> None:
    skip_unless_installed("jieba")
    pytest.importorskip("loky")
    assert segmenters.count_helpers(segmenters.CAPTIONS_PER_PROCESS, 4) == 0
    assert segmenters.count_helpers(3 * segmenters.CAPTIONS_PER_PROCESS, 2) == 1
    assert segmenters.count_helpers(10**6, 1) == 0
    monkeypatch.setattr(segmenters, "CAPTIONS_PER_PROCESS", 100)
    monkeypatch.setattr(segmenters, "CHUNK_CAPTIONS", 20)
    captions = [f"一个男人正在攀登第{number}座雪山。" for number in range(200)] * 2
    told: list[tuple[str, float]] = []
    cut = segmenters.LoadedSegmenter("jieba", refuse)  # this process has none: helpers do the work
    monkeypatch.setattr(cut, "tokenize_new", partial(segmenters.tokenize_in_helper, "jieba"))
    with use_progress(lambda what, share: told.append((what, share))):
        shared = cut.tokenize_all(captions, threads=2)
    alone = get_tokenizer("jieba")
    assert shared == [tuple(alone.function(caption)) for caption in captions]  # type: ignore[misc]
    assert told[-1] == ("tokenizing captions with jieba", 1.0)
    monkeypatch.setattr(cut, "tokenize_new", refuse)
    assert cut.tokenize_all(captions, threads=2) == shared  # nothing is cut twice
    monkeypatch.setattr(segmenters, "CACHE_SIZE", 3)
    monkeypatch.setattr(cut, "tokenize_new", lambda new: [(caption,) for caption in new])
    assert cut.tokenize_all(["甲", "乙", "甲"], threads=1) == [("甲",), ("乙",), ("甲",)]


def refuse(_: object) -> list[str]:
    raise AssertionError("it was cut again")


def test_lemmas_in_place_of_stems() -> None:
    simplemma = pytest.importorskip("simplemma", reason="lemmas need simplemma")
    words = cidery.tokenize(["Die Hunde liefen"], "words", stemmer="simplemma-de")
    assert words == [["der", "hund", "laufen"]]
    german = {"a": ["ein Hund läuft", "Hunde laufen"], "b": ["eine Katze", "die Katzen"]}
    captions, label = {"a": "ein Hund lief", "b": "zwei Katzen"}, "cider:stemmer=simplemma-de"
    with pytest.warns(UnreliableWarning, match="only 2 images"):
        found = cidery.score(captions, german, [label], tokenizer="words")
    assert found.corpus[label] > 0
    assert f"|stemmer:simplemma-de-{simplemma.__version__}|" in found.signatures[label]
    with pytest.raises(SettingError, match="simplemma has no lemmas for 'xx'"):
        get_stemmer("simplemma-xx")


def test_lemmas_say_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "simplemma", None)
    with pytest.raises(MissingExtraError, match=r"cidery\[lemmas\]"):
        get_stemmer("simplemma-fr")
