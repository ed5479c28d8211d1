"""Base class of diversity measures: settings, and one value per image."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, fields
from typing import ClassVar

from cidery.diversity.caption_sets import TokenizedSets
from cidery.metrics import Metric
from cidery.metrics.settings import format_setting
from cidery.runtime import Workspace
from cidery.statistics import Floats


@dataclass(frozen=True)
class Measure(ABC):
    """Diversity measure with its settings; higher is more diverse."""

    range: ClassVar[tuple[float, float]] = (0.0, 1.0)
    paper: ClassVar[str] = "Wang and Chan 2019"

    @property
    @abstractmethod
    def name(self) -> str:
        """Name in tables, files and on the command line."""

    @abstractmethod
    def measure(self, sets: TokenizedSets, work: Workspace) -> Floats:
        """Return one value per image."""

    def whole(self, sets: TokenizedSets, work: Workspace) -> float | None:  # noqa: ARG002
        """Return the corpus value; None if it is the mean over images."""
        return None

    @property
    def kernel_metric(self) -> Metric | None:
        """Metric whose document frequencies it uses, if any."""
        return None

    def settings(self) -> dict[str, str]:
        """Return the settings in the signature, in order."""
        return {f.name: format_setting(getattr(self, f.name)) for f in fields(self)}

    def data_settings(self) -> dict[str, str]:
        """Return entries of the signature for data, such as model weights."""
        return {}
