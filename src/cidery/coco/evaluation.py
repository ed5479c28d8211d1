"""Drop-in replacement for a whole evaluation: `COCOEvalCap`."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from cidery.coco.bleu import Bleu
from cidery.coco.cider import Cider, CiderD, CiderR, PlainCider
from cidery.coco.matching import TokenizedCorpus, match_rows
from cidery.coco.optional import Meteor, Spice
from cidery.coco.rouge import Rouge
from cidery.coco.tokenizer import read_groups
from cidery.corpus import Corpus
from cidery.errors import CideryError, InputError, MismatchError, SettingError
from cidery.files import collector_paused
from cidery.runtime import Workspace
from cidery.text import TokenizerLike, choose_tokenizer

ScorerAndNames: TypeAlias = tuple[Any, str | list[str]]
"""An object with `compute_score` and `method`, and the name or names of its scores."""

SCORERS: Mapping[str, Callable[[], ScorerAndNames]] = {
    "Bleu": lambda: (Bleu(4), ["Bleu_1", "Bleu_2", "Bleu_3", "Bleu_4"]),
    "METEOR": lambda: (Meteor(), "METEOR"),
    "ROUGE_L": lambda: (Rouge(), "ROUGE_L"),
    "CIDEr": lambda: (Cider(), "CIDEr"),
    "SPICE": lambda: (Spice(), "SPICE"),
    "CIDEr-R": lambda: (CiderR(), "CIDEr-R"),
}
"""Scorers by name."""
DEFAULT = ("Bleu", "METEOR", "ROUGE_L", "CIDEr", "SPICE")
_OPTIONAL = (Meteor, Spice)
_OURS = (Bleu, Meteor, Rouge, Cider, PlainCider, CiderD, CiderR, Spice)


class COCOEvalCap:
    """Tokenize and score results against annotations, as pycocoevalcap's `COCOEvalCap`.

    ```python
    coco = COCO([{"image_id": 1, "caption": "a dog runs"}, {"image_id": 2, "caption": "a bus"}])
    results = coco.loadRes([{"image_id": 1, "caption": "a dog"}])
    evaluation = COCOEvalCap(coco, results, scorers=["Bleu", "CIDEr"], verbose=False)
    evaluation.params["image_id"] = results.getImgIds()
    evaluation.evaluate()
    evaluation.eval["Bleu_4"], evaluation.imgToEval[1]["CIDEr"]
    ```
    """

    def __init__(
        self,
        coco: Any,
        cocoRes: Any,  # noqa: N803 - pycocoevalcap's name, as those below
        *,
        scorers: Iterable[str | ScorerAndNames] = DEFAULT,
        tokenizer: TokenizerLike | None = None,
        language: str | None = None,
        verbose: bool = True,
    ) -> None:
        """Set up the evaluation of results; both are `COCO` objects, of pycocotools or cidery.

        Args:
            coco: The references.
            cocoRes: The candidates, from `coco.loadRes`.
            scorers: Names in `SCORERS`, or pairs (scorer, name of its score).
            tokenizer: Default: `"ptb-coco"`, as in the original; with `"ptb"`, the tokens of a
                caption do not depend on the next caption.
            language: Language code that selects the tokenizer, such as `"zh"`.
            verbose: Print progress as the original does.
        """
        self.evalImgs: list[dict[str, Any]] = []
        self.eval: dict[str, Any] = {}
        self.imgToEval: dict[Any, dict[str, Any]] = {}
        self.coco = coco
        self.cocoRes = cocoRes
        self.params: dict[str, Any] = {"image_id": coco.getImgIds()}
        self._scorers = [_find_scorer(scorer) for scorer in scorers]
        self._tokenizer = choose_tokenizer(tokenizer, language, default="ptb-coco")
        self._verbose = verbose

    def evaluate(self) -> None:
        """Score the images in `params["image_id"]`; fill `eval`, `imgToEval` and `evalImgs`."""
        with collector_paused():  # it would walk all annotations again and again
            captions = _Captions.read(self.coco, self.cocoRes, self.params["image_id"])
        self._say("tokenization...")
        corpus = TokenizedCorpus.build(captions.corpus, self._tokenizer)
        work = Workspace()
        self._say("setting up scorers...")
        for scorer, names in self._scorers:
            self._say(f"computing {scorer.method()} score...")
            try:
                score, scores = self._run(scorer, corpus, captions.images, work)
            except CideryError as error:
                if not isinstance(scorer, _OPTIONAL):
                    raise
                self._say(f"skipping {scorer.method()}: {error}")
                continue
            if isinstance(names, str):
                names, score, scores = [names], [score], [scores]
            for name, of_corpus, of_images in zip(names, score, scores, strict=True):
                self.setEval(of_corpus, name)
                self.setImgToEvalImgs(of_images, captions.images, name)
                self._say(f"{name}: {of_corpus:0.3f}")
        self.setEvalImgs()

    def _run(
        self, scorer: Any, corpus: TokenizedCorpus, images: Sequence[Any], work: Workspace
    ) -> tuple[Any, Any]:
        if type(scorer) is Bleu:
            return scorer.score_tokenized(corpus, work, verbose=int(self._verbose))
        if type(scorer) in _OURS:  # a subclass may have a compute_score of its own
            score, scores = scorer.score_tokenized(corpus, work)
        else:
            score, scores = scorer.compute_score(*_write_out(corpus, images))
        return score, scores

    def setEval(self, score: Any, method: str) -> None:  # noqa: N802
        """Store a corpus score."""
        self.eval[method] = score

    def setImgToEvalImgs(  # noqa: N802
        self,
        scores: Iterable[Any],
        imgIds: Iterable[Any],  # noqa: N803
        method: str,
    ) -> None:
        """Store the images' scores."""
        for image, score in zip(imgIds, scores, strict=True):
            if image not in self.imgToEval:
                self.imgToEval[image] = {"image_id": image}
            self.imgToEval[image][method] = score

    def setEvalImgs(self) -> None:  # noqa: N802
        """List the images' scores."""
        self.evalImgs = list(self.imgToEval.values())

    def _say(self, line: str) -> None:
        if self._verbose:
            print(line)


