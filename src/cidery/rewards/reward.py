"""Reward: references prepared once, captions scored at every training step."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from cidery.corpus import Corpus, ImageId, References, index_ids
from cidery.errors import FrequenciesError, InputError, MismatchError, SettingError
from cidery.frequencies import DocumentFrequencies
from cidery.metrics import Metric, MetricLike, get_metrics
from cidery.metrics.base import Faithful, Images, TokenizedCandidates, find_frequencies
from cidery.metrics.ngram.cider import PreparedCider
from cidery.rewards.credit import Credit, NgramCredit, measure_credit, merge_credit
from cidery.rewards.reading import CaptionReader, first_unknown
from cidery.rewards.tokens import (
    EndingTokenizer,
    TokenVocabulary,
    VocabularyLike,
    as_array,
    as_integers,
    find_end_word,
    is_array,
)
from cidery.runtime.workspace import Workspace
from cidery.scoring.scorer import (
    FrequenciesLike,
    find_english,
    prepare_metrics,
    read_frequencies,
    sign_metrics,
    tokenize_references,
    warn_few_images,
)
from cidery.statistics import Floats
from cidery.text import TokenizerLike, choose_tokenizer, warn_script_problems

if TYPE_CHECKING:
    from numpy.typing import NDArray

RewardMetric: TypeAlias = MetricLike | Mapping[MetricLike, float]


class Reward:
    """A metric, or a weighted sum of metrics, as a reward for freshly sampled captions.

    References are prepared once; after that an object only reads itself, so that threads and
    forked workers may share it. Values are those of `score` with the same settings, bit for bit.

    ```python
    reward = cidery.Reward({"a": ["a dog runs"]}, metric={"cider-d": 1.0, "bleu-4": 0.5},
                           frequencies="coco-train2014")
    reward(["a", "a"], ["a dog", "the dog runs"])   # float64[2]
    ```
    """

    def __init__(
        self,
        references: References,
        metric: RewardMetric = "cider-d",
        *,
        frequencies: FrequenciesLike = "references",
        tokenizer: TokenizerLike | None = None,
        language: str | None = None,
        faithful: Faithful | None = None,
        vocabulary: VocabularyLike | None = None,
        pad: int | None = None,
        bos: int | None = None,
        eos: int | None = None,
        count_eos: bool = False,
        threads: int = 0,
    ) -> None:
        """Prepare references.

        Args:
            references: id -> captions, or a list of lists (ids are then positions).
            metric: A name, a metric object, a function `f(candidate, references) -> float`, or a
                mapping of these to weights.
            frequencies: As in `score`; `"references"` counts on all images given here.
            tokenizer: For references and for captions given as strings, as in `score`.
            language: As in `score`.
            faithful: `"coco"` or `"paper"` for metrics given by name.
            vocabulary: What token ids stand for, {id: word} or a list.
            pad: The id that fills rows up; never a word.
            bos: The id that begins a caption; never a word.
            eos: The id that ends a caption; nothing after it is read.
            count_eos: Whether the end of a caption counts as a word, in references too.
            threads: 0 means one per core; any number gives the same bits.
        """
        corpus = Corpus.from_references(references)
        if not corpus.images:
            raise InputError("references: there are no images")
        weights = read_weights(metric, faithful, language)
        if count_eos and vocabulary is not None and eos is None:
            raise SettingError("count_eos=True needs eos=, the id that ends a caption")
        if vocabulary is None and (pad, bos, eos) != (None, None, None):
            raise SettingError("pad, bos and eos are token ids, which need vocabulary=")
        plain = cutter = choose_tokenizer(tokenizer, language)
        end_word = find_end_word(vocabulary, eos) if count_eos else None
        if end_word is not None:
            cutter = EndingTokenizer.extend(plain, end_word)
        metrics = {label: chosen for label, (chosen, _) in weights.items()}
        counted_on = read_frequencies(frequencies)
        tokenized = tokenize_references(corpus, cutter, counted_on, threads)
        if end_word is not None:
            _check_end_word(metrics, counted_on, end_word)
        warn_few_images(metrics, tokenized, stacklevel=2)
        english = find_english(metrics, counted_on)
        warn_script_problems({"references": corpus.references}, plain, english)
        self._prepared = prepare_metrics(metrics, tokenized, Workspace(threads))
        words = None
        # Results that depend on the vocabulary alone: filled here, then only read.
        self._of_vocabulary = Workspace(threads)
        if vocabulary is not None:
            words = TokenVocabulary.build(vocabulary, pad=pad, bos=bos, eos=eos, end_word=end_word)
            for prepared in self._prepared.values():
                prepared.read_words(words.words, self._of_vocabulary)
        self._reader = CaptionReader(cutter, words, threads)
        self._terms = tuple(weights.values())
        self._images = corpus.images
        self._places = index_ids(corpus.images)
        self._threads = threads
        self.weights: Mapping[str, float] = MappingProxyType(
            {label: weight for label, (_, weight) in weights.items()}
        )
        self.signatures: Mapping[str, str] = MappingProxyType(sign_metrics(metrics, tokenized))
        # A copy in another process prepares again, from what this one was made of.
        self._made_of = (
            corpus,
            {
                "metric": dict(metric) if isinstance(metric, Mapping) else metric,
                "faithful": faithful,
                "language": language,
                "frequencies": tokenized.frequencies,
                "tokenizer": plain,
                "vocabulary": vocabulary,
                "pad": pad,
                "bos": bos,
                "eos": eos,
                "count_eos": count_eos,
                "threads": threads,
            },
        )

    def __reduce__(self) -> tuple[Any, ...]:
        corpus, settings = self._made_of
        return _prepare_again, (
            corpus.images,
            corpus.references,
            corpus.reference_offsets,
            settings,
        )

    def __repr__(self) -> str:
        mix = " + ".join(f"{weight:g} {label}" for label, weight in self.weights.items())
        return f"<Reward {mix} on {len(self._images)} images>"

    def __call__(
        self, image_ids: Any, captions: Any, *, finished: Sequence[bool] | None = None
    ) -> Floats:
        """Return each caption's reward; `image_ids` has one id per caption.

        Captions are strings, token lists, or, with a vocabulary, token ids: a 2-D array or tensor,
        or rows of their own lengths. With `count_eos=True`, `finished` says which captions have an
        end: by default all strings and token lists, and token ids with `eos`.
        """
        candidates = self._read(image_ids, captions, finished)
        return (
            self._measure(candidates, self._new_work()) if len(candidates.images) else np.zeros(0)
        )

    def credit(self, image_ids: Any, captions: Any) -> list[Credit]:
        """Return, for each caption, what its n-grams earned and cost; for the CIDEr family.

        The similarity to a reference is u·s / (‖g‖ ‖s‖), with g the caption's vector, s the
        reference's and u what they share. An n-gram earns its part of u·s / (‖u‖ ‖s‖); what g has
        beyond u takes the factor ‖u‖ / ‖g‖ from it, shared out by squared weight. Both are summed
        over references and orders with the metric's own penalties and weights.
        """
        candidates = self._read(image_ids, captions)
        work = self._new_work()
        ngrams: list[list[NgramCredit]] = [[] for _ in range(len(candidates))]
        for metric, weight in self._terms:
            prepared = self._prepared[metric]
            if not isinstance(prepared, PreparedCider):
                raise SettingError(
                    f"credit is defined for cider, cider-d and cider-r only, not for "
                    f"{metric.name}, which is not a sum over n-grams"
                )
            credits = measure_credit(prepared, candidates, weight, work)
            for row, more in zip(ngrams, credits, strict=True):
                row.extend(more)
        rewards = self._measure(candidates, work) if ngrams else np.zeros(0)
        return [merge_credit(float(r), row) for r, row in zip(rewards, ngrams, strict=True)]

    def mask(self, token_ids: Any) -> NDArray[np.bool_]:
        """Return bool[captions, tokens]: which tokens the model chose, the closing `eos` included.

        These are the tokens whose log-probabilities a policy gradient weighs.
        """
        vocabulary = self._reader.need_vocabulary()
        return vocabulary.reader.mask(as_integers(token_ids, 2))

    def _new_work(self) -> Workspace:
        return Workspace(self._threads, shared=self._of_vocabulary)

    def _read(
        self, image_ids: Any, captions: Any, finished: Sequence[bool] | None = None
    ) -> TokenizedCandidates:
        tokenized = self._reader.read(captions, finished)
        return TokenizedCandidates(tokenized, self._find(image_ids, len(tokenized)))

    def _measure(self, candidates: TokenizedCandidates, work: Workspace) -> Floats:
        rows = {metric: p.measure(candidates, work) for metric, p in self._prepared.items()}
        (metric, weight), *others = self._terms
        total = weight * metric.each(rows[metric])
        for metric, weight in others:
            total = total + weight * metric.each(rows[metric])
        return total

    def _find(self, image_ids: Any, captions: int) -> Images:
        """Return the index of each caption's image."""
        ids = as_array(image_ids).tolist() if is_array(image_ids) else image_ids
        if isinstance(ids, str) or not hasattr(ids, "__len__"):
            raise InputError(f"expected a list of image ids, one per caption, not {image_ids!r}")
        if len(ids) != captions:
            hint = ""
            if 0 < len(ids) < captions and captions % len(ids) == 0:
                hint = f"; for {captions // len(ids)} samples per image, repeat each id"
            raise MismatchError(
                f"{len(ids)} image ids for {captions} captions; one id per caption is needed{hint}"
            )
        try:
            return np.fromiter(map(self._places.__getitem__, ids), np.uint32, captions)
        except (KeyError, TypeError):
            ids = list(ids)
            row = first_unknown(ids, self._places)
            shown = ", ".join(map(repr, self._images[:3]))
            raise MismatchError(
                f"image {ids[row]!r} (caption {row}) has no references; "
                f"there are {len(self._images)} images, named like {shown}"
            ) from None


