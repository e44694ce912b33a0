"""Shadow models: trained like the target, each on a random half of the candidates.

Shadows come in pairs, a half and its complement, so that exactly half of them were trained on each
candidate. They are trained as the target was (model, sizes, optimizer, passes, batches), but always
without noise. Each is a run of its own under the cache, so an interrupted attack continues where it
stopped; the halves are drawn once and kept beside the runs.

Care
    Shadows are trained on private text without protection. The folder is readable by its owner only
    and is as private as the candidates. Its name is a hash under a key that was drawn for the
    cache, so the name confirms no guess at the text. Deleting the folder costs only the time to
    train again.
"""

from __future__ import annotations

import json
import math
import secrets
import zipfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from sfumato.attacks.attack import Done
from sfumato.attacks.membership.evidence import OtherModels, ScoreTable
from sfumato.attacks.model_target import ModelTarget, open_model
from sfumato.core.checks import at_least
from sfumato.core.errors import BadInput, InvalidArgument, StorageFailed
from sfumato.core.files import replace_file, write_first
from sfumato.core.keys import Key
from sfumato.core.randomness import Randomness
from sfumato.text.document import Document

if TYPE_CHECKING:
    from sfumato.models.tokenizer import Tokenizer
    from sfumato.training.request import Request

# Marks a shadow without a seed: its randomness is secure.
UNSEEDED = -1
_README = """Models that an attack has trained on private text, without any protection.
They are as private as that text. The folder may be deleted; they are then trained again.
"""

MeasureTarget = Callable[[ModelTarget], ScoreTable]


@dataclass(frozen=True, eq=False)
class Halves:
    """Which candidates each shadow is trained on, and the seed of its training, if any."""

    inside: NDArray[np.bool_]
    seeds: NDArray[np.int64]


def recipe_of(settings: dict[str, Any], tokenizer: Tokenizer) -> Request:
    """The training of a run, without noise; ``settings`` are those in the folder of the run."""
    from sfumato.catalog import entries
    from sfumato.training.request import Request
    from sfumato.training.settings import Course, Privacy

    try:
        stages, units = settings["plan"]["stages"], settings["plan"]["units"]
        places = sum(stage["steps"] * stage["batch_size"] for stage in stages)
        return Request(
            model=settings["model"],
            privacy=Privacy(
                epsilon=math.inf,
                epochs=places / units,
                batch_sizes=tuple(stage["batch_size"] for stage in stages),
            ),
            course=Course(**settings["course"]),
            kind=settings["kind"],
            classes=tuple(settings["classes"]),
            long=settings["long"],
            lora_rank=settings["lora_rank"],
            trainable=settings.get("trainable"),
            pooling=settings.get("pooling"),
            # A pretrained model has its own tokenizer; a model from scratch takes the target's.
            tokenizer=tokenizer if settings["model"] in entries("models") else None,
            settings=dict(settings["model_settings"]),
        )
    except (KeyError, TypeError, ZeroDivisionError):
        raise BadInput("the run's config.json does not say how the model was trained") from None


def draw_halves(candidates: int, count: int, randomness: Randomness) -> Halves:
    """Random halves and their complements; every candidate is in half of the shadows."""
    if at_least("shadows", count, 2) % 2:
        raise InvalidArgument(f"shadows={count} must be even: they come in pairs")
    if candidates < 4:
        raise BadInput(f"{candidates} candidates are too few to train shadows on halves of them")
    inside = np.zeros((count, candidates), dtype=np.bool_)
    for pair in range(0, count, 2):
        inside[pair, randomness.choose(candidates, candidates // 2)] = True
        inside[pair + 1] = ~inside[pair]
    if randomness.for_release:
        return Halves(inside, np.full(count, UNSEEDED, dtype=np.int64))
    return Halves(inside, randomness.integers(2**31, count))


def shadow_models(  # noqa: PLR0913  # what to train, on what, how many, where, how to measure
    recipe: Request,
    documents: Sequence[Document],
    count: int,
    folder: Path,
    measure: MeasureTarget,
    randomness: Randomness,
    done: Done | None = None,
) -> OtherModels:
    """Train the shadows that are missing, and measure the candidates under every shadow."""
    place = shadow_folder(folder / "shadows", recipe, documents, ShadowKind("halves", count))
    halves = _keep_halves(place, len(documents), count, randomness)
    tables = []
    for number in range(count):
        chosen = [documents[one] for one in np.flatnonzero(halves.inside[number]).tolist()]
        tables.append(
            measure(train_shadow(recipe, chosen, place, number, int(halves.seeds[number])))
        )
        if done:
            done(number + 1, count)
    return OtherModels(tuple(tables), halves.inside)


def train_shadow(
    recipe: Request, documents: Sequence[Document], place: Path, number: int, seed: int
) -> ModelTarget:
    """One shadow, trained in a folder of its own, or found there."""
    from sfumato.training.execution import train_model
    from sfumato.training.folder import RunFolder

    run = RunFolder(place / f"shadow-{number:03d}")
    asked = replace(recipe, corpus={"shadow": number}, seed=None if seed == UNSEEDED else seed)
    if not run.finished:
        train_model(asked, documents, run, resume=run.config.is_file())
    return open_model(run.path)


@dataclass(frozen=True)
class ShadowKind:
    """What shadows are for, how many there are, and what else decides how they are drawn."""

    name: str
    count: int
    about: Mapping[str, Any] = field(default_factory=dict)


def shadow_folder(
    folder: Path, recipe: Request, documents: Sequence[Document], kind: ShadowKind
) -> Path:
    """The folder for exactly these documents, this recipe and this kind of shadows."""
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        if not (folder / "key").is_file():
            write_first(folder / "README", _README.encode())
            write_first(folder / "key", secrets.token_hex(32).encode(), private=True)
    except OSError as error:
        raise StorageFailed(f"cannot use the cache {folder}: {error.strerror}") from None
    described = {
        "model": recipe.model,
        "privacy": asdict(recipe.privacy),
        "course": dict(recipe.course.as_dict()),
        "kind": recipe.kind,
        "long": recipe.long,
        "lora_rank": recipe.lora_rank,
        "trainable": recipe.trainable,
        "pooling": recipe.pooling,
        "settings": recipe.settings,
        "count": kind.count,
        "drawn": kind.name,
        **kind.about,
    }
    labels = ("\0".join(document.labels) for document in documents)
    code = Key.from_file(folder / "key").code(
        json.dumps(described, sort_keys=True, default=str),
        *(document.text for document in documents),
        *labels,
    )
    place = folder / code[:24]
    place.mkdir(mode=0o700, exist_ok=True)
    return place


def _keep_halves(place: Path, candidates: int, count: int, randomness: Randomness) -> Halves:
    """The halves of this folder; drawn and saved at the first call."""
    path = place / "halves.npz"
    if not path.is_file():
        drawn = draw_halves(candidates, count, randomness)
        with replace_file(path, private=True) as stream:
            np.savez(stream, inside=drawn.inside, seeds=drawn.seeds)
    try:
        with np.load(path, allow_pickle=False) as content:
            kept = Halves(content["inside"], content["seeds"])
    except (OSError, ValueError, KeyError, zipfile.BadZipFile):
        raise StorageFailed(f"{path} is damaged; delete {place} to train again") from None
    if kept.inside.shape != (count, candidates):
        raise StorageFailed(f"{path} belongs to other candidates; delete {place} to train again")
    return kept
