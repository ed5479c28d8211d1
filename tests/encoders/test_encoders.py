"""Encoders: the same states as transformers, whatever runs the layers."""

from __future__ import annotations

import json
import shutil
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import safetensors.numpy

import cidery
from cidery import storage
from cidery.encoders import Encoder, choose_beta, choose_layer, get_encoder
from cidery.errors import DataError, InputError, MissingExtraError, SettingError
from cidery.runtime import use_progress
from support.example import Example
from support.tiny_models import KINDS

# For some of the tiny models, letters are tokens.
pytestmark = pytest.mark.filterwarnings("ignore:.*more than 38 tokens")

CAPTIONS = [
    "a dog runs on the grass",
    "Two cats sitting, sleeping on a big sofa.",
    "",
    "  dog ",
    "an unknown wombat",
    "a dog runs on the grass",
]


def hidden_states(model: Any, ids: Any, layer: Any) -> Any:
    import torch

    with torch.no_grad():
        found = model(torch.tensor([ids]), output_hidden_states=True).hidden_states
    return found[layer][0].numpy()


@pytest.mark.parametrize("device", ["cpu", "torch"])
@pytest.mark.parametrize("kind", KINDS)
def test_states_are_those_of_transformers(
    kind: Any, device: Any, tmp_path: Path, make_model: Any
) -> None:
    model = make_model(kind, tmp_path / kind)
    encoder = get_encoder(tmp_path / kind, device)
    assert (encoder.layers, encoder.name) == (3, f"folder:{kind}")
    for layer in (0, 1, 3):
        tokens = encoder.tokens(CAPTIONS, layer=layer)
        for place in range(len(CAPTIONS)):
            rows = tokens.rows(place)
            if rows.stop - rows.start > (encoder.window or 0):
                continue  # in parts: see test_long_captions.py
            expected = hidden_states(model, tokens.ids[rows].tolist(), layer)
            np.testing.assert_allclose(tokens.states[rows], expected, rtol=1e-4, atol=1e-5)
    assert tokens.rows(0) == tokens.rows(5)  # equal captions go through once


@pytest.mark.parametrize("kind", KINDS)
def test_embeddings_are_normalized_means(kind: Any, tmp_path: Path, make_model: Any) -> None:
    make_model(kind, tmp_path)
    encoder = get_encoder(tmp_path)
    tokens = encoder.tokens(CAPTIONS)
    means = np.stack([tokens.states[tokens.rows(i)].mean(axis=0) for i in range(len(CAPTIONS))])
    expected = means / np.linalg.norm(means, axis=1, keepdims=True)
    np.testing.assert_allclose(encoder.embed(CAPTIONS), expected, rtol=1e-5, atol=1e-6)
    assert encoder.embed([]).shape == (0, 32)
    assert encoder.tokens([]).states.shape == (0, 32)


def test_minilm_is_what_transformers_makes_of_it(minilm: Encoder) -> None:
    transformers = pytest.importorskip("transformers", reason="transformers is not installed")
    folder = storage.find_model("minilm")
    model = transformers.AutoModel.from_pretrained(folder).eval()
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    tokens = minilm.tokens(CAPTIONS)
    for place, caption in enumerate(CAPTIONS):
        rows = tokens.rows(place)
        assert tokens.ids[rows].tolist() == tokenizer(caption)["input_ids"]
        expected = hidden_states(model, tokens.ids[rows].tolist(), -1)
        np.testing.assert_allclose(tokens.states[rows], expected, atol=2e-5)
    near, far = (
        minilm.embed(["a puppy sleeps", "a dog is sleeping", "two buses"])[1:]
        @ (minilm.embed(["a puppy sleeps"])[0])
    )
    assert near > 0.7 > 0.2 > far


def test_a_caption_has_the_same_bits_in_any_company(minilm: Encoder, example: Example) -> None:
    captions = [caption for group in example.references.values() for caption in group][:150]
    together = minilm.tokens(captions, threads=2)
    assert minilm.tokens(captions, threads=1).states.tobytes() == together.states.tobytes()
    for place in (0, 1, 77, 149):
        alone = minilm.tokens([captions[place]])
        assert alone.states.tobytes() == together.states[together.rows(place)].tobytes()
        assert minilm.embed([captions[place]]).tobytes() == (
            minilm.embed(captions)[place].tobytes()
        )


