"""XLM-R's tokenizer from `sentencepiece.bpe.model`, for folders without tokenizer.json.

The file is read by the package `sentencepiece`; its pieces are run by `tokenizers`, which gives the
position of each token in the caption. Token ids are XLM-R's: four special tokens, the pieces
without SentencePiece's first three, and `<mask>`.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from cidery.errors import DataError, MissingExtraError

if TYPE_CHECKING:
    import tokenizers

NAME = "sentencepiece.bpe.model"

_SPECIAL = ("<s>", "<pad>", "</s>", "<unk>")
_SKIPPED = 3
"""Number of SentencePiece's own special tokens."""


def read_sentencepiece(path: Path) -> tokenizers.Tokenizer:
    """Read a Unigram model; DataError if the file is damaged or of another type."""
    from tokenizers import Regex, Tokenizer, models, normalizers, pre_tokenizers, processors

    try:
        from google.protobuf.message import DecodeError
        from sentencepiece import sentencepiece_model_pb2
    except ImportError:
        raise MissingExtraError.to(
            f"read {NAME}", package="sentencepiece", extra="sentencepiece"
        ) from None
    try:
        model = sentencepiece_model_pb2.ModelProto.FromString(path.read_bytes())
    except DecodeError as error:
        raise DataError(f"{path} is damaged: {error}") from error
    pieces = [(piece.piece, piece.score) for piece in model.pieces[_SKIPPED:]]
    if not pieces or not all(text for text, _ in pieces):
        raise DataError(f"{path} is damaged: it has no pieces, or empty ones")
    if model.trainer_spec.model_type != sentencepiece_model_pb2.TrainerSpec.UNIGRAM:
        raise DataError(f"{path} is not a Unigram model; save the folder with a tokenizer.json")
    vocabulary = [*((text, 0.0) for text in _SPECIAL), *pieces, ("<mask>", 0.0)]
    tokenizer = Tokenizer(models.Unigram(vocabulary, unk_id=_SPECIAL.index("<unk>")))
    mapping = model.normalizer_spec.precompiled_charsmap
    steps = [normalizers.Precompiled(mapping)] if mapping else []
    tokenizer.normalizer = normalizers.Sequence([*steps, normalizers.Replace(Regex(" {2,}"), " ")])
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [pre_tokenizers.WhitespaceSplit(), pre_tokenizers.Metaspace()]
    )
    tokenizer.post_processor = processors.TemplateProcessing(
        single="<s> $A </s>", special_tokens=[("<s>", 0), ("</s>", 2)]
    )
    tokenizer.add_special_tokens([*_SPECIAL, "<mask>"])
    return tokenizer
