"""Which labels a policy gives to what it finds, as far as it says so.

A table of mechanisms by type is asked for by labels. A misspelt one would be a mechanism that is
never used, and nobody would notice. So a label must mean a kind (``core.kinds``) or be one that the
policy declares. A policy of somebody's own declares them in an attribute ``labels``; where it does
not, any label is taken that is not nearly the name of a kind.
"""

from __future__ import annotations

from collections.abc import Collection
from difflib import get_close_matches

from sfumato.core.errors import InvalidArgument, suggestion
from sfumato.core.kinds import KINDS, LABELS, kind_of
from sfumato.policies.lexicon import Lexicon
from sfumato.policies.patterns import Digits, Everything, Nothing, Regex
from sfumato.policies.pii.detector import Pii
from sfumato.policies.policy import Policy

_GIVEN: dict[type[object], tuple[str, ...]] = {
    Digits: ("NUMBER",),
    Everything: ("ANY",),
    Lexicon: ("LEXICON",),
    Nothing: (),
    Pii: (),  # all of them are names of kinds
}
# How much alike a label must be to the name of a kind to be taken for a slip of the pen.
_ALIKE = 0.8


def labels_of(policy: Policy) -> frozenset[str] | None:
    """The labels that a policy declares; none at all if it may give any.

    >>> labels_of(Regex("x", label="TICKET"))
    frozenset({'TICKET'})
    """
    declared = getattr(policy, "labels", None)
    if isinstance(declared, Collection) and not isinstance(declared, str):
        return frozenset(map(str, declared))
    if isinstance(policy, Regex):
        return frozenset((policy.label,))
    if type(policy) in _GIVEN:
        return frozenset(_GIVEN[type(policy)])
    inside = getattr(policy, "policies", None) or [getattr(policy, "policy", None)]
    found = [labels_of(one) for one in inside if one is not None]
    known = [one for one in found if one is not None]
    return frozenset().union(*known) if known and len(known) == len(found) else None


def check_types(types: Collection[str], policy: Policy, also: Collection[str] = ()) -> None:
    """Refuse types that mean no kind and that the policy does not give."""
    declared = labels_of(policy)
    for label in types:
        if kind_of(label) or label in also or label in (declared or ()):
            continue
        near = get_close_matches(label.upper(), LABELS, n=1, cutoff=_ALIKE)
        if declared is None and not near:
            continue
        known = [*KINDS, *also, *(declared or ())]
        # Of a long list only what is near helps.
        hint = f"did you mean {near[0]!r}?" if near else suggestion(label, known)
        raise InvalidArgument(
            f"unknown type {label!r}: {hint} A label of your own must be one that the policy "
            "gives: a pattern by its label, a class by an attribute `labels`"
        )