def test_threads_may_share_an_encoder(minilm: Encoder) -> None:
    expected = minilm.embed(CAPTIONS).tobytes()
    found = []
    workers = [
        threading.Thread(target=lambda: found.append(minilm.embed(CAPTIONS).tobytes()))
        for _ in range(4)
    ]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert found == [expected] * 4


def test_pickled_weights_are_read_without_running_them(tmp_path: Path, make_model: Any) -> None:
    make_model("bert", tmp_path / "safe")
    make_model("bert", tmp_path / "pickled", pickled=True)
    safe, pickled = (get_encoder(tmp_path / name) for name in ("safe", "pickled"))
    assert safe.embed(CAPTIONS).tobytes() == pickled.embed(CAPTIONS).tobytes()
    assert safe.fingerprint != pickled.fingerprint  # of the files
    (tmp_path / "evil").mkdir()
    for name in ("config.json", "tokenizer.json"):
        (tmp_path / "evil" / name).write_bytes((tmp_path / "safe" / name).read_bytes())
    (tmp_path / "evil" / "pytorch_model.bin").write_bytes(
        b"cposix\nsystem\n(S'echo ran > ran'\ntR."
    )
    with pytest.raises(DataError, match=r"pytorch_model\.bin cannot be read"):
        get_encoder(tmp_path / "evil")


def test_tokens_know_their_characters(tmp_path: Path, make_model: Any) -> None:
    for kind in KINDS:
        make_model(kind, tmp_path / kind)
        encoder = get_encoder(tmp_path / kind)
        caption = " The dogs, dog"
        found = encoder.tokenize(caption)
        assert found[0].word is None and found[-1].word is None
        words: dict[int, str] = {}
        for token in found[1:-1]:
            words[token.word] = words.get(token.word, "") + caption[token.start : token.end]
        assert [word.strip() for word in words.values()] == ["The", "dogs", ",", "dog"]


def test_vocabularies_tell_words_from_pieces_that_continue_them(
    tmp_path: Path, make_model: Any
) -> None:
    for kind in ("bert", "roberta"):
        make_model(kind, tmp_path / kind)
        encoder = get_encoder(tmp_path / kind)
        ids = encoder.tokens(["dogs, dog"]).ids[1:-1]
        assert [encoder.tokens([""]).vocabulary[i] for i in ids] == {
            "bert": ["dog", "##s", "[UNK]", "dog"],
            "roberta": ["dog", "##s", ",", "dog"],
        }[kind]


def change(files: Any, name: Any, alter: Any) -> Any:
    """Return weights of which one array is altered."""
    arrays = safetensors.numpy.load(files["model.safetensors"])
    return safetensors.numpy.save(arrays | {name: alter(arrays[name])})


