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
