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
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np

from sfumato.audits.independence import claims_independence, text_subjects
from sfumato.audits.representations import SMALL, vector_subject
from sfumato.audits.subject import Subject
from sfumato.catalog import find
from sfumato.core.checks import positive
from sfumato.core.errors import InvalidArgument, SfumatoError
from sfumato.core.own_code import OwnClass, class_in
from sfumato.core.settings import configure, read, settings_of
from sfumato.guarantees.guarantee import Notion
from sfumato.mechanisms.auto import WORDS, Auto
from sfumato.mechanisms.build import (
    AUTO,
    build_mechanism,
    make_mechanism,
    replaces_stretches,
    rewrites_documents,
)
from sfumato.mechanisms.by_type import ByType
from sfumato.mechanisms.line import HasPoints
from sfumato.mechanisms.mechanism import PointMechanism, StretchMechanism
from sfumato.representations.mechanism import KIND, build_representation
from sfumato.text.span import NAMELESS
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

    mechanisms: tuple[PointMechanism | Subject, ...]
    notes: tuple[str, ...] = ()
    claim: str = ""  # of all of them together, where that is not the claim of each


def candidates(
    name: str,
    *,
    space: Space | Callable[[], Space],
    epsilon: float | None,
    settings: NamedSettings | None = None,
) -> MechanismsToVerify:
    """The mechanism of that name over a space, and over a small one where sampling shows more.

    ``representations/NAME`` is a mechanism on vectors, tested on extreme ones. What replaces whole
    stretches is tested on values that it brings, or on public documents; ``auto`` part by part.
    Without a level, only what has none can be tested.
    """
    if name.startswith(f"{KIND}/"):
        return _of_vectors(name.removeprefix(f"{KIND}/"), _level(epsilon), dict(settings or {}))
    if name == AUTO:
        return _of_table(space, epsilon, settings or {})
    if ":" not in name and rewrites_documents(name):
        return _of_documents(find("mechanisms", name).load(), name, epsilon, settings or {})
    if ":" not in name and replaces_stretches(name):
        return _of_stretches(find("mechanisms", name).load(), name, epsilon, settings or {})
    if ":" in name and _replaces(own := load_class(name)):
        return _of_stretches(own, name, epsilon, settings or {})
    level = _level(epsilon)
    return _over_spaces(name, _opened(space), level, settings or {})


def _of_vectors(name: str, epsilon: float, settings: dict[str, object]) -> MechanismsToVerify:
    """A mechanism on vectors; ``size`` and ``delta`` are settings here."""
    size = read("size", settings.pop("size", SMALL), int)
    delta = read("delta", settings.pop("delta", 0.0), float)
    made = build_representation(name, size=size, epsilon=epsilon, delta=delta, settings=settings)
    return MechanismsToVerify(mechanisms=(vector_subject(made),))


def _over_spaces(
    name: str, space: Space, epsilon: float, settings: NamedSettings
) -> MechanismsToVerify:
    made = maker(name, settings)
    given = made(space, epsilon)
    try:
        small = made(color_space(epsilon), epsilon)
    except SfumatoError as error:
        # Some settings make no sense in three dimensions; then only the given space is tested.
        return MechanismsToVerify(mechanisms=(given,), notes=(f"not tried over colors: {error}",))
    return MechanismsToVerify(mechanisms=(given, small))


def _of_stretches(
    component: type[Any], name: str, epsilon: float | None, settings: NamedSettings
) -> MechanismsToVerify:
    """A mechanism of whole stretches, over what it brings itself or over public documents."""
    if "epsilon" in settings_of(component):
        return of_object(configure(component, settings, epsilon=_level(epsilon)))
    found = of_object(configure(component, settings))
    if epsilon is not None:
        raise InvalidArgument(f"{name!r} claims no level: leave out `epsilon=...`")
    return found


def _of_documents(
    component: type[Any], name: str, epsilon: float | None, settings: NamedSettings
) -> MechanismsToVerify:
    """A mechanism that rewrites documents; its level, or a weight that has one, is a setting."""
    if epsilon is not None and "epsilon" not in settings_of(component):
        raise InvalidArgument(f"{name!r} takes no epsilon: its settings decide its level")
    level = {} if epsilon is None else {"epsilon": _level(epsilon)}
    made = configure(component, settings, **level)
    return replace(of_object(made), claim=made.guarantee().sentence())


def of_object(made: object, labels: Sequence[str] = ()) -> MechanismsToVerify:
    """A mechanism that is there, over all that its claim can be tested on."""
    if isinstance(made, ByType):
        return _parts(made)
    if isinstance(made, HasPoints):
        return MechanismsToVerify(mechanisms=made.points())
    if isinstance(made, StretchMechanism) and claims_independence(made):
        return MechanismsToVerify(mechanisms=tuple(text_subjects(made, labels)))
    raise InvalidArgument(
        f"nothing is claimed: {type(made).__name__} is a baseline without a formal guarantee, or "
        "brings nothing to test it on, so there is nothing to refute; attack its output instead"
    )


def _replaces(component: type[Any]) -> bool:
    """Whether objects of a class replace whole stretches, as far as its methods tell."""
    methods = [callable(getattr(component, name, None)) for name in ("replace", "rewrite")]
    return any(methods) and not hasattr(component, "privatize")


def _opened(space: Space | Callable[[], Space]) -> Space:
    """The space, which is loaded only where something is tested over it."""
    return space if isinstance(space, Space) else space()


def _of_table(
    space: Space | Callable[[], Space], epsilon: float | None, settings: NamedSettings
) -> MechanismsToVerify:
    """All parts of the table ``auto``, and with a level the word mechanism in it."""
    found = _parts(configure(Auto, settings).table({}))
    if epsilon is None:
        return found
    words = _over_spaces(WORDS, _opened(space), _level(epsilon), {})
    return replace(
        found,
        mechanisms=(*found.mechanisms, *words.mechanisms),
        notes=(*found.notes, *words.notes),
    )


def _parts(table: ByType) -> MechanismsToVerify:
    """Each part with its types. A part without a claim is named, and tested by nobody."""
    subjects: list[PointMechanism | Subject] = []
    notes = []
    for one in table.mechanisms():
        labels = table.types_of(one) or (NAMELESS,)
        if not isinstance(one, StretchMechanism):
            notes.append(f"not tried here: the word mechanism {type(one).__name__}")
        elif one.guarantee().notion is Notion.NONE:
            notes.append(f"nothing is claimed for {', '.join(labels)}")
        else:
            subjects += of_object(one, labels).mechanisms
    return MechanismsToVerify(
        mechanisms=tuple(subjects), notes=tuple(notes), claim=table.guarantee().sentence()
    )


def _level(epsilon: float | None) -> float:
    if epsilon is None:
        raise InvalidArgument("a mechanism by its name needs the level it claims: `epsilon=...`")
    return positive("epsilon", epsilon)


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