def test_damaged_folders_are_named(tmp_path: Path, make_model: Any) -> None:
    make_model("bert", tmp_path / "good")
    files = {path.name: path.read_bytes() for path in (tmp_path / "good").iterdir()}
    config, tokenizer = (json.loads(files[n]) for n in ("config.json", "tokenizer.json"))
    dense = "encoder.layer.0.output.dense.weight"
    words = "embeddings.word_embeddings.weight"
    cases = {
        "kind": (
            {"config.json": json.dumps(config | {"model_type": "t5"}).encode()},
            "unsupported model_type 't5'",
        ),
        "activation": (
            {"config.json": json.dumps(config | {"hidden_act": "relu"}).encode()},
            "relu",
        ),
        "json": ({"config.json": b"{"}, r"config\.json is damaged"),
        "header": ({"model.safetensors": b"\xff" * 40}, r"model\.safetensors is damaged"),
        "cut": ({"model.safetensors": files["model.safetensors"][:-50]}, "damaged"),
        "fewer": (
            {"config.json": json.dumps(config | {"num_hidden_layers": 4}).encode()},
            "missing weights",
        ),
        "tokenizer": ({"tokenizer.json": b"[]"}, r"tokenizer\.json cannot be read"),
        "no tokenizer": ({"tokenizer.json": None}, r"no tokenizer\.json or"),
        "no weights": ({"model.safetensors": None}, "no model.safetensors or"),
        "empty weights": (
            {"model.safetensors": b""},
            r"model\.safetensors is damaged: .*header too small",
        ),
        "no config": (
            {"config.json": None},
            r"no config\.json in .* expected a model folder",
        ),
        "list": ({"config.json": b"[]"}, r"config\.json is damaged: expected an object"),
        "heads": (
            {"config.json": json.dumps(config | {"num_attention_heads": "4"}).encode()},
            r"config\.json: num_attention_heads must be at least 1, not '4'$",
        ),
        "epsilon": (
            {"config.json": json.dumps(config | {"layer_norm_eps": "x"}).encode()},
            "layer_norm_eps must be a number, not 'x'$",
        ),
        "positions": (
            {
                "config.json": json.dumps(
                    config | {"position_embedding_type": "relative_key"}
                ).encode()
            },
            "unsupported position_embedding_type 'relative_key'; supported: 'absolute'$",
        ),
        "limit": (
            {"tokenizer_config.json": b'{"model_max_length": 0}'},
            r"tokenizer_config\.json: model_max_length must be at least 3, not 0$",
        ),
        "turned": (
            {"model.safetensors": change(files, dense, lambda array: array.T.copy())},
            rf"{dense} has shape \[64, 32\], expected \[32, 64\]$",
        ),
        "words": (
            {"model.safetensors": change(files, words, lambda array: array[:3].copy())},
            r"tokenizer\.json has more tokens than the model, which has 3$",
        ),
        "bare": (
            {"tokenizer.json": json.dumps(tokenizer | {"post_processor": None}).encode()},
            r"tokenizer\.json adds no special tokens such as \[CLS\]",
        ),
        "pickle": (
            {"model.safetensors": None, "pytorch_model.bin": b"hello"},
            r"pytorch_model\.bin cannot be read",
        ),
    }
    for name, (changes, message) in cases.items():
        folder = tmp_path / name
        folder.mkdir()
        for file, content in (files | changes).items():
            if content is not None:
                (folder / file).write_bytes(content)
        with pytest.raises(DataError, match=message):
            get_encoder(folder)


def test_weights_that_are_no_numbers(tmp_path: Path, make_model: Any) -> None:
    make_model("bert", tmp_path)
    path = tmp_path / "model.safetensors"
    name = "encoder.layer.1.output.dense.weight"
    path.write_bytes(change({path.name: path.read_bytes()}, name, lambda array: array * np.nan))
    encoder = get_encoder(tmp_path)
    with pytest.raises(DataError, match=r"the model returns NaN or infinite values$"):
        encoder.embed(["a dog"])


def test_weights_of_sixteen_bits(tmp_path: Path, make_model: Any) -> None:
    torch = pytest.importorskip("torch", reason="torch is not installed")
    model = make_model("bert", tmp_path)
    for kind in (torch.bfloat16, torch.float16):
        model.to(kind).save_pretrained(tmp_path)
        ids = get_encoder(tmp_path).tokens(["a dog"]).ids.tolist()
        expected = hidden_states(model.float(), ids, 3)
        found = get_encoder(tmp_path).tokens(["a dog"]).states
        np.testing.assert_allclose(found, expected, atol=1e-5)


def test_weights_that_change_are_read_again(tmp_path: Path, make_model: Any) -> None:
    make_model("bert", tmp_path)
    before = get_encoder(tmp_path)
    assert get_encoder(tmp_path) is before
    path = tmp_path / "model.safetensors"
    name = "encoder.layer.1.output.dense.weight"
    changed = change({path.name: path.read_bytes()}, name, np.negative)
    (tmp_path / "new").write_bytes(changed)
    (tmp_path / "new").replace(path)
    after = get_encoder(tmp_path)
    assert before.fingerprint != after.fingerprint
    assert not np.allclose(before.embed(["a dog"]), after.embed(["a dog"]))


