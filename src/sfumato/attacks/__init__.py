"""Attacks: what a model or a privatized text still reveals."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sfumato.core.lazy import export

if TYPE_CHECKING:
    from sfumato.attacks.attack import Attack as Attack
    from sfumato.attacks.attack import Inputs as Inputs
    from sfumato.attacks.attack import run_attack as run_attack
    from sfumato.attacks.attribute_inference import AttributeInference as AttributeInference
    from sfumato.attacks.author_attributes import AuthorAttributes as AuthorAttributes
    from sfumato.attacks.authorship import Authorship as Authorship
    from sfumato.attacks.classifier_extraction import ClassifierExtraction as ClassifierExtraction
    from sfumato.attacks.exposure.attack import Exposure as Exposure
    from sfumato.attacks.gradients.candidates import GradientCandidates as GradientCandidates
    from sfumato.attacks.gradients.imprint.attack import GradientImprint as GradientImprint
    from sfumato.attacks.gradients.matching.attack import GradientMatching as GradientMatching
    from sfumato.attacks.gradients.span import GradientSpan as GradientSpan
    from sfumato.attacks.gradients.tokens import GradientTokens as GradientTokens
    from sfumato.attacks.inference.token_inference import TokenInference as TokenInference
    from sfumato.attacks.inference.word_comparison import WordComparison as WordComparison
    from sfumato.attacks.inference.word_focus import look_at_word as look_at_word
    from sfumato.attacks.inference.word_view import ViewEffort as ViewEffort
    from sfumato.attacks.inference.word_view import WordView as WordView
    from sfumato.attacks.inference.word_view import view_word as view_word
    from sfumato.attacks.membership.attack import Membership as Membership
    from sfumato.attacks.memorization import Memorization as Memorization
    from sfumato.attacks.model_target import ModelTarget as ModelTarget
    from sfumato.attacks.model_target import open_model as open_model
    from sfumato.attacks.properties.attack import PropertyInference as PropertyInference
    from sfumato.attacks.reidentification import Reidentification as Reidentification
    from sfumato.attacks.stretches.context_inference import ContextInference as ContextInference
    from sfumato.attacks.stretches.matching import Matching as Matching
    from sfumato.attacks.stretches.released import Released as Released
    from sfumato.attacks.stretches.released import open_released as open_released
    from sfumato.attacks.text_target import TextTarget as TextTarget
    from sfumato.attacks.text_target import open_text as open_text
    from sfumato.attacks.vectors.attributes import VectorAttributes as VectorAttributes
    from sfumato.attacks.vectors.inversion import VectorInversion as VectorInversion
    from sfumato.attacks.vectors.keywords import VectorKeywords as VectorKeywords
    from sfumato.attacks.vectors.membership import VectorMembership as VectorMembership
    from sfumato.attacks.vectors.reidentification import (
        VectorReidentification as VectorReidentification,
    )
    from sfumato.attacks.vectors.target import VectorTarget as VectorTarget
    from sfumato.attacks.vectors.target import open_vectors as open_vectors
else:
    __getattr__, __dir__ = export(
        __name__,
        {
            "sfumato.attacks.attack": "Attack Inputs run_attack",
            "sfumato.attacks.attribute_inference": "AttributeInference",
            "sfumato.attacks.author_attributes": "AuthorAttributes",
            "sfumato.attacks.authorship": "Authorship",
            "sfumato.attacks.classifier_extraction": "ClassifierExtraction",
            "sfumato.attacks.exposure.attack": "Exposure",
            "sfumato.attacks.gradients.candidates": "GradientCandidates",
            "sfumato.attacks.gradients.imprint.attack": "GradientImprint",
            "sfumato.attacks.gradients.matching.attack": "GradientMatching",
            "sfumato.attacks.gradients.span": "GradientSpan",
            "sfumato.attacks.gradients.tokens": "GradientTokens",
            "sfumato.attacks.inference.token_inference": "TokenInference",
            "sfumato.attacks.inference.word_comparison": "WordComparison",
            "sfumato.attacks.inference.word_focus": "look_at_word",
            "sfumato.attacks.inference.word_view": "ViewEffort WordView view_word",
            "sfumato.attacks.membership.attack": "Membership",
            "sfumato.attacks.memorization": "Memorization",
            "sfumato.attacks.model_target": "ModelTarget open_model",
            "sfumato.attacks.properties.attack": "PropertyInference",
            "sfumato.attacks.reidentification": "Reidentification",
            "sfumato.attacks.stretches.context_inference": "ContextInference",
            "sfumato.attacks.stretches.matching": "Matching",
            "sfumato.attacks.stretches.released": "Released open_released",
            "sfumato.attacks.text_target": "TextTarget open_text",
            "sfumato.attacks.vectors.attributes": "VectorAttributes",
            "sfumato.attacks.vectors.inversion": "VectorInversion",
            "sfumato.attacks.vectors.keywords": "VectorKeywords",
            "sfumato.attacks.vectors.membership": "VectorMembership",
            "sfumato.attacks.vectors.reidentification": "VectorReidentification",
            "sfumato.attacks.vectors.target": "VectorTarget open_vectors",
        },
    )

__all__ = [
    "Attack",
    "AttributeInference",
    "AuthorAttributes",
    "Authorship",
    "ClassifierExtraction",
    "ContextInference",
    "Exposure",
    "GradientCandidates",
    "GradientImprint",
    "GradientMatching",
    "GradientSpan",
    "GradientTokens",
    "Inputs",
    "Matching",
    "Membership",
    "Memorization",
    "ModelTarget",
    "PropertyInference",
    "Reidentification",
    "Released",
    "TextTarget",
    "TokenInference",
    "VectorAttributes",
    "VectorInversion",
    "VectorKeywords",
    "VectorMembership",
    "VectorReidentification",
    "VectorTarget",
    "ViewEffort",
    "WordComparison",
    "WordView",
    "look_at_word",
    "open_model",
    "open_released",
    "open_text",
    "open_vectors",
    "run_attack",
    "view_word",
]
