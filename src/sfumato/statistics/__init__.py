"""Intervals, rankings, shares and monotone curves: statistics that know nothing of privacy."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sfumato.core.lazy import export

if TYPE_CHECKING:
    from sfumato.statistics.intervals import clopper_pearson as clopper_pearson
    from sfumato.statistics.intervals import wilson as wilson
    from sfumato.statistics.ranking import auc as auc
    from sfumato.statistics.ranking import measure_auc as measure_auc
else:
    __getattr__, __dir__ = export(
        __name__,
        {
            "sfumato.statistics.intervals": "clopper_pearson wilson",
            "sfumato.statistics.ranking": "auc measure_auc",
        },
    )

__all__ = [
    "auc",
    "clopper_pearson",
    "measure_auc",
    "wilson",
]
