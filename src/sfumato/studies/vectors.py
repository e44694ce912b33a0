"""Methods of a study that release noisy vectors, and the two anchors between which they lie.

``representation`` names the noise, as in ``sfumato embed --noise``; ``epsilon``, ``delta``,
``encoder``, ``tokens``, ``pad_to`` and ``settings`` are those of that command.

The anchors are vectors with so little noise that nothing of them is lost, and noise with so little
of the vectors that nothing of them is left. The first one shows the texts to whoever has the
encoder, so it is computed only if the corpus may be copied.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from sfumato.core.errors import InvalidArgument, StorageFailed, UnknownName
from sfumato.core.settings import read
from sfumato.representations.embedder import Embedder
from sfumato.representations.encoding import GLOVE
from sfumato.representations.files import NPY, PARQUET
from sfumato.results.row import NO_PRIVACY, RANDOM_OUTPUT
from sfumato.studies.cell import file_identity
from sfumato.studies.points import PLACE_KEYS, GridPoint
from sfumato.studies.spec import StudySpec

REPRESENTATION = "representation"
_TYPES: dict[str, Any] = {
    REPRESENTATION: str,
    "epsilon": float,
    "delta": float,
    "encoder": str,
    "tokens": bool,
    "pad_to": int,
    "settings": Mapping[str, object],
}
VECTOR_ANCHORS: dict[str, dict[str, Any]] = {
    NO_PRIVACY: {REPRESENTATION: "laplace", "epsilon": 1e9},
    RANDOM_OUTPUT: {REPRESENTATION: "laplace", "epsilon": 1e-9},
}
_OF_ANCHORS = ("encoder", "tokens", "pad_to")


def vector_settings(study: StudySpec, own: Mapping[str, Any], name: str) -> dict[str, Any]:
    """Everything that decides the vectors of a method; errors name it."""
    for key in own:
        if key not in _TYPES:
            raise UnknownName(
                f"key of the vector method {name}", key, (*_TYPES, *PLACE_KEYS, "grid")
            )
    found = {key: read(f"{name}.{key}", own[key], _TYPES[key], typed=True) for key in own}
    if "epsilon" not in found:
        raise InvalidArgument(f"the method {name!r} needs an epsilon, or a list of them")
    encoder = found.get("encoder", GLOVE)
    try:
        if encoder not in ("", GLOVE):
            found["encoder"] = file_identity(study, encoder)
        # Made, and nothing is loaded: what is wrong is said before anything is computed.
        _embedder(found, GLOVE, None)
    except (InvalidArgument, StorageFailed) as error:
        kind = InvalidArgument if isinstance(error, InvalidArgument) else StorageFailed
        raise kind(f"the method {name!r}: {error}") from None
    return found


def vector_anchor_settings(points: Iterable[GridPoint]) -> dict[str, Any] | None:
    """What the anchors take from the first vector method; None if there is none."""
    for point in points:
        return {key: value for key, value in point.settings.items() if key in _OF_ANCHORS}
    return None


def encoder_of(study: StudySpec, settings: Mapping[str, Any]) -> str:
    """The folder or file of the encoder, valid in any working folder; empty for the usual one."""
    given = settings.get("encoder", GLOVE)
    return str(study.path(given["path"])) if isinstance(given, Mapping) else ""


def embedder_of(study: StudySpec, settings: Mapping[str, Any], seed: int | None) -> Embedder:
    """What makes the vectors of a cell."""
    return _embedder(settings, encoder_of(study, settings) or GLOVE, seed)


def vectors_name(settings: Mapping[str, Any]) -> str:
    """The file name of the vectors of a cell."""
    ragged = settings.get("tokens") and settings.get("pad_to") is None
    return f"vectors{PARQUET if ragged else NPY}"


def _embedder(settings: Mapping[str, Any], encoder: str, seed: int | None) -> Embedder:
    return Embedder(
        noise=settings[REPRESENTATION],
        epsilon=settings["epsilon"],
        delta=settings.get("delta", 0.0),
        encoder=encoder,
        tokens=settings.get("tokens", False),
        pad_to=settings.get("pad_to"),
        settings=settings.get("settings", {}),
        seed=seed,
    )
