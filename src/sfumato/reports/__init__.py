"""Reports: one page about a study, a privatized file or a training run."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sfumato.core.lazy import export

if TYPE_CHECKING:
    from sfumato.reports.write import Written as Written
    from sfumato.reports.write import write_report as write_report
else:
    __getattr__, __dir__ = export(
        __name__,
        {
            "sfumato.reports.write": "Written write_report",
        },
    )

__all__ = [
    "Written",
    "write_report",
]
