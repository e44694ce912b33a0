"""A trained model as a target, from the folder of a run or of a model; and its untrained twin."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sfumato.core.checks import extra
from sfumato.core.errors import BadInput, InvalidArgument, SfumatoError
from sfumato.core.json import read_object
from sfumato.core.randomness import Randomness

if TYPE_CHECKING:
    from sfumato.models.load import LoadedModel


@dataclass(frozen=True, eq=False)
class ModelTarget:
    """A model to attack.

    ``digest`` names the weights and the tokenizer, so that scores measured before can be found
    again; ``epsilon`` and ``delta`` are what the run claims, if it claims anything, and ``notion``
    is the definition of privacy the claim is about. ``settings`` are those of the run.
    """

    model: LoadedModel
    digest: str
    epsilon: float | None = None
    delta: float | None = None
    notion: str | None = None
    settings: Mapping[str, Any] | None = None


def is_model(path: Path) -> bool:
    """Whether a path looks like a run's folder or a model's."""
    return path.is_dir() and (path / "config.json").is_file()


def is_run(path: Path) -> bool:
    """Whether a folder is that of a training run, finished or not."""
    try:
        return "settings" in read_object(path / "config.json", "a configuration")
    except SfumatoError:
        return False


def not_a_model(path: Path) -> str | None:
    """Why a path cannot be attacked as a language model, with what to do; None if it can."""
    if is_model(path):
        return None
    if path.is_file():
        return (
            f"{path} is a file; this attack is on a model. Train one on that text: "
            f"`sfumato.train({str(path)!r}, RUN, epsilon=inf)`, then attack RUN"
        )
    return f"{path} is neither the folder of a run nor of a model"


def open_model(
    path: Path,
    *,
    kind: str | None = None,
    classes: Sequence[str] = (),
    any_kind: bool = False,
) -> ModelTarget:
    """Load a finished run's model, or any Hugging Face model from a folder.

    ``kind`` is one of ``models.kinds``, by default that of a language model; a run knows its own.
    ``classes`` are for a network without a trained head, which gets a new one. Causal models and
    classifiers are opened, others only with ``any_kind``: most attacks read from left to right.
    """
    extra("torch", needed_for="attacking a model", extra="train")
    from sfumato.models.kinds import kind_in
    from sfumato.models.load import load_model
    from sfumato.training.folder import open_run

    # In loading a finished model no weight is drawn but that of a new head, which is public.
    randomness = Randomness.secure()
    if not is_run(path):
        found = _attackable(kind or kind_in(path), path, any_kind=any_kind)
        model = load_model(str(path), randomness=randomness, kind=found, classes=classes)
        return ModelTarget(model, _digest(path))
    folder = open_run(path)
    settings = folder.settings()
    known = _attackable(str(settings.get("kind", "causal")), path, any_kind=any_kind)
    model = load_model(str(folder.model), randomness=randomness, kind=known)
    claimed = _read_claim(folder.guarantee)
    return ModelTarget(
        model,
        _digest(folder.model),
        _number(claimed, "epsilon"),
        _number(claimed, "delta"),
        str(claimed["notion"]) if "notion" in claimed else None,
        settings,
    )


def _attackable(kind: str, path: Path, *, any_kind: bool) -> str:
    if kind == "tagger":
        raise InvalidArgument(
            f"the model in {path} is a tagger; attacks are on language models and classifiers"
        )
    if kind in ("causal", "classifier") or any_kind:
        return kind
    raise InvalidArgument(
        f"the model in {path} is of kind {kind!r}, and this attack is on models that read from "
        "left to right, or on classifiers; `memorization` takes it"
    )


def _read_claim(path: Path) -> dict[str, Any]:
    claimed = read_object(path, "what a run guarantees").get("guarantee")
    if not isinstance(claimed, dict):
        raise BadInput(f"{path} is damaged: it does not say what the run guarantees")
    return claimed


def _number(values: dict[str, Any], key: str) -> float | None:
    try:
        found = float(values[key])
    except (KeyError, OverflowError, TypeError, ValueError):
        return None
    return None if math.isnan(found) else found


def _digest(folder: Path) -> str:
    """A hash of every file that determines the model's output."""
    found = hashlib.sha256()
    for path in sorted(one for one in folder.iterdir() if one.is_file()):
        if path.suffix in {".json", ".safetensors", ".bin", ".txt", ".model"}:
            found.update(path.name.encode() + b"\0")
            with path.open("rb") as stream:
                found.update(hashlib.file_digest(stream, "sha256").digest())
    return found.hexdigest()


def make_untrained_twin(target: ModelTarget, randomness: Randomness) -> ModelTarget:
    """The same network with fresh random weights."""
    from sfumato.core.pretrained import quiet
    from sfumato.models.load import draw_weights_from
    from sfumato.models.pooling import restore_pooling

    network: Any = target.model.network
    with quiet(), draw_weights_from(randomness):
        fresh = type(network)(network.config)
    restore_pooling(fresh)
    return ModelTarget(replace(target.model, network=fresh), "untrained")
