"""The metrics that come with cidery: a new one is a file and a line here."""

from collections.abc import Mapping

from cidery.metrics.base import Metric

# In the order of lists and tables.
# isort: off
from cidery.metrics.ngram.cider import Cider as Cider
from cidery.metrics.ngram.cider import CiderD as CiderD
from cidery.metrics.ngram.cider import CiderR as CiderR
from cidery.metrics.ngram.bleu import Bleu as Bleu
from cidery.metrics.ngram.rouge import RougeN as RougeN
from cidery.metrics.ngram.rouge import RougeL as RougeL
from cidery.metrics.ngram.rouge import RougeS as RougeS
from cidery.metrics.ngram.rouge import RougeW as RougeW
from cidery.metrics.meteor import Meteor as Meteor
from cidery.metrics.contextual.irv import IrvUnigram as IrvUnigram
from cidery.metrics.contextual.bertscore import BertScore as BertScore
from cidery.metrics.contextual.irv import Irv as Irv
from cidery.metrics.contextual.consensus import Consensus as Consensus
from cidery.metrics.contextual.fense import Fense as Fense
from cidery.metrics.contextual.clip import ClipScore as ClipScore
from cidery.metrics.contextual.clip import PacScore as PacScore
from cidery.metrics.spice.metric import Spice as Spice
from cidery.metrics.spice.metric import Spider as Spider
from cidery.metrics.spice.fluent import SpiderFl as SpiderFl
from cidery.metrics.claims.metric import Claims as Claims
from cidery.metrics.vocabulary import Vocabulary as Vocabulary
from cidery.metrics.chair.metric import Chair as Chair
from cidery.metrics.chair.open import OpenChair as OpenChair
# isort: on

METRICS: Mapping[str, Metric]
"""Every metric of cidery with its default settings; `get_metrics` also finds those that other
packages add."""

FAMILIES: Mapping[str, tuple[str, ...]]
"""Names that mean several metrics."""

def find_members(name: str) -> tuple[str, ...]:
    """Return the metrics that a name means: itself, or those of a family."""
