"""A mechanism to verify, by its name: one of the catalog, or a class of your own.

``laplace`` is looked up in the catalog; ``package.module:Class`` and ``file.py:Class`` are
imported, which runs that code: only what was named on purpose is.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

from sfumato.audits.colors import color_space
from sfumato.core.errors import InvalidArgument, SfumatoError
from sfumato.core.own_code import OwnClass, class_in
from sfumato.mechanisms.build import build_mechanism, is_baseline, make_mechanism
from sfumato.mechanisms.mechanism import PointMechanism
from sfumato.vectors.space import Space

NamedSettings = Mapping[str, object]


@dataclass(frozen=True, kw_only=True)
class MechanismsToVerify:
    """One mechanism over each of some spaces, and what to say about spaces that are missing."""

    mechanisms: tuple[PointMechanism, ...]
    notes: tuple[str, ...] = ()


def candidates(
    name: str, *, space: Space, epsilon: float, settings: NamedSettings | None = None
) -> MechanismsToVerify:
    """The mechanism of that name over a space, and over a small one where sampling sees more."""
    made = maker(name, settings or {})
    given = made(space, epsilon)
    try:
        small = made(color_space(epsilon), epsilon)
    except SfumatoError as error:
        # Some settings make no sense in three dimensions; then one space has to do.
        return MechanismsToVerify(mechanisms=(given,), notes=(f"not tried over colors: {error}",))
    return MechanismsToVerify(mechanisms=(given, small))


def maker(name: str, settings: NamedSettings) -> Callable[[Space, float], PointMechanism]:
    """What builds the mechanism of that name over any space."""
    if ":" not in name:
        if is_baseline(name):
            raise InvalidArgument(
                f"nothing is claimed: {name!r} is a baseline without a formal guarantee, so there "
                "is nothing to refute; attack its output instead"
            )
        return lambda space, epsilon: build_mechanism(
            name, space=space, epsilon=epsilon, settings=settings
        )
    component = load_class(name)
    return lambda space, epsilon: make_mechanism(component, settings, space=space, epsilon=epsilon)


def load_class(name: str) -> type[Any]:
    """The class called ``module:Class`` or ``file.py:Class``; importing it runs its module."""
    own = OwnClass.read(name)
    if own is not None:
        return own.load()
    place, _, attribute = name.rpartition(":")
    try:
        module = _by_name(place)
    except SfumatoError:
        raise
    except (Exception, SystemExit) as error:  # a module that exits must not pass for verified
        raise InvalidArgument(
            f"importing {place} failed: {type(error).__name__}: {error}"
        ) from error
    return class_in(module, attribute, place)


def _by_name(place: str) -> ModuleType:
    # A module beside the user, as ``python -m`` would find it.
    here = str(Path.cwd())
    sys.path.insert(0, here)
    try:
        return import_module(place)
    finally:
        sys.path.remove(here)
