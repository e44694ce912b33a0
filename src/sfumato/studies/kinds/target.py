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
import math
import os
import shutil
from collections.abc import Mapping
from dataclasses import replace
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sfumato.attacks.text_target import side_path
from sfumato.core.errors import CannotResume
from sfumato.core.json import read_object
from sfumato.core.randomness import Randomness
from sfumato.files.layout import Layout
from sfumato.files.source import Source
from sfumato.guarantees.guarantee import Guarantee, Notion
from sfumato.releases.job import Job, run_job
from sfumato.releases.privatizer import Privatizer
from sfumato.studies.cell import CHARGED, CODE, SYNTHETIC, Cell, place_files
from sfumato.studies.kinds.context import SYNTHESIZED_FIELD, CellResult, Context, texts
from sfumato.studies.resolve import LINKED, policy_of
from sfumato.studies.spec import StudySpec
from sfumato.text.document import Document

if TYPE_CHECKING:
    from sfumato.training.folder import RunFolder
    from sfumato.training.request import Request

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
    privatized_by = privatizer(context.study, context.cell)
    if context.payer is not None and has_a_level(privatized_by.guarantee()):
        # Each attempt draws anew, so each is charged.
        job = replace(job, payment=context.payer)
    summary = run_job(job, privatized_by)
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
    no_settings = (LINKED, CODE, CHARGED)
    settings = {key: value for key, value in cell.settings.items() if key not in no_settings}
    path = vectors_path(study, settings.pop("vectors", None))
    component = study.component("mechanisms", settings["mechanism"])
    settings["mechanism"] = study.component_name(settings["mechanism"])
    if "settings" in settings:
        settings["settings"] = place_files(study, component, settings["settings"])
    return Privatizer(
        policy=policy_of(study, settings.pop("policy")),
        vectors=None if path is None else str(path),
        seed=None if cell.settings.get(CHARGED) else own_seed(cell.seed, cell.settings),
        **settings,
    )


def has_a_level(guarantee: Guarantee) -> bool:
    """Whether there is something to pay for: not for what looks at no text, or proves nothing."""
    nothing = (Notion.NONE, Notion.INDEPENDENT)
    return guarantee.notion not in nothing and not math.isinf(guarantee.epsilon)


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
    from sfumato.training.execution import train_model

    settings = context.cell.settings
    if settings["training"] is None:
        return _untrained(context, settings["model"])
    request, folder = run_request(context), run_folder(context)
    there = texts(context)
    protected = len(context.cell.inputs) > 1
    documents = _documents(context) if protected else there.documents(there.train)
    begun = folder.config.is_file() or folder.tokenizer.is_dir()
    try:
        trained = train_model(request, documents, folder, resume=begun, payment=context.payer)
    except CannotResume:
        # Another version began this run, so it has to start again, and is paid for again.
        shutil.rmtree(folder.path)
        trained = train_model(request, documents, folder, payment=context.payer)
    own = trained.guarantee
    details = _beside(read_object(folder.guarantee, "what a run guarantees"))
    if protected and not trained.plan.private:
        before = read_object(context.folder.record(context.target.key), "the record of a cell")
        return CellResult(
            guarantee=before["guarantee"], sentence=before["sentence"], details=details
        )
    return CellResult(guarantee=own.as_dict(), sentence=own.sentence(), details=details)


def _documents(context: Context) -> list[Document]:
    """What a model is trained on that does not see the originals."""
    if context.target.kind == SYNTHETIC:
        return list(Source.of(context.target_path, Layout(field=SYNTHESIZED_FIELD)).documents())
    return texts(context).documents(context.target_path)


def run_folder(context: Context) -> RunFolder:
    """The folder of the training run of a cell."""
    from sfumato.training.folder import RunFolder

    return RunFolder(context.here / "run")


