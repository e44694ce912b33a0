"""sfumato: find what is sensitive in text, soften it, say what is guaranteed.

>>> import sfumato
>>> privatizer = sfumato.Privatizer(policy="digits", epsilon=5)
>>> "145572" in privatizer.privatize(["My ID is 145572."])[0]
False
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sfumato.core.errors import SfumatoError as SfumatoError
    from sfumato.core.randomness import Randomness as Randomness
    from sfumato.guarantees.guarantee import Guarantee as Guarantee
    from sfumato.guarantees.guarantee import Notion as Notion
    from sfumato.mechanisms.laplace import Laplace as Laplace
    from sfumato.mechanisms.mechanism import Mechanism as Mechanism
    from sfumato.mechanisms.selective import Selective as Selective
    from sfumato.policies.policy import Policy as Policy
    from sfumato.releases.privatizer import Privatizer as Privatizer
    from sfumato.text.document import Document as Document
    from sfumato.text.span import Span as Span
    from sfumato.text.span import Spans as Spans
    from sfumato.text.words import Words as Words
    from sfumato.training.plan import Plan as Plan
    from sfumato.vectors.load import load as load_vectors  # noqa: F401
    from sfumato.vectors.space import Space as Space

_PLACES = {
    "Document": "sfumato.text.document:Document",
    "Guarantee": "sfumato.guarantees.guarantee:Guarantee",
    "Laplace": "sfumato.mechanisms.laplace:Laplace",
    "Mechanism": "sfumato.mechanisms.mechanism:Mechanism",
    "Notion": "sfumato.guarantees.guarantee:Notion",
    "Plan": "sfumato.training.plan:Plan",
    "Policy": "sfumato.policies.policy:Policy",
    "Privatizer": "sfumato.releases.privatizer:Privatizer",
    "Randomness": "sfumato.core.randomness:Randomness",
    "Selective": "sfumato.mechanisms.selective:Selective",
    "SfumatoError": "sfumato.core.errors:SfumatoError",
    "Space": "sfumato.vectors.space:Space",
    "Span": "sfumato.text.span:Span",
    "Spans": "sfumato.text.span:Spans",
    "Words": "sfumato.text.words:Words",
    "load_vectors": "sfumato.vectors.load:load",
}

__all__ = [  # noqa: PLE0604  # the names are strings
    *sorted(_PLACES),
]


def __getattr__(name: str) -> Any:
    """Import a name when it is first used (PEP 562), so that ``import sfumato`` is light."""
    if name not in _PLACES:
        raise AttributeError(f"module 'sfumato' has no attribute {name!r}")
    module, _, attribute = _PLACES[name].partition(":")
    return getattr(import_module(module), attribute)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
