"""Mechanisms: what takes the place of a word, each with its proof."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sfumato.core.lazy import export

if TYPE_CHECKING:
    from sfumato.mechanisms.auto import Auto as Auto
    from sfumato.mechanisms.binary import Binary as Binary
    from sfumato.mechanisms.build import build_mechanism as build_mechanism
    from sfumato.mechanisms.by_type import ByType as ByType
    from sfumato.mechanisms.custom import Custom as Custom
    from sfumato.mechanisms.date import Date as Date
    from sfumato.mechanisms.exponential import Exponential as Exponential
    from sfumato.mechanisms.hyperbolic import Hyperbolic as Hyperbolic
    from sfumato.mechanisms.hyperbolic import HyperbolicRows as HyperbolicRows
    from sfumato.mechanisms.laplace import Laplace as Laplace
    from sfumato.mechanisms.levels import Level as Level
    from sfumato.mechanisms.levels import Levels as Levels
    from sfumato.mechanisms.mahalanobis import Mahalanobis as Mahalanobis
    from sfumato.mechanisms.mechanism import DocumentMechanism as DocumentMechanism
    from sfumato.mechanisms.mechanism import Keyed as Keyed
    from sfumato.mechanisms.mechanism import Mechanism as Mechanism
    from sfumato.mechanisms.mechanism import PointMechanism as PointMechanism
    from sfumato.mechanisms.mechanism import StretchMechanism as StretchMechanism
    from sfumato.mechanisms.mechanism import check_level as check_level
    from sfumato.mechanisms.number import Number as Number
    from sfumato.mechanisms.place import Place as Place
    from sfumato.mechanisms.projected import Projected as Projected
    from sfumato.mechanisms.pseudonym import Pseudonym as Pseudonym
    from sfumato.mechanisms.redact import Redact as Redact
    from sfumato.mechanisms.rewriting.candidates import Candidates as Candidates
    from sfumato.mechanisms.rewriting.latent import Latent as Latent
    from sfumato.mechanisms.rewriting.masked import Masked as Masked
    from sfumato.mechanisms.rewriting.sentences import Sentences as Sentences
    from sfumato.mechanisms.rewriting.temperature import Temperature as Temperature
    from sfumato.mechanisms.rows import ByDistance as ByDistance
    from sfumato.mechanisms.rows import FromRows as FromRows
    from sfumato.mechanisms.rows import RowMechanism as RowMechanism
    from sfumato.mechanisms.sanitize_plus import SanitizePlus as SanitizePlus
    from sfumato.mechanisms.selective import Selective as Selective
    from sfumato.mechanisms.surrogates.surrogate import Surrogate as Surrogate
    from sfumato.mechanisms.truncated import Truncated as Truncated
    from sfumato.mechanisms.vickrey import Vickrey as Vickrey
    from sfumato.mechanisms.vocabulary import OverVocabulary as OverVocabulary
else:
    __getattr__, __dir__ = export(
        __name__,
        {
            "sfumato.mechanisms.auto": "Auto",
            "sfumato.mechanisms.binary": "Binary",
            "sfumato.mechanisms.build": "build_mechanism",
            "sfumato.mechanisms.by_type": "ByType",
            "sfumato.mechanisms.custom": "Custom",
            "sfumato.mechanisms.date": "Date",
            "sfumato.mechanisms.exponential": "Exponential",
            "sfumato.mechanisms.hyperbolic": "Hyperbolic HyperbolicRows",
            "sfumato.mechanisms.laplace": "Laplace",
            "sfumato.mechanisms.levels": "Level Levels",
            "sfumato.mechanisms.mahalanobis": "Mahalanobis",
            "sfumato.mechanisms.mechanism": (
                "DocumentMechanism Keyed Mechanism PointMechanism StretchMechanism check_level"
            ),
            "sfumato.mechanisms.number": "Number",
            "sfumato.mechanisms.place": "Place",
            "sfumato.mechanisms.projected": "Projected",
            "sfumato.mechanisms.pseudonym": "Pseudonym",
            "sfumato.mechanisms.redact": "Redact",
            "sfumato.mechanisms.rewriting.latent": "Latent",
            "sfumato.mechanisms.rewriting.masked": "Masked",
            "sfumato.mechanisms.rewriting.candidates": "Candidates",
            "sfumato.mechanisms.rewriting.sentences": "Sentences",
            "sfumato.mechanisms.rewriting.temperature": "Temperature",
            "sfumato.mechanisms.rows": "ByDistance FromRows RowMechanism",
            "sfumato.mechanisms.sanitize_plus": "SanitizePlus",
            "sfumato.mechanisms.selective": "Selective",
            "sfumato.mechanisms.surrogates.surrogate": "Surrogate",
            "sfumato.mechanisms.truncated": "Truncated",
            "sfumato.mechanisms.vickrey": "Vickrey",
            "sfumato.mechanisms.vocabulary": "OverVocabulary",
        },
    )

__all__ = [
    "Auto",
    "Binary",
    "ByDistance",
    "ByType",
    "Candidates",
    "Custom",
    "Date",
    "DocumentMechanism",
    "Exponential",
    "FromRows",
    "Hyperbolic",
    "HyperbolicRows",
    "Keyed",
    "Laplace",
    "Latent",
    "Level",
    "Levels",
    "Mahalanobis",
    "Masked",
    "Mechanism",
    "Number",
    "OverVocabulary",
    "Place",
    "PointMechanism",
    "Projected",
    "Pseudonym",
    "Redact",
    "RowMechanism",
    "SanitizePlus",
    "Selective",
    "Sentences",
    "StretchMechanism",
    "Surrogate",
    "Temperature",
    "Truncated",
    "Vickrey",
    "build_mechanism",
    "check_level",
]