def run_request(context: Context) -> Request:
    """The training run of a cell."""
    from sfumato.training.methods.promise import PolicyPromise
    from sfumato.training.request import Request
    from sfumato.training.settings import Training

    settings = context.cell.settings
    model, given, study = settings["model"], settings["training"], context.study
    placed = place_files(study, study.component("methods", given["method"]), given)
    choices = Training.of(placed | {"method": study.component_name(given["method"])})
    chosen = settings["policy"]
    policy = None if chosen is None else policy_of(context.study, chosen)
    return Request(
        model=_name(context.study, model["name"]),
        privacy=choices.privacy(),
        method=choices.built_method(),
        protection=None if policy is None else PolicyPromise(policy),
        course=choices.course(),
        kind=_kind(context.study, model, choices.objective),
        objective=choices.objective,
        classes=_named(model),
        class_separator=model.get("class_separator", ""),
        long=model["long"],
        lora_rank=model["lora_rank"],
        trainable=model.get("trainable"),
        pooling=model.get("pooling"),
        # One that is learned from the text takes the place of the study's own.
        tokenizer=None if choices.vocabulary() else _tokenizer(context.study, model),
        vocabulary=choices.vocabulary(),
        settings=dict(model["settings"]),
        corpus={"study": context.cell.key},
        seed=training_seed(context),
    )


def training_seed(context: Context) -> int | None:
    """Every level draws its own weights, samples and noise, so that errors are independent.

    What is paid for is a release, and draws from the system.
    """
    settings = context.cell.settings
    if settings.get(CHARGED):
        return None
    text = context.target.settings if len(context.cell.inputs) > 1 else None
    decides = {"training": settings["training"], "policy": settings["policy"], "text": text}
    return own_seed(context.cell.seed, decides)


def _beside(stated: Mapping[str, Any]) -> dict[str, Any]:
    names = ("plan", "as_in_the_paper", "epsilon_by_group", "parts")
    return {name: stated[name] for name in names if name in stated}


def _untrained(context: Context, model: Mapping[str, Any]) -> CellResult:
    from sfumato.models.load import load_model, mark_separator, save_model
    from sfumato.training.methods.base import INITIAL
    from sfumato.training.objectives import choose_objective, mark_objective, new_tokenizer

    # An anchor has no method: of what is usual in the study, what it has to predict.
    asked = (context.study.model or {}).get("objective")
    kind, name = _kind(context.study, model, asked), _name(context.study, model["name"])
    objective = choose_objective(asked, kind)
    loaded = load_model(
        name,
        randomness=Randomness.reproducible(context.cell.seed).stream(INITIAL),
        kind=kind,
        classes=_named(model),
        tokenizer=new_tokenizer(name, _load_tokenizer(context.study, model), objective),
        settings=dict(model["settings"]),
        pooling=model.get("pooling"),
    )
    if model.get("class_separator"):
        loaded = mark_separator(loaded, model["class_separator"])
    shutil.rmtree(context.here / "model", ignore_errors=True)
    save_model(mark_objective(loaded, objective), context.here / "model")
    return CellResult(sentence=UNTRAINED)


def _kind(study: StudySpec, model: Mapping[str, Any], objective: str | None) -> str:
    from sfumato.training.objectives import kind_to_train

    name = _name(study, model["name"])
    return kind_to_train(name, objective, model.get("classes", ()), model.get("tags", ()))


def _named(model: Mapping[str, Any]) -> tuple[str, ...]:
    """The classes of a classifier, or the types that a tagger finds."""
    return tuple(model.get("classes") or model.get("tags") or ())


def _name(study: StudySpec, name: Any) -> str:
    return name if isinstance(name, str) else str(study.path(name["path"]))


def _tokenizer(study: StudySpec, model: Mapping[str, Any]) -> str | None:
    return None if model["tokenizer"] is None else str(study.path(model["tokenizer"]["path"]))


def _load_tokenizer(study: StudySpec, model: Mapping[str, Any]) -> Any:
    from sfumato.models.tokenizer import load_tokenizer

    folder = _tokenizer(study, model)
    return None if folder is None else load_tokenizer(Path(folder))
