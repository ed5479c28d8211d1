"""What captioners are trained on: features by image, captions, splits and a vocabulary.

```python
from cidery_lab import invented_scenes

data = invented_scenes(train=20, val=5, test=5)
len(data.train), data.width   # (20, 43)
```
"""

from __future__ import annotations

import hashlib
import json
import os
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from types import MappingProxyType
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from cidery.errors import FormatError, InputError, MismatchError, SettingError
from cidery.files import read_references
from cidery.frequencies import DocumentFrequencies
from cidery.storage import read_arrays
from cidery.text import SPLIT, choose_tokenizer
from cidery_lab.scenes import make_scenes

PAD, BOS, EOS, UNKNOWN = 0, 1, 2, 3
SPECIAL = ("<pad>", "<bos>", "<eos>", "<unk>")
SPLITS = ("train", "val", "test")
OTHER_NAMES = {"dev": "val", "valid": "val", "validation": "val", "training": "train"}
"""What other data sets call our splits."""
IDS = ("names", "ids", "image_ids", "images", "image_id", "filenames")
"""The arrays of an .npz or HDF5 file that may hold image ids."""
FeatureFiles: TypeAlias = "str | os.PathLike[str] | Sequence[str | os.PathLike[str]]"
"""One file of features, or several whose features are joined."""


@dataclass(frozen=True)
class Vocabulary:
    """The words that a captioner knows; ids 0 to 3 are special."""

    words: tuple[str, ...]
    """By id, the special ones first."""
    knows_unknown: bool = True
    """Whether a word that is not among them is read as `<unk>`; it is never written."""

    @classmethod
    def count(cls, captions: Iterable[Sequence[str]], least: int = 1) -> Vocabulary:
        """Take the words that occur at least so often, the most frequent first.

        ```python
        Vocabulary.count([["a", "dog"], ["a", "cat"]], least=2).words[4:]   # ("a",)
        ```
        """
        if least < 1:
            raise SettingError(f"least is the number of times a word occurs, not {least}")
        counts = Counter(word for caption in captions for word in caption)
        kept = sorted((-n, word) for word, n in counts.items() if n >= least)
        return cls((*SPECIAL, *(word for _, word in kept)), knows_unknown=least > 1)

    @cached_property
    def ids(self) -> Mapping[str, int]:
        """The id of each word."""
        return MappingProxyType({word: number for number, word in enumerate(self.words)})

    def __len__(self) -> int:
        return len(self.words)

    def encode(self, words: Sequence[str], where: str = "a caption") -> list[int]:
        """Return ids without begin and end; a word that is not known is `<unk>` or an error."""
        if self.knows_unknown:
            return [self.ids.get(word, UNKNOWN) for word in words]
        try:
            return [self.ids[word] for word in words]
        except KeyError as error:
            raise InputError(
                f"{where} has the word {error.args[0]!r}, which is not among the "
                f"{len(self) - len(SPECIAL)} words of the vocabulary; make the vocabulary from "
                "these captions, or with least=2 or more, so that rare words are read as <unk>"
            ) from None

    def decode(self, tokens: Iterable[int]) -> str:
        """Return the words before the end."""
        words = []
        for token in tokens:
            if token == EOS:
                break
            if token not in (PAD, BOS):
                words.append(self.words[token])
        return " ".join(words)


@dataclass(frozen=True, eq=False)
class Features:
    """Features of images, by id."""

    ids: tuple[str, ...]
    values: NDArray[Any]
    """[images, width] or [images, regions, width]"""
    splits: tuple[str, ...] | None = None
    """The split of each image, where the file says it."""
    name: str = "features"

    def __post_init__(self) -> None:
        if self.values.ndim not in (2, 3) or 0 in self.values.shape:
            raise FormatError(
                f"{self.name}: features have the shape (images, width) or (images, regions, "
                f"width), not {self.values.shape}"
            )
        if len(self.ids) != len(self.values):
            raise FormatError(
                f"{self.name}: {len(self.ids)} ids for the features of {len(self.values)} images"
            )
        if self.splits is not None and len(self.splits) != len(self.ids):
            raise FormatError(
                f"{self.name}: {len(self.splits)} splits are said for {len(self.ids)} images"
            )
        if len(set(self.ids)) != len(self.ids):
            twice = next(name for name, n in Counter(self.ids).items() if n > 1)
            raise FormatError(f"{self.name}: image {twice!r} has features twice")
        finite = np.isfinite(self.values).reshape(len(self.values), -1).all(1)
        if not finite.all():
            first = self.ids[int(np.argmin(finite))]
            raise InputError(
                f"{self.name}: the features of image {first!r} are not all finite (NaN or "
                f"infinite; so are those of {int((~finite).sum())} of {len(finite)} images); "
                "compute them again, or leave these images out"
            )


