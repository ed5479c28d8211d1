"""Small random models in folders, as Hugging Face lays them out, for each architecture."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest

SIZES = {
    "hidden_size": 32,
    "num_attention_heads": 4,
    "intermediate_size": 64,
    "num_hidden_layers": 3,
    "max_position_embeddings": 40,
    "initializer_range": 0.3,  # so that layers do something
}
KINDS = ("bert", "roberta", "mpnet", "xlm-roberta")
_CLASSES = {"bert": "Bert", "roberta": "Roberta", "mpnet": "MPNet", "xlm-roberta": "XLMRoberta"}
WORDS = ("a", "the", "dog", "cat", "runs", "sit", "on", "sofa", "two", "##s", "##ing", "big")


def make_model(kind: str, folder: Path, *, pickled: bool = False) -> Any:
    """Write a random model of that kind, and return it as transformers sees it."""
    transformers = pytest.importorskip("transformers", reason="transformers is not installed")
    torch = pytest.importorskip("torch", reason="torch is not installed")
    torch.manual_seed(0)
    size = make_tokenizer(kind, folder)
    config = getattr(transformers, f"{_CLASSES[kind]}Config")
    model = transformers.AutoModel.from_config(config(vocab_size=size, **SIZES)).eval()
    model.save_pretrained(folder)
    if pickled:
        torch.save(model.state_dict(), folder / "pytorch_model.bin")
        (folder / "model.safetensors").unlink()
    return model


def make_tokenizer(kind: str, folder: Path) -> int:
    """Write tokenizer.json, and return how many tokens it knows."""
    from tokenizers import (
        Regex,
        Tokenizer,
        decoders,
        models,
        normalizers,
        pre_tokenizers,
        processors,
    )

    folder.mkdir(parents=True, exist_ok=True)
    if kind == "roberta":
        known = {"<s>": 0, "<pad>": 1, "</s>": 2, "<unk>": 3}
        alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
        known |= {letter: place for place, letter in enumerate(alphabet, len(known))}
        known |= {"do": len(known), "dog": len(known) + 1, "Ġdog": len(known) + 2}
        merges = [("d", "o"), ("do", "g"), ("Ġ", "dog")]
        tokenizer = Tokenizer(models.BPE(known, merges, unk_token="<unk>"))
        tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
        tokenizer.decoder = decoders.ByteLevel()
        tokenizer.post_processor = processors.RobertaProcessing(("</s>", 2), ("<s>", 0))
    elif kind == "xlm-roberta":
        pieces = list_pieces()
        known = {text: place for place, (text, _) in enumerate(pieces)}
        tokenizer = Tokenizer(models.Unigram(pieces, unk_id=3))
        tokenizer.normalizer = normalizers.Sequence(
            [normalizers.NFKC(), normalizers.Replace(Regex(" {2,}"), " ")]
        )
        tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
            [pre_tokenizers.WhitespaceSplit(), pre_tokenizers.Metaspace()]
        )
        tokenizer.post_processor = processors.TemplateProcessing(
            single="<s> $A </s>", special_tokens=[("<s>", 0), ("</s>", 2)]
        )
        tokenizer.add_special_tokens(["<s>", "<pad>", "</s>", "<unk>", "<mask>"])
    else:
        first, last = ("[CLS]", "[SEP]") if kind == "bert" else ("<s>", "</s>")
        known = {text: n for n, text in enumerate([first, "[PAD]", last, "[UNK]", *WORDS])}
        tokenizer = Tokenizer(models.WordPiece(known, unk_token="[UNK]"))
        tokenizer.normalizer = normalizers.BertNormalizer()
        tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
        tokenizer.post_processor = processors.BertProcessing((last, 2), (first, 0))
    tokenizer.save(str(folder / "tokenizer.json"))
    (folder / "tokenizer_config.json").write_text(json.dumps({"model_max_length": 512}))
    return len(known)


SENTENCES = (
    "The two dogs, dog runs on a sofa. cat sit big",
    "zwei Hunde laufen am Strand, der Junge spielt über die Straße",
    "un chien court sur la plage de l'été",
    "собака бежит по пляжу, ребёнок играет",
    "一只狗在海滩上奔跑。",
    "犬が浜辺を走っている。",
    "كلب يركض على الشاطئ",
    "एक कुत्ता समुद्र तट पर दौड़ रहा है",
    "สุนัขวิ่งบนชายหาด",
    "개가 해변을 달리고 있다",
)


def list_pieces() -> list[tuple[str, float]]:
    """List pieces of many scripts with their scores, in the order of XLM-R."""
    letters = sorted({letter for sentence in SENTENCES for letter in sentence if letter != " "})
    words = {f"▁{word.strip('.,。')}" for sentence in SENTENCES for word in sentence.split()}
    halves = {word[: len(word) // 2 + 1] for word in words} | {word[-3:] for word in words}
    pieces = [(text, -3.0 - len(text) / 7) for text in sorted(words | halves) if len(text) > 1]
    single = [(text, -9.0 - place / 50) for place, text in enumerate(["▁", *letters])]
    first = [(text, 0.0) for text in ("<s>", "<pad>", "</s>", "<unk>")]
    return [*first, *single, *pieces, ("<mask>", 0.0)]


@dataclass(frozen=True)
class Clip:
    """A small random CLIP as transformers has it."""

    model: Any
    tokenizer: Any
    processor: Any


def make_clip(folder: Path) -> Clip:
    """Write a random CLIP model with both layouts of its tokenizer."""
    transformers = pytest.importorskip("transformers", reason="transformers is not installed")
    torch = pytest.importorskip("torch", reason="torch is not installed")
    pytest.importorskip("PIL", reason="Pillow is not installed")
    from tokenizers import pre_tokenizers

    folder.mkdir(parents=True)
    letters = sorted(pre_tokenizers.ByteLevel.alphabet())
    merges = [("d", "o"), ("do", "g</w>"), ("c", "a"), ("ca", "t"), ("o", "f")]
    merged = [one + other for one, other in merges]
    pieces = [*letters, *(f"{letter}</w>" for letter in letters), *merged]
    pieces += ["<|startoftext|>", "<|endoftext|>"]
    known = {text: place for place, text in enumerate(dict.fromkeys(pieces))}
    (folder / "vocab.json").write_text(json.dumps(known))
    lines = ["#version: 0.2", *(f"{one} {other}" for one, other in merges)]
    (folder / "merges.txt").write_text("\n".join(lines) + "\n")
    tokenizer = transformers.CLIPTokenizerFast(
        vocab_file=str(folder / "vocab.json"), merges_file=str(folder / "merges.txt")
    )
    tokenizer.save_pretrained(folder)
    sizes = {
        "hidden_size": 32,
        "intermediate_size": 48,
        "num_hidden_layers": 2,
        "num_attention_heads": 4,
        "projection_dim": 16,
    }
    ends = {"bos_token_id": known["<|startoftext|>"], "eos_token_id": known["<|endoftext|>"]}
    config = transformers.CLIPConfig(
        text_config=sizes | ends | {"vocab_size": len(known), "max_position_embeddings": 77},
        vision_config=sizes | {"image_size": 32, "patch_size": 8},
        projection_dim=16,
        initializer_factor=4.0,  # so that layers do something
    )
    torch.manual_seed(0)
    model = transformers.CLIPModel(config).eval()
    model.save_pretrained(folder)
    processor = transformers.CLIPImageProcessor(
        size={"shortest_edge": 32}, crop_size={"height": 32, "width": 32}
    )
    processor.save_pretrained(folder)
    return Clip(model, tokenizer, processor)


def make_pictures(folder: Path, sizes: Mapping[str, tuple[int, int]]) -> None:
    """Write images of noise, of that many pixels."""
    from PIL import Image

    folder.mkdir(parents=True)
    rng = np.random.default_rng(0)
    for name, (width, height) in sizes.items():
        pixels = rng.integers(0, 256, (height, width, 3), dtype=np.uint8)
        Image.fromarray(pixels).save(folder / name, quality=95)
