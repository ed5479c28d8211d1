"""What people look at: one HTML file about some systems, audits (`auditing`), figures (`plots`)."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from cidery.reports import auditing as auditing
    from cidery.reports import plots as plots
    from cidery.reports.writing import Report, write_report

__all__ = ["Report", "write_report"]


def __getattr__(name: str) -> Any:
    if name in __all__:
        return getattr(import_module("cidery.reports.writing"), name)
    if name in ("auditing", "plots"):
        return import_module(f"cidery.reports.{name}")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
