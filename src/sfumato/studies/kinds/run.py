"""A trained model: on the originals with a method of training, or on a privatized text.

What is trained without noise on a privatized text keeps the text's guarantee, because training is
then post-processing: the originals are not looked at again.
"""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from typing import Any

from sfumato.core.errors import CannotResume
from sfumato.core.json import read_object
from sfumato.core.randomness import Randomness
from sfumato.studies.cell import place_files
from sfumato.studies.kinds.context import CellResult, Context
from sfumato.studies.kinds.corpus import texts
from sfumato.studies.kinds.release import own_seed
from sfumato.studies.resolve import policy_of
from sfumato.studies.spec import StudySpec

UNTRAINED = "This model was never trained on the corpus, so it tells nothing about it."


def compute(context: Context) -> CellResult:
    """Train, or go on where a killed process stopped."""
    from sfumato.training.folder import RunFolder
    from sfumato.training.methods.promise import PolicyPromise
    from sfumato.training.run import Request, train_model
    from sfumato.training.settings import Training

    settings = context.cell.settings
    model = settings["model"]
    if settings["training"] is None:
        return _untrained(context, model)
    given, study = settings["training"], context.study
    placed = place_files(study, study.component("methods", given["method"]), given)
    choices = Training.of(placed | {"method": study.component_name(given["method"])})
    chosen = settings["policy"]
    policy = None if chosen is None else policy_of(context.study, chosen)
    request = Request(
        model=_name(context.study, model["name"]),
        privacy=choices.privacy(),
        method=choices.built_method(),
        protection=None if policy is None else PolicyPromise(policy),
        course=choices.course(),
        long=model["long"],
        lora_rank=model["lora_rank"],
        tokenizer=_tokenizer(context.study, model),
        settings=dict(model["settings"]),
        corpus={"study": context.cell.key},
        seed=training_seed(context),
    )
    folder = RunFolder(context.here / "run")
    there = texts(context)
    protected = len(context.cell.inputs) > 1
    documents = there.documents(context.target_path if protected else there.train)
    try:
        trained = train_model(request, documents, folder, resume=folder.config.is_file())
    except CannotResume:
        # What another version began is of no use to this one.
        shutil.rmtree(folder.path)
        trained = train_model(request, documents, folder)
    own = trained.guarantee
    details = _beside(read_object(folder.guarantee, "what a run guarantees"))
    if protected and not trained.plan.private:
        before = read_object(context.folder.record(context.target.key), "the record of a cell")
        return CellResult(
            guarantee=before["guarantee"], sentence=before["sentence"], details=details
        )
    return CellResult(guarantee=own.as_dict(), sentence=own.sentence(), details=details)


def training_seed(context: Context) -> int:
    """Every level draws its own weights, samples and noise, so that levels err independently."""
    settings = context.cell.settings
    text = context.target.settings if len(context.cell.inputs) > 1 else None
    decides = {"training": settings["training"], "policy": settings["policy"], "text": text}
    return own_seed(context.cell.seed, decides)


def _beside(stated: Mapping[str, Any]) -> dict[str, Any]:
    names = ("plan", "as_in_the_paper")
    return {name: stated[name] for name in names if name in stated}


def _untrained(context: Context, model: Mapping[str, Any]) -> CellResult:
    from sfumato.models.load import load_model
    from sfumato.models.save import save_model
    from sfumato.training.methods.base import INITIAL

    loaded = load_model(
        _name(context.study, model["name"]),
        randomness=Randomness.reproducible(context.cell.seed).stream(INITIAL),
        kind="causal",
        tokenizer=_load_tokenizer(context.study, model),
        settings=dict(model["settings"]),
    )
    shutil.rmtree(context.here / "model", ignore_errors=True)
    save_model(loaded, context.here / "model")
    return CellResult(sentence=UNTRAINED)


def _name(study: StudySpec, name: Any) -> str:
    return name if isinstance(name, str) else str(study.path(name["path"]))


def _tokenizer(study: StudySpec, model: Mapping[str, Any]) -> str | None:
    return None if model["tokenizer"] is None else str(study.path(model["tokenizer"]["path"]))


def _load_tokenizer(study: StudySpec, model: Mapping[str, Any]) -> Any:
    from pathlib import Path

    from sfumato.models.tokenizer import load_tokenizer

    folder = _tokenizer(study, model)
    return None if folder is None else load_tokenizer(Path(folder))