@pytest.mark.parametrize("keep", [False, True])
def test_settings_and_tokenizers_that_change_are_read_again(
    keep: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, make_model: Any
) -> None:
    """A model is more than its weights: neither memory nor disk may give what is out of date."""
    monkeypatch.setenv("CIDERY_CACHE", str(tmp_path / "cache"))
    folder = tmp_path / "bert"
    make_model("bert", folder)
    before = get_encoder(folder, keep=keep).embed(["a dog"])
    assert get_encoder(folder, keep=keep) == get_encoder(folder, keep=keep)
    config = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps(config | {"layer_norm_eps": 0.5}))
    other_settings = get_encoder(folder, keep=keep).embed(["a dog"])
    assert not np.allclose(before, other_settings)
    tokenizer = json.loads((folder / "tokenizer.json").read_text())
    tokens = tokenizer["model"]["vocab"]
    tokens["dog"], tokens["cat"] = tokens["cat"], tokens["dog"]
    (folder / "tokenizer.json").write_text(json.dumps(tokenizer))
    other_tokens = get_encoder(folder, keep=keep).embed(["a dog"])
    assert not np.allclose(other_settings, other_tokens)


def test_signatures_name_what_computes(tmp_path: Path, example: Example, make_model: Any) -> None:
    make_model("bert", tmp_path)
    kernels = {device: get_encoder(tmp_path, device).kernel for device in ("cpu", "torch")}
    assert kernels["cpu"] in ("avx2", "portable")
    assert kernels["torch"].startswith("torch-")
    assert get_encoder(tmp_path, keep=True).kernel == kernels["cpu"]
    for device, kernel in kernels.items():
        for metric in (cidery.BertScore, cidery.Consensus):
            table = cidery.score(
                ["a dog"], [["the dog"]], metrics=[metric(encoder=tmp_path, device=device)]
            )
            (signature,) = table.signatures.values()
            assert f"|device:{device}|" in signature and f"|kernel:{kernel}|" in signature


@pytest.mark.parametrize(
    "metric", [cidery.BertScore, cidery.Irv, cidery.IrvUnigram, cidery.Consensus]
)
def test_settings_are_given_by_name(metric: Any) -> None:
    with pytest.raises(TypeError, match="positional argument"):
        metric("recall")


def test_a_function_remembers_no_words() -> None:
    """Ids depend on the words alone, whatever was encoded before."""

    def spell(captions: Any) -> Any:
        return [(c.split(), [[1.0, len(w)] for w in c.split()]) for c in captions]

    first, second = get_encoder(spell), get_encoder(spell)
    assert first == second
    second.tokens(["some other words"])
    assert first.tokens(["a dog"]).ids.tolist() == second.tokens(["a dog"]).ids.tolist()
    assert vars(first) == {"function": spell, "given_name": None}


