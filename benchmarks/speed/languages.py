"""Seconds for tokenizing captions in several languages and checking their scripts.

    python benchmarks/run.py languages [--language zh] [--images 5000] [--threads 0]

Captions are put together from lists of words, six for each image, all different; they are longer
than COCO's (20 characters in Chinese). Times are the process's own (user and system time, that of
its helper processes included) and those of the clock.
"""

from __future__ import annotations

import argparse
import itertools
import os
import random
import time
import warnings
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from cidery.errors import CideryError
from cidery.text import choose_tokenizer, find_script_problems

WORDS: dict[str, tuple[str, ...]] = {
    "zh": (
        "一个男人 两位女士 一只棕色的狗 三个孩子 一名穿红色外套的运动员 一位老人 几只白色的羊",
        "正在 慢慢地 高兴地 一起 独自 安静地 正准备",
        "攀登 看着 经过 拍摄 穿过 指着 靠近",
        "雪山 海滩上的小船 拥挤的街道 公园里的长椅 高大的树木 蓝色的公共汽车 厨房里的桌子",
        "在阳光下 在雨中 在夜晚 在清晨 在人群中 在河边 在城市里",
    ),
    "ja": (
        "男の人が 二人の女性が 茶色い犬が 三人の子供が 赤い服の選手が 老人が 数匹の羊が",
        "ゆっくりと 楽しそうに 一緒に 一人で 静かに 急いで 笑いながら",
        "雪山を 砂浜のボートを 混んだ通りを 公園のベンチを 高い木を 青いバスを 台所の机を",
        "見ている 通り過ぎる 撮っている 横切る 指さしている 描いている 眺めている",
        "夕方に 雨の中で 夜に 早朝に 人混みの中で 川のそばで 街で",
    ),
    "th": (
        "ผู้ชายคนหนึ่ง ผู้หญิงสองคน สุนัขสีน้ำตาล เด็กสามคน นักกีฬาเสื้อแดง ชายชรา แกะสีขาว",
        "กำลัง ค่อยๆ อย่างมีความสุข ด้วยกัน คนเดียว เงียบๆ รีบ",
        "ปีน มอง เดินผ่าน ถ่ายภาพ ข้าม ชี้ไปที่ เข้าใกล้",
        "ภูเขาหิมะ เรือบนชายหาด ถนนที่แออัด ม้านั่งในสวน ต้นไม้สูง รถเมล์สีฟ้า โต๊ะในครัว",
        "กลางแดด กลางสายฝน ตอนกลางคืน ตอนเช้า ท่ามกลางผู้คน ริมแม่น้ำ ในเมือง",
    ),
    "de": (
        "ein_Mann zwei_Frauen ein_brauner_Hund drei_Kinder eine_Läuferin ein_Greis weiße_Schafe",
        "bei_Nacht am_frühen_Morgen im_Regen in_der_Stadt am_Fluss allein fröhlich",
        "auf_dem_Berg am_Strand auf_der_Straße im_Park vor_dem_Baum im_Bus in_der_Küche",
        "klettert schaut läuft fotografiert steht zeigt wartet",
        "über_den_Schnee auf_das_Boot durch_die_Menge neben_Bänken für_später öfter täglich",
    ),
}
"""Lists of words by language; a caption has one of each list."""


def make_captions(language: str, count: int) -> list[str]:
    """Return so many different captions, in random order."""
    lists = [part.split() for part in WORDS[language]]
    joint = " " if language == "de" else ""
    made = [joint.join(words).replace("_", " ") for words in itertools.product(*lists)]
    random.Random(0).shuffle(made)
    numbered = (f"{text}{joint}{place // len(made) or ''}" for place, text in enumerate(made * 3))
    return list(itertools.islice(numbered, count))


def measure(name: str, work: Callable[[], Any]) -> None:
    """Run some work and print what it took."""
    before, wall = os.times(), time.perf_counter()
    try:
        work()
    except CideryError as error:
        print(f"{name:<34} {error}")
        return
    after = os.times()
    spent = sum(after[:4]) - sum(before[:4])
    print(f"{name:<34} {time.perf_counter() - wall:7.3f} s, {spent:7.3f} s of processors")


def main() -> None:
    """Measure one language, or all."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--language", choices=list(WORDS), action="append")
    parser.add_argument("--images", type=int, default=5000)
    parser.add_argument("--threads", type=int, default=0)
    options = parser.parse_args()
    for language in options.language or WORDS:
        captions = make_captions(language, 6 * options.images)
        candidates, references = captions[: options.images], captions[options.images :]
        print(f"{language}: {len(captions):,} captions such as {captions[0]}")
        with suppress(CideryError):
            tokenizer = choose_tokenizer(None, language)
            tokenizer(captions[:1])  # loads the dictionary
            measure("cut", lambda t=tokenizer, c=captions: t(c, options.threads))
            measure("cut again", lambda t=tokenizer, c=captions: t(c, options.threads))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            files = {"candidates": candidates, "references": references}
            for name in ("ptb", "words"):
                check = choose_tokenizer(name, None)
                find_script_problems(files, check)  # loads the tables
                measure(
                    f"look at the writing, {name}",
                    lambda t=check, f=files: find_script_problems(f, t),
                )


if __name__ == "__main__":
    main()
