"""Policies from what a user types: ``pii``, ``pii:email,phone``, ``regex:…``, ``lexicon:FILE``.

What stands after the first colon is the policy's argument; settings come as ``POLICY.KEY``. A
pattern may be private, so no message repeats one.

A policy class says itself how it is made, also one of a plug-in or ``file.py:Class`` (whose
settings come as ``CLASS.KEY``, and whose argument stands after a second colon). ``argument`` names
the setting that the argument stands for; if that setting is a policy, the argument is one. Where
settings are not those of the constructor, a class method ``from_settings`` takes them.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, get_type_hints

import regex

from sfumato.catalog import entries, find
from sfumato.core.checks import refuse_class
from sfumato.core.errors import InvalidArgument, UnknownName
from sfumato.core.own_code import OwnClass, blame
from sfumato.core.settings import RUNS, purposes, read
from sfumato.policies.combine import Minus, Union
from sfumato.policies.policy import Policy

PlaceFile = Callable[[str, str], str]
"""Where a file is, from how it was written and what is done to it."""
NO_SETTINGS: Mapping[str, object] = MappingProxyType({})


def parse_policy(spec: str, settings: Mapping[str, object] = NO_SETTINGS) -> Policy:
    """One policy from its spec; every setting must be one of its own.

    >>> parse_policy("regex:[A-Z]{3}[0-9]+").name
    'regex'
    """
    _check_owners(settings, _names(spec))
    return _parse(spec, settings)


def combine_policies(
    specs: Sequence[str | Policy],
    excepts: Sequence[str | Policy] = (),
    settings: Mapping[str, object] = NO_SETTINGS,
) -> Policy:
    """The union of some policies, given by their specs or as objects, without that of others."""
    if not specs:
        raise InvalidArgument("name at least one policy")
    _check_owners(settings, _all_names([*specs, *excepts]))
    found = _together([_made(spec, settings) for spec in specs])
    if not excepts:
        return found
    return Minus(found, _together([_made(spec, settings) for spec in excepts]))


def level_policies(
    levels: Sequence[tuple[float, str | Policy]],
    excepts: Sequence[str | Policy] = (),
    settings: Mapping[str, object] = NO_SETTINGS,
) -> list[tuple[float, Policy]]:
    """A policy for each level, without what is excepted; a setting may belong to any of them."""
    if not levels:
        raise InvalidArgument("name at least one level")
    _check_owners(settings, _all_names([*(spec for _, spec in levels), *excepts]))
    found = [(epsilon, _made(spec, settings)) for epsilon, spec in levels]
    if not excepts:
        return found
    without = _together([_made(spec, settings) for spec in excepts])
    return [(epsilon, Minus(policy, without)) for epsilon, policy in found]


def with_files(spec: str, place: PlaceFile) -> str:
    """A spec in which ``place`` says where each file is that the policy names.

    >>> with_files("imperfect:lexicon:words.txt", lambda path, purpose: f"/there/{path}")
    'imperfect:lexicon:/there/words.txt'
    """
    name, argument = _parts(spec)
    own = OwnClass.read(name)
    if own is not None:
        # Asked for before anything of it is run.
        name = own.at(place(str(own.path), RUNS))
    elif name not in entries("policies"):
        return spec
    if not argument:
        return name if argument is None else f"{name}:"
    kind = _Kind.of(name)
    if kind.holds_policy:
        return f"{name}:{with_files(argument, place)}"
    purpose = purposes(kind.build).get(kind.argument or "")
    return f"{name}:{argument if purpose is None else place(argument, purpose)}"


def settings_with_files(
    settings: Mapping[str, object], place: PlaceFile, specs: Sequence[str] = ()
) -> dict[str, object]:
    """Settings of policies, with the files that they name where ``place`` says.

    ``specs`` are the policies that they are settings of, for those that only a file knows.
    """
    found = dict(settings)
    named = {_owner(name): name for spec in specs for name in _names(spec)}
    for key, value in settings.items():
        owner, _, own = key.partition(".")
        name = named.get(owner, owner)
        known = name in named.values() or name in entries("policies")
        if isinstance(value, str) and value and known:
            purpose = purposes(_Kind.of(name).build).get(own)
            if purpose is not None:
                found[key] = place(value, purpose)
    return found


@dataclass(frozen=True)
class _Kind:
    """How policies of a name are made: by what, and which setting stands after the colon."""

    name: str
    build: Any
    argument: str | None

    @classmethod
    def of(cls, name: str) -> _Kind:
        component = find("policies", name).load()
        build = getattr(component, "from_settings", component)
        argument = getattr(component, "argument", None)
        if argument is not None and argument not in inspect.signature(build).parameters:
            raise InvalidArgument(
                f"the policy {name!r} names {argument!r} as its argument, which is no setting of it"
            )
        return cls(name, build, argument)

    @property
    def hints(self) -> dict[str, Any]:
        try:
            build = self.build.__init__ if inspect.isclass(self.build) else self.build
            return get_type_hints(build)
        except NameError as error:
            raise InvalidArgument(
                f"the types of the settings of {self.name!r} cannot be read: {error.name!r} is not "
                "imported when the module runs"
            ) from None

    @property
    def holds_policy(self) -> bool:
        return self.argument is not None and self.hints.get(self.argument) is Policy


def _together(policies: list[Policy]) -> Policy:
    return policies[0] if len(policies) == 1 else Union(tuple(policies))


def _parts(spec: str) -> tuple[str, str | None]:
    """The name of a policy, or the class in a file, and what stands after the colon."""
    own = OwnClass.split(spec)
    if own is not None:
        return own
    name, colon, argument = spec.partition(":")
    return name, argument if colon else None


def _split(spec: str) -> tuple[str, str | None]:
    name, argument = _parts(spec)
    if not regex.fullmatch(r"[\w\-.]{1,64}", name) and OwnClass.read(name) is None:
        # It may be a pattern or a path; it is not repeated.
        raise InvalidArgument(
            "a policy is written NAME or NAME:ARGUMENT, such as pii, regex:PATTERN or "
            "lexicon:FILE; a class of your own is FILE.py:CLASS"
        )
    return name, argument


def _owner(name: str) -> str:
    """What stands before the dot in settings of a policy."""
    own = OwnClass.read(name)
    return name if own is None else own.name


def _names(spec: str) -> set[str]:
    """The policies that a spec names, one inside the other."""
    name, argument = _split(spec)
    inner = _names(argument) if argument and _Kind.of(name).holds_policy else set()
    return {name} | inner


def _all_names(specs: Iterable[str | Policy]) -> set[str]:
    return {name for spec in specs if isinstance(spec, str) for name in _names(spec)}


def _made(given: str | Policy, settings: Mapping[str, object]) -> Policy:
    if isinstance(given, str):
        return _parse(given, settings)
    refuse_class("policy", given)
    if not isinstance(given, Policy):
        raise InvalidArgument("a policy is a name, or an object with a name and find")
    return given


def _check_owners(settings: Mapping[str, object], names: set[str]) -> None:
    owners = {_owner(name) for name in names}
    for key in settings:
        owner, dot, _ = key.partition(".")
        if not dot:
            raise InvalidArgument(f"the setting {key!r} must be written POLICY.KEY")
        if owner not in owners:
            raise UnknownName("policy in a setting", owner, owners)


def _parse(spec: str, settings: Mapping[str, object]) -> Policy:
    name, argument = _split(spec)
    kind = _Kind.of(name)
    before = f"{_owner(name)}."
    own = {
        key.removeprefix(before): value for key, value in settings.items() if key.startswith(before)
    }
    if argument is not None:
        own = _with_argument(kind, argument, own)
        if kind.holds_policy:
            own[str(kind.argument)] = _parse(argument, settings)
    policy = _build(kind, own)
    if not isinstance(policy, Policy):
        raise InvalidArgument(f"{name!r} is not a policy: it has no name or no find")
    return policy


def _with_argument(kind: _Kind, argument: str, own: dict[str, object]) -> dict[str, object]:
    name, setting = kind.name, kind.argument
    if setting is None:
        raise InvalidArgument(f"the policy {name!r} takes nothing after a colon")
    if not argument:
        raise InvalidArgument(f"the policy {name!r} needs something after the colon")
    if setting in own:
        raise InvalidArgument(
            f"{_owner(name)}.{setting} is given twice: after the colon and as a setting"
        )
    return {**own, setting: argument}


def _build(kind: _Kind, own: dict[str, object]) -> object:
    name, before = kind.name, _owner(kind.name)
    parameters = inspect.signature(kind.build).parameters
    for key in own:
        if key not in parameters:
            raise UnknownName(f"setting of {before}", key, parameters)
    for key, parameter in parameters.items():
        if parameter.default is parameter.empty and key not in own:
            how = f"write {name}:{key.upper()}" if kind.argument == key else f"set {before}.{key}"
            raise InvalidArgument(f"the policy {name!r} needs {key}: {how}")
    hints = kind.hints
    values = {key: _type(f"{before}.{key}", value, hints.get(key)) for key, value in own.items()}
    try:
        return kind.build(**values)
    except (Exception, SystemExit) as error:
        told = blame(error)
        if told is None:
            raise
        raise told from error


def _type(name: str, value: object, kind: object) -> object:
    """A value as its setting wants it; text is read, and anything else is passed on."""
    if isinstance(value, list):
        return tuple(value)
    simple = kind in (bool, int, float) or kind == tuple[str, ...]
    return read(name, value, kind) if isinstance(value, str) and simple else value
