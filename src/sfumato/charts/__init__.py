"""Charts with one look, as SVG, PNG, HTML or Vega-Lite."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sfumato.core.lazy import export

if TYPE_CHECKING:
    from sfumato.charts.chart import Chart as Chart
else:
    __getattr__, __dir__ = export(
        __name__,
        {
            "sfumato.charts.chart": "Chart",
        },
    )

__all__ = [
    "Chart",
]
