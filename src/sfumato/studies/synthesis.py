"""Methods of a study that make a synthetic corpus, which a model is then trained on.

``synthesis = "evolution"`` lets the records of the corpus choose texts by noisy votes, as
``sfumato synthesize`` does; ``epsilon``, ``delta``, ``texts``, ``candidates``, ``rounds``,
``votes``, ``kept``, ``choice``, ``threshold``, ``generator``, ``encoder`` and ``settings`` are
those of that command. With ``control = true`` the votes are noise alone: that text holds nothing
private and shows what the records are worth. A synthetic corpus has no text for each original, so
nothing that compares the two is measured on it: models that were trained on it are.

Care
    The pool must be public. What the study's corpus has in common with it is refused, where both
    are files.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sfumato.core.errors import InvalidArgument, StorageFailed, UnknownName
from sfumato.core.settings import read
from sfumato.studies.cell import code_identity, file_identity, find_named_files, place_files
from sfumato.studies.points import PLACE_KEYS
from sfumato.studies.spec import StudySpec
from sfumato.synthesis.evolution import Breeding
from sfumato.synthesis.generator import build_generator
from sfumato.synthesis.job import Synthesis
from sfumato.synthesis.request import EVOLUTION

SYNTHESIS, CONTROL = "synthesis", "control"
TRAINING = "training"
_GENERATOR = "pool"
_VOTING: dict[str, Any] = {"epsilon": float, "delta": float, "rounds": int, "votes": int}
_BREEDING: dict[str, Any] = {
    "texts": int,
    "candidates": int,
    "kept": float,
    "choice": str,
    "threshold": float,
}
_TYPES: dict[str, Any] = {
    SYNTHESIS: str,
    CONTROL: bool,
    "generator": str,
    "encoder": str,
    "settings": Mapping[str, object],
    **_VOTING,
    **_BREEDING,
}
# Candidates for each text that comes out, as ``sfumato synthesize`` has it.
_PER_TEXT = 2


def synthesis_settings(study: StudySpec, own: Mapping[str, Any], name: str) -> dict[str, Any]:
    """Everything that decides a synthetic corpus; errors name the method."""
    for key in own:
        if key not in _TYPES and key != TRAINING:
            known = (*_TYPES, TRAINING, *PLACE_KEYS, "grid")
            raise UnknownName(f"key of the synthetic method {name}", key, known)
    found: dict[str, Any] = {
        key: read(f"{name}.{key}", own[key], _TYPES[key], typed=True)
        for key in own
        if key != TRAINING
    }
    try:
        _check(study, found)
        component = study.component("generators", _named(found))
        files = find_named_files(study, component, found.get("settings", {}))
        if found.get("encoder"):
            files["encoder"] = file_identity(study, found["encoder"])
        found |= {"files": files} | code_identity(study, _named(found))
        request_of(study, found)  # made, and nothing is loaded: what is wrong is said now
    except (InvalidArgument, StorageFailed) as error:
        kind = InvalidArgument if isinstance(error, InvalidArgument) else StorageFailed
        raise kind(f"the method {name!r}: {error}") from None
    return found


def _check(study: StudySpec, found: Mapping[str, Any]) -> None:
    if found[SYNTHESIS] != EVOLUTION:
        raise InvalidArgument(f"synthesis={found[SYNTHESIS]!r} must be {EVOLUTION!r}")
    for key in ("epsilon", "texts"):
        if key not in found:
            raise InvalidArgument(f"a synthetic corpus needs {key}")
    if study.model is None or study.classes or study.tags:
        raise InvalidArgument(
            "a synthetic corpus is for training a language model: the study needs a [model] "
            "without classes and tags"
        )
    if study.charged:
        raise InvalidArgument(
            "synthetic text is not charged by a study; release it with "
            "`sfumato.synthesize(..., budget=...)`"
        )


def request_of(study: StudySpec, settings: Mapping[str, Any]) -> Synthesis:
    """The synthesis of a cell, with its files located."""
    name = _named(settings)
    encoder = str(study.path(settings["encoder"])) if settings.get("encoder") else ""
    placed = place_files(study, study.component("generators", name), settings.get("settings", {}))
    breeding = {key: settings[key] for key in _BREEDING if key in settings}
    voting = {key: settings[key] for key in _VOTING if key in settings}
    return Synthesis(
        generator=build_generator(study.component_name(name), placed, encoder=encoder),
        generator_name=name.rpartition("/")[2],
        breeding=Breeding(**{"candidates": _PER_TEXT * settings["texts"]} | breeding),
        encoder=encoder,
        **voting,
    )


def _named(settings: Mapping[str, Any]) -> str:
    given: str = settings.get("generator", _GENERATOR)
    return given
