"""What others may know of a privatizer's settings: names and numbers, never a pattern or a key."""

from __future__ import annotations

import math
from dataclasses import fields, is_dataclass
from typing import TYPE_CHECKING, Any

from sfumato.catalog import entries
from sfumato.core.own_code import OwnClass
from sfumato.guarantees.wording import exact
from sfumato.mechanisms.auto import OTHER
from sfumato.mechanisms.by_type import ByType
from sfumato.mechanisms.levels import Levels
from sfumato.mechanisms.mechanism import (
    DocumentMechanism,
    Keyed,
    Mechanism,
    StretchMechanism,
    TellsFacts,
)
from sfumato.mechanisms.selective import Selective
from sfumato.mechanisms.vocabulary import OverVocabulary

if TYPE_CHECKING:
    from sfumato.releases.privatizer import Privatizer


def public_settings(privatizer: Privatizer) -> dict[str, Any]:
    """The settings that decide what comes out, as far as they are public."""
    selective = privatizer.selective
    if isinstance(selective, Levels):
        listed = [{"epsilon": one.epsilon, "policy": one.policy.name} for one in selective.levels]
        together = ", ".join(f"{exact(one.epsilon)}: {one.policy.name}" for one in selective.levels)
        chosen: dict[str, Any] = {"policy": f"levels({together})", "levels": listed}
        mechanism: Mechanism | StretchMechanism | DocumentMechanism | ByType = selective.levels[
            0
        ].mechanism
    else:
        chosen = {"policy": selective.policy.name}
        mechanism = selective.mechanism
    by_words = not isinstance(mechanism, StretchMechanism | DocumentMechanism | ByType)
    if isinstance(mechanism, ByType):
        chosen["by_type"] = {name: name_of(part) for name, part in mechanism.parts} | {
            OTHER: name_of(mechanism.otherwise)
        }
        own = privatizer.auto_settings()
        mechanism = mechanism.otherwise
    else:
        own = _own_settings(getattr(mechanism, "points", None) if by_words else mechanism)
    points = getattr(mechanism, "points", None)
    return chosen | {
        "mechanism": name_of(privatizer.mechanism),
        "mechanism_settings": own,
        "epsilon": privatizer.guarantee().as_dict()["epsilon"] if by_words else privatizer.epsilon,
        "vectors": _names_of_spaces(selective, points),
        "search": privatizer.search if by_words else None,
        "unknown": getattr(mechanism, "unknown", None),
        "case": getattr(mechanism, "case", None),
        "reproducible": not privatizer.randomness.for_release,
    }


def _names_of_spaces(selective: Selective | Levels, points: object) -> str | dict[str, str] | None:
    """The name of the space, or of that for each language."""
    name: str | None = getattr(getattr(points, "space", None), "name", None)
    table = selective.mechanism if isinstance(selective, Selective) else None
    if not isinstance(table, ByType) or not table.by_language or name is None:
        return name
    others = {code: getattr(one, "points", None) for code, one in table.by_language}
    return {table.language: name} | {
        code: str(getattr(getattr(one, "space", None), "name", "")) for code, one in others.items()
    }


def name_of(mechanism: object) -> str:
    """How a mechanism is called, given as a name or as an object: by the catalog, or its class."""
    if isinstance(mechanism, str):
        own = OwnClass.read(mechanism)
        return mechanism if own is None else own.name.lower()
    kind = type(mechanism.points if isinstance(mechanism, OverVocabulary) else mechanism)
    place = f"{kind.__module__}:{kind.__qualname__}"
    named = (name for name, entry in entries("mechanisms").items() if entry.target == place)
    return next(named, kind.__name__.lower())


def _own_settings(mechanism: object) -> dict[str, Any]:
    """The numbers and names that a mechanism was made with; they are public by definition.

    A field that says ``repr=False`` is not: it stays out of logs, and out of side files.
    """
    if isinstance(mechanism, Keyed):
        # Of a key it is told where it came from, not what it is nor where it lies.
        told: dict[str, Any] = {"key": mechanism.key.origin}
    else:
        told = mechanism.public_facts() if isinstance(mechanism, TellsFacts) else {}
    if not is_dataclass(mechanism):
        return told
    own = {one.name: getattr(mechanism, one.name) for one in fields(mechanism) if one.repr}
    simple = {key: value for key, value in own.items() if isinstance(value, (int, float, str))}
    return {
        key.removesuffix("_"): str(value) if value == math.inf else value
        for key, value in simple.items()
        if key not in ("epsilon", "key_file")
    } | told
