"""The native core. Arrays are flat and C-contiguous; `threads=0` means one per core."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

_U8 = NDArray[np.uint8]
_U32 = NDArray[np.uint32]
_U64 = NDArray[np.uint64]
_I64 = NDArray[np.int64]
_F32 = NDArray[np.float32]
_F64 = NDArray[np.float64]

class Vocabulary:
    def __init__(self, words: list[str]) -> None: ...
    def __len__(self) -> int: ...
    def find(self, word: str) -> int | None: ...
    def words(self) -> list[str]: ...

class Expansion:
    def __new__(cls, words: list[list[str]]) -> Expansion: ...
    @staticmethod
    def at_blanks(captions: Captions) -> Expansion: ...
    @staticmethod
    def replacing(captions: Captions, words: _U32, pieces: list[list[str]]) -> Expansion: ...

class Captions:
    @staticmethod
    def from_tokens(captions: list[Any]) -> Captions: ...
    @staticmethod
    def from_ids(vocabulary: Vocabulary, words: _U32, offsets: _U64) -> Captions: ...
    def __len__(self) -> int: ...
    def vocabulary(self) -> list[str]: ...
    def tokens(self) -> list[list[str]]: ...
    def unusual_words(self) -> tuple[_U32, list[str]]: ...
    def has_blank_words(self) -> bool: ...
    def words(self) -> _U32: ...
    def offsets(self) -> _U64: ...
    def expand(self, expansion: Expansion) -> Captions: ...

class NgramIndex:
    def __new__(
        cls, captions: Captions, image_offsets: _U64, order: int, threads: int = 0
    ) -> NgramIndex: ...
    @property
    def order(self) -> int: ...
    def level(self, n: int) -> tuple[_U32, _U32, _U32, _U32]: ...
    def shard(self, hashes: _U64, shards: int) -> list[tuple[_U32, _U32, NDArray[np.int64]]]: ...

def add_up_shard(
    parts: list[tuple[NDArray[Any], _U32, _U32]], n: int, word_count: int, min_count: int
) -> tuple[_U32, _U32]: ...

class FrequencyTrie:
    def __new__(
        cls,
        words: list[str],
        word_width: int,
        levels: list[tuple[_U8, _U8, _U32, _U32, _U32]],
    ) -> FrequencyTrie: ...
    @property
    def order(self) -> int: ...
    def count(self, ngram: list[str]) -> int: ...

class Translation: ...

class CiderSettings:
    def __init__(
        self,
        order_weights: Sequence[float],
        *,
        scale: float = 1.0,
        uniform_idf: bool = False,
        clip: bool = False,
        relative_counts: bool = False,
        best_reference: bool = False,
        penalty: str = "none",
        sigma: float = 6.0,
        repetition_weight: float = 0.8,
        mean_repetition: bool = False,
    ) -> None: ...

class Cider:
    def __new__(
        cls,
        index: NgramIndex,
        trie: FrequencyTrie | None,
        log_image_count: float,
        settings: CiderSettings,
        parts: Captions | None = None,
        threads: int = 0,
    ) -> Cider: ...
    def variant(self, settings: CiderSettings, parts: Captions | None = None) -> Cider: ...
    def translate(self, candidates: Captions, parts: Captions | None = None) -> Translation: ...
    def similarities(
        self, candidates: Captions, images: _U32, translation: Translation, threads: int = 0
    ) -> _F64: ...
    def measure(
        self,
        candidates: Captions,
        images: _U32,
        translation: Translation,
        similarities: _F64,
        parts: Captions | None = None,
        threads: int = 0,
    ) -> _F64: ...

class Overlap:
    def __new__(cls, index: NgramIndex) -> Overlap: ...
    def translate(self, candidates: Captions) -> Translation: ...
    def bleu(
        self,
        candidates: Captions,
        images: _U32,
        translation: Translation,
        order: int,
        reference_length: str,
        threads: int = 0,
    ) -> _F64: ...
    def rouge_n(
        self, candidates: Captions, images: _U32, translation: Translation, n: int, threads: int = 0
    ) -> _F64: ...
    def rouge_l(
        self,
        candidates: Captions,
        images: _U32,
        translation: Translation,
        empty_is_a_word: bool,
        threads: int = 0,
    ) -> _F64: ...
    def rouge_w(
        self,
        candidates: Captions,
        images: _U32,
        translation: Translation,
        exponent: float,
        threads: int = 0,
    ) -> _F64: ...
    def rouge_s(
        self,
        candidates: Captions,
        images: _U32,
        translation: Translation,
        skip: int,
        threads: int = 0,
    ) -> _F64: ...

def ptb_tokens(
    captions: list[str], document: bool = False, clean: bool = True
) -> list[list[str]]: ...

class TokenReader:
    def __new__(
        cls,
        vocabulary: Vocabulary,
        words: _U32,
        *,
        pad: int | None,
        bos: int | None,
        eos: int | None,
        eos_word: int | None,
    ) -> TokenReader: ...
    def read(self, ids: _I64) -> Captions: ...
    def read_ragged(self, ids: _I64, offsets: _U64) -> Captions: ...
    def mask(self, ids: _I64) -> NDArray[np.bool_]: ...

def with_last_word(captions: Captions, word: str) -> Captions: ...
def credit(
    cider: Cider,
    candidates: Captions,
    images: _U32,
    translation: Translation,
    parts: Captions | None = None,
) -> list[list[tuple[int, int, int, float, float]]]: ...
def word_shares(
    cider: Cider,
    candidates: Captions,
    images: _U32,
    translation: Translation,
    parts: Captions | None = None,
    threads: int = 0,
) -> tuple[_F64, _U32, _F64, _U8]: ...
def are_ascii(texts: list[str]) -> bool: ...
def text_lengths(texts: list[str]) -> NDArray[np.int64]: ...
def tokenize_utf8(content: _U8, offsets: _I64, tokenizer: str, threads: int = 0) -> Captions: ...
def tokenize(texts: list[str], tokenizer: str, threads: int = 0) -> Captions: ...
def exact_sums(rows: _F64) -> tuple[list[bytes], list[float]]: ...
def hash_texts(bytes: _U8, offsets: NDArray[np.int64]) -> _U64: ...
def hash_words(words: list[str]) -> _U64: ...
def resample_sums(rows: _F64, resamples: int, seed: int, threads: int = 0) -> _F64: ...
def signed_sums(
    rows: _F64, thresholds: _U32, resamples: int, seed: int, threads: int = 0
) -> _F64: ...

class MeteorTable:
    @staticmethod
    def open(path: str) -> MeteorTable: ...
    @staticmethod
    def from_bytes(content: bytes) -> MeteorTable: ...
    @property
    def checksum(self) -> int: ...
    @property
    def language(self) -> str: ...
    @property
    def has_paraphrases(self) -> bool: ...
    def synsets(self, word: str) -> list[int]: ...

class MeteorTableBuilder:
    def __init__(
        self,
        function_words: bytes,
        prefixes: bytes,
        synsets: bytes,
        exceptions: bytes,
        language: str = "en",
    ) -> None: ...
    def add_paraphrases(self, piece: bytes) -> None: ...
    def finish(self) -> bytes: ...

class MeteorCaptions:
    @staticmethod
    def from_tokens(
        table: MeteorTable,
        captions: Captions,
        stemmer: Callable[[list[str]], list[str]],
        paraphrases: bool,
        threads: int = 0,
    ) -> MeteorCaptions: ...
    def __len__(self) -> int: ...
    def words(self, caption: int) -> list[str]: ...
    def are_function_words(self, caption: int) -> list[bool]: ...

def meteor_measure(
    references: MeteorCaptions,
    reference_offsets: _U64,
    candidates: MeteorCaptions,
    candidate_images: _U32,
    parameters: Sequence[float],
    threads: int = 0,
) -> _F64: ...
def meteor_scores(rows: _F64, parameters: Sequence[float]) -> _F64: ...
def meteor_align(
    candidates: MeteorCaptions, candidate: int, references: MeteorCaptions, reference: int
) -> tuple[list[tuple[int, int, int, int, str]], _F64]: ...
def cider_kernels(cider: Cider, one_way: bool = False, threads: int = 0) -> _F64: ...
def word_products(index: NgramIndex, ignored: _U8, threads: int = 0) -> _F64: ...
def bleu_left_out(
    overlap: Overlap, order: int, reference_length: str, threads: int = 0
) -> _F64: ...

class Encoder:
    def __init__(self, width: int, heads: int, inner: int, epsilon: float) -> None: ...
    @property
    def layers(self) -> int: ...
    @property
    def kernel(self) -> str: ...
    def add_layer(
        self,
        attend: _F32,
        attend_bias: _F32,
        gather: _F32,
        gather_bias: _F32,
        attended_scale: _F32,
        attended_shift: _F32,
        widen: _F32,
        widen_bias: _F32,
        narrow: _F32,
        narrow_bias: _F32,
        output_scale: _F32,
        output_shift: _F32,
    ) -> None: ...
    def run(
        self, states: _F32, offsets: _U64, layers: int, bias: _F32, threads: int = 0
    ) -> _F32: ...
