"""Reports: one HTML page about one or several systems."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from cidery.reports.writing import Report, write_report

__all__ = ["Report", "write_report"]


def __getattr__(name: str) -> Any:
    if name in __all__:
        return getattr(import_module("cidery.reports.writing"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
