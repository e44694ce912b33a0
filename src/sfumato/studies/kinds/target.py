"""What is attacked and measured: a privatized text, or a trained model.

A privatized text has its guarantee beside it, as every privatized file has. The anchor "no privacy"
is the originals; if the corpus is private it is a link to them and no copy.

A model is trained on the originals with a method of training, or on a privatized text. Training
without noise on a privatized text is post-processing, because it does not look at the originals
again; so the model keeps the guarantee of the text.

Each level draws its own noise. With the same draws at all levels, the errors of neighboring levels
would be correlated, and one error seen several times looks like a trend.
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Mapping
from hashlib import sha256
from pathlib import Path
from typing import Any

from sfumato.attacks.text_target import side_path
from sfumato.core.errors import CannotResume
from sfumato.core.json import read_object
from sfumato.core.randomness import Randomness
from sfumato.releases.job import Job, run_job
from sfumato.releases.privatizer import Privatizer
from sfumato.studies.cell import CODE, Cell, place_files
from sfumato.studies.kinds.context import CellResult, Context, texts
from sfumato.studies.resolve import LINKED, policy_of
from sfumato.studies.spec import StudySpec

UNTRAINED = "This model was never trained on the corpus, so it tells nothing about it."


def compute_release(context: Context) -> CellResult:
    """Privatize the corpus."""
    there = texts(context)
    target = context.here / there.released
    if target.is_symlink():
        target.unlink()  # it may lead to the originals, which must not be overwritten
    linked = bool(context.cell.settings.get(LINKED))
    # Parquet cannot be written to the null device: a copy exists until it is replaced below.
    nowhere = linked and there.source.format.name != "parquet"
    job = Job(
        source=there.source,
        target=Path(os.devnull) if nowhere else target,
        guarantee=side_path(target) if nowhere else None,
        overwrite=True,
    )
    summary = run_job(job, privatizer(context.study, context.cell))
    if linked:
        target.unlink(missing_ok=True)
        target.symlink_to(there.train.resolve())
    return CellResult(
        guarantee=summary["guarantee"],
        sentence=summary["sentence"],
        details={"counts": summary["counts"]},
    )


def privatizer(study: StudySpec, cell: Cell) -> Privatizer:
    """The privatizer of a cell that makes a privatized text."""
    settings = {key: value for key, value in cell.settings.items() if key not in (LINKED, CODE)}
    path = vectors_path(study, settings.pop("vectors", None))
    component = study.component("mechanisms", settings["mechanism"])
    settings["mechanism"] = study.component_name(settings["mechanism"])
    if "settings" in settings:
        settings["settings"] = place_files(study, component, settings["settings"])
    return Privatizer(
        policy=policy_of(study, settings.pop("policy")),
        vectors=None if path is None else str(path),
        seed=own_seed(cell.seed, cell.settings),
        **settings,
    )


def own_seed(seed: int, settings: Mapping[str, Any]) -> int:
    """A seed for these settings, so that each level and each method draws its own noise.

    >>> own_seed(1, {"epsilon": 2}) == own_seed(1, {"epsilon": 2}) != own_seed(1, {"epsilon": 3})
    True
    """
    spelled = json.dumps([seed, _lasting(settings)], sort_keys=True, default=list)
    return int.from_bytes(sha256(spelled.encode()).digest()[:7], "big")


def _lasting(value: Any) -> Any:
    """The settings without the times of files: a copy of a file must give the same draws."""
    if isinstance(value, Mapping):
        return {key: _lasting(one) for key, one in value.items() if key != "changed"}
    return [_lasting(one) for one in value] if isinstance(value, list) else value


def vectors_path(study: StudySpec, vectors: dict[str, Any] | None) -> Path | None:
    """The file with the word vectors of a cell; None for those of the package."""
    return None if vectors is None else study.path(str(vectors["path"]))


def compute_run(context: Context) -> CellResult:
    """Train, or resume a run that was killed."""
    from sfumato.training.folder import RunFolder
    from sfumato.training.methods.promise import PolicyPromise
    from sfumato.training.request import Request, train_model
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
        kind=_kind(model),
        classes=tuple(model.get("classes", ())),
        long=model["long"],
        lora_rank=model["lora_rank"],
        trainable=model.get("trainable"),
        pooling=model.get("pooling"),
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
        # Another version began this run, so it has to start again.
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
    """Every level draws its own weights, samples and noise, so that errors are independent."""
    settings = context.cell.settings
    text = context.target.settings if len(context.cell.inputs) > 1 else None
    decides = {"training": settings["training"], "policy": settings["policy"], "text": text}
    return own_seed(context.cell.seed, decides)


def _beside(stated: Mapping[str, Any]) -> dict[str, Any]:
    names = ("plan", "as_in_the_paper")
    return {name: stated[name] for name in names if name in stated}


def _untrained(context: Context, model: Mapping[str, Any]) -> CellResult:
    from sfumato.models.load import load_model, save_model
    from sfumato.training.methods.base import INITIAL

    loaded = load_model(
        _name(context.study, model["name"]),
        randomness=Randomness.reproducible(context.cell.seed).stream(INITIAL),
        kind=_kind(model),
        classes=tuple(model.get("classes", ())),
        tokenizer=_load_tokenizer(context.study, model),
        settings=dict(model["settings"]),
        pooling=model.get("pooling"),
    )
    shutil.rmtree(context.here / "model", ignore_errors=True)
    save_model(loaded, context.here / "model")
    return CellResult(sentence=UNTRAINED)


def _kind(model: Mapping[str, Any]) -> str:
    return "classifier" if model.get("classes") else "causal"


def _name(study: StudySpec, name: Any) -> str:
    return name if isinstance(name, str) else str(study.path(name["path"]))


def _tokenizer(study: StudySpec, model: Mapping[str, Any]) -> str | None:
    return None if model["tokenizer"] is None else str(study.path(model["tokenizer"]["path"]))


def _load_tokenizer(study: StudySpec, model: Mapping[str, Any]) -> Any:
    from sfumato.models.tokenizer import load_tokenizer

    folder = _tokenizer(study, model)
    return None if folder is None else load_tokenizer(Path(folder))
