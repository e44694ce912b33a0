"""A mechanism from its name and settings."""

from __future__ import annotations

from collections.abc import Mapping
from typing import cast

from sfumato.catalog import entries, find
from sfumato.core.errors import InvalidArgument
from sfumato.core.settings import configure
from sfumato.mechanisms.levels import Levels
from sfumato.mechanisms.mechanism import PointMechanism, StretchMechanism
from sfumato.mechanisms.selective import Selective
from sfumato.vectors.space import Space


def build(
    name: str, *, space: Space, epsilon: float, settings: Mapping[str, object] | None = None
) -> PointMechanism:
    """The word mechanism called ``name`` over a space."""
    if is_baseline(name):
        raise InvalidArgument(
            f"{name!r} takes no epsilon: it is a baseline that replaces whole stretches, and no "
            "level is proven for it"
        )
    component = find("mechanisms", name).load()
    return cast(
        "PointMechanism", configure(component, settings or {}, space=space, epsilon=epsilon)
    )


def build_baseline(name: str, settings: Mapping[str, object] | None = None) -> StretchMechanism:
    """The baseline called ``name``; it needs neither a space nor a level."""
    return cast("StretchMechanism", configure(find("mechanisms", name).load(), settings or {}))


def is_baseline(name: str) -> bool:
    """Whether this mechanism replaces whole stretches instead of words; a wrapper is neither."""
    component = find("mechanisms", name).load()
    if component is Selective:
        raise InvalidArgument(
            "'selective' wraps a word mechanism: name that one (for example 'laplace') and say "
            "with a policy what is selected"
        )
    if component is Levels:
        raise InvalidArgument(
            "'levels' wraps a word mechanism: name that one (for example 'laplace') and give the "
            "levels: `levels=[(EPSILON, POLICY)]`"
        )
    return isinstance(component, type) and issubclass(component, StretchMechanism)


def word_mechanisms() -> list[str]:
    """The names of all mechanisms that replace word by word, wrappers left out."""
    names = []
    for name, entry in entries("mechanisms").items():
        component = entry.load()
        if component not in (Selective, Levels) and not is_baseline(name):
            names.append(name)
    return names
