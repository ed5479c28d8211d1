"""What every measure of diversity is: settings, and one value per image."""

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
    """The settings of a measure of diversity; higher means more diverse."""

    range: ClassVar[tuple[float, float]] = (0.0, 1.0)
    paper: ClassVar[str] = "Wang and Chan 2019"

    @property
    @abstractmethod
    def name(self) -> str:
        """Its name in tables, files and on the command line."""

    @abstractmethod
    def measure(self, sets: TokenizedSets, work: Workspace) -> Floats:
        """Return one value per image."""

    def whole(self, sets: TokenizedSets, work: Workspace) -> float | None:  # noqa: ARG002
        """Return the corpus value where that is not the mean over images; None: it is."""
        return None

    @property
    def kernel_metric(self) -> Metric | None:
        """The metric whose document frequencies it uses, if any."""
        return None

    def settings(self) -> dict[str, str]:
        """Return the settings as the signature shows them, in order."""
        return {f.name: format_setting(getattr(self, f.name)) for f in fields(self)}

    def data_settings(self) -> dict[str, str]:
        """Return what the signature says about data that are not among the settings."""
        return {}
