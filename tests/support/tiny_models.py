"""Small random models in folders, as Hugging Face lays them out, for each architecture."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

SIZES = {
    "hidden_size": 32,
    "num_attention_heads": 4,
    "intermediate_size": 64,
    "num_hidden_layers": 3,
    "max_position_embeddings": 40,
    "initializer_range": 0.3,  # so that layers do something
}
KINDS = ("bert", "roberta", "mpnet")
WORDS = ("a", "the", "dog", "cat", "runs", "sit", "on", "sofa", "two", "##s", "##ing", "big")


def make_model(kind: str, folder: Path, *, pickled: bool = False) -> Any:
    """Write a random model of that kind, and return it as transformers sees it."""
    transformers = pytest.importorskip("transformers", reason="transformers is not installed")
    torch = pytest.importorskip("torch", reason="torch is not installed")
    torch.manual_seed(0)
    size = make_tokenizer(kind, folder)
    config = getattr(
        transformers, {"bert": "Bert", "roberta": "Roberta", "mpnet": "MPNet"}[kind] + "Config"
    )
    model = transformers.AutoModel.from_config(config(vocab_size=size, **SIZES)).eval()
    model.save_pretrained(folder)
    if pickled:
        torch.save(model.state_dict(), folder / "pytorch_model.bin")
        (folder / "model.safetensors").unlink()
    return model


def make_tokenizer(kind: str, folder: Path) -> int:
    """Write tokenizer.json, and return how many tokens it knows."""
    from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers, processors

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
