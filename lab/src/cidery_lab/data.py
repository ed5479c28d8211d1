"""Training data: features by image, captions, splits and a vocabulary.

```python
from cidery_lab import synthetic_scenes

data = synthetic_scenes(train=20, val=5, test=5)
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
SPLIT_ALIASES = {"dev": "val", "valid": "val", "validation": "val", "training": "train"}
"""Names of splits in other data sets."""
ID_ARRAYS = ("names", "ids", "image_ids", "images", "image_id", "filenames")
"""Names of arrays of image ids in .npz and HDF5 files."""
FeatureFiles: TypeAlias = "str | os.PathLike[str] | Sequence[str | os.PathLike[str]]"
"""One file of features, or several whose features are concatenated."""


@dataclass(frozen=True)
class Vocabulary:
    """Vocabulary of a captioner; ids 0 to 3 are special tokens."""

    words: tuple[str, ...]
    """Words by id, special tokens first."""
    has_unknown: bool = True
    """Encode unknown words as `<unk>`, which is never generated; otherwise they are errors."""

    @classmethod
    def count(cls, captions: Iterable[Sequence[str]], min_count: int = 1) -> Vocabulary:
        """Return the vocabulary of the words that occur at least `min_count` times.

        ```python
        Vocabulary.count([["a", "dog"], ["a", "cat"]], min_count=2).words[4:]   # ("a",)
        ```
        """
        if min_count < 1:
            raise SettingError(f"min_count must be at least 1, not {min_count}")
        counts = Counter(word for caption in captions for word in caption)
        kept = sorted((-n, word) for word, n in counts.items() if n >= min_count)
        return cls((*SPECIAL, *(word for _, word in kept)), has_unknown=min_count > 1)

    @cached_property
    def ids(self) -> Mapping[str, int]:
        """The id of each word."""
        return MappingProxyType({word: number for number, word in enumerate(self.words)})

    def __len__(self) -> int:
        return len(self.words)

    def encode(self, words: Sequence[str], where: str = "a caption") -> list[int]:
        """Return ids without begin and end; an unknown word is `<unk>` or an error."""
        if self.has_unknown:
            return [self.ids.get(word, UNKNOWN) for word in words]
        try:
            return [self.ids[word] for word in words]
        except KeyError as error:
            raise InputError(
                f"{where}: the word {error.args[0]!r} is not in the vocabulary of "
                f"{len(self) - len(SPECIAL)} words; build the vocabulary from these captions, or "
                "with min_count=2 or more, which encodes unknown words as <unk>"
            ) from None

    def decode(self, tokens: Iterable[int]) -> str:
        """Return the text before the end token."""
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
    """Split of each image, if the file has it."""
    name: str = "features"

    def __post_init__(self) -> None:
        if self.values.ndim not in (2, 3) or 0 in self.values.shape:
            raise FormatError(
                f"{self.name}: features must have the shape (images, width) or (images, regions, "
                f"width), not {self.values.shape}"
            )
        if len(self.ids) != len(self.values):
            raise FormatError(
                f"{self.name}: {len(self.ids)} ids for the features of {len(self.values)} images"
            )
        if self.splits is not None and len(self.splits) != len(self.ids):
            raise FormatError(f"{self.name}: {len(self.splits)} splits for {len(self.ids)} images")
        if len(set(self.ids)) != len(self.ids):
            twice = next(name for name, n in Counter(self.ids).items() if n > 1)
            raise FormatError(f"{self.name}: the image id {twice!r} occurs twice")
        finite = np.isfinite(self.values).reshape(len(self.values), -1).all(1)
        if not finite.all():
            first = self.ids[int(np.argmin(finite))]
            raise InputError(
                f"{self.name}: the features of image {first!r} contain NaN or infinity "
                f"({int((~finite).sum())} of {len(finite)} images); compute them again, or remove "
                "these images"
            )


@dataclass(frozen=True, eq=False)
class Split:
    """Images of one split, with tokenized captions."""

    images: tuple[str, ...]
    features: NDArray[np.float32]
    """float32[images, width] or float32[images, regions, width]"""
    captions: tuple[tuple[tuple[str, ...], ...], ...]
    """Tokenized references of each image."""

    def __len__(self) -> int:
        return len(self.images)

    @cached_property
    def references(self) -> Mapping[str, list[str]]:
        """References of each image, as text with words separated by spaces."""
        return MappingProxyType(
            {
                image: [" ".join(words) for words in group]
                for image, group in zip(self.images, self.captions, strict=True)
            }
        )

    def head(self, count: int | None) -> Split:
        """Return the first `count` images. Default: all."""
        if count is None or count >= len(self):
            return self
        return Split(self.images[:count], self.features[:count], self.captions[:count])


@dataclass(frozen=True, eq=False)
class LabData:
    """Training, validation and test images, and the vocabulary of the training captions."""

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
        min_count: int = 1,
        max_words: int = 60,
        parts: Sequence[int] = (),
    ) -> LabData:
        """Build the vocabulary, standardize features by the training images, and check the splits.

        `parts` are the widths of concatenated feature files, if there are several.
        """
        for split in SPLITS:
            if split not in splits or not len(splits[split]):
                raise InputError(
                    f"{name}: the split {split!r} has no images; there are "
                    f"{', '.join(f'{len(s)} in {n!r}' for n, s in splits.items()) or 'none'}"
                )
        captions = [
            words[:max_words] for group in splits["train"].captions for words in group if words
        ]
        vocabulary = Vocabulary.count(captions, min_count)
        if len(vocabulary) == len(SPECIAL):
            raise InputError(f"{name}: no word occurs {min_count} times in the training captions")
        mean, scale = _measure_spread(splits["train"].features, parts)
        scaled = {}
        for split, found in splits.items():
            values = np.subtract(found.features, mean, dtype=np.float32)
            values /= scale  # in place: features of regions fill much of a laptop's memory
            scaled[split] = Split(found.images, values, found.captions)
        return cls(name, scaled["train"], scaled["val"], scaled["test"], vocabulary)

    @property
    def width(self) -> int:
        """Number of features of an image or region."""
        return int(self.train.features.shape[-1])

    @cached_property
    def frequencies(self) -> DocumentFrequencies:
        """Document frequencies of the training captions."""
        return DocumentFrequencies.from_references(
            dict(self.train.references), tokenizer="whitespace"
        )

    @cached_property
    def fingerprint(self) -> str:
        """Digest of images, captions, features and vocabulary, for checkpoints."""
        vocabulary = [self.vocabulary.words, self.vocabulary.has_unknown]
        digest = hashlib.sha256(json.dumps(vocabulary).encode())
        for split in (self.train, self.val, self.test):
            digest.update(json.dumps([split.images, split.captions]).encode())
            digest.update(str(split.features.shape).encode())
            for row in split.features:  # each, or corrected features of a few images are missed
                digest.update(np.ascontiguousarray(row).data)
        return digest.hexdigest()[:16]

    def describe(self) -> dict[str, Any]:
        """Return name, sizes and statistics of the data."""
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
    """Return mean and scale of each column."""
    axes = tuple(range(seen.ndim - 1))
    variance = seen.var(axes)
    # A floor per file: columns that are nearly constant must not become noise.
    blocks = np.split(variance, np.cumsum(parts)[:-1]) if parts else [variance]
    floors = [np.full(len(b), max(0.1 * float(b.mean()), 1e-12), b.dtype) for b in blocks]
    return seen.mean(axes), np.sqrt(variance + np.concatenate(floors))


def synthetic_scenes(
    train: int = 1600, val: int = 100, test: int = 200, references: int = 3
) -> LabData:
    """Return the synthetic scenes, which are the same in every run.

    ```python
    data = synthetic_scenes(train=20, val=5, test=5)
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
    return LabData.build("synthetic scenes", splits)


def read_data(
    features: FeatureFiles,
    captions: str | os.PathLike[str],
    *,
    array: str | None = None,
    splits: str | os.PathLike[str] | None = None,
    min_count: int = 5,
    missing: str = "error",
    tokenizer: Any = None,
    language: str | None = None,
) -> LabData:
    """Read features and captions of the same images.

    Args:
        features: .npz, .npy or HDF5; see `read_features`. Features of several files are
            concatenated; one vector per image is repeated for each region.
        captions: Any file that `read_references` reads, or Flickr8k's own (`image#0<tab>text`).
            Karpathy's JSON also contains the splits.
        array: Name of the array of features, if the file has several.
        splits: JSON file {image: split}, if neither features nor captions contain it.
        min_count: Minimum number of occurrences of a word of the vocabulary.
        missing: `"error"`, or `"skip"`: ignore images without features or captions.
        tokenizer: As in `score`.
        language: As in `score`.
    """
    if missing not in ("error", "skip"):
        raise SettingError(f'missing must be "error" or "skip", not {missing!r}')
    files = _list_files(features)
    if array is not None and len(files) > 1:
        raise SettingError(
            f"array (--array) is valid for one file, not for {len(files)}; append it to each file "
            f"name: {os.fspath(files[0])}#{array}"
        )
    read = [read_features(file, array) for file in files]
    references, split_of = _read_captions(
        captions, {image for found in read for image in found.ids}
    )
    if splits is not None:
        split_of = _read_splits(splits)
    elif split_of is None:
        split_of = _merge_splits(read)
    if split_of is None:
        raise InputError(
            f"neither {' nor '.join(found.name for found in read)} nor {captions} contains "
            'splits; pass splits (--splits), a JSON file {image: "train"|"val"|"test"}'
        )
    chosen = _match(read, references, split_of, missing, str(captions))
    tokenize = choose_tokenizer(tokenizer, language)
    found: dict[str, Split] = {}
    for split, images in chosen.items():
        texts = [text for image in images for text in references[image]]
        tokens = iter(tokenize(texts).form(SPLIT).tokens())
        groups = tuple(tuple(tuple(next(tokens)) for _ in references[image]) for image in images)
        found[split] = Split(tuple(images), _join(read, images), groups)
    parts = [int(one.values.shape[-1]) for one in read]
    return LabData.build(Path(captions).stem, found, min_count=min_count, parts=parts)


def _list_files(features: FeatureFiles) -> list[str | os.PathLike[str]]:
    files = [features] if isinstance(features, (str, os.PathLike)) else list(features)
    if not files:
        raise SettingError("features must contain at least one file")
    return files


def _join(files: Sequence[Features], images: Sequence[str]) -> NDArray[np.float32]:
    """Concatenate the features of each image; one vector is repeated for each region."""
    regions = {found.values.shape[1]: found.name for found in files if found.values.ndim == 3}
    if len(regions) > 1:
        counts = " and ".join(f"{count} in {name}" for count, name in regions.items())
        raise MismatchError(
            f"files have different numbers of regions ({counts}); use files with the same number, "
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


def _merge_splits(files: Sequence[Features]) -> dict[str, str] | None:
    """Return the split of each image from the files of features, which must agree."""
    split_of: dict[str, str] = {}
    source_of: dict[str, str] = {}
    for found in files:
        splits = found.splits or ()
        for image, split in zip(found.ids if splits else (), splits, strict=True):
            if split_of.setdefault(image, split) != split:
                raise MismatchError(
                    f"image {image!r} has the split {split_of[image]!r} in {source_of[image]} and "
                    f"{split!r} in {found.name}; pass splits (--splits), a JSON file "
                    '{image: "train"|"val"|"test"}'
                )
            source_of.setdefault(image, found.name)
    return split_of or None


def _match(
    files: Sequence[Features],
    references: Mapping[str, list[str]],
    split_of: Mapping[str, str],
    missing: str,
    captions: str,
) -> dict[str, list[str]]:
    """Return the images of each split that have features in all files, and captions."""
    wanted = {
        i: SPLIT_ALIASES.get(s, s) for i, s in split_of.items() if SPLIT_ALIASES.get(s, s) in SPLITS
    }
    placed = set(files[0].ids).intersection(*(found.ids for found in files[1:]))
    features = " and ".join(found.name for found in files)
    without_features = [image for image in wanted if image in references and image not in placed]
    without_captions = [image for image in wanted if image in placed and image not in references]
    both = [image for image in wanted if image in placed and image in references]
    if not both:
        sources = [*((found.name, found.ids) for found in files), (captions, references)]
        shown = ", ".join(f"{name} has {next(iter(ids), 'none')!r}" for name, ids in sources)
        raise MismatchError(
            f"no image has both features and captions; check the image ids: {shown}"
        )
    if missing == "error" and without_features:
        source = next(found.name for found in files if without_features[0] not in found.ids)
        raise MismatchError(
            f"image {without_features[0]!r} has captions in {captions} but no features in "
            f"{source} ({len(without_features)} of {len(wanted)} images); "
            'pass missing="skip" (--missing skip) to ignore such images'
        )
    if missing == "error" and without_captions:
        raise MismatchError(
            f"image {without_captions[0]!r} has features in {features} but no captions in "
            f"{captions} ({len(without_captions)} of {len(wanted)} images); "
            'pass missing="skip" (--missing skip) to ignore such images'
        )
    return {split: [image for image in both if wanted[image] == split] for split in SPLITS}


def _read_captions(
    path: str | os.PathLike[str], known: set[str]
) -> tuple[Mapping[str, list[str]], dict[str, str] | None]:
    """Return the captions of each image, and its split if the file has it."""
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
    """Read one of Karpathy's files, with the image ids of the features."""
    references, split_of = {}, {}
    fields = ("filename", "cocoid", "imgid")
    field = next((f for f in fields if any(str(i.get(f)) in known for i in images)), fields[0])
    for number, image in enumerate(images, 1):
        try:
            key = str(image[field])
            references[key] = [str(sentence["raw"]) for sentence in image["sentences"]]
            split_of[key] = str(image["split"])
        except (KeyError, TypeError) as error:
            raise FormatError(
                f"{name}, image {number}: expected filename, split and sentences with raw text, "
                f"as in Karpathy's files; {error} is missing"
            ) from None
    # `restval` belongs to the training images, as is usual.
    return references, {i: "train" if s == "restval" else s for i, s in split_of.items()}


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
    offset. `array` or `FILE#ARRAY` selects one of several arrays. HDF5 may also have one data set
    per image, named by its id. The ids of an .npy file are read from a .txt file of the same name,
    one per line.
    """
    file = Path(path)
    if array is None and "#" in file.name and not file.exists():
        name, _, array = str(path).rpartition("#")
        file = Path(name)
    path = file
    if file.suffix == ".npz":
        arrays = read_arrays(file)
        if not isinstance(arrays, dict):
            raise FormatError(f"{path}: this is an .npy file; rename it")
        return _select_array(arrays, array, str(path))
    if file.suffix == ".npy":
        ids = file.with_suffix(".txt")
        if not ids.exists():
            raise InputError(f"{path}: missing file {ids} with the image ids, one per line")
        values = read_arrays(file)
        if isinstance(values, dict):
            raise FormatError(f"{path}: this is an .npz file; rename it")
        return Features(
            tuple(ids.read_text("utf-8").split("\n")[: len(values)]), values, None, str(path)
        )
    if file.suffix in (".h5", ".hdf5"):
        return _read_hdf5(file, array)
    raise FormatError(f"{path}: expected .npz, .npy, .h5 or .hdf5, not {file.suffix!r}")


def _read_hdf5(file: Path, array: str | None) -> Features:
    import h5py

    try:
        opened = h5py.File(file, "r")
    except OSError as error:
        raise FormatError(f"{file}: cannot be read as HDF5: {error}") from None
    with opened:
        if any(name in opened for name in ID_ARRAYS):
            return _select_array(
                {name: np.asarray(opened[name]) for name in opened}, array, str(file)
            )
        values = [np.asarray(opened[name]) for name in opened]
        if len({value.shape for value in values}) != 1:
            raise FormatError(f"{file}: features of images have different shapes")
        return Features(tuple(opened), np.stack(values), None, str(file))


def _select_array(arrays: Mapping[str, NDArray[Any]], array: str | None, name: str) -> Features:
    ids_name = next((key for key in ID_ARRAYS if key in arrays), None)
    if ids_name is None:
        raise FormatError(
            f"{name}: no array of image ids ({', '.join(ID_ARRAYS[:3])}); it has "
            f"{', '.join(arrays) or 'no arrays'}"
        )
    ids = arrays[ids_name]
    possible = [
        key
        for key, found in arrays.items()
        if found.ndim in (2, 3) and len(found) == len(ids) and found.dtype.kind in "fiu"
    ]
    if array is None and len(possible) != 1:
        raise InputError(
            f"{name}: select the array of features with array (--array) or {name}#ARRAY; "
            f"candidates: {', '.join(possible) or 'none has 2 or 3 dimensions and a row per image'}"
        )
    chosen = possible[0] if array is None else array
    if chosen not in possible:
        raise InputError(f"{name}: {chosen!r} is not an array of features; candidates: {possible}")
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
