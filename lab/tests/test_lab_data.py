"""Features, captions, splits and vocabularies; nothing here needs torch."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from cidery.errors import FormatError, InputError, MismatchError, SettingError
from cidery_lab import Losses, Stage, Vocabulary, read_data, read_features, synthetic_scenes
from cidery_lab.experiments.base import assess, repeated_share
from cidery_lab.stages import FAMILIES, WEIGHTS

NAMES = [f"{number}.jpg" for number in range(6)]
SPLITS = ["train", "train", "train", "train", "dev", "test"]
SHARED = Path(__file__).parents[3] / "shared" / "data"


@pytest.fixture
def files(tmp_path: Path) -> tuple[Path, Path]:
    """Features of six images, and their captions."""
    features = tmp_path / "features.npz"
    values = np.random.default_rng(0).normal(3, 2, (6, 4)).astype(np.float16)
    np.savez(features, names=NAMES, split=SPLITS, mean=values)
    captions = tmp_path / "captions.token.txt"
    captions.write_text(
        "".join(f"{name}#{k}\tA dog , number {k} .\n" for name in NAMES for k in range(2))
    )
    return features, captions


def test_features_and_captions_become_splits(files: tuple[Path, Path]) -> None:
    data = read_data(*files, min_count=2)
    assert (len(data.train), len(data.val), len(data.test)) == (4, 1, 1)
    assert data.test.images == ("5.jpg",)
    assert data.test.references["5.jpg"] == ["a dog number 0", "a dog number 1"]
    assert set(data.vocabulary.words[4:]) == {"a", "dog", "number", "0", "1"}
    # Features are standardized by the training images, nearly constant ones less.
    np.testing.assert_allclose(data.train.features.mean(0), 0, atol=1e-3)
    assert 0.8 < data.train.features.var(0).mean() < 1


def test_splits_of_karpathys_file(files: tuple[Path, Path], tmp_path: Path) -> None:
    features, _ = files
    kinds = ["train", "restval", "train", "train", "val", "test"]
    document = {
        "images": [
            {"filename": name, "split": kind, "sentences": [{"raw": "A dog."}, {"raw": "Two."}]}
            for name, kind in zip(NAMES, kinds, strict=True)
        ]
    }
    path = tmp_path / "dataset.json"
    path.write_text(json.dumps(document))
    data = read_data(features, path, min_count=1)
    assert data.train.images == ("0.jpg", "1.jpg", "2.jpg", "3.jpg")
    assert data.val.references["4.jpg"] == ["a dog", "two"]
    document["images"][2].pop("sentences")
    path.write_text(json.dumps(document))
    with pytest.raises(FormatError, match="image 3: expected filename, split and sentences"):
        read_data(features, path)


def test_references_in_other_formats_need_splits(files: tuple[Path, Path], tmp_path: Path) -> None:
    features, _ = files
    plain = tmp_path / "plain.npz"
    np.savez(plain, ids=NAMES, features=np.load(features)["mean"])
    captions = tmp_path / "references.json"
    captions.write_text(json.dumps({name: ["a dog", "the dog"] for name in NAMES}))
    with pytest.raises(InputError, match=r"neither .* contains splits"):
        read_data(plain, captions)
    splits = tmp_path / "splits.json"
    splits.write_text(json.dumps(dict(zip(NAMES, SPLITS, strict=True))))
    assert len(read_data(plain, captions, splits=splits, min_count=1).train) == 4


def test_rounded_grids_are_scaled_back(tmp_path: Path) -> None:
    grid = np.arange(24, dtype=np.int8).reshape(2, 4, 3)
    scale, offset = np.float32([1, 2, 3]), np.float32([0, 10, 20])
    np.savez(tmp_path / "grid.npz", names=["a", "b"], grid=grid, scale=scale, offset=offset)
    read = read_features(tmp_path / "grid.npz")
    np.testing.assert_array_equal(read.values, grid * scale + offset)
    np.save(tmp_path / "plain.npy", grid)
    (tmp_path / "plain.txt").write_text("a\nb\n")
    assert read_features(tmp_path / "plain.npy").ids == ("a", "b")


@pytest.mark.parametrize("per_image", [False, True])
def test_hdf5(tmp_path: Path, per_image: bool) -> None:
    h5py = pytest.importorskip("h5py", reason="h5py is not installed")
    values = np.arange(6, dtype=np.float32).reshape(2, 3)
    with h5py.File(tmp_path / "features.h5", "w") as file:
        if per_image:
            for name, row in zip(("a.jpg", "b.jpg"), values, strict=True):
                file[name] = row
        else:
            file["names"], file["mean"], file["split"] = ["a.jpg", "b.jpg"], values, ["train"] * 2
    read = read_features(tmp_path / "features.h5")
    assert read.ids == ("a.jpg", "b.jpg")
    np.testing.assert_array_equal(read.values, values)
    assert read.splits == (None if per_image else ("train", "train"))
    (tmp_path / "text.h5").write_text("no HDF5")
    with pytest.raises(FormatError, match=r"text\.h5: cannot be read as HDF5"):
        read_features(tmp_path / "text.h5")


def break_features(path: Path, **changes: Any) -> None:
    with np.load(path) as opened:
        arrays = {name: opened[name] for name in opened.files}
    np.savez(path, **{**arrays, **changes})


def test_images_without_features_or_captions_are_named(files: tuple[Path, Path]) -> None:
    features, captions = files
    text = captions.read_text()
    captions.write_text(text.replace("2.jpg", "other.jpg"))
    with pytest.raises(MismatchError, match=r"'2.jpg' has features in .* but no captions"):
        read_data(features, captions)
    assert len(read_data(features, captions, missing="skip", min_count=1).train) == 3
    captions.write_text(text)
    splits = features.with_name("splits.json")
    splits.write_text(json.dumps(dict.fromkeys([*NAMES, "6.jpg"], "train")))
    captions.write_text(text + "6.jpg#0\tA cat .\n")
    with pytest.raises(MismatchError, match=r"'6.jpg' has captions in .* but no features"):
        read_data(features, captions, splits=splits)


def test_captions_of_other_images_are_refused(files: tuple[Path, Path]) -> None:
    features, captions = files
    captions.write_text(captions.read_text().replace(".jpg", ".png"))
    with pytest.raises(MismatchError, match="no image has both features and captions"):
        read_data(features, captions)


def save_second(files: tuple[Path, Path], **changes: Any) -> Path:
    """Write a second file of features of the same images, in another order."""
    path = files[0].with_name("second.npz")
    arrays: dict[str, Any] = {
        "ids": NAMES[::-1],
        "split": SPLITS[::-1],
        "cls": 100 * np.arange(6.0)[::-1, None],
        "grid": np.arange(36.0).reshape(6, 3, 2),
    }
    arrays |= changes
    np.savez(path, **{name: value for name, value in arrays.items() if value is not None})
    return path


def test_features_of_several_files_are_concatenated(files: tuple[Path, Path]) -> None:
    features, captions = files
    second = save_second(files)
    alone = read_data(features, captions, min_count=1)
    data = read_data([features, f"{second}#cls"], captions, min_count=1)
    assert data.width == 5
    # What is nearly constant is judged by the measure of its own file, so that the scale of the
    # other changes nothing; rows are found by id.
    np.testing.assert_allclose(data.train.features[:, :4], alone.train.features, rtol=1e-5)
    assert (np.diff(data.train.features[:, 4]) > 0).all()
    assert abs(data.train.features[:, 4]).max() < 2
    # A vector stands beside each region.
    grid = read_data([features, f"{second}#grid"], captions, min_count=1)
    assert grid.train.features.shape == (4, 3, 6)
    assert (grid.train.features[:, 0, :4] == grid.train.features[:, 2, :4]).all()
    named = second.rename(second.with_name("a#b.npz"))
    assert read_features(named, "cls").values.shape == (6, 1), "# may be in a file's name"


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"ids": ["5.jpg", "x.jpg", *NAMES[3::-1]]}, r"'4.jpg' .* no features in .*second.npz"),
        ({"ids": [f"{n}.png" for n in range(6)]}, r"second.npz has '0.png'"),
        ({"split": ["train"] * 6}, r"'5.jpg' .* 'test' in .*features.npz and 'train'"),
    ],
)
def test_inconsistent_feature_files(
    files: tuple[Path, Path], changes: dict[str, Any], message: str
) -> None:
    features, captions = files
    second = save_second(files, grid=None, **changes)
    with pytest.raises(MismatchError, match=message):
        read_data([features, second], captions)


def test_remedies_for_several_files(files: tuple[Path, Path], tmp_path: Path) -> None:
    features, captions = files
    splits = tmp_path / "splits.json"
    splits.write_text(json.dumps(dict(zip(NAMES, SPLITS, strict=True))))
    second = save_second(files, grid=None, split=["train"] * 6)
    assert len(read_data([features, second], captions, splits=splits, min_count=1).val) == 1
    second = save_second(files, grid=None, split=None, ids=[*NAMES[:0:-1], "x.jpg"])
    data = read_data([features, second], captions, missing="skip", min_count=1)
    assert data.train.images == ("1.jpg", "2.jpg", "3.jpg")
    np.savez(tmp_path / "third.npz", ids=NAMES, split=SPLITS, grid=np.ones((6, 5, 2)))
    second = save_second(files, cls=None)
    with pytest.raises(MismatchError, match=r"regions \(3 in .*second.npz and 5 in .*third.npz"):
        read_data([second, tmp_path / "third.npz"], captions)
    with pytest.raises(SettingError, match=r"one file, not for 2; .*features.npz#cls"):
        read_data([features, second], captions, array="cls")
    with pytest.raises(SettingError, match="at least one file"):
        read_data([], captions)
    break_features(second, grid=np.full((6, 3, 2), np.nan))
    with pytest.raises(InputError, match=r"second.npz: the features of image '5.jpg'"):
        read_data([features, second], captions)
    break_features(second, split=["train"])
    with pytest.raises(FormatError, match="1 splits for 6 images"):
        read_data([features, second], captions)


def test_features_that_are_not_finite_are_refused(files: tuple[Path, Path]) -> None:
    features, captions = files
    values = np.ones((6, 4))
    values[3, 1] = np.nan
    break_features(features, mean=values)
    with pytest.raises(InputError, match=r"image '3.jpg' contain NaN or infinity .1 of 6 images"):
        read_data(features, captions)


@pytest.mark.parametrize(
    ("change", "error", "message"),
    [
        ({"names": [*NAMES[:5], "0.jpg"]}, FormatError, "the image id '0.jpg' occurs twice"),
        ({"cls": np.ones((6, 2))}, InputError, r"select the array of features.*mean, cls"),
        ({"split": ["train"] * 6}, InputError, "the split 'val' has no images"),
    ],
)
def test_bad_feature_files(
    files: tuple[Path, Path], change: dict[str, Any], error: type[Exception], message: str
) -> None:
    break_features(files[0], **change)
    with pytest.raises(error, match=message):
        read_data(*files)


def test_files_that_are_not_features(tmp_path: Path) -> None:
    (tmp_path / "x.npz").write_bytes(b"no archive")
    with pytest.raises(FormatError, match=r"x\.npz: this is neither an \.npy nor an \.npz file"):
        read_features(tmp_path / "x.npz")
    with pytest.raises(FormatError, match=r"expected \.npz, \.npy"):
        read_features(tmp_path / "x.csv")
    np.save(tmp_path / "y.npy", np.ones((2, 2)))
    with pytest.raises(InputError, match=r"missing file .* with the image ids"):
        read_features(tmp_path / "y.npy")


def test_bad_caption_lines(files: tuple[Path, Path]) -> None:
    features, captions = files
    captions.write_text("0.jpg#0\tA dog .\n0.jpg a dog\n")
    with pytest.raises(FormatError, match="line 2: expected image#number"):
        read_data(features, captions)


def test_unknown_words() -> None:
    captions = [["a", "dog"], ["a", "cat"]]
    strict, lenient = Vocabulary.count(captions), Vocabulary.count(captions, min_count=2)
    assert strict.decode(strict.encode(["a", "cat"])) == "a cat"
    assert lenient.encode(["a", "cat"]) == [4, 3]
    with pytest.raises(InputError, match=r"image 'x': the word 'horse'.* 3 words"):
        strict.encode(["a", "horse"], "image 'x'")


def test_synthetic_scenes_have_several_references() -> None:
    data = synthetic_scenes(30, 5, 5)
    assert all(len(group) == 3 for group in data.train.references.values())
    assert data.fingerprint == synthetic_scenes(30, 5, 5).fingerprint
    assert data.fingerprint != synthetic_scenes(31, 5, 5).fingerprint
    lengths = [len(words) for group in data.train.captions for words in group]
    assert np.std(lengths) > 8, "references are uneven"
    assert not set(data.train.images) & set(data.test.images)


def test_every_part_of_the_data_changes_the_fingerprint() -> None:
    """Also the features of any one image: someone may compute some of them again."""
    data = synthetic_scenes(200, 5, 5)
    split = data.train
    features = split.features.copy()
    features[101] += 0.5
    images = ("other", *split.images[1:])
    captions = ((("a", "dog"),), *split.captions[1:])
    splits = [replace(split, features=features), replace(split, images=images)]
    splits.append(replace(split, captions=captions))
    changed = [replace(data, train=one) for one in splits]
    lenient = Vocabulary(data.vocabulary.words, has_unknown=True)
    changed.append(replace(data, vocabulary=lenient))
    changed.append(replace(data, val=data.test))
    changed.append(replace(data, test=data.val))
    found = {one.fingerprint for one in (data, *changed)}
    assert len(found) == 1 + len(changed)
    assert replace(data).fingerprint == data.fingerprint


def test_the_families_of_figure_8() -> None:
    assert Losses.of_family("lambda", 0) == Losses()
    assert Losses.of_family("lambda", 5) == Losses(1.0, {"cider-d": 5})
    assert Losses.of_family("beta", 10) == Losses(0.0, {"cider-d": 1.0}, retrieval=10)
    assert Losses.of_family("zeta", 5) == Losses(1.0, {"cider-d": 10.0}, retrieval=5)
    assert set(FAMILIES) == set(WEIGHTS)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: Losses(0.0), "needs cross-entropy or a reward"),
        (lambda: Losses(retrieval=-1), "must be >= 0"),
        (lambda: Losses.of_family("kappa", 1), "no family of losses named 'kappa'"),
        (lambda: Stage("x", epochs=0), "stage 'x': epochs must be at least 1"),
        (lambda: Stage("x", losses=Losses(0, {"cider-d": 1}), samples=1), "no baseline"),
        (lambda: Stage("x", losses=Losses(self_cider=1), samples=2), "needs samples=3"),
        (lambda: Stage("x", label_smoothing=1.0), "label_smoothing in"),
        (
            lambda: Stage("x", word_dropout=2.0),
            r"word_dropout and scheduled_sampling must be in \[0, 1\]",
        ),
        (lambda: Stage("x", logit_scale=0.0), "logit_scale must be > 0"),
        (lambda: Stage("x", warmup=1.0), "warmup in"),
    ],
)
def test_bad_settings(call: Callable[[], Any], message: str) -> None:
    with pytest.raises(SettingError, match=message):
        call()


def test_learning_rate_schedule() -> None:
    stage = Stage("x", epochs=4, learning_rate=1.0, warmup=0.25, linear_decay=True)
    moments = ((0, 0.5), (1, 0.0), (2, 0.5), (3, 1.0))
    assert [stage.learning_rate_at(*moment) for moment in moments] == [0.5, 1.0, 0.5, 0.0]
    assert Stage("x", epochs=4, learning_rate=1.0, decay=0.5).learning_rate_at(2, 0.7) == 0.25


def test_verdicts_follow_the_interval_over_seeds() -> None:
    assert assess([0.10, 0.12, 0.11])[0] == "supported"
    assert assess([-0.10, -0.12, -0.11])[0] == "contradicted"
    assert assess([0.10, 0.12, -0.11])[0] == "not supported"
    assert assess([0.5]) == ("not supported", "+0.5000, no interval for one seed")
    # Student's t for two degrees of freedom is 4.303.
    assert assess([1.0, 2.0, 3.0])[1] == "+2.0000 [-0.4841, +4.4841]"


def test_repetition_counts_what_references_do_not_repeat() -> None:
    references = [[["a", "dog", "a"], ["dog"]]]
    assert repeated_share([["a", "a", "dog", "dog"]], references) == 0.25
    assert repeated_share([["a", "cat", "a"]], references) == 0
    assert repeated_share([[]], references) == 0


@pytest.mark.skipif(not SHARED.exists(), reason="the shared data are not here")
def test_flickr8k_reads() -> None:
    data = read_data(
        SHARED / "flickr8k_features" / "resnet50_grid4x4.npz",
        SHARED / "flickr8k" / "Flickr8k.token.txt",
    )
    assert (len(data.train), len(data.val), len(data.test)) == (6000, 1000, 1000)
    assert data.train.features.shape == (6000, 16, 512)
    assert all(len(group) == 5 for group in data.train.captions)
