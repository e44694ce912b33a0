"""Figures: rows of a study, measured predictions, scores of an attack."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sfumato.core.lazy import export

if TYPE_CHECKING:
    from sfumato.results.measured import Measured as Measured
    from sfumato.results.measured import Predicted as Predicted
    from sfumato.results.row import Row as Row
    from sfumato.results.scores import Control as Control
    from sfumato.results.scores import Scores as Scores
    from sfumato.results.scores import ScoresOfAll as ScoresOfAll
else:
    __getattr__, __dir__ = export(
        __name__,
        {
            "sfumato.results.measured": "Measured Predicted",
            "sfumato.results.row": "Row",
            "sfumato.results.scores": "Control Scores ScoresOfAll",
        },
    )

__all__ = [
    "Control",
    "Measured",
    "Predicted",
    "Row",
    "Scores",
    "ScoresOfAll",
]
