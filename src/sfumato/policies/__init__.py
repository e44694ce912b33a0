"""Policies: what is sensitive in a text."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sfumato.core.lazy import export

if TYPE_CHECKING:
    from sfumato.policies.combine import Minus as Minus
    from sfumato.policies.combine import Priority as Priority
    from sfumato.policies.combine import Union as Union
    from sfumato.policies.identity import Identity as Identity
    from sfumato.policies.imperfect import Imperfect as Imperfect
    from sfumato.policies.lexicon import Lexicon as Lexicon
    from sfumato.policies.linguistic.contextual import Contextual as Contextual
    from sfumato.policies.linguistic.entities import Entities as Entities
    from sfumato.policies.linguistic.presidio import Presidio as Presidio
    from sfumato.policies.parsing import combine_policies as combine_policies
    from sfumato.policies.parsing import parse_policy as parse_policy
    from sfumato.policies.patterns import Digits as Digits
    from sfumato.policies.patterns import Everything as Everything
    from sfumato.policies.patterns import Nothing as Nothing
    from sfumato.policies.patterns import Regex as Regex
    from sfumato.policies.pii.detector import Pii as Pii
    from sfumato.policies.policy import Batched as Batched
    from sfumato.policies.policy import Policy as Policy
    from sfumato.policies.policy import find_each as find_each
    from sfumato.policies.scan import Scan as Scan
    from sfumato.policies.scoring import PolicyScores as PolicyScores
    from sfumato.policies.scoring import compare_with_gold as compare_with_gold
else:
    __getattr__, __dir__ = export(
        __name__,
        {
            "sfumato.policies.combine": "Minus Priority Union",
            "sfumato.policies.identity": "Identity",
            "sfumato.policies.imperfect": "Imperfect",
            "sfumato.policies.lexicon": "Lexicon",
            "sfumato.policies.linguistic.contextual": "Contextual",
            "sfumato.policies.linguistic.entities": "Entities",
            "sfumato.policies.linguistic.presidio": "Presidio",
            "sfumato.policies.parsing": "combine_policies parse_policy",
            "sfumato.policies.patterns": "Digits Everything Nothing Regex",
            "sfumato.policies.pii.detector": "Pii",
            "sfumato.policies.policy": "Batched Policy find_each",
            "sfumato.policies.scan": "Scan",
            "sfumato.policies.scoring": "PolicyScores compare_with_gold",
        },
    )

__all__ = [
    "Batched",
    "Contextual",
    "Digits",
    "Entities",
    "Everything",
    "Identity",
    "Imperfect",
    "Lexicon",
    "Minus",
    "Nothing",
    "Pii",
    "Policy",
    "PolicyScores",
    "Presidio",
    "Priority",
    "Regex",
    "Scan",
    "Union",
    "combine_policies",
    "compare_with_gold",
    "find_each",
    "parse_policy",
]
