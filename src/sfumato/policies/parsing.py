"""Policies from what a user types: ``pii``, ``pii:email,phone``, ``regex:…``, ``lexicon:FILE``.

What stands after the first colon is the policy's argument; settings come as ``POLICY.KEY``. A
pattern may be private, so no message repeats one.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Any, get_type_hints

import regex

from sfumato.catalog import entries, find
from sfumato.core.errors import InvalidArgument, UnknownName
from sfumato.core.settings import purposes, read
from sfumato.policies.combine import Minus, Union
from sfumato.policies.policy import Policy

PlaceFile = Callable[[str, str], str]
"""Where a file is, from how it was written and what is done to it."""
NO_SETTINGS: Mapping[str, object] = MappingProxyType({})

# The setting that the argument stands for.
_ARGUMENTS = {
    "entities": "types",
    "imperfect": "policy",
    "lexicon": "path",
    "pii": "types",
    "presidio": "types",
    "regex": "pattern",
}
_HOLDERS = ("imperfect",)  # their argument is a policy again


def parse_policy(spec: str, settings: Mapping[str, object] = NO_SETTINGS) -> Policy:
    """One policy from its spec; every setting must be one of its own.

    >>> parse_policy("regex:[A-Z]{3}[0-9]+").name
    'regex'
    """
    _check_owners(settings, _names(spec))
    return _parse(spec, settings)


def combine_policies(
    specs: Sequence[str],
    excepts: Sequence[str] = (),
    settings: Mapping[str, object] = NO_SETTINGS,
) -> Policy:
    """The union of some policies without the union of others."""
    if not specs:
        raise InvalidArgument("name at least one policy")
    _check_owners(settings, {name for spec in (*specs, *excepts) for name in _names(spec)})
    found = _together([_parse(spec, settings) for spec in specs])
    if not excepts:
        return found
    return Minus(found, _together([_parse(spec, settings) for spec in excepts]))


def level_policies(
    levels: Sequence[tuple[float, str]],
    excepts: Sequence[str] = (),
    settings: Mapping[str, object] = NO_SETTINGS,
) -> list[tuple[float, Policy]]:
    """A policy for each level, without what is excepted; a setting may belong to any of them."""
    if not levels:
        raise InvalidArgument("name at least one level")
    specs = [*(spec for _, spec in levels), *excepts]
    _check_owners(settings, {name for spec in specs for name in _names(spec)})
    found = [(epsilon, _parse(spec, settings)) for epsilon, spec in levels]
    if not excepts:
        return found
    without = _together([_parse(spec, settings) for spec in excepts])
    return [(epsilon, Minus(policy, without)) for epsilon, policy in found]


def with_files(spec: str, place: PlaceFile) -> str:
    """A spec in which ``place`` says where each file is that the policy names.

    >>> with_files("imperfect:lexicon:words.txt", lambda path, purpose: f"/there/{path}")
    'imperfect:lexicon:/there/words.txt'
    """
    name, colon, argument = spec.partition(":")
    if not argument or name not in entries("policies"):
        return spec
    if name in _HOLDERS:
        return f"{name}:{with_files(argument, place)}"
    purpose = purposes(_builder(name)).get(_ARGUMENTS.get(name, ""))
    return spec if purpose is None else f"{name}{colon}{place(argument, purpose)}"


def settings_with_files(settings: Mapping[str, object], place: PlaceFile) -> dict[str, object]:
    """Settings of policies, with the files that they name where ``place`` says."""
    found = dict(settings)
    for key, value in settings.items():
        owner, _, own = key.partition(".")
        if isinstance(value, str) and value and owner in entries("policies"):
            purpose = purposes(_builder(owner)).get(own)
            if purpose is not None:
                found[key] = place(value, purpose)
    return found


def _builder(name: str) -> Any:
    build = find("policies", name).load()
    return build.from_file if name == "lexicon" else build


def _together(policies: list[Policy]) -> Policy:
    return policies[0] if len(policies) == 1 else Union(tuple(policies))


def _split(spec: str) -> tuple[str, str | None]:
    name, colon, argument = spec.partition(":")
    if not regex.fullmatch(r"[\w\-.]{1,64}", name):
        # It may be a pattern or a path; it is not repeated.
        raise InvalidArgument(
            "a policy is written NAME or NAME:ARGUMENT, such as pii, regex:PATTERN or lexicon:FILE"
        )
    return name, argument if colon else None


def _names(spec: str) -> set[str]:
    """The policies that a spec names, one inside the other."""
    name, argument = _split(spec)
    inner = _names(argument) if name in _HOLDERS and argument else set()
    return {name} | inner


def _check_owners(settings: Mapping[str, object], names: set[str]) -> None:
    for key in settings:
        owner, dot, _ = key.partition(".")
        if not dot:
            raise InvalidArgument(f"the setting {key!r} must be written POLICY.KEY")
        if owner not in names:
            raise UnknownName("policy in a setting", owner, names)


def _parse(spec: str, settings: Mapping[str, object]) -> Policy:
    name, argument = _split(spec)
    build = _builder(name)
    own = {
        key.removeprefix(f"{name}."): value
        for key, value in settings.items()
        if key.startswith(f"{name}.")
    }
    if argument is not None:
        own = _with_argument(name, argument, own)
        if name in _HOLDERS:
            own["policy"] = _parse(argument, settings)
    policy = _build(name, build, own)
    if not isinstance(policy, Policy):
        raise InvalidArgument(f"{name!r} is not a policy: it has no name or no find")
    return policy


def _with_argument(name: str, argument: str, own: dict[str, object]) -> dict[str, object]:
    setting = _ARGUMENTS.get(name)
    if setting is None:
        raise InvalidArgument(f"the policy {name!r} takes nothing after a colon")
    if not argument:
        raise InvalidArgument(f"the policy {name!r} needs something after the colon")
    if setting in own:
        raise InvalidArgument(f"{name}.{setting} is given twice: after the colon and as a setting")
    return {**own, setting: argument}


def _build(name: str, build: Any, own: dict[str, object]) -> object:
    parameters = inspect.signature(build).parameters
    for key in own:
        if key not in parameters:
            raise UnknownName(f"setting of {name}", key, parameters)
    for key, parameter in parameters.items():
        if parameter.default is parameter.empty and key not in own:
            how = (
                f"write {name}:{key.upper()}"
                if _ARGUMENTS.get(name) == key
                else f"set {name}.{key}"
            )
            raise InvalidArgument(f"the policy {name!r} needs {key}: {how}")
    hints = get_type_hints(build.__init__ if inspect.isclass(build) else build)
    return build(
        **{key: _type(f"{name}.{key}", value, hints.get(key)) for key, value in own.items()}
    )


def _type(name: str, value: object, kind: object) -> object:
    """A value as its setting wants it; text is read, and anything else is passed on."""
    if isinstance(value, list):
        return tuple(value)
    simple = kind in (bool, int, float) or kind == tuple[str, ...]
    return read(name, value, kind) if isinstance(value, str) and simple else value
