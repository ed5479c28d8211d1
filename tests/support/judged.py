"""Human judgments that the tests make themselves, in every format."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np


def write_lines(path: Path, records: list[dict[str, Any]]) -> Path:
    path.write_text("".join(f"{json.dumps(record)}\n" for record in records), encoding="utf-8")
    return path


def reference_lines(references: dict[int, list[str]]) -> list[dict[str, Any]]:
    return [{"image": image, "references": group} for image, group in references.items()]


def pair_lines(references: dict[int, list[str]]) -> list[dict[str, Any]]:
    """A caption of the image itself against one of the next image; people see which is which."""
    images = list(references)
    lines = []
    for place, image in enumerate(images):
        own, other = references[image][0], references[images[place - 1]][0]
        first = place % 2 == 0
        lines.append(
            {
                "image": image,
                "pair": [own, other] if first else [other, own],
                "votes": [1, 1, -1] if first else [-1, -1, 1],
                "kind": "HI" if place % 3 else "HC",
                "systems": ["own", "other"] if first else ["other", "own"],
            }
        )
    return lines


def write_pairs(path: Path, references: dict[int, list[str]]) -> Path:
    rest = {image: group[1:] for image, group in references.items()}
    return write_lines(path, reference_lines(rest) + pair_lines(references))


def write_triplets(path: Path, references: dict[int, list[str]]) -> Path:
    """Every reference but the first is compared with both captions of a pair."""
    lines = [
        pair | {"reference": text, "votes": pair["votes"] if number else [0, 1, -1]}
        for pair, group in zip(pair_lines(references), references.values(), strict=True)
        for number, text in enumerate(group[1:])
    ]
    return write_lines(path, lines)


def write_ratings(path: Path, references: dict[int, list[str]]) -> Path:
    """Good, middling and bad captions of three systems, with two ratings each."""
    images = list(references)
    lines = reference_lines({image: group[1:] for image, group in references.items()})
    for place, image in enumerate(images):
        own, other = references[image][0], references[images[place - 1]][0]
        half = " ".join(own.split()[:4])
        for system, caption, rating in (("good", own, 4), ("cut", half, 3), ("wrong", other, 1)):
            ratings = [rating, rating + place % 2]
            lines.append({"image": image, "caption": caption, "ratings": ratings, "system": system})
    return write_lines(path, lines)


def write_questions(path: Path, references: dict[int, list[str]], judged: int = 72) -> Path:
    """The ratings of three systems by two questions, of the first images only."""
    images = list(references)
    lines = []
    for place, image in enumerate(images):
        own, other = references[image][0], references[images[place - 1]][0]
        half = " ".join(own.split()[:4])
        for system, caption, rating in (("good", own, 4), ("cut", half, 3), ("wrong", other, 1)):
            line = {"image": image, "caption": caption, "system": system}
            line["references"] = references[image][1:]
            if place < judged:
                total = rating + (place + len(system)) % 3 / 2
                line["ratings"] = {"total": total, "recall": [1, total]}
            lines.append(line)
    return write_lines(path, lines)


def write_sets(path: Path, references: dict[int, list[str]]) -> Path:
    """The same caption thrice, twice, and three different ones."""
    lines = []
    for image, group in references.items():
        for rating, captions in (
            (0.0, [group[0]] * 3),
            (0.4, [group[0], group[0], group[1]]),
            (1.0, group[:3]),
        ):
            lines.append({"image": image, "captions": captions, "ratings": [rating, rating]})
    return write_lines(path, lines)


def write_pascal(folder: Path, references: dict[int, list[str]]) -> Path:
    folder.mkdir()
    names = {f"{image}.jpg": group for image, group in references.items()}
    (folder / "refs50.json").write_text(json.dumps(names))
    records = []
    for place, pair in enumerate(pair_lines(references)):
        image = f"{pair['image']}.jpg"
        records.append(
            {
                "i": place,
                "image": image,
                "B": pair["pair"][0],
                "C": pair["pair"][1],
                "category": ["HC", "HI", "HM", "MM"][place % 4],
                "systems": [1 + place % 3, 4 - place % 2],
                "pairwise_votes_11": [1] * 5 + [-1] * 6,
                "consensus_winner": "B" if pair["votes"][0] > 0 else "C",
                "refs5_EXPERT": names[image][:2],
            }
        )
    write_lines(folder / "pairs.jsonl", records)
    return folder


def write_abstract(folder: Path, references: dict[int, list[str]]) -> Path:
    folder.mkdir()
    records = [
        {"pair": place, "A": text, "B": pair["pair"][0], "C": pair["pair"][1], "rating": rating}
        for place, pair in enumerate(pair_lines(references))
        for number, text in enumerate(references[pair["image"]][1:5])
        for rating in [pair["votes"][0] if place or number < 2 else -pair["votes"][0]]
    ]
    write_lines(folder / "triplets.jsonl", records)
    return folder


def write_flickr8k(folder: Path, references: dict[int, list[str]]) -> Path:
    folder.mkdir()
    images = list(references)
    odd = f"{images[0]}.jpg.1#0"  # the original file has one such key
    tokens = [
        f"{odd if (image, number) == (images[0], 0) else f'{image}.jpg#{number}'}\t{text}\n"
        for image, group in references.items()
        for number, text in enumerate(group)
    ]
    (folder / "Flickr8k.token.txt").write_text("".join(tokens))
    expert, crowd = [], []
    for place, image in enumerate(images):
        other = images[place - 1]
        expert += [
            f"{image}.jpg\t{other}.jpg#1\t1\t1\t2\n",
            f"{image}.jpg\t{image}.jpg#1\t4\t4\t4\n",
        ]
        crowd += [
            f"{image}.jpg\t{other}.jpg#2\t0\t0\t3\n",
            f"{image}.jpg\t{image}.jpg#2\t1\t3\t0\n",
        ]
    (folder / "ExpertAnnotations.txt").write_text("".join(expert))
    (folder / "CrowdFlowerAnnotations.txt").write_text("".join(crowd))
    return folder


def write_composite(folder: Path, references: dict[int, list[str]]) -> Path:
    folder.mkdir()
    records = []
    for image, group in references.items():
        spaced = group[0].lower().replace(",", " ,").rstrip(".") + " ."
        records += [
            {"image": f"{image}.jpg", "caption": caption, "human_score": score, "refs": group}
            for caption, score in ((spaced, 5), ("a thing somewhere", 1))
        ]
    third = len(records) // 6 * 2
    for place, name in enumerate(("8k", "30k", "coco")):
        part = records[place * third : (place + 1) * third if place < 2 else None]
        write_lines(folder / f"composite_{name}.jsonl", part)
    return folder


def write_challenge(folder: Path) -> Path:
    folder.mkdir()
    rng = np.random.default_rng(0)
    names = [f"team {number}" for number in range(6)]

    def entry(name: str, date: str, results: dict[str, float]) -> dict[str, Any]:
        return {"team": {"name": name}, "date": date, "results": json.dumps(results)}

    judged = [
        entry(name, "2015-05-01", {f"q{q}": 0.1 * place + 0.01 * q for q in range(1, 6)})
        for place, name in enumerate(names)
    ]
    metrics = ("CIDEr", "Bleu_1", "Bleu_2", "Bleu_3", "Bleu_4", "ROUGE_L", "METEOR", "SPICE")
    for count in ("c5", "c40"):
        board = [
            entry(
                name,
                "2016-01-01" if name == "team 5" else "2015-05-01",
                {m: place + (0 if m == "SPICE" else float(rng.normal(0, 3))) for m in metrics},
            )
            for place, name in enumerate(names)
        ]
        (folder / f"cap_{count}.json").write_text(json.dumps(board))
    (folder / "cap_challenge2015.json").write_text(json.dumps(judged))
    return folder


def write_cider_r(folder: Path, references: dict[int, list[str]]) -> Path:
    folder.mkdir()
    items = list(references)[:15]
    for name, offset in (("correct", 0), ("incorrect", 1)):
        rows = [
            {"image_id": place, "caption": references[items[place - offset]][0]}
            for place in range(15)
        ]
        (folder / f"toy_{name}_candidates.json").write_text(json.dumps(rows))
    annotations = [
        {"image_id": place, "id": place, "caption": references[item][1]}
        for place, item in enumerate(items)
    ]
    content = {"images": [{"id": place} for place in range(15)], "annotations": annotations}
    (folder / "toy_references.json").write_text(json.dumps(content))
    return folder