def test_a_known_model_with_other_weights_is_refused(
    minilm: Encoder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its scores would be others, without a lens, under the same name."""
    source = storage.MODELS["minilm"]
    folder = tmp_path / source.path.name
    shutil.copytree(storage.find_model("minilm"), folder)
    monkeypatch.setenv("CIDERY_CACHE", str(tmp_path))
    with (folder / "model.safetensors").open("r+b") as file:
        file.seek(-1, 2)
        file.write(b"?")
    with pytest.raises(
        DataError,
        match=r"are not those of minilm: their SHA-256 is .*; download them with: cidery da",
    ):
        get_encoder("minilm")


def test_a_known_model_with_another_tokenizer_is_refused(
    minilm: Encoder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its name and weights are all that signatures have of it."""
    source = storage.MODELS["minilm"]
    folder = tmp_path / source.path.name
    shutil.copytree(storage.find_model("minilm"), folder)
    monkeypatch.setenv("CIDERY_CACHE", str(tmp_path))
    with (folder / "tokenizer.json").open("a") as file:
        file.write(" ")
    with pytest.raises(DataError, match=r"tokenizer\.json is missing or not that of minilm; downl"):
        get_encoder("minilm")


def test_what_is_no_list_of_captions(tmp_path: Path, make_model: Any) -> None:
    make_model("bert", tmp_path)
    for encoder in (get_encoder(tmp_path), get_encoder(np.ones)):
        with pytest.raises(InputError, match=r"^expected a list of captions, not one: 'a dog'$"):
            encoder.embed("a dog")
        with pytest.raises(InputError, match=r"^caption 2 is 3, expected text$"):
            encoder.embed(["a dog", 3])


def test_layers_and_names_that_are_not(tmp_path: Path, make_model: Any) -> None:
    make_model("bert", tmp_path)
    with pytest.raises(SettingError, match=r"has layers 0 to 3, not 4$"):
        get_encoder(tmp_path).tokens(["a"], layer=4)
    with pytest.raises(
        SettingError, match=r"^no encoder 'glove': neither minilm nor mpnet nor a f"
    ):
        get_encoder("glove")
    with pytest.raises(SettingError, match=r"^no encoder '': neither minilm nor mpnet nor a f"):
        get_encoder("")
    with pytest.raises(
        SettingError,
        match=r"^encoder must be a name, a folder or a hashable function, not 3$",
    ):
        get_encoder(3)
    with pytest.raises(SettingError, match=r"^torch cannot use the device 'toaster'"):
        get_encoder(tmp_path, "toaster")


def test_functions_as_encoders() -> None:
    calls = []

    def lengths(captions: Any) -> Any:
        calls.append(list(captions))
        return np.asarray([[len(caption), 1.0] for caption in captions])

    encoder = get_encoder(lengths)
    found = encoder.embed(["abc", "d", "abc"])
    assert calls == [["abc", "d"]]  # each caption once
    np.testing.assert_allclose(np.linalg.norm(found, axis=1), 1, rtol=1e-6)
    assert encoder.name.endswith("lengths") and encoder.fingerprint == "unknown"
    with pytest.raises(InputError, match="must return, for each caption, its words and an array"):
        encoder.tokens(["a dog"])
    with pytest.raises(InputError, match=r"returned 1 rows for 2 captions$"):
        get_encoder(lambda _: [[1.0]]).embed(["a", "b"])


def test_functions_word_by_word() -> None:
    def letters(captions: Any) -> Any:
        return [(c.split(), np.asarray([[ord(w[0]), len(w)] for w in c.split()])) for c in captions]

    encoder = get_encoder(letters)
    tokens = encoder.tokens(["a dog", "", "dog a"])
    assert [tokens.vocabulary[i] for i in tokens.ids] == ["a", "dog", "", "dog", "a"]
    assert tokens.special.tolist() == [False, False, True, False, False]
    assert [(t.text, t.start, t.end) for t in encoder.tokenize("a dog")] == [
        ("a", 0, 1),
        ("dog", 2, 5),
    ]
    with pytest.raises(SettingError, match="is a function and has no layers"):
        encoder.tokens(["a"], layer=1)


@pytest.mark.parametrize(
    ("give", "message"),
    [
        (lambda _: None, r"must return a result for each caption, not None$"),
        (lambda _: [(["a"], np.ones((1, 4)))] * 3, r"returned 3 rows for 2 captions$"),
        (lambda _: ["", ""], r"must return, for each caption, its words and an array"),
        (
            lambda _: [(["a", "dog"], np.ones((1, 4)))] * 2,
            r"\[2, width\] for 'a dog', not \[1, 4\]$",
        ),
        (lambda _: [(["a", "dog"], np.ones(4))] * 2, r"\[2, width\] for 'a dog', not \[4\]$"),
        (lambda _: [(["a"], [["x"]])] * 2, r"for 'a dog': could not convert"),
        (lambda _: [([1], np.ones((1, 4)))] * 2, r"not all words are strings$"),
        (lambda _: [(["a"], np.full((1, 4), np.nan))] * 2, r"not NaN or infinity$"),
        (
            lambda _: [(["a"], np.ones((1, n))) for n in (4, 3)],
            r"of 3 dimensions for 'cat', of 4 for an earlier caption$",
        ),
    ],
)
def test_functions_that_return_something_else(give: Any, message: Any) -> None:
    with pytest.raises(InputError, match=rf"^callable:.*{message}"):
        get_encoder(give).tokens(["a dog", "cat"])


def test_functions_that_embed_something_else() -> None:
    with pytest.raises(InputError, match=r"an array \[captions, width\], not \[2, 1, 1\]$"):
        get_encoder(lambda _: np.ones((2, 1, 1))).embed(["a", "b"])
    with pytest.raises(InputError, match=r"not NaN or infinity$"):
        get_encoder(lambda _: [[np.inf], [1.0]]).embed(["a", "b"])

    def by_word(captions: Any) -> Any:  # pairs may come as lists, one after another
        return ([c.split(), [[1.0, 2.0] for _ in c.split()]] for c in captions)

    found = get_encoder(by_word).embed(["a dog", ""])
    np.testing.assert_allclose(found, [[0.2**0.5, 0.8**0.5], [0, 0]], rtol=1e-6)


def test_calibrated_values(tmp_path: Path, minilm: Encoder, make_model: Any) -> None:
    assert choose_layer(minilm) == choose_layer(minilm, None) and choose_layer(minilm, 2) == 2
    assert 0 < choose_beta(minilm) < 1 and choose_beta(minilm, 0.7) == 0.7
    make_model("bert", tmp_path / "bert-base-uncased")
    make_model("bert", tmp_path / "mine")
    assert choose_beta(get_encoder(tmp_path / "bert-base-uncased")) == 0.4
    with pytest.raises(SettingError, match=r"^the encoder folder:mine has no default beta; set"):
        choose_beta(get_encoder(tmp_path / "mine"))
    assert choose_layer(get_encoder(tmp_path / "mine")) == 3


def test_without_tokenizers_the_extra_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, make_model: Any
) -> None:
    make_model("bert", tmp_path)
    monkeypatch.setitem(__import__("sys").modules, "tokenizers", None)
    with pytest.raises(
        MissingExtraError, match=r"install it with: pip install 'cidery\[contextual"
    ):
        get_encoder(tmp_path)


