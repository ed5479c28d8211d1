"""One HTML file with everything about some systems: scores, tests, pictures, every caption."""

from cidery.reports.writing import Finding, Report, write_report

__all__ = ["Finding", "Report", "write_report"]
