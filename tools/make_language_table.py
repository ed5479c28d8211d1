"""Print the table of docs/languages.md: one meaning in 12 languages, as it is cut and scored.

It needs all five extras of languages: chinese, japanese, korean, thai, vietnamese.
"""

from __future__ import annotations

import warnings

import cidery
from cidery.text import choose_tokenizer, get_language

# "A dog runs along the beach" against "A brown dog is running on the beach", written for this.
SENTENCES = {
    "de": ("Ein Hund läuft am Strand entlang.", "Ein brauner Hund rennt am Strand."),
    "fr": ("Un chien court sur la plage.", "Un chien brun court le long de la plage."),
    "pt": ("Um cachorro corre na praia.", "Um cachorro marrom está correndo na praia."),
    "cs": ("Pes běží po pláži.", "Hnědý pes běží po pláži u moře."),
    "ru": ("Собака бежит по пляжу.", "Коричневая собака бежит по берегу моря."),
    "ar": ("كلب يركض على الشاطئ.", "كلب بني يجري على شاطئ البحر."),
    "hi": ("एक कुत्ता समुद्र तट पर दौड़ रहा है।", "एक भूरा कुत्ता समुद्र तट पर दौड़ता है।"),
    "zh": ("一只狗在海滩上奔跑。", "一只棕色的狗正在海滩上跑。"),
    "ja": ("犬が浜辺を走っている。", "茶色い犬が浜辺を走っています。"),
    "ko": ("개가 해변을 달리고 있다.", "갈색 개가 해변에서 달린다."),
    "th": ("สุนัขวิ่งบนชายหาด", "สุนัขสีน้ำตาลกำลังวิ่งบนชายหาด"),
    "vi": ("Một con chó chạy trên bãi biển.", "Một con chó nâu đang chạy dọc bãi biển."),
}
HEADER = """\
| language | caption | words | ROUGE-L | `ptb` | warning with `ptb` |
|---|---|---|---:|---:|---|"""


def make_row(code: str) -> str:
    """Return the line of a language."""
    candidate, reference = SENTENCES[code]
    words = cidery.tokenize([candidate], choose_tokenizer(None, code))[0]
    found = score(candidate, reference, language=code)[0]
    usual, told = score(candidate, reference, tokenizer="ptb")
    cells = [
        f"{get_language(code).name} (`{code}`)",
        candidate,
        " · ".join(words),
        f"{found:.2f}",
        f"{usual:.2f}",
        "yes" if told else "",
    ]
    return f"| {' | '.join(cells)} |".replace("  ", " ")


def score(candidate: str, reference: str, **settings: str) -> tuple[float, int]:
    """Return ROUGE-L and how many warnings there were."""
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        table = cidery.score([candidate], [[reference]], ["rouge-l"], **settings)
    return table.corpus["rouge-l"], len(told)


if __name__ == "__main__":
    print("\n".join([HEADER, *map(make_row, SENTENCES)]))
