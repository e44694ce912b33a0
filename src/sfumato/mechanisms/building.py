"""A mechanism from its name and settings."""

from __future__ import annotations

from collections.abc import Mapping
from typing import cast

from sfumato.catalog import find
from sfumato.core.config import configured
from sfumato.core.errors import InvalidArgument
from sfumato.mechanisms.mechanism import PointMechanism
from sfumato.mechanisms.selective import Selective
from sfumato.vectors.space import Space


def build(
    name: str, *, space: Space, epsilon: float, settings: Mapping[str, object] | None = None
) -> PointMechanism:
    """The word mechanism called ``name`` over a space."""
    component = find("mechanisms", name).load()
    if component is Selective:
        raise InvalidArgument(
            "'selective' wraps a word mechanism: name that one (for example 'laplace') and say "
            "with a policy what is selected"
        )
    return cast(
        "PointMechanism", configured(component, settings or {}, space=space, epsilon=epsilon)
    )