def _find_scorer(given: str | ScorerAndNames) -> ScorerAndNames:
    if isinstance(given, str):
        if given not in SCORERS:
            raise SettingError(f"no scorer {given!r}; there are {', '.join(SCORERS)}")
        return SCORERS[given]()
    return given


@dataclass(frozen=True, eq=False)
class _Captions:
    """Captions of the images to score, before tokenization."""

    images: list[Any]
    corpus: Corpus

    @classmethod
    def read(cls, coco: Any, results: Any, images: Iterable[Any]) -> _Captions:
        """Read annotations; images without captions on both sides are ignored."""
        references: dict[Any, list[str]] = {}
        candidates: dict[Any, list[str]] = {}
        for image in images:
            # get: a plain lookup would add the image to pycocotools' defaultdict.
            references[image] = coco.imgToAnns.get(image, [])
            candidates[image] = results.imgToAnns.get(image, [])
        references, candidates = read_groups(references), read_groups(candidates)
        kept = [image for image in references if references[image] or candidates[image]]
        _check_one_candidate(kept, references, candidates)
        corpus = match_rows(
            kept,
            [candidates[image][0] for image in kept],
            [references[image] for image in kept],
        )
        return cls(kept, corpus)


def _check_one_candidate(
    images: Sequence[Any], references: Mapping[Any, list[str]], candidates: Mapping[Any, list[str]]
) -> None:
    if not images:
        raise InputError("nothing to score: no image of params['image_id'] has captions")
    without = [image for image in images if not candidates[image]]
    if without:
        raise MismatchError(
            f"{len(without)} of {len(images)} images have references but no result, such as "
            f"{without[0]!r}; to score only those that have one, set "
            "params['image_id'] = cocoRes.getImgIds()"
        )
    for image in images:
        if not references[image]:
            raise MismatchError(
                f"image {image!r} has a result but no references; take it out of params['image_id']"
            )
        if len(candidates[image]) > 1:
            raise InputError(
                f"image {image!r} has {len(candidates[image])} results, expected exactly one; to "
                "score several captions for an image, use cidery.score"
            )


def _write_out(
    corpus: TokenizedCorpus, images: Sequence[Any]
) -> tuple[dict[Any, Any], dict[Any, Any]]:
    """Return tokenized captions as text by image: `gts` and `res` for other scorers."""
    references = list(map(" ".join, corpus.references.captions.captions.tokens()))
    candidates = map(" ".join, corpus.candidates.captions.captions.tokens())
    offsets = corpus.references.image_offsets.tolist()
    gts = {image: references[offsets[i] : offsets[i + 1]] for i, image in enumerate(images)}
    return gts, {image: [text] for image, text in zip(images, candidates, strict=True)}
