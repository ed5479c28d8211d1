"""CLIPScore and PAC-S: the authors' equations, and CLIP as transformers runs it."""

from __future__ import annotations

import json
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import cidery
from cidery.encoders.clip import open_clip
from cidery.errors import DataError, InputError, InputWarning, SettingError, UnreliableWarning
from cidery.files import match_names
from cidery.metrics import METRICS
from support.tiny_models import make_clip, make_pictures

pytestmark = pytest.mark.filterwarnings("ignore::cidery.errors.InputWarning")

CANDIDATES = {"a.jpg": "a dog runs", "b.jpg": "two cats", "c.jpg": ""}
REFERENCES = {
    "a.jpg": ["the dog is running", "a dog"],
    "b.jpg": ["cats on a sofa", "two cats sit"],
    "c.jpg": ["a bus"],
}
NAMES = [name for name, metric in METRICS.items() if metric.needs.extra == "clip"]


@pytest.fixture(scope="module")
def features() -> cidery.ImageFeatures:
    rng = np.random.default_rng(0)
    texts = list({*CANDIDATES.values(), *(t for g in REFERENCES.values() for t in g)})
    images = rng.normal(size=(3, 8))
    return cidery.ImageFeatures.build(
        list(CANDIDATES), images, texts, 0.5 + rng.normal(size=(len(texts), 8))
    )


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("clip")


@pytest.fixture(scope="module")
def clip(folder: Path) -> Any:
    """A random CLIP in `folder/model` as transformers has it; images are in `folder/images`."""
    made = make_clip(folder / "model")
    make_pictures(folder / "images", {"a.jpg": (40, 31), "b.jpg": (20, 57), "c.jpg": (32, 32)})
    return made


def cosine(one: np.ndarray, other: np.ndarray) -> float:
    return float(one @ other / np.linalg.norm(one) / np.linalg.norm(other))


def test_equations(features: cidery.ImageFeatures) -> None:
    vectors = dict(zip(features.captions, features.caption_vectors, strict=True))
    table = cidery.score(
        CANDIDATES,
        REFERENCES,
        [
            cidery.ClipScore(features=features),
            cidery.ClipScore(features=features, references=True),
            cidery.PacScore(features=features),
            cidery.PacScore(features=features, references=True),
        ],
    )
    for row, (image, caption) in enumerate(CANDIDATES.items()):
        seen = max(0.0, cosine(features.find_images([image])[0], vectors[caption]))
        best = max(cosine(vectors[caption], vectors[text]) for text in REFERENCES[image])
        best = max(0.0, best)
        for plain, with_references, weight in (
            ("clipscore", "refclipscore", 2.5),
            ("pac-s", "ref-pac-s", 2.0),
        ):
            assert table.each[plain][row] == pytest.approx(weight * seen, abs=1e-12)
            both = weight * seen + best
            mean = 2 * weight * seen * best / both if both else 0.0
            assert table.each[with_references][row] == pytest.approx(mean, abs=1e-12)
    assert "vectors:" + features.fingerprint in table.signatures["clipscore"]


def test_opposite_vectors_score_zero() -> None:
    features = cidery.ImageFeatures.build(["a"], [[1, 0]], ["no", "yes"], [[-1, 0], [1, 0]])
    metrics = [
        cidery.ClipScore(features=features),
        cidery.ClipScore(features=features, references=True),
    ]
    wrong = cidery.score({"a": "no"}, {"a": ["yes"]}, metrics)
    assert wrong.corpus == {"clipscore": 0.0, "refclipscore": 0.0}
    right = cidery.score({"a": "yes"}, {"a": ["yes"]}, metrics)
    assert right.corpus == {"clipscore": 2.5, "refclipscore": pytest.approx(5 / 3.5)}
    assert right.corpus["refclipscore"] == metrics[1].range[1]


@pytest.mark.parametrize("name", NAMES)
def test_laws(name: str, features: cidery.ImageFeatures) -> None:
    """Those of tests/laws that hold without a reference; others need features of any caption."""
    metric = type(METRICS[name])(features=features, references=METRICS[name].references)
    whole = cidery.score(CANDIDATES, REFERENCES, [metric])
    low, high = metric.range
    assert ((whole.each[name] >= low) & (whole.each[name] <= high)).all()
    for row, image in enumerate(CANDIDATES):
        alone = cidery.score({image: CANDIDATES[image]}, {image: REFERENCES[image]}, [metric])
        assert alone.each[name][0] == whole.each[name][row]
    turned = {image: REFERENCES[image][::-1] for image in reversed(REFERENCES)}
    assert (
        cidery.score(CANDIDATES, turned, [metric]).each[name].tobytes()
        == whole.each[name].tobytes()
    )
    twice = {image: [caption] * 2 for image, caption in CANDIDATES.items()}
    assert (
        cidery.score(twice, REFERENCES, [metric]).each[name].tolist()
        == np.repeat(whole.each[name], 2).tolist()
    )


