"""Synthetic corpora with a guarantee: chosen by noisy votes, or written by private prediction."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sfumato.core.lazy import export

if TYPE_CHECKING:
    from sfumato.synthesis.corpus import SyntheticCorpus as SyntheticCorpus
    from sfumato.synthesis.generator import Generator as Generator
    from sfumato.synthesis.generator import build_generator as build_generator
    from sfumato.synthesis.model import ModelGenerator as ModelGenerator
    from sfumato.synthesis.plan import VotingPlan as VotingPlan
    from sfumato.synthesis.pool import PoolGenerator as PoolGenerator
    from sfumato.synthesis.prediction.plan import PredictionPlan as PredictionPlan
    from sfumato.synthesis.prediction.settings import Prediction as Prediction
else:
    __getattr__, __dir__ = export(
        __name__,
        {
            "sfumato.synthesis.corpus": "SyntheticCorpus",
            "sfumato.synthesis.generator": "Generator build_generator",
            "sfumato.synthesis.model": "ModelGenerator",
            "sfumato.synthesis.plan": "VotingPlan",
            "sfumato.synthesis.pool": "PoolGenerator",
            "sfumato.synthesis.prediction.plan": "PredictionPlan",
            "sfumato.synthesis.prediction.settings": "Prediction",
        },
    )

__all__ = [
    "Generator",
    "ModelGenerator",
    "PoolGenerator",
    "Prediction",
    "PredictionPlan",
    "SyntheticCorpus",
    "VotingPlan",
    "build_generator",
]
