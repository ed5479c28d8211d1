"""Reward: references prepared once, captions scored at every training step."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from cidery.corpus import Corpus, References, index_ids
from cidery.errors import FrequenciesError, InputError, MismatchError, SettingError
from cidery.metrics import MetricLike
from cidery.metrics.base import Images, TokenizedCandidates, find_frequencies
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
from cidery.runtime import Workspace
from cidery.scoring.pipeline import Pipeline, PipelineSettings
from cidery.statistics import Floats

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from typing_extensions import Unpack

RewardMetric: TypeAlias = MetricLike | Mapping[MetricLike, float]


class Reward:
    """A metric, or a weighted sum of metrics, as a reward for freshly sampled captions.

    References are prepared once, and the object does not change, so threads and forked workers may
    share it. Values are those of `score` with the same settings, bit for bit.

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
        vocabulary: VocabularyLike | None = None,
        pad: int | None = None,
        bos: int | None = None,
        eos: int | None = None,
        count_eos: bool = False,
        **settings: Unpack[PipelineSettings],
    ) -> None:
        """Prepare references.

        Args:
            references: id -> captions, or a list of lists (ids are then positions).
            metric: A name, a metric object, a function `f(candidate, references) -> float`, or a
                mapping of these to weights.
            vocabulary: Words by token id, {id: word} or a list.
            pad: Id of the padding token.
            bos: Id of the token that begins a caption.
            eos: Id of the token that ends a caption; tokens after it are ignored.
            count_eos: Count the end of a caption as a word, in references too.
            settings: As for `score`. The tokenizer is for references and for captions given as
                strings; `frequencies="references"` counts on all images given here.
        """
        corpus = Corpus.from_references(references)
        if not corpus.images:
            raise InputError("references: there are no images")
        pipeline, weights = choose_mix(metric, **settings)
        if count_eos and vocabulary is not None and eos is None:
            raise SettingError("count_eos=True needs eos=, the id that ends a caption")
        if vocabulary is None and (pad, bos, eos) != (None, None, None):
            raise SettingError("pad, bos and eos are token ids, which need vocabulary=")
        end_word = find_end_word(vocabulary, eos) if count_eos else None
        pipeline.check_captions({"references": corpus.references}, len(corpus.images))
        if end_word is not None:
            pipeline = end_captions(pipeline, end_word)
        ids = {"pad": pad, "bos": bos, "eos": eos, "end_word": end_word}
        self._prepare(corpus, pipeline, weights, vocabulary, ids)

    @classmethod
    def prepare(
        cls,
        corpus: Corpus,
        pipeline: Pipeline,
        weights: Mapping[str, float],
        vocabulary: VocabularyLike | None = None,
        ids: Mapping[str, Any] = MappingProxyType({}),
    ) -> Reward:
        """Prepare the references of a corpus, without checks.

        `weights` has the labels of the pipeline's metrics; `ids` are the arguments of
        `TokenVocabulary.build`.
        """
        reward = cls.__new__(cls)
        reward._prepare(corpus, pipeline, weights, vocabulary, ids)
        return reward

    def _prepare(
        self,
        corpus: Corpus,
        pipeline: Pipeline,
        weights: Mapping[str, float],
        vocabulary: VocabularyLike | None,
        ids: Mapping[str, Any],
    ) -> None:
        # A copy in another process prepares again: what is prepared cannot be pickled.
        self._parts = corpus, pipeline, dict(weights), vocabulary, dict(ids)
        self.weights: Mapping[str, float] = MappingProxyType(dict(weights))
        self._scorer = pipeline.prepare(corpus)
        # Results that depend on the vocabulary alone: filled here, then only read.
        self._of_vocabulary = Workspace(pipeline.threads)
        words = None if vocabulary is None else TokenVocabulary.build(vocabulary, **ids)
        if words is not None:
            for prepared in self._scorer.prepared.values():
                prepared.read_words(words.words, self._of_vocabulary)
        self._reader = CaptionReader(pipeline.tokenizer, words, pipeline.threads)
        self._images = corpus.images
        self._places = index_ids(corpus.images)

    def __reduce__(self) -> tuple[Any, ...]:
        return Reward.prepare, self._parts

    @property
    def pipeline(self) -> Pipeline:
        """Metrics, tokenizer, document frequencies and threads."""
        return self._scorer.pipeline

    @property
    def signatures(self) -> Mapping[str, str]:
        """Signatures by label."""
        return self._scorer.signatures

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
        """Return, for each caption, the credit of its n-grams; for the CIDEr family.

        The similarity to a reference is u·s / (‖g‖ ‖s‖), with g the caption's vector, s the
        reference's and u what they share. An n-gram earns its part of u·s / (‖u‖ ‖s‖); what g has
        beyond u takes the factor ‖u‖ / ‖g‖ from it, shared out by squared weight. Both are summed
        over references and orders with the metric's own penalties and weights.
        """
        candidates = self._read(image_ids, captions)
        work = self._new_work()
        ngrams: list[list[NgramCredit]] = [[] for _ in range(len(candidates))]
        for label, weight in self.weights.items():
            metric = self.pipeline.metrics[label]
            prepared = self._scorer.prepared[metric]
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
        return Workspace(self.pipeline.threads, shared=self._of_vocabulary)

    def _read(
        self, image_ids: Any, captions: Any, finished: Sequence[bool] | None = None
    ) -> TokenizedCandidates:
        tokenized = self._reader.read(captions, finished)
        return TokenizedCandidates(tokenized, self._find(image_ids, len(tokenized)))

    def _measure(self, candidates: TokenizedCandidates, work: Workspace) -> Floats:
        rows = self._scorer.measure_tokenized(candidates, work)
        total = np.zeros(0)
        for place, (label, weight) in enumerate(self.weights.items()):
            values = weight * self.pipeline.metrics[label].each(rows[label])
            total = values if place == 0 else total + values
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


