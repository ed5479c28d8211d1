"""Encoders of many languages: Unigram tokenizers, SentencePiece's files, words without blanks."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import cidery
from cidery.encoders import get_encoder
from cidery.errors import DataError
from support.tiny_models import SENTENCES, list_pieces

pytest.importorskip("tokenizers", reason="needs tokenizers")

ODD = "\u200b\u200d\u0301\u064b\ufeffｶﾞＡ①ﬁ👩‍👩‍👧😀½…—«»„“¿、。"


def write_sentencepiece(model_type: int = 1) -> bytes:
    """Return the pieces of the small model in SentencePiece's format, without XLM-R's tokens."""
    proto = pytest.importorskip("sentencepiece.sentencepiece_model_pb2")
    model = proto.ModelProto()
    for text, score in [("<unk>", 0.0), ("<s>", 0.0), ("</s>", 0.0), *list_pieces()[4:-1]]:
        model.pieces.add(piece=text, score=score)
    model.trainer_spec.model_type = model_type
    model.normalizer_spec.name = "identity"
    data: bytes = model.SerializeToString()
    return data


def draw_captions(count: int) -> list[str]:
    rng = random.Random(5)
    letters = [letter for sentence in SENTENCES for letter in sentence] + list(ODD)
    drawn = ["".join(rng.choices(letters, k=rng.randint(1, 25))) for _ in range(count)]
    words = [word for sentence in SENTENCES for word in sentence.split()]
    return [*SENTENCES, *drawn, *(" ".join(rng.choices(words, k=6)) for _ in range(count))]


def test_tokens_and_states_are_those_of_transformers(tmp_path: Path, make_model: Any) -> None:
    model = make_model("xlm-roberta", tmp_path / "xlmr")
    import torch
    import transformers

    theirs = transformers.XLMRobertaTokenizerFast(
        tokenizer_file=str(tmp_path / "xlmr" / "tokenizer.json")
    )
    encoder = get_encoder(tmp_path / "xlmr")
    captions = draw_captions(60)
    tokens = encoder.tokens(captions)
    for place, caption in enumerate(captions):
        rows = tokens.rows(place)
        ids = theirs(caption.strip(), truncation=True, max_length=38)["input_ids"]
        assert tokens.ids[rows].tolist() == ids
        if place % 7 == 0:
            with torch.no_grad():
                expected = model(torch.tensor([ids])).last_hidden_state[0].numpy()
            np.testing.assert_allclose(tokens.states[rows], expected, atol=1e-5)


def test_sentencepiece_files_are_read(tmp_path: Path, make_model: Any) -> None:
    """The same tokens as from tokenizer.json, apart from what its normal form changes."""
    make_model("xlm-roberta", tmp_path / "xlmr")
    folder = tmp_path / "xlmr"
    expected = get_encoder(folder).tokens(SENTENCES)
    (folder / "tokenizer.json").unlink()
    (folder / "sentencepiece.bpe.model").write_bytes(write_sentencepiece())
    found = get_encoder(folder).tokens(SENTENCES)
    assert found.ids.tolist() == expected.ids.tolist()
    np.testing.assert_array_equal(found.states, expected.states)
    (folder / "sentencepiece.bpe.model").write_bytes(write_sentencepiece(model_type=2))
    with pytest.raises(DataError, match="not a Unigram model; save the folder with a tokenizer"):
        get_encoder(folder)
    for damaged in (b"", b"\x0a\xff\xff", write_sentencepiece()[:-3], b"\x0a\x02\x08\x01" * 9):
        (folder / "sentencepiece.bpe.model").write_bytes(damaged)
        with pytest.raises(DataError, match="is damaged"):
            get_encoder(folder)


def test_words_of_scripts_without_blanks(tmp_path: Path, make_model: Any) -> None:
    make_model("xlm-roberta", tmp_path)
    encoder = get_encoder(tmp_path)
    for caption, expected in [
        ("The dogs, dog", ["The", "dogs", ",", "dog"]),
        ("犬が走っている。", ["犬", "が", "走", "っ", "ている", "。"]),
    ]:
        words: dict[int | None, list[int]] = {}
        for token in encoder.tokenize(caption)[1:-1]:
            words.setdefault(token.word, []).extend([token.start, token.end])
        found = [caption[min(places) : max(places)].strip() for places in words.values()]
        assert found == expected


def test_vocabularies_and_stop_words(tmp_path: Path, make_model: Any) -> None:
    make_model("xlm-roberta", tmp_path)
    encoder = get_encoder(tmp_path)
    ids = encoder.tokens(["der Junge"]).ids[1:-1]
    assert [encoder.tokens([""]).vocabulary[i] for i in ids] == ["der", "Junge"]
    metrics = [cidery.Irv(encoder=tmp_path, beta=0.5, stop_words=name) for name in ("german", None)]
    references = {"a": ["der Junge spielt über die Straße"]}
    german, none = cidery.score(
        {"a": "der Junge"}, references, metrics, language="de"
    ).corpus.values()
    assert german != none
