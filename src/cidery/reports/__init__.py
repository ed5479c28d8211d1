"""One HTML file with everything about some systems: scores, tests, pictures, every caption."""

from cidery.reports.writing import Report, write_report

__all__ = ["Report", "write_report"]
