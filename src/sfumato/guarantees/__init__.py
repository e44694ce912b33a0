"""What is proven about an output, in one sentence; and what was measured, kept apart from it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sfumato.core.lazy import export

if TYPE_CHECKING:
    from sfumato.guarantees.bound import EmpiricalBound as EmpiricalBound
    from sfumato.guarantees.guarantee import Guarantee as Guarantee
    from sfumato.guarantees.guarantee import Notion as Notion
    from sfumato.guarantees.guarantee import Part as Part
    from sfumato.guarantees.guarantee import independent as independent
    from sfumato.guarantees.guarantee import metric_dp as metric_dp
    from sfumato.guarantees.guarantee import no_guarantee as no_guarantee
    from sfumato.guarantees.parts import add_levels as add_levels
    from sfumato.guarantees.parts import by_type as by_type
    from sfumato.guarantees.parts import document_levels as document_levels
else:
    __getattr__, __dir__ = export(
        __name__,
        {
            "sfumato.guarantees.bound": "EmpiricalBound",
            "sfumato.guarantees.parts": "add_levels by_type document_levels",
            "sfumato.guarantees.guarantee": (
                "Guarantee Notion Part independent metric_dp no_guarantee"
            ),
        },
    )

__all__ = [
    "EmpiricalBound",
    "Guarantee",
    "Notion",
    "Part",
    "add_levels",
    "by_type",
    "document_levels",
    "independent",
    "metric_dp",
    "no_guarantee",
]