def read_weights(
    metric: RewardMetric, faithful: Faithful | None, language: str | None
) -> dict[str, tuple[Metric, float]]:
    """Return label -> (metric, weight)."""
    given = list(metric.items()) if isinstance(metric, Mapping) else [(metric, 1.0)]
    for name, weight in given:
        found = get_metrics([name], faithful, language)
        if len(found) != 1:
            raise SettingError(f"{name!r} names {len(found)} metrics; a reward needs one of them")
        if isinstance(weight, bool) or not isinstance(weight, int | float | np.floating):
            raise SettingError(f"the weight of {name!r} must be a number, not {weight!r}")
        if not np.isfinite(weight):
            raise SettingError(f"the weight of {name!r} must be finite, not {weight!r}")
    labeled = get_metrics([name for name, _ in given], faithful, language)
    if len(labeled) != len(given):
        raise SettingError("the mix names the same metric twice")
    for (label, chosen), (_, weight) in zip(labeled.items(), given, strict=True):
        if chosen.lower_is_better and weight > 0:
            raise SettingError(
                f"of {label} a lower score is better, and a reward is to be high: give it a "
                f"negative weight, {{{label!r}: -1}}"
            )
    return {
        label: (chosen, float(weight))
        for (label, chosen), (_, weight) in zip(labeled.items(), given, strict=True)
    }


def _check_end_word(
    metrics: Mapping[str, Metric], frequencies: str | DocumentFrequencies, end_word: str
) -> None:
    """Refuse frequencies that never saw an end word: it would weigh more than any other word."""
    for metric in metrics.values():
        if not metric.uses_frequencies or frequencies == "references":
            continue
        found = find_frequencies(frequencies, metric.stems)
        if found.count([end_word]) == 0:
            raise FrequenciesError(
                f"with count_eos=True the end of a caption counts as the word {end_word!r}, which "
                f"{found.name} has never seen: it would outweigh every other word; pass "
                'frequencies="references", or a set that was counted with the end word'
            )


def _prepare_again(
    images: tuple[ImageId, ...],
    captions: list[str],
    offsets: NDArray[np.int64],
    settings: dict[str, Any],
) -> Reward:
    groups = [captions[begin:end] for begin, end in pairwise(offsets.tolist())]
    return Reward(dict(zip(images, groups, strict=True)), **settings)
