"""Pages made once."""

from __future__ import annotations

from unit.reports.fixtures import file_report, hostile_report, run_report, study_report

__all__ = ["file_report", "hostile_report", "run_report", "study_report"]
