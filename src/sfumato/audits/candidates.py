"""The mechanism to verify, found by its name, and the spaces it is tested over.

``laplace`` is looked up in the catalog; ``package.module:Class`` and ``file.py:Class`` are
imported. Importing runs that code, so only what the user named is imported.

Besides the space in use, a mechanism is tested over forty names of colors, placed by their red,
green and blue. In a space of 60,000 words in 50 dimensions sampling can show little: for most pairs
the claim allows ratios that no number of draws could exceed. Among the colors every pair is within
reach; some names share a point (aqua is cyan), some are near-duplicates (navy, darkblue) and some
lie at the edge.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np

from sfumato.catalog import find
from sfumato.core.errors import InvalidArgument, SfumatoError
from sfumato.core.own_code import OwnClass, class_in
from sfumato.core.settings import configure
from sfumato.mechanisms.build import build_mechanism, make_mechanism, replaces_stretches
from sfumato.mechanisms.line import HasPoints
from sfumato.mechanisms.mechanism import PointMechanism
from sfumato.vectors.space import Space

NamedSettings = Mapping[str, object]
# CSS Color Module Level 4, section 6.1.
_COLORS = """
    black #000000 navy #000080 darkblue #00008b mediumblue #0000cd blue #0000ff
    midnightblue #191970 indigo #4b0082 purple #800080 darkmagenta #8b008b magenta #ff00ff
    fuchsia #ff00ff maroon #800000 darkred #8b0000 firebrick #b22222 crimson #dc143c red #ff0000
    tomato #ff6347 coral #ff7f50 orange #ffa500 gold #ffd700 yellow #ffff00 khaki #f0e68c
    olive #808000 green #008000 darkgreen #006400 forestgreen #228b22 lime #00ff00 teal #008080
    darkcyan #008b8b aqua #00ffff cyan #00ffff turquoise #40e0d0 azure #f0ffff snow #fffafa
    ivory #fffff0 white #ffffff silver #c0c0c0 gray #808080 dimgray #696969 pink #ffc0cb
"""
# The claimed log-ratio between the two ends of one color axis: epsilon times the cube's edge.
ACROSS = 4.0


@dataclass(frozen=True, kw_only=True)
class MechanismsToVerify:
    """The same mechanism over several spaces, and notes on spaces that it refuses."""

    mechanisms: tuple[PointMechanism, ...]
    notes: tuple[str, ...] = ()


def candidates(
    name: str, *, space: Space, epsilon: float, settings: NamedSettings | None = None
) -> MechanismsToVerify:
    """The mechanism of that name over a space, and over a small one where sampling shows more."""
    if ":" not in name and replaces_stretches(name):
        return _on_points(name, epsilon, settings or {})
    made = maker(name, settings or {})
    given = made(space, epsilon)
    try:
        small = made(color_space(epsilon), epsilon)
    except SfumatoError as error:
        # Some settings make no sense in three dimensions; then only the given space is tested.
        return MechanismsToVerify(mechanisms=(given,), notes=(f"not tried over colors: {error}",))
    return MechanismsToVerify(mechanisms=(given, small))


def _on_points(name: str, epsilon: float, settings: NamedSettings) -> MechanismsToVerify:
    """A mechanism of whole stretches over a public window of values that it brings itself."""
    component = find("mechanisms", name).load()
    if not issubclass(component, HasPoints):
        raise InvalidArgument(
            f"nothing is claimed: {name!r} is a baseline without a formal guarantee, so there "
            "is nothing to refute; attack its output instead"
        )
    made: HasPoints = configure(component, settings, epsilon=epsilon)
    return MechanismsToVerify(mechanisms=made.points())


def maker(name: str, settings: NamedSettings) -> Callable[[Space, float], PointMechanism]:
    """A function that builds the mechanism of that name over any space."""
    if ":" not in name:
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
    except (Exception, SystemExit) as error:  # a module that exits must not count as verified
        raise InvalidArgument(
            f"importing {place} failed: {type(error).__name__}: {error}"
        ) from error
    return class_in(module, attribute, place)


def _by_name(place: str) -> ModuleType:
    # A module in the current folder, as ``python -m`` would find it.
    here = str(Path.cwd())
    sys.path.insert(0, here)
    try:
        return import_module(place)
    finally:
        sys.path.remove(here)


def color_space(epsilon: float) -> Space:
    """Forty names of colors in three dimensions, scaled so that this epsilon can be tested.

    A claim must hold in every space. At this scale it allows ratios from 1 to about exp(7), which a
    few thousand draws can exceed if the claim is false.

    >>> space = color_space(2.0)
    >>> len(space), space.dimension
    (40, 3)
    """
    fields = _COLORS.split()
    values = [[int(code[place : place + 2], 16) for place in (1, 3, 5)] for code in fields[1::2]]
    scaled = np.array(values) / 255 * (ACROSS / epsilon)
    return Space("40 names of colors", fields[::2], scaled.astype(np.float32))
