"""Pages made once."""

from __future__ import annotations

from unit.reports.fixtures import hostile_report, study_report

__all__ = ["hostile_report", "study_report"]