def choose_mix(
    metric: RewardMetric, **settings: Unpack[PipelineSettings]
) -> tuple[Pipeline, dict[str, float]]:
    """Return the pipeline of a reward, and the weight of each metric by label."""
    given = list(metric.items()) if isinstance(metric, Mapping) else [(metric, 1.0)]
    for name, weight in given:
        if isinstance(weight, bool) or not isinstance(weight, int | float | np.floating):
            raise SettingError(f"the weight of {name!r} must be a number, not {weight!r}")
        if not np.isfinite(weight):
            raise SettingError(f"the weight of {name!r} must be finite, not {weight!r}")
        count = len(Pipeline.choose(name, **settings).metrics)
        if count != 1:
            raise SettingError(f"{name!r} names {count} metrics; a reward needs one of them")
    pipeline = Pipeline.choose([name for name, _ in given], **settings)
    if len(pipeline.metrics) != len(given):
        raise SettingError("the mix has the same metric twice")
    weights = {
        label: float(weight) for label, (_, weight) in zip(pipeline.metrics, given, strict=True)
    }
    for label, chosen in pipeline.metrics.items():
        if chosen.lower_is_better and weights[label] > 0:
            raise SettingError(
                f"a lower {label} is better, so it needs a negative weight: {{{label!r}: -1}}"
            )
    return pipeline, weights


def end_captions(pipeline: Pipeline, end_word: str) -> Pipeline:
    """Return a pipeline whose tokenizer ends every caption with that word.

    Frequencies without the word are refused: it would weigh more than any other word.
    """
    for metric in pipeline.metrics.values():
        needed = metric.needs.frequencies
        if needed is None or pipeline.frequencies == "references":
            continue
        found = find_frequencies(pipeline.frequencies, needed.stemmer)
        if found.count([end_word]) == 0:
            raise FrequenciesError(
                f"with count_eos=True the end of a caption counts as the word {end_word!r}, which "
                f"{found.name} has never seen: it would outweigh every other word; pass "
                'frequencies="references", or a set that was counted with the end word'
            )
    return replace(pipeline, tokenizer=EndingTokenizer.extend(pipeline.tokenizer, end_word))
