"""A mechanism from its name and settings: one of the catalog, or a class of somebody's own."""

from __future__ import annotations

import inspect
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import is_dataclass
from typing import Any, cast, get_type_hints

from sfumato.catalog import entries, find
from sfumato.core.errors import InvalidArgument, SfumatoError, UnknownName
from sfumato.core.own_code import say_where
from sfumato.core.settings import configure, read
from sfumato.guarantees.guarantee import Guarantee
from sfumato.mechanisms.levels import Levels
from sfumato.mechanisms.mechanism import DocumentMechanism, PointMechanism, StretchMechanism
from sfumato.mechanisms.selective import Selective
from sfumato.vectors.space import Space

AUTO = "auto"
NEEDED = {
    "space": "the public space it works on",
    "guarantee": "guarantee(), what is claimed",
    "privatize": "privatize(points, randomness), one output point per input point",
}


def build_mechanism(
    name: str, *, space: Space, epsilon: float, settings: Mapping[str, object] | None = None
) -> PointMechanism:
    """The word mechanism called ``name`` over a space."""
    if replaces_stretches(name):
        raise InvalidArgument(
            f"{name!r} replaces whole stretches and not words: it works on no space of words"
        )
    if rewrites_documents(name):
        raise InvalidArgument(
            f"{name!r} rewrites whole documents and not words: it works on no space of words"
        )
    component = find("mechanisms", name).load()
    return make_mechanism(component, settings or {}, space=space, epsilon=epsilon)


def build_stretch_mechanism(
    name: str, settings: Mapping[str, object] | None = None
) -> StretchMechanism:
    """The baseline called ``name``; it needs neither a space nor a level."""
    component = find("mechanisms", name).load()
    with _blaming(f"{component.__name__}()", component):
        return cast("StretchMechanism", _configure(component, settings or {}))


def build_document_mechanism(
    name: str, settings: Mapping[str, object] | None = None
) -> DocumentMechanism:
    """The mechanism called ``name``, which rewrites whole documents."""
    component = find("mechanisms", name).load()
    with _blaming(f"{component.__name__}()", component):
        return cast("DocumentMechanism", _configure(component, settings or {}))


def make_mechanism(
    component: type[Any], settings: Mapping[str, object], *, space: Space, epsilon: float
) -> PointMechanism:
    """A word mechanism of a class; what somebody's own lacks is said."""
    who = component.__name__
    with _blaming(f"{who}(space=…, epsilon=…)", component):
        made = _configure(component, settings, space=space, epsilon=epsilon)
        missing = [what for part, what in NEEDED.items() if not hasattr(made, part)]
        claimed = made.guarantee() if not missing and not _is_ours(component) else None
    if missing:
        raise InvalidArgument(f"{who} is no mechanism on points; it lacks {' and '.join(missing)}")
    if claimed is not None and not isinstance(claimed, Guarantee):
        kind = type(claimed).__name__
        raise InvalidArgument(f"{who}.guarantee() must give a Guarantee, not {kind}")
    return cast("PointMechanism", made)


def _configure(component: type[Any], settings: Mapping[str, object], **given: object) -> Any:
    if is_dataclass(component):
        return configure(component, settings, **given)
    # The settings of a class that is no dataclass are the parameters that it is made with.
    hints = get_type_hints(component.__init__)
    allowed = set(inspect.signature(component).parameters) - set(given)
    values: dict[str, object] = {}
    for key, value in settings.items():
        if key not in allowed:
            raise UnknownName(f"setting of {component.__name__}", key, allowed)
        typed = isinstance(value, str) and key in hints
        values[key] = read(key, str(value), hints[key]) if typed else value
    return component(**given, **values)


@contextmanager
def _blaming(what: str, component: type[Any]) -> Iterator[None]:
    """What fails in a class of somebody's own is said as theirs; ours is told as ours."""
    try:
        yield
    except SfumatoError:
        raise
    except (Exception, SystemExit) as error:
        if _is_ours(component):
            raise
        where = say_where(error) or type(error).__name__
        raise InvalidArgument(f"{what} could not be made: {where}") from error


def _is_ours(component: type[Any]) -> bool:
    return component.__module__.partition(".")[0] == "sfumato"


def replaces_stretches(name: str) -> bool:
    """Whether this mechanism replaces whole stretches instead of words; a wrapper is neither."""
    if name == AUTO:
        return True
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


def rewrites_documents(name: str) -> bool:
    """Whether this mechanism writes a new text in the place of a whole document."""
    if name == AUTO:
        return False
    component = find("mechanisms", name).load()
    return isinstance(component, type) and issubclass(component, DocumentMechanism)


def word_mechanisms() -> list[str]:
    """The names of all mechanisms that replace word by word, wrappers left out."""
    names = []
    for name, entry in entries("mechanisms").items():
        component = entry.load()
        if component in (Selective, Levels) or rewrites_documents(name):
            continue
        if not replaces_stretches(name):
            names.append(name)
    return names
