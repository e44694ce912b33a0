"""A mechanism to verify, by its name: one of the catalog, or a class of your own.

``laplace`` is looked up in the catalog; ``package.module:Class`` and ``file.py:Class`` are
imported, which runs that code: only what was named on purpose is.
"""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib import import_module
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType
from typing import Any

from sfumato.audits.colors import color_space
from sfumato.core.errors import InvalidArgument, SfumatoError, UnknownName
from sfumato.core.settings import configure
from sfumato.guarantees.guarantee import Guarantee
from sfumato.mechanisms.build import build, is_baseline
from sfumato.mechanisms.mechanism import PointMechanism
from sfumato.vectors.space import Space

NEEDED = {
    "space": "the public space it works on",
    "guarantee": "guarantee(), what is claimed",
    "privatize": "privatize(points, randomness), one output point per input point",
}
Settings = Mapping[str, object]


@dataclass(frozen=True, kw_only=True)
class MechanismsToVerify:
    """One mechanism over each of some spaces, and what to say about spaces that are missing."""

    mechanisms: tuple[PointMechanism, ...]
    notes: tuple[str, ...] = ()


def candidates(
    name: str, *, space: Space, epsilon: float, settings: Settings | None = None
) -> MechanismsToVerify:
    """The mechanism of that name over a space, and over a small one where sampling sees more."""
    make = maker(name, settings or {})
    given = make(space, epsilon)
    try:
        small = make(color_space(epsilon), epsilon)
    except SfumatoError as error:
        # Some settings make no sense in three dimensions; then one space has to do.
        return MechanismsToVerify(mechanisms=(given,), notes=(f"not tried over colors: {error}",))
    return MechanismsToVerify(mechanisms=(given, small))


def maker(name: str, settings: Settings) -> Callable[[Space, float], PointMechanism]:
    """What builds the mechanism of that name over any space."""
    if ":" not in name:
        if is_baseline(name):
            raise InvalidArgument(
                f"nothing is claimed: {name!r} is a baseline without a formal guarantee, so there "
                "is nothing to refute; attack its output instead"
            )
        return lambda space, epsilon: build(name, space=space, epsilon=epsilon, settings=settings)
    component = load_class(name)
    return lambda space, epsilon: _make(component, settings, space, epsilon)


def load_class(name: str) -> type[Any]:
    """The class called ``module:Class`` or ``file.py:Class``; importing it runs its module."""
    place, _, attribute = name.rpartition(":")
    try:
        module = _from_file(Path(place)) if place.endswith(".py") else _by_name(place)
    except SfumatoError:
        raise
    except (Exception, SystemExit) as error:  # a module that exits must not pass for verified
        raise InvalidArgument(
            f"importing {place} failed: {type(error).__name__}: {error}"
        ) from error
    component = getattr(module, attribute, None)
    if not inspect.isclass(component):
        classes = inspect.getmembers(module, inspect.isclass)
        own = [name for name, value in classes if value.__module__ == module.__name__]
        raise UnknownName(f"class in {place}", attribute, own)
    return component


def _by_name(place: str) -> ModuleType:
    # A module beside the user, as ``python -m`` would find it.
    here = str(Path.cwd())
    sys.path.insert(0, here)
    try:
        return import_module(place)
    finally:
        sys.path.remove(here)


def _from_file(path: Path) -> ModuleType:
    if not path.is_file():
        raise InvalidArgument(f"there is no file {path}")
    # A name that no other module has, so that a file called json.py takes nobody's place.
    name = f"sfumato_verified_{path.stem}"
    spec = spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise InvalidArgument(f"{path} cannot be imported")
    module = module_from_spec(spec)
    sys.modules[name] = module  # where dataclasses look for the module of a class
    spec.loader.exec_module(module)
    return module


def _make(component: type[Any], settings: Settings, space: Space, epsilon: float) -> PointMechanism:
    who = component.__name__
    try:
        mechanism = configure(component, settings, space=space, epsilon=epsilon)
        missing = [what for part, what in NEEDED.items() if not hasattr(mechanism, part)]
        claimed = None if missing else mechanism.guarantee()
    except SfumatoError:
        raise
    except (Exception, SystemExit) as error:
        raise InvalidArgument(
            f"{who}(space=…, epsilon=…) could not be made: {type(error).__name__}: {error}"
        ) from error
    if missing:
        raise InvalidArgument(f"{who} is no mechanism on points; it lacks {' and '.join(missing)}")
    if not isinstance(claimed, Guarantee):
        raise InvalidArgument(f"{who}.guarantee() must give a Guarantee, not {claimed!r}")
    return mechanism  # type: ignore[no-any-return]  # all parts are there
