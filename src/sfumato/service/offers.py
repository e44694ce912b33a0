"""What callers may choose: policies, mechanisms and settings that name no file and run no pattern.

Guarantee
    No request makes the service read a file, run a pattern or code of the caller's, or reuse
    noise: a policy or mechanism is one of the catalog's, and settings that name files, patterns or
    seeds are refused.

Why it holds
    Names are compared with the catalog before anything is built of them. (``file.py:Class``,
    ``regex:…`` and ``lexicon:FILE``, which a command line takes, are not in it.) A component says
    itself which of its settings are files (``core.settings``); mechanisms that cannot do without
    one are not offered.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import MISSING, dataclass, fields, is_dataclass
from functools import cache
from typing import Any, get_args, get_origin

from sfumato.catalog import entries
from sfumato.core.errors import InvalidArgument, UnknownName
from sfumato.core.settings import purposes, settings_of
from sfumato.mechanisms.build import AUTO, replaces_stretches, rewrites_documents
from sfumato.policies.lexicon import Lexicon
from sfumato.policies.parsing import combine_policies
from sfumato.policies.pii.detector import TYPES
from sfumato.policies.policy import Policy
from sfumato.releases.privatizer import Privatizer
from sfumato.service.requests import Choices, Value

POLICIES = ("digits", "everything", "nothing", "pii")
_WRAPPERS = ("levels", "selective")
# Patterns and seeds are not taken from a caller, nor sizes that decide how much is computed.
_NOT_TAKEN = ("space", "epsilon", "pattern", "projection_seed", "bits")


@dataclass(frozen=True)
class Offer:
    """A mechanism, as a menu shows it; ``level`` tells whether it takes an epsilon."""

    name: str
    summary: str
    replaces: str
    level: str
    settings: Mapping[str, Mapping[str, Any]]

    def as_dict(self) -> dict[str, Any]:
        """For JSON."""
        return {
            "name": self.name,
            "summary": self.summary,
            "replaces": self.replaces,
            "level": self.level,
            "settings": {name: dict(one) for name, one in self.settings.items()},
        }


@cache
def mechanisms() -> dict[str, Offer]:
    """The mechanisms that callers may choose."""
    found = {}
    for name, entry in entries("mechanisms").items():
        if name in _WRAPPERS or rewrites_documents(name):
            continue
        component = entry.load()
        stretches = replaces_stretches(name)
        takes = name == AUTO or "epsilon" in settings_of(component)
        found[name] = Offer(
            name,
            entry.summary,
            "by type" if name == AUTO else "stretches" if stretches else "words",
            "none" if not takes else "optional" if stretches else "needed",
            _settings(component),
        )
    return found


def policies() -> list[dict[str, Any]]:
    """The policies that callers may choose."""
    known = entries("policies")
    return [
        {
            "name": name,
            "summary": known[name].summary,
            "types": list(TYPES) if name == "pii" else [],
        }
        for name in POLICIES
    ]


def choose_policy(
    names: str | Iterable[str],
    lexicon: Iterable[str] = (),
    allow_list: Iterable[str] = (),
    settings: Mapping[str, Value] | None = None,
) -> Policy:
    """The policies of these names with a list of words, without those of another list."""
    named = [names] if isinstance(names, str) else list(names)
    for one in named:
        name, _, argument = one.partition(":")
        if name not in POLICIES or (argument and name != "pii"):
            raise UnknownName("policy", name, POLICIES)
    words, allowed = tuple(lexicon), tuple(allow_list)
    return combine_policies(
        [*named, *([Lexicon(words)] if words else [])],
        [Lexicon(allowed)] if allowed else [],
        _of_policies(settings or {}),
    )


def choose_privatizer(choices: Choices) -> Privatizer:
    """A privatizer of its own for one request: it has its own noise and its own keys.

    Were it shared, the same name would become the same surrogate for different callers.
    """
    offer = mechanisms().get(choices.mechanism)
    if offer is None:
        raise UnknownName("mechanism", choices.mechanism, mechanisms())
    own = {key: value for key, value in choices.settings.items() if "." not in key}
    _check_settings(offer, own)
    for wanted in choices.by_type.values():
        name, *settings = wanted.split(":")
        if name not in mechanisms():
            raise UnknownName("mechanism", name, mechanisms())
        _check_settings(mechanisms()[name], [one.partition("=")[0] for one in settings], "epsilon")
    return Privatizer(
        policy=choose_policy(choices.policy, choices.lexicon, choices.allow_list, choices.settings),
        mechanism=choices.mechanism,
        by_type=dict(choices.by_type),
        epsilon=choices.epsilon,
        unknown=choices.unknown,
        case=choices.case,
        settings=own,
    )


def _check_settings(offer: Offer, given: Iterable[str], *also: str) -> None:
    for key in given:
        if key not in offer.settings and key not in also:
            raise UnknownName(f"setting of {offer.name}", key, offer.settings)


def _of_policies(settings: Mapping[str, Value]) -> dict[str, Any]:
    found = {key: value for key, value in settings.items() if "." in key}
    for key in found:
        if not key.startswith("pii."):
            raise InvalidArgument("settings of policies are those of pii, such as pii.regions")
    return found


def _settings(component: Any) -> dict[str, dict[str, Any]]:
    refused = {*purposes(component), *_NOT_TAKEN}
    defaults = (
        {one.name.removesuffix("_"): one.default for one in fields(component)}
        if is_dataclass(component)
        else {}
    )
    return {
        name: {"type": _said(kind)}
        | ({} if defaults.get(name, MISSING) is MISSING else {"default": _plain(defaults[name])})
        for name, (_, kind) in settings_of(component).items()
        if name not in refused
    }


def _plain(value: Any) -> Any:
    return list(value) if isinstance(value, tuple) else value


def _said(kind: Any) -> str:
    """How a menu calls a type: text, number, whole number, true or false, list."""
    options = [one for one in (get_args(kind) or (kind,)) if one is not type(None)]
    if get_origin(kind) is tuple or any(get_origin(one) is tuple for one in options):
        return "list"
    names = {str: "text", float: "number", int: "whole number", bool: "true or false"}
    return next((names[one] for one in options if one in names), "text")
