"""Policies of a study: by a name of the study, or written out.

A word list is a file like any other that a study names: it is looked for from where the study
stands, and one that was written again makes new cells.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sfumato.core.errors import InvalidArgument
from sfumato.policies.parsing import combine_policies, settings_with_files, with_files
from sfumato.policies.policy import Policy
from sfumato.studies.config import Study
from sfumato.studies.identity import file_identity

# How a word list is named: after a colon (also inside another policy), or by a setting.
WORD_LIST, WORD_LIST_SETTING = "lexicon:", "lexicon.path"
_KEYS = {"find", "except", "settings"}


def resolved_policy(study: Study, own: Mapping[str, Any]) -> dict[str, Any]:
    """What to find and what to leave out, as it is written, and the files that it names."""
    given = own.get("policy", "everything")
    if isinstance(given, str) and given in study.policies:
        if "except" in own:
            raise InvalidArgument(
                f"except belongs into [policies.{given}], where the policy stands"
            )
        table = study.policies[given]
        settings = table.get("settings", {}) if isinstance(table, Mapping) else None
        if not isinstance(settings, Mapping) or not set(table) <= _KEYS:
            raise InvalidArgument(f"[policies.{given}] holds find, except and a table of settings")
        found, without = table.get("find", []), table.get("except", [])
    else:
        found, without, settings = given, own.get("except", []), {}
    resolved: dict[str, Any] = {
        "find": _listed(found),
        "except": _listed(without),
        "settings": dict(settings),
    }
    files = [file_identity(study, path) for path in _files(resolved)]
    return resolved | ({"files": files} if files else {})


def policy_of(study: Study, resolved: Mapping[str, Any]) -> Policy:
    """The policy itself."""
    there = located(study, resolved)
    return combine_policies(there["find"], there["except"], there["settings"])


def located(study: Study, resolved: Mapping[str, Any]) -> dict[str, Any]:
    """The same with files where they are, whatever folder the process works in."""
    return {
        "find": [with_files(spec, study.place) for spec in resolved["find"]],
        "except": [with_files(spec, study.place) for spec in resolved["except"]],
        "settings": settings_with_files(resolved["settings"], study.place),
    }


def measured_by(study: Study, settings: Any) -> Policy | None:
    """The policy that a measure tells private tokens from others by, if it has one."""
    given = getattr(settings, "policy", ())
    if not given:
        return None
    named = {"policy": given if isinstance(given, str) else list(given)}
    return policy_of(study, resolved_policy(study, named))


def _files(resolved: Mapping[str, Any]) -> list[str]:
    specs = [*resolved["find"], *resolved["except"]]
    named = [spec.partition(WORD_LIST)[2] for spec in specs if _names_file(spec)]
    set_apart = resolved["settings"].get(WORD_LIST_SETTING)
    return [*named, *([set_apart] if isinstance(set_apart, str) else [])]


def _names_file(spec: str) -> bool:
    """Whether it is a word list, or a policy around one.

    >>> _names_file("lexicon:words.txt"), _names_file("imperfect:lexicon:words.txt")
    (True, True)
    >>> _names_file("regex:lexicon:[a-z]+"), _names_file("lexicon:")
    (False, False)
    """
    before, found, path = spec.partition(WORD_LIST)
    return bool(found and path) and before.removesuffix("imperfect:") == ""


def _listed(given: object) -> list[str]:
    values = [given] if isinstance(given, str) else given
    if not isinstance(values, list) or not all(isinstance(one, str) for one in values):
        raise InvalidArgument("a policy is a name, or a list of names")
    return list(values)
