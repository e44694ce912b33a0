"""The model of a study and how it is trained, from flat settings to a request."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import Any

from sfumato.catalog import entries
from sfumato.core.checks import one_of
from sfumato.core.errors import InvalidArgument, UnknownName
from sfumato.models.naming import check_model
from sfumato.studies.config import Study
from sfumato.studies.identity import file_identity
from sfumato.studies.tables import checked, table
from sfumato.training.choices import Training
from sfumato.training.records import LONG


@dataclass(frozen=True, kw_only=True)
class Model:
    """The keys of [model] that choose the model; all others are settings of training."""

    name: str
    settings: Mapping[str, object] = field(default_factory=dict)
    tokenizer: str | None = None
    lora_rank: int | None = None
    long: str = "split"

    def __post_init__(self) -> None:
        one_of("long", self.long, LONG)


def model_settings(study: Study) -> dict[str, Any]:
    """Everything that decides the model before training."""
    model = _model(study)
    found = asdict(model)
    spec = model.name
    if spec not in entries("models"):
        there = study.model_folder(spec)
        spec = there or spec
        if there is not None and Path(there).exists():
            found["name"] = file_identity(study, model.name)
    check_model(spec, model.settings)
    if model.tokenizer is not None:
        found["tokenizer"] = file_identity(study, model.tokenizer)
    return found


def training_settings(study: Study, own: Mapping[str, Any], name: str) -> dict[str, Any]:
    """The settings of training that differ from sfumato's: the study's first, then the method's."""
    if study.model is None:
        raise InvalidArgument(f"{name} trains a model, and there is no [model]")
    usual = checked(Training, _of_training(study.model), "[model]")
    values = usual | checked(Training, own, f"the method {name}")
    if values.get("method") in ("plain", "redacted"):
        values.pop("epsilon", None)
    chosen = Training(**values)
    chosen.privacy()  # what is wrong is said before anything is computed
    chosen.course()
    return values


def _model(study: Study) -> Model:
    given = study.model or {}
    own = {field.name for field in fields(Model)}
    known = own | {field.name for field in fields(Training)}
    for key in given:
        if key not in known:
            raise UnknownName("key in [model]", key, known)
    return table(Model, {key: given[key] for key in given if key in own}, "[model]")


def _of_training(given: Mapping[str, Any]) -> dict[str, Any]:
    own = {field.name for field in fields(Model)}
    return {key: value for key, value in given.items() if key not in own}
