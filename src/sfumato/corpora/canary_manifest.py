"""The manifest that planting wrote, read back: which canaries, and how often each.

Reading is strict. A manifest that was edited by hand may count a canary under the wrong number of
repetitions, and a figure measured on it would look like any other; so whatever does not agree with
itself is refused, by the file's name and the number of the canary.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sfumato.core.errors import BadInput, InvalidArgument
from sfumato.core.files import read_json, reading
from sfumato.corpora.canaries import SCHEMA, Canary

_KEYS = {"template", "secret", "text", "secret_space", "repetitions"}


@dataclass(frozen=True)
class PlantedCanary:
    """A canary and how often it stands in the corpus; never, for one that serves as a control."""

    canary: Canary
    repetitions: int


def read_manifest(path: Path) -> tuple[PlantedCanary, ...]:
    """The canaries of a manifest, in its order."""
    content = read_json(path, "a manifest of canaries in JSON")
    if not isinstance(content, dict) or not {"schema", "canaries", "places"} <= content.keys():
        raise BadInput(
            f"{path} is not a manifest of canaries: schema, canaries and places must be in it, as "
            "in the OUT.canaries.json that sfumato data canaries IN -o OUT writes"
        )
    if content["schema"] != SCHEMA:
        raise BadInput(f"{path} has schema {content['schema']!r}; this version reads {SCHEMA}")
    if not isinstance(content["canaries"], list) or not content["canaries"]:
        raise BadInput(f"{path} names no canary")
    found = tuple(
        _canary(entry, f"{path}: canary {number}")
        for number, entry in enumerate(content["canaries"], start=1)
    )
    _check_places(content["places"], found, path)
    return found


def _canary(entry: object, where: str) -> PlantedCanary:
    if not isinstance(entry, Mapping) or entry.keys() != _KEYS:
        raise BadInput(f"{where} must have exactly the keys {', '.join(sorted(_KEYS))}")
    template, secret, repetitions = entry["template"], entry["secret"], entry["repetitions"]
    if not isinstance(template, str) or not isinstance(secret, str):
        raise BadInput(f"{where}: template and secret must be text")
    if isinstance(repetitions, bool) or not isinstance(repetitions, int) or repetitions < 0:
        raise BadInput(f"{where}: repetitions must be a whole number, 0 or more")
    try:
        canary = Canary(template, secret)
    except InvalidArgument as error:
        raise BadInput(f"{where}: {error}") from None
    if entry["text"] != canary.text:
        raise BadInput(f"{where}: text is not the template with the secret in it")
    if entry["secret_space"] != canary.secret_space:
        raise BadInput(f"{where}: secret_space must be {canary.secret_space} for such a secret")
    return PlantedCanary(canary, repetitions)


def _check_places(places: Any, canaries: tuple[PlantedCanary, ...], path: Path) -> None:
    with reading(path, "a manifest of canaries in which every place names its canary"):
        counts = Counter(place["canary"] for place in places)
    for number, one in enumerate(canaries):
        if counts.pop(number, 0) != one.repetitions:
            raise BadInput(
                f"{path}: canary {number + 1} has repetitions {one.repetitions}, but not as many "
                "places"
            )
    if counts:
        raise BadInput(f"{path}: there is a place of a canary that is not in the list")
