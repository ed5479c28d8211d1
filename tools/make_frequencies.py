"""Make the document frequencies that ship with the package, from the real COCO captions.

The captions of COCO 2014 (CC BY 4.0, COCO Consortium) lie inside the PyPI package pycocoevalcap:

    python tools/make_frequencies.py            # writes src/cidery/frequencies/shipped/*.df

Only n-grams that occur in at least two images are kept: one image weighs the same as none.
"""

from __future__ import annotations

import json
import zipfile
from pathlib import Path

import pycocoevalcap

from cidery import DocumentFrequencies

TARGET = Path(__file__).parents[1] / "src" / "cidery" / "frequencies" / "shipped"
SOURCE = (
    "COCO 2014 captions, {part} part ({count} images), COCO Consortium, cocodataset.org, "
    "CC BY 4.0; n-gram counts only"
)


def read_captions(part: str) -> dict[int, list[str]]:
    """Return image id -> captions of `train2014` or `val2014`."""
    jar = Path(next(iter(pycocoevalcap.__path__))) / "spice" / "spice-1.0.jar"
    with zipfile.ZipFile(jar) as archive:
        content = json.loads(archive.read(f"coco/annotations/captions_{part}.json"))
    captions: dict[int, list[str]] = {}
    for annotation in content["annotations"]:
        captions.setdefault(annotation["image_id"], []).append(annotation["caption"])
    return captions


def main() -> None:
    """Write four files: two parts, plain and with English stems."""
    TARGET.mkdir(exist_ok=True)
    for part in ("val2014", "train2014"):
        captions = read_captions(part)
        for stemmer in (None, "english"):
            frequencies = DocumentFrequencies.from_references(
                captions,
                stemmer=stemmer,
                min_count=2,
                name=f"coco-{part}",
                source=SOURCE.format(part=part, count=len(captions)),
            )
            path = TARGET / f"coco-{part}{f'.{stemmer}' if stemmer else ''}.df"
            frequencies.save(path)
            print(path.name, f"{path.stat().st_size / 1e6:.2f} MB", frequencies)


if __name__ == "__main__":
    main()
