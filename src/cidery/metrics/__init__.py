"""The metrics, by name.

`METRICS` holds those of cidery, which `builtin.pyi` lists; `get_metrics` also finds the metrics
that other packages add (`cidery.plugins`) and takes plain functions.
"""

from typing import TYPE_CHECKING

from cidery.metrics.base import Metric as Metric
from cidery.metrics.builtin import FAMILIES as FAMILIES
from cidery.metrics.builtin import METRICS as METRICS
from cidery.metrics.choosing import DEFAULT as DEFAULT
from cidery.metrics.choosing import MetricLike as MetricLike
from cidery.metrics.choosing import MetricsLike as MetricsLike
from cidery.metrics.choosing import find_origin as find_origin
from cidery.metrics.choosing import get_metrics as get_metrics
from cidery.metrics.choosing import is_built_in as is_built_in
from cidery.metrics.choosing import list_metrics as list_metrics
from cidery.metrics.choosing import split_settings as split_settings
from cidery.metrics.function import CaptionFunction as CaptionFunction
from cidery.metrics.function import FunctionMetric as FunctionMetric

if TYPE_CHECKING:
    from cidery.metrics.builtin import *  # noqa: F403
else:
    from cidery.metrics.builtin import __getattr__ as __getattr__  # the classes