def test_encoding_is_reported(minilm: Encoder) -> None:
    messages = []
    with use_progress(lambda what, share: messages.append((what, share))):
        minilm.embed(["a dog"])
    assert messages == [("encoding captions by minilm", 0.0)]


class Refusing:
    """Stands where an encoder's layers were, and encodes nothing that it has not seen."""

    def __init__(self, kernel: Any) -> None:
        self.kernel = kernel

    def run(self, *_arguments: Any) -> None:
        raise AssertionError("a caption went through the model a second time")


def test_kept_vectors_are_the_same_bits(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, make_model: Any
) -> None:
    monkeypatch.setenv("CIDERY_CACHE", str(tmp_path / "cache"))
    make_model("bert", tmp_path / "bert")
    plain = get_encoder(tmp_path / "bert")
    kept = get_encoder(tmp_path / "bert", keep=True)
    assert (kept.name, kept.fingerprint, kept.layers) == (plain.name, plain.fingerprint, 3)
    for _ in range(2):
        assert np.array_equal(kept.embed(CAPTIONS), plain.embed(CAPTIONS))
        for layer in (1, None):
            ours, theirs = kept.tokens(CAPTIONS, layer), plain.tokens(CAPTIONS, layer)
            for name in ("states", "ids", "special", "starts", "ends"):
                assert np.array_equal(getattr(ours, name), getattr(theirs, name)), name
            assert ours.tokenize("a dog") == theirs.tokenize("a dog")
    assert kept.embed([]).shape == plain.embed([]).shape
    monkeypatch.setattr(plain, "_layers", Refusing(plain.kernel))
    assert len(kept.embed(CAPTIONS)) == len(CAPTIONS)
    with pytest.raises(AssertionError, match="a second time"):
        kept.embed(["a caption that is new"])


def test_vectors_of_functions_are_not_kept() -> None:
    with pytest.raises(SettingError, match="cannot be cached"):
        get_encoder(lambda captions: np.ones((len(captions), 2)), keep=True)


def test_keeping_vectors_changes_no_score_and_no_signature(
    example: Example, minilm: Encoder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CIDERY_CACHE", str(tmp_path))
    tables = [
        cidery.score(example.system_a, example.references, metrics=[cidery.BertScore(keep=keep)])
        for keep in (False, True, True)
    ]
    first, second, third = (table.to_dict() for table in tables)
    assert first == second == third
    assert (tmp_path / "embeddings-v1.sqlite").exists()