def test_two_settings_in_one_run(features: cidery.ImageFeatures) -> None:
    other = cidery.ImageFeatures.build(
        features.images, features.image_vectors[::-1], features.captions, features.caption_vectors
    )
    both = cidery.score(
        CANDIDATES,
        REFERENCES,
        {"one": cidery.ClipScore(features=features), "two": cidery.ClipScore(features=other)},
    )
    for label, chosen in (("one", features), ("two", other)):
        alone = cidery.score(CANDIDATES, REFERENCES, [cidery.ClipScore(features=chosen)])
        assert both.each[label].tolist() == alone.each["clipscore"].tolist()
    assert both.signatures["one"] != both.signatures["two"]


class TestFiles:
    def save(self, path: Path, known: cidery.ImageFeatures, **more: Any) -> str:
        arrays = {
            "names": np.asarray(known.images),
            "features": known.image_vectors,
            "captions": np.asarray(known.captions),
            "text_features": known.caption_vectors,
        }
        np.savez(path, **{k: v for k, v in (arrays | more).items() if v is not None})
        return str(path)

    def test_layouts_are_equal(self, features: cidery.ImageFeatures, tmp_path: Path) -> None:
        npz = cidery.ImageFeatures.read(self.save(tmp_path / "all.npz", features))
        assert npz.captions == features.captions
        again = self.save(tmp_path / "again.npz", features)
        assert npz == cidery.ImageFeatures.read(again) != features.build(["a"], [[1.0]])
        named = dict(zip(features.images, features.image_vectors, strict=True))
        np.savez(tmp_path / "by_image.npz", **named)
        (tmp_path / "folder").mkdir()
        for name, vector in named.items():
            np.save(tmp_path / "folder" / f"{name}.npy", vector[None])
        np.save(tmp_path / "rows.npy", features.image_vectors)
        by_row = cidery.ImageFeatures.read(tmp_path / "rows.npy").find_images([2, 0])
        np.testing.assert_allclose(by_row, features.image_vectors[[2, 0]], rtol=1e-15)
        for path in ("by_image.npz", "folder"):
            found = cidery.ImageFeatures.read(tmp_path / path).find_images(features.images)
            np.testing.assert_allclose(found, features.image_vectors, rtol=1e-15)

    def test_command_line(
        self, features: cidery.ImageFeatures, tmp_path: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        from cidery.cli import main

        path = self.save(tmp_path / "all.npz", features)
        (tmp_path / "references.json").write_text(json.dumps(REFERENCES))
        (tmp_path / "results.json").write_text(json.dumps(CANDIDATES))
        expected = cidery.score(CANDIDATES, REFERENCES, f"clipscore:features={path}").corpus
        files = [str(tmp_path / "results.json"), str(tmp_path / "references.json")]
        assert main(["score", *files, "-m", f"clipscore:features={path}"]) == 0
        assert f"{next(iter(expected.values())):.4f}" in capsys.readouterr().out

    @pytest.mark.parametrize(
        ("more", "message"),
        [
            ({"features": np.full((3, 8), np.nan)}, "'a.jpg' holds NaN"),
            ({"features": np.zeros((3, 8))}, "'a.jpg' is all zeros"),
            ({"features": np.ones((2, 8))}, "3 images, but 2 vectors"),
            ({"features": np.ones((3, 5))}, "image vectors have 5 dimensions, caption vectors 8"),
            ({"features": np.ones(3)}, r"expected an array \[images, width\]"),
            ({"names": np.asarray(["a", "a", "b"])}, "1 duplicate images"),
            ({"text_features": None}, "must have both 'captions' and 'text_features'"),
            ({"names": None}, "but no 'names'"),
        ],
    )
    def test_wrong_arrays(
        self, more: Any, message: str, features: cidery.ImageFeatures, tmp_path: Path
    ) -> None:
        path = self.save(tmp_path / "wrong.npz", features, **more)
        with pytest.raises(DataError, match=message):
            cidery.ImageFeatures.read(path)

    def test_missing_data_is_named(self, features: cidery.ImageFeatures, tmp_path: Path) -> None:
        metric = cidery.ClipScore(features=features)
        with pytest.raises(DataError, match=r"features of 1 of 1 images: 'z\.jpg'; it has 3"):
            cidery.score({"z.jpg": "a dog"}, {"z.jpg": ["a dog"]}, [metric])
        with pytest.raises(DataError, match=r"1 of 1 captions, such as 'a cow'; pass the folder"):
            cidery.score({"a.jpg": "a cow"}, {"a.jpg": ["a dog"]}, [metric])
        with pytest.raises(
            SettingError, match=r"needs features= .*clipscore:features=features.npz"
        ):
            cidery.score(CANDIDATES, REFERENCES, "clipscore")
        with pytest.raises(SettingError, match="no such file or folder"):
            cidery.score(CANDIDATES, REFERENCES, "clipscore:features=none.npz")
        with pytest.raises(SettingError, match="features= or images=, not both"):
            cidery.ClipScore(features=features, images="photos")
        with pytest.raises(SettingError, match="no CLIP model in"):
            cidery.score(
                CANDIDATES, REFERENCES, [cidery.ClipScore(features=features, model=str(tmp_path))]
            )
        (tmp_path / "text.npz").write_text("no zip")
        with pytest.raises(DataError, match=r"neither an \.npy nor an \.npz file; expected a"):
            cidery.ImageFeatures.read(tmp_path / "text.npz")
        np.save(tmp_path / "objects.npy", np.asarray([{}], object), allow_pickle=True)
        with pytest.raises(DataError, match="Python objects, which are not read"):
            cidery.ImageFeatures.read(tmp_path / "objects.npy")


def test_names_of_images() -> None:
    names = ["1000_693b08cb07.jpg", "COCO_val2014_000000000042.jpg", "x.v2", "x.v3"]
    assert match_names(names, [42, "42", "x.v3", "x.v2", 7, 3]) == [1, 1, 3, 2, None, None]


@pytest.mark.model
class TestModel:
    def test_equal_to_transformers(self, clip: Any, folder: Path) -> None:
        torch = pytest.importorskip("torch")
        image_module = pytest.importorskip("PIL.Image")
        files = sorted((folder / "images").iterdir())
        texts = ["A photo depicts a dog's sofa!", "Two  CATS\n& 7 naïve\u00e9 犬", "", "dog " * 90]
        ours = open_clip(str(folder / "model"))
        with pytest.warns(UnreliableWarning, match="1 caption has more than 77 tokens"):
            texts_ours = ours.embed_captions(texts)
        pictures = [image_module.open(file).convert("RGB") for file in files]
        with torch.inference_mode():
            tokens = clip.tokenizer(
                texts, return_tensors="pt", padding=True, truncation=True, max_length=77
            )
            expected = clip.model.get_text_features(**tokens).numpy()
            seen = clip.model.get_image_features(**clip.processor(pictures, return_tensors="pt"))
        np.testing.assert_allclose(texts_ours, expected, rtol=0, atol=1e-5)
        np.testing.assert_allclose(ours.embed_images(files), seen.numpy(), rtol=0, atol=1e-5)

    def test_scores_follow(self, clip: Any, folder: Path) -> None:
        torch = pytest.importorskip("torch")
        model, images = str(folder / "model"), str(folder / "images")
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            warnings.simplefilter("ignore", InputWarning)  # a caption is empty
            table = cidery.score(
                CANDIDATES, REFERENCES, [cidery.ClipScore(model=model, images=images)]
            )
        with torch.inference_mode():
            tokens = clip.tokenizer(
                [f"A photo depicts {text}" for text in CANDIDATES.values()],
                return_tensors="pt",
                padding=True,
            )
            texts = clip.model.get_text_features(**tokens).numpy()
        seen = open_clip(model).embed_images([folder / "images" / name for name in CANDIDATES])
        expected = [2.5 * max(0.0, cosine(*pair)) for pair in zip(seen, texts, strict=True)]
        np.testing.assert_allclose(table.each["clipscore"], expected, rtol=0, atol=1e-5)
        signature = table.signatures["clipscore"]
        assert "|prompt:A photo depicts|" in signature
        assert "|long:cut-77|" in signature
        assert f"|weights:{open_clip(model).fingerprint}|" in signature

    @pytest.mark.usefixtures("clip")
    def test_older_layout_of_the_tokenizer(self, folder: Path, tmp_path: Path) -> None:
        for file in (folder / "model").iterdir():
            if file.name != "tokenizer.json":
                (tmp_path / file.name).symlink_to(file)
        texts = ["A photo depicts a dog's sofa!", "Two  CATS\n& 7 naïve 犬", ""]
        older = open_clip(str(tmp_path)).embed_captions(texts)
        assert (older == open_clip(str(folder / "model")).embed_captions(texts)).all()

    @pytest.mark.usefixtures("clip")
    @pytest.mark.parametrize(
        ("file", "change", "message"),
        [
            ("config.json", {"model_type": "bert"}, "model_type is 'bert', expected 'clip'"),
            ("config.json", {"projection_dim": 8}, "cannot load the CLIP model in"),
            ("preprocessor_config.json", {"crop_size": 24}, r"cannot encode images: .*24\*24"),
            ("preprocessor_config.json", None, "cannot load the CLIP model in"),
        ],
    )
    def test_wrong_folders(
        self, folder: Path, tmp_path: Path, file: str, change: dict[str, Any] | None, message: str
    ) -> None:
        for path in (folder / "model").iterdir():
            if path.name != file:
                (tmp_path / path.name).symlink_to(path)
        if change is not None:
            config = json.loads((folder / "model" / file).read_text())
            (tmp_path / file).write_text(json.dumps(config | change))
        with pytest.raises(DataError, match=message):
            open_clip(str(tmp_path)).embed_images([folder / "images" / "a.jpg"])

    def test_missing_weights(self, clip: Any, folder: Path, tmp_path: Path) -> None:
        from safetensors.torch import save_file

        for path in (folder / "model").iterdir():
            if path.suffix != ".safetensors":
                (tmp_path / path.name).symlink_to(path)
        weights = {k: v.clone() for k, v in clip.model.state_dict().items()}
        del weights["visual_projection.weight"]
        save_file(weights, tmp_path / "model.safetensors", {"format": "pt"})
        with pytest.raises(DataError, match="missing weights: visual_projection"):
            open_clip(str(tmp_path))

    @pytest.mark.usefixtures("clip")
    def test_vectors_are_cached(
        self, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("CIDERY_CACHE", str(tmp_path))
        metric = cidery.ClipScore(
            model=str(folder / "model"), images=str(folder / "images"), keep=True
        )
        first = cidery.score(CANDIDATES, REFERENCES, [metric])
        kind = type(open_clip(str(folder / "model")))
        for part in ("_encode_text", "_encode_image"):
            monkeypatch.setattr(kind, part, lambda *_: pytest.fail("computed again"))
        again = cidery.score(CANDIDATES, REFERENCES, [metric])
        assert again.each["clipscore"].tobytes() == first.each["clipscore"].tobytes()

    @pytest.mark.usefixtures("clip")
    def test_missing_data_is_named(self, folder: Path, tmp_path: Path) -> None:
        model = str(folder / "model")
        with pytest.raises(DataError, match="has no files for 1 of 1 images, such as 'z'"):
            cidery.score(
                {"z": "a dog"},
                {"z": ["a dog"]},
                [cidery.ClipScore(model=model, images=str(folder / "images"))],
            )
        wide = cidery.ImageFeatures.build(["a.jpg"], [[1.0, 0.0, 0.0]])
        with pytest.raises(DataError, match=r"vectors of width 3, the model .* of 16"):
            cidery.score(
                {"a.jpg": "a dog"}, {"a.jpg": ["x"]}, [cidery.ClipScore(features=wide, model=model)]
            )
        (tmp_path / "a.jpg").write_text("no image")
        with pytest.raises(InputError, match="cannot read the image"):
            cidery.score(
                {"a.jpg": "a dog"},
                {"a.jpg": ["x"]},
                [cidery.ClipScore(model=model, images=str(tmp_path))],
            )


def test_real_features(shared: Path) -> None:
    """Figures of the equations in NumPy on CLIP ViT-B/32's vectors of 100 images."""
    path = shared / "data" / "flickr8k_features" / "clip_vitb32_100images_500captions.npz"
    content = np.load(path)
    images = [str(name) for name in content["caption_image"]]
    candidates = dict(zip(images[::5], map(str, content["captions"][::5]), strict=True))
    references = {image: [] for image in candidates}
    for image, caption in zip(images, map(str, content["captions"]), strict=True):
        if caption != candidates[image]:
            references[image].append(caption)
    table = cidery.score(candidates, references, f"clipscore:features={path}")
    unit = [
        a / np.linalg.norm(a, axis=1, keepdims=True)
        for a in (content["features"].astype(float), content["text_features"].astype(float))
    ]
    place = {str(name): i for i, name in enumerate(content["names"])}
    expected = [2.5 * max(0, unit[0][place[i]] @ unit[1][5 * n]) for n, i in enumerate(candidates)]
    np.testing.assert_allclose(next(iter(table.each.values())), expected, rtol=1e-12)
    assert next(iter(table.corpus.values())) == pytest.approx(0.815, abs=0.005)
    names = list(candidates)
    wrong = dict(zip(names, (candidates[n] for n in names[1:] + names[:1]), strict=True))
    others = cidery.score(wrong, references, f"clipscore:features={path}")
    better = next(iter(table.each.values())) > next(iter(others.each.values()))
    assert better.mean() > 0.9
