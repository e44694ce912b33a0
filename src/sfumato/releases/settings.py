"""What a side file may show of a privatizer: names and numbers, never a pattern, list or key."""

from __future__ import annotations

import math
from dataclasses import fields, is_dataclass
from typing import TYPE_CHECKING, Any

from sfumato.accounting.wording import exact
from sfumato.mechanisms.levels import Levels
from sfumato.mechanisms.mechanism import Keyed, Mechanism, StretchMechanism

if TYPE_CHECKING:
    from sfumato.releases.privatizer import Privatizer


def public_settings(privatizer: Privatizer) -> dict[str, Any]:
    """The settings that decide what comes out, as far as they are public."""
    selective = privatizer.selective
    if isinstance(selective, Levels):
        listed = [{"epsilon": one.epsilon, "policy": one.policy.name} for one in selective.levels]
        together = ", ".join(f"{exact(one.epsilon)}: {one.policy.name}" for one in selective.levels)
        chosen = {"policy": f"levels({together})", "levels": listed}
        mechanism: Mechanism | StretchMechanism = selective.levels[0].mechanism
    else:
        chosen = {"policy": selective.policy.name}
        mechanism = selective.mechanism
    by_words = not isinstance(mechanism, StretchMechanism)
    points = getattr(mechanism, "points", None)
    return chosen | {
        "mechanism": name_of(privatizer.mechanism),
        "mechanism_settings": _own_settings(points if by_words else mechanism),
        "epsilon": privatizer.guarantee().as_dict()["epsilon"] if by_words else None,
        "vectors": getattr(getattr(points, "space", None), "name", None),
        "search": privatizer.search if by_words else None,
        "unknown": getattr(mechanism, "unknown", None),
        "case": getattr(mechanism, "case", None),
        "reproducible": not privatizer.randomness.for_release,
    }


def name_of(mechanism: object) -> str:
    """How a mechanism is called, given as a name or as an object."""
    return mechanism if isinstance(mechanism, str) else type(mechanism).__name__.lower()


def _own_settings(mechanism: object) -> dict[str, Any]:
    """The numbers and names that a mechanism was made with; they are public by definition."""
    if isinstance(mechanism, Keyed):
        # Of a key it is told where it came from, not what it is nor where it lies.
        return {"key": mechanism.key.origin}
    if not is_dataclass(mechanism):
        return {}
    own = {one.name: getattr(mechanism, one.name) for one in fields(mechanism)}
    simple = {key: value for key, value in own.items() if isinstance(value, (int, float, str))}
    return {
        key.removesuffix("_"): str(value) if value == math.inf else value
        for key, value in simple.items()
        if key != "epsilon"
    }
