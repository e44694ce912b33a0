"""Methods that privatize text: what a privatizer is told, checked before anything is computed."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from sfumato.catalog import find
from sfumato.core.checks import one_of, positive
from sfumato.core.config import settings_of
from sfumato.core.errors import InvalidArgument, StorageFailed, UnknownName
from sfumato.mechanisms.building import is_baseline
from sfumato.mechanisms.vocabulary import CASE, UNKNOWN
from sfumato.metrics.rows import NO_PRIVACY, RANDOM_OUTPUT
from sfumato.releases.privatizer import Privatizer
from sfumato.studies.config import Study
from sfumato.studies.identity import file_identity, placed
from sfumato.studies.points import Point
from sfumato.studies.policies import policy_of, resolved_policy
from sfumato.vectors.space import SEARCHES

TEXT_KEYS = ("mechanism", "epsilon", "policy", "except", "vectors", "unknown", "case", "search")
# So little noise that every word stays, and so much that no word counts. The mechanism is always
# this one, whose rows are then one word, or all words alike. Others have no level (masks), or show
# something at every level: the group that a word stays in, the public words that are kept.
TEXT_ANCHORS: dict[str, dict[str, Any]] = {
    NO_PRIVACY: {"mechanism": "exponential", "epsilon": 1e9, "unknown": "keep"},
    RANDOM_OUTPUT: {"mechanism": "exponential", "epsilon": 1e-9},
}
# What the ends take from the first method: which words count, and the space that they stand in.
_OF_ANCHORS = ("policy", "except", "vectors")
# The setting of a text that is a link to the originals and no copy of them.
LINKED = "linked"
_CHOICES = {"unknown": UNKNOWN, "case": CASE, "search": SEARCHES}


def text_settings(study: Study, own: Mapping[str, Any], name: str) -> dict[str, Any]:
    """What a privatizer is told, the policy resolved; what is wrong is said with the method."""
    settings = {
        key: own[key] for key in own if key in TEXT_KEYS and key not in ("policy", "except")
    }
    for key in own:
        if key not in (*TEXT_KEYS, "settings", "training"):
            known = (*TEXT_KEYS, "settings", "seeds", "training", "grid")
            raise UnknownName(f"key of the text method {name}", key, known)
    found: dict[str, Any] = settings | {"policy": resolved_policy(study, own)}
    if "settings" in own:
        if not isinstance(own["settings"], Mapping):
            raise InvalidArgument(f"the settings of {name} must be a table")
        found["settings"] = dict(own["settings"])
    if "vectors" in own:
        if not isinstance(own["vectors"], str):
            raise InvalidArgument(f"the vectors of {name} must be the path of a file")
        found["vectors"] = file_identity(study, own["vectors"])
    try:
        policy_of(study, found["policy"])
        _check_mechanism(study, found)
    except (InvalidArgument, StorageFailed) as error:
        kind = InvalidArgument if isinstance(error, InvalidArgument) else StorageFailed
        raise kind(f"the method {name!r}: {error}") from None
    return found


def anchor_settings(texts: Iterable[Point]) -> dict[str, Any] | None:
    """What the two ends have in common with the first text method, if there is one."""
    for point in texts:
        return {key: value for key, value in point.settings.items() if key in _OF_ANCHORS}
    return None


def _check_mechanism(study: Study, settings: Mapping[str, Any]) -> None:
    """All that can be told without loading word vectors."""
    mechanism = settings["mechanism"]
    if not isinstance(mechanism, str):
        raise InvalidArgument(f"mechanism={mechanism!r} must be a name")
    own = placed(study, find("mechanisms", mechanism).load(), settings.get("settings", {}))
    if is_baseline(mechanism):
        chosen = {key: settings[key] for key in ("epsilon", *_CHOICES) if key in settings}
        vectors = "given" if "vectors" in settings else None
        _ = Privatizer(mechanism=mechanism, vectors=vectors, settings=own, **chosen).selective
        return
    if "epsilon" not in settings:
        raise InvalidArgument(f"{mechanism} needs an epsilon, or a list of them")
    positive("epsilon", settings["epsilon"])
    for key, allowed in _CHOICES.items():
        if key in settings:
            one_of(key, settings[key], allowed)
    known = settings_of(find("mechanisms", mechanism).load(), {"space": None, "epsilon": None})
    for key in own:
        if key.removesuffix("_") not in known:
            raise UnknownName(f"setting of {mechanism}", key, known)