@dataclass(frozen=True, eq=False)
class Split:
    """The images of one split, with their captions as words."""

    images: tuple[str, ...]
    features: NDArray[np.float32]
    """float32[images, width] or float32[images, regions, width]"""
    captions: tuple[tuple[tuple[str, ...], ...], ...]
    """Of each image: its references, as words."""

    def __len__(self) -> int:
        return len(self.images)

    @cached_property
    def references(self) -> Mapping[str, list[str]]:
        """The captions of each image, as text whose words are separated by blanks."""
        return MappingProxyType(
            {
                image: [" ".join(words) for words in group]
                for image, group in zip(self.images, self.captions, strict=True)
            }
        )

    def take(self, count: int | None) -> Split:
        """Return the first images only."""
        if count is None or count >= len(self):
            return self
        return Split(self.images[:count], self.features[:count], self.captions[:count])


@dataclass(frozen=True, eq=False)
class LabData:
    """Images to train, validate and test with, and the vocabulary of the training captions."""

    name: str
    train: Split
    val: Split
    test: Split
    vocabulary: Vocabulary

    @classmethod
    def build(
        cls,
        name: str,
        splits: Mapping[str, Split],
        *,
        least: int = 1,
        most_words: int = 60,
        parts: Sequence[int] = (),
    ) -> LabData:
        """Count the vocabulary, standardize features by the training images, and check the rest.

        `parts` are the widths of the feature files that stand side by side, if there are several.
        """
        for split in SPLITS:
            if split not in splits or not len(splits[split]):
                raise InputError(
                    f"{name}: there are no images to {_PURPOSES[split]} (split {split!r}); there "
                    f"are {', '.join(f'{len(s)} in {n!r}' for n, s in splits.items()) or 'none'}"
                )
        captions = [
            words[:most_words] for group in splits["train"].captions for words in group if words
        ]
        vocabulary = Vocabulary.count(captions, least)
        if len(vocabulary) == len(SPECIAL):
            raise InputError(f"{name}: no word occurs {least} times in the training captions")
        mean, scale = _measure_spread(splits["train"].features, parts)
        scaled = {}
        for split, found in splits.items():
            values = np.subtract(found.features, mean, dtype=np.float32)
            values /= scale  # in place: features of regions fill much of a laptop's memory
            scaled[split] = Split(found.images, values, found.captions)
        return cls(name, scaled["train"], scaled["val"], scaled["test"], vocabulary)

    @property
    def width(self) -> int:
        """How many features an image, or a region, has."""
        return int(self.train.features.shape[-1])

    @cached_property
    def frequencies(self) -> DocumentFrequencies:
        """Document frequencies of the training captions."""
        return DocumentFrequencies.from_references(
            dict(self.train.references), tokenizer="whitespace"
        )

    @cached_property
    def fingerprint(self) -> str:
        """What a checkpoint knows its data by: images, captions, features and vocabulary."""
        digest = hashlib.sha256(json.dumps([self.vocabulary.words]).encode())
        for split in (self.train, self.val, self.test):
            digest.update(json.dumps([split.images, split.captions]).encode())
            digest.update(str(split.features.shape).encode())
            digest.update(np.ascontiguousarray(split.features[:: max(1, len(split) // 64)]).data)
        return digest.hexdigest()[:16]

    def describe(self) -> dict[str, Any]:
        """Return what a page says of the data."""
        lengths = [len(words) for group in self.train.captions for words in group]
        return {
            "name": self.name,
            "train": len(self.train),
            "val": len(self.val),
            "test": len(self.test),
            "references": sum(map(len, self.train.captions)) / len(self.train),
            "words per caption": float(np.mean(lengths)),
            "standard deviation of words": float(np.std(lengths)),
            "vocabulary": len(self.vocabulary) - len(SPECIAL),
            "features": list(self.train.features.shape[1:]),
            "fingerprint": self.fingerprint,
        }


def _measure_spread(
    seen: NDArray[np.float32], parts: Sequence[int]
) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """Return the mean of each column, and what it is divided by."""
    axes = tuple(range(seen.ndim - 1))
    variance = seen.var(axes)
    # Columns that are nearly constant must not become noise, by the measure of their own file.
    blocks = np.split(variance, np.cumsum(parts)[:-1]) if parts else [variance]
    floors = [np.full(len(b), max(0.1 * float(b.mean()), 1e-12), b.dtype) for b in blocks]
    return seen.mean(axes), np.sqrt(variance + np.concatenate(floors))


_PURPOSES = {"train": "train with", "val": "validate with", "test": "test with"}


def invented_scenes(
    train: int = 1600, val: int = 100, test: int = 200, references: int = 3
) -> LabData:
    """Return invented scenes as data; every run sees the same ones.

    ```python
    data = invented_scenes(train=20, val=5, test=5)
    data.train.references["scene-1-0"]
    ```
    """
    splits = {}
    for seed, (split, count) in enumerate(zip(SPLITS, (train, val, test), strict=True), 1):
        scenes = make_scenes(count, seed, references)
        splits[split] = Split(
            tuple(scenes),
            np.stack([scene.features for scene in scenes.values()]),
            tuple(tuple(tuple(r.split()) for r in s.references) for s in scenes.values()),
        )
    return LabData.build("invented scenes", splits)


def read_data(
    features: FeatureFiles,
    captions: str | os.PathLike[str],
    *,
    array: str | None = None,
    splits: str | os.PathLike[str] | None = None,
    least: int = 5,
    missing: str = "error",
    tokenizer: Any = None,
    language: str | None = None,
) -> LabData:
    """Read features and captions of the same images.

    Args:
        features: .npz, .npy or HDF5; see `read_features`. Of several files, an image's features
            stand side by side, one vector beside each of its regions.
        captions: Any file that `read_references` reads, or Flickr8k's own (`image#0<tab>text`).
            Karpathy's JSON says the splits as well.
        array: The name of the array of features, where the file has several.
        splits: {image: split} as JSON, where neither the features nor the captions say it.
        least: How often a word occurs in the training captions to be in the vocabulary.
        missing: `"error"`, or `"skip"`, which leaves out images without features or captions.
        tokenizer: As in `score`.
        language: As in `score`.
    """
    if missing not in ("error", "skip"):
        raise SettingError(f'missing is "error" or "skip", not {missing!r}')
    files = _list_files(features)
    if array is not None and len(files) > 1:
        raise SettingError(
            f"array= (--array) names the array of one file, and there are {len(files)}; write it "
            f"behind each file's name: {os.fspath(files[0])}#{array}"
        )
    read = [read_features(file, array) for file in files]
    references, said = _read_captions(captions, {image for found in read for image in found.ids})
    if splits is not None:
        said = _read_splits(splits)
    elif said is None:
        said = _agree_on_splits(read)
    if said is None:
        raise InputError(
            f"neither {' nor '.join(found.name for found in read)} nor {captions} says which "
            "images are to train, validate and test "
            'with; give splits, a JSON file {image: "train"|"val"|"test"}'
        )
    chosen = _match(read, references, said, missing, str(captions))
    cut = choose_tokenizer(tokenizer, language)
    found: dict[str, Split] = {}
    for split, images in chosen.items():
        texts = [text for image in images for text in references[image]]
        tokens = iter(cut(texts).form(SPLIT).tokens())
        groups = tuple(tuple(tuple(next(tokens)) for _ in references[image]) for image in images)
        found[split] = Split(tuple(images), _join(read, images), groups)
    parts = [int(one.values.shape[-1]) for one in read]
    return LabData.build(Path(captions).stem, found, least=least, parts=parts)


def _list_files(features: FeatureFiles) -> list[str | os.PathLike[str]]:
    files = [features] if isinstance(features, (str, os.PathLike)) else list(features)
    if not files:
        raise SettingError("there is no file of features to read")
    return files


def _join(files: Sequence[Features], images: Sequence[str]) -> NDArray[np.float32]:
    """Put the features of each image side by side; one vector stands beside each of its regions."""
    regions = {found.values.shape[1]: found.name for found in files if found.values.ndim == 3}
    if len(regions) > 1:
        said = " and ".join(f"{count} in {name}" for count, name in regions.items())
        raise MismatchError(
            f"images have different numbers of regions ({said}); join files with as many regions, "
            "or with one vector per image"
        )
    values = []
    for found in files:
        placed = {image: place for place, image in enumerate(found.ids)}
        rows = found.values[[placed[image] for image in images]].astype(np.float32, copy=False)
        if regions and rows.ndim == 2:
            rows = np.repeat(rows[:, None], next(iter(regions)), 1)
        values.append(rows)
    return values[0] if len(values) == 1 else np.concatenate(values, -1)


def _agree_on_splits(files: Sequence[Features]) -> dict[str, str] | None:
    """Return the split of each image as the files of features say it; they may not differ."""
    said: dict[str, str] = {}
    by: dict[str, str] = {}
    for found in files:
        splits = found.splits or ()
        for image, split in zip(found.ids if splits else (), splits, strict=True):
            if said.setdefault(image, split) != split:
                raise MismatchError(
                    f"image {image!r} is in the split {said[image]!r} in {by[image]} and in "
                    f"{split!r} in {found.name}; give splits (--splits), a JSON file "
                    '{image: "train"|"val"|"test"}, which goes before both'
                )
            by.setdefault(image, found.name)
    return said or None


def _match(
    files: Sequence[Features],
    references: Mapping[str, list[str]],
    said: Mapping[str, str],
    missing: str,
    captions: str,
) -> dict[str, list[str]]:
    """Return the images of each split that have features in all files, and captions."""
    wanted = {i: OTHER_NAMES.get(s, s) for i, s in said.items() if OTHER_NAMES.get(s, s) in SPLITS}
    placed = set(files[0].ids).intersection(*(found.ids for found in files[1:]))
    features = " and ".join(found.name for found in files)
    without = [image for image in wanted if image in references and image not in placed]
    silent = [image for image in wanted if image in placed and image not in references]
    both = [image for image in wanted if image in placed and image in references]
    if not both:
        sources = [*((found.name, found.ids) for found in files), (captions, references)]
        shown = ", ".join(f"{name} like {next(iter(ids), 'none')!r}" for name, ids in sources)
        raise MismatchError(
            f"no image has both features and captions: images are named in {shown}; are these "
            "the captions of other images?"
        )
    if missing == "error" and without:
        lacking = next(found.name for found in files if without[0] not in found.ids)
        raise MismatchError(
            f"image {without[0]!r} has captions in {captions} but no features in {lacking} "
            f"({len(without)} of {len(wanted)} images); "
            'pass missing="skip" (--missing skip) to leave such images out'
        )
    if missing == "error" and silent:
        raise MismatchError(
            f"image {silent[0]!r} has features in {features} but no captions in {captions} "
            f"({len(silent)} of {len(wanted)} images); "
            'pass missing="skip" (--missing skip) to leave such images out'
        )
    return {split: [image for image in both if wanted[image] == split] for split in SPLITS}


def _read_captions(
    path: str | os.PathLike[str], known: set[str]
) -> tuple[Mapping[str, list[str]], dict[str, str] | None]:
    """Return the captions of each image, and its split where the file says so."""
    file = Path(path)
    if file.suffix == ".json":
        document = json.loads(file.read_text(encoding="utf-8"))
        images = document.get("images") if isinstance(document, Mapping) else None
        if images and isinstance(images[0], Mapping) and "sentences" in images[0]:
            return _read_karpathy(images, known, str(path))
    if file.suffix == ".txt":
        return _read_flickr(file), None
    return {str(image): list(group) for image, group in read_references(file).items()}, None


def _read_karpathy(
    images: Sequence[Mapping[str, Any]], known: set[str], name: str
) -> tuple[dict[str, list[str]], dict[str, str]]:
    """Read one of Karpathy's files; images are called as the features call them."""
    references, said = {}, {}
    fields = ("filename", "cocoid", "imgid")
    field = next((f for f in fields if any(str(i.get(f)) in known for i in images)), fields[0])
    for number, image in enumerate(images, 1):
        try:
            key = str(image[field])
            references[key] = [str(sentence["raw"]) for sentence in image["sentences"]]
            said[key] = str(image["split"])
        except (KeyError, TypeError) as error:
            raise FormatError(
                f"{name}, image {number}: expected filename, split and sentences with raw text, "
                f"as in Karpathy's files; {error} is missing"
            ) from None
    # Karpathy's `restval` is trained with, as everybody does.
    return references, {i: "train" if s == "restval" else s for i, s in said.items()}


def _read_flickr(file: Path) -> dict[str, list[str]]:
    """Read `image#0<tab>caption` lines."""
    references: dict[str, list[str]] = {}
    for number, line in enumerate(file.read_text(encoding="utf-8").splitlines(), 1):
        if not line.strip():
            continue
        key, tab, caption = line.partition("\t")
        image, mark, _ = key.partition("#")
        if not tab or not mark:
            raise FormatError(
                f"{file}, line {number}: expected image#number, a tab and a caption, as in "
                f"Flickr8k.token.txt, not {line[:60]!r}"
            )
        # The original file calls one image 2258277193_586949ec62.jpg.1.
        references.setdefault(image.removesuffix(".1"), []).append(caption)
    return references


def _read_splits(path: str | os.PathLike[str]) -> dict[str, str]:
    document = json.loads(Path(path).read_text(encoding="utf-8"))
    if not isinstance(document, Mapping):
        raise FormatError(f"{path}: expected {{image: split}}")
    return {str(image): str(split) for image, split in document.items()}


def read_features(path: str | os.PathLike[str], array: str | None = None) -> Features:
    """Read features by image id.

    An .npz or HDF5 file has the ids as `names` or `ids`, the features as another array, perhaps
    `split`, and `scale` and `offset` for features that were rounded to integers: value * scale +
    offset. Where there are several arrays, `array` or `FILE#ARRAY` says which one. HDF5 may also
    have one data set per image, named by its id. An .npy file has its ids beside it, one per line,
    in a file of the same name that ends in .txt.
    """
    file = Path(path)
    if array is None and "#" in file.name and not file.exists():
        name, _, array = str(path).rpartition("#")
        file = Path(name)
    path = file
    if file.suffix == ".npz":
        arrays = read_arrays(file)
        if not isinstance(arrays, dict):
            raise FormatError(f"{path}: this is an .npy file; give it that ending")
        return _take(arrays, array, str(path))
    if file.suffix == ".npy":
        ids = file.with_suffix(".txt")
        if not ids.exists():
            raise InputError(f"{path}: the ids of its images are expected in {ids}, one per line")
        values = read_arrays(file)
        if isinstance(values, dict):
            raise FormatError(f"{path}: this is an .npz file; give it that ending")
        return Features(
            tuple(ids.read_text("utf-8").split("\n")[: len(values)]), values, None, str(path)
        )
    if file.suffix in (".h5", ".hdf5"):
        return _read_hdf5(file, array)
    raise FormatError(f"{path}: features are .npz, .npy, .h5 or .hdf5 files, not {file.suffix!r}")


def _read_hdf5(file: Path, array: str | None) -> Features:
    import h5py

    try:
        opened = h5py.File(file, "r")
    except OSError as error:
        raise FormatError(f"{file}: cannot be read as HDF5: {error}") from None
    with opened:
        if any(name in opened for name in IDS):
            return _take({name: np.asarray(opened[name]) for name in opened}, array, str(file))
        values = [np.asarray(opened[name]) for name in opened]
        if len({value.shape for value in values}) != 1:
            raise FormatError(f"{file}: images have features of different shapes")
        return Features(tuple(opened), np.stack(values), None, str(file))


def _take(arrays: Mapping[str, NDArray[Any]], array: str | None, name: str) -> Features:
    ids_name = next((key for key in IDS if key in arrays), None)
    if ids_name is None:
        raise FormatError(
            f"{name}: no array of image ids; it is called {', '.join(IDS[:3])} or so, and there "
            f"are {', '.join(arrays) or 'none'}"
        )
    ids = arrays[ids_name]
    possible = [
        key
        for key, found in arrays.items()
        if found.ndim in (2, 3) and len(found) == len(ids) and found.dtype.kind in "fiu"
    ]
    if array is None and len(possible) != 1:
        raise InputError(
            f"{name}: which array has the features? Pass array= (--array), or "
            f"{name}#ARRAY: "
            f"{', '.join(possible) or 'none has two or three dimensions and a row per image'}"
        )
    chosen = possible[0] if array is None else array
    if chosen not in possible:
        raise InputError(f"{name}: {chosen!r} is no array of features; there are {possible}")
    values = arrays[chosen]
    if "scale" in arrays:
        values = values * arrays["scale"] + arrays.get("offset", np.float32(0))
    split = arrays.get("split", arrays.get("splits"))
    return Features(
        tuple(_text(found) for found in ids.tolist()),
        values,
        None if split is None else tuple(_text(found) for found in split.tolist()),
        name,
    )


def _text(found: Any) -> str:
    return found.decode("utf-8") if isinstance(found, bytes) else str(found)
