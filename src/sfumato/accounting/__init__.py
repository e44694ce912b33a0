"""What is released by training and by rewriting, what that costs, and what has been spent."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sfumato.core.lazy import export

if TYPE_CHECKING:
    from sfumato.accounting.accountants import Spent as Spent
    from sfumato.accounting.accountants import compute_spending as compute_spending
    from sfumato.accounting.bounded_range import ProvenLevel as ProvenLevel
    from sfumato.accounting.bounded_range import exact_level as exact_level
    from sfumato.accounting.bounded_range import least_level as least_level
    from sfumato.accounting.directional import directional_epsilon as directional_epsilon
    from sfumato.accounting.events import BoundedRange as BoundedRange
    from sfumato.accounting.events import SampledGaussian as SampledGaussian
    from sfumato.accounting.gaussian import gaussian_delta as gaussian_delta
    from sfumato.accounting.gaussian import gaussian_epsilon as gaussian_epsilon
    from sfumato.accounting.gaussian import gaussian_noise as gaussian_noise
    from sfumato.accounting.ledger import Ledger as Ledger
    from sfumato.accounting.selection import BestOfTrials as BestOfTrials
    from sfumato.accounting.trials import TrialCount as TrialCount
else:
    __getattr__, __dir__ = export(
        __name__,
        {
            "sfumato.accounting.accountants": "Spent compute_spending",
            "sfumato.accounting.bounded_range": "ProvenLevel exact_level least_level",
            "sfumato.accounting.directional": "directional_epsilon",
            "sfumato.accounting.events": "BoundedRange SampledGaussian",
            "sfumato.accounting.gaussian": "gaussian_delta gaussian_epsilon gaussian_noise",
            "sfumato.accounting.ledger": "Ledger",
            "sfumato.accounting.selection": "BestOfTrials",
            "sfumato.accounting.trials": "TrialCount",
        },
    )

__all__ = [
    "BestOfTrials",
    "BoundedRange",
    "Ledger",
    "ProvenLevel",
    "SampledGaussian",
    "Spent",
    "TrialCount",
    "compute_spending",
    "directional_epsilon",
    "exact_level",
    "gaussian_delta",
    "gaussian_epsilon",
    "gaussian_noise",
    "least_level",
]
