"""The settings of each computation, resolved from the study's file and checked before it runs.

Policies
    A policy is the name of one that the study defines, or is written out. A word list is a file
    like any other: its path is relative to the study's file, and a list that was written again
    makes new cells.
What methods get
    A text method is resolved to the settings of a privatizer, a training method to a model and
    its training.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field, fields, is_dataclass, replace
from pathlib import Path
from typing import Any

from sfumato.catalog import entries
from sfumato.core.checks import one_of, positive
from sfumato.core.errors import InvalidArgument, StorageFailed, UnknownName
from sfumato.core.settings import (
    NAMES_POLICY,
    RUNS,
    check_table,
    purposes,
    read_table,
    settings_of,
)
from sfumato.mechanisms.build import replaces_stretches, rewrites_documents
from sfumato.mechanisms.selective import Selective
from sfumato.mechanisms.vocabulary import CASE, UNKNOWN
from sfumato.models.name import check_model
from sfumato.models.pooling import check_pooling
from sfumato.models.trainable import Trainable
from sfumato.policies.parsing import combine_policies, settings_with_files, with_files
from sfumato.policies.policy import Policy
from sfumato.releases.privatizer import Privatizer
from sfumato.releases.public_settings import name_of
from sfumato.results.row import NO_PRIVACY, RANDOM_OUTPUT
from sfumato.statistics.class_tree import ClassTree
from sfumato.studies.cell import code_identity, file_identity, place_files
from sfumato.studies.doors import CodeNotAllowed
from sfumato.studies.measures.measure import Measure, configure_measure
from sfumato.studies.points import PLACE_KEYS, GridPoint
from sfumato.studies.spec import StudySpec
from sfumato.training.records import LONG
from sfumato.training.settings import GENERAL, Training
from sfumato.vectors.space import SEARCHES


@dataclass(frozen=True, kw_only=True)
class Model:
    """The keys of [model] that choose the model; all others are settings of training."""

    name: str
    settings: Mapping[str, object] = field(default_factory=dict)
    tokenizer: str | None = None
    lora_rank: int | None = None
    trainable: str | None = None
    pooling: str | None = None
    classes: tuple[str, ...] = ()
    class_separator: str = ""
    tags: tuple[str, ...] = ()
    long: str = "split"

    def __post_init__(self) -> None:
        one_of("long", self.long, LONG)
        Trainable.choose(self.trainable, self.lora_rank)
        check_pooling(self.pooling, "classifier" if self.classes else "causal")
        if self.class_separator:
            ClassTree(self.classes, self.class_separator)  # an error if they are no paths


def model_settings(study: StudySpec) -> dict[str, Any]:
    """Everything that determines the model before training."""
    model = _model(study)
    # What nobody asked for names no cell, so that older results keep their names.
    optional = ("trainable", "pooling", "classes", "class_separator", "tags")
    unasked = {key for key in optional if not getattr(model, key)}
    found = {key: value for key, value in asdict(model).items() if key not in unasked}
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


def training_settings(study: StudySpec, own: Mapping[str, Any], name: str) -> dict[str, Any]:
    """The settings of training that the study gives: those in [model], then the method's own."""
    if study.model is None:
        raise InvalidArgument(f"{name} trains a model, and there is no [model]")
    usual = _of_training(study.model)
    named = own.get("method", usual.get("method", Training.method))
    if not isinstance(named, str):
        raise InvalidArgument(f"the method {name}: method={named!r} must be a name")
    method = study.component("methods", named)
    # A setting in [model] applies to the methods that have it.
    shared = {key: usual[key] for key in usual if key in GENERAL or key in settings_of(method)}
    values = _training_table(method, shared, "[model]")
    values |= _training_table(method, own, f"the method {name}")
    if not method.adds_noise:
        values.pop("epsilon", None)
    chosen = Training.of(values | {"method": study.component_name(named)})
    if chosen.group_weights and study.classes and not study.groups:
        raise InvalidArgument(
            f"the method {name} has weights of groups, and the study names none: write groups = "
            "FIELD, the field that holds them"
        )
    chosen.privacy()  # an error is raised before anything is computed
    chosen.course()
    return values


def _training_table(method: type[Any], given: Mapping[str, Any], where: str) -> dict[str, Any]:
    """Check a table that has both the general settings of training and the method's own."""
    own = settings_of(method)
    for key in given:
        if key not in GENERAL and key not in own:
            raise UnknownName(f"key in {where}", key, GENERAL | own.keys())
    common = {key: given[key] for key in given if key in GENERAL}
    return check_table(Training, common, where) | check_table(
        method, {key: given[key] for key in given if key not in GENERAL}, where
    )


def _model(study: StudySpec) -> Model:
    given = study.model or {}
    own = {field.name for field in fields(Model)}
    of_methods = (settings_of(one.load()) for one in entries("methods").values())
    known = own | GENERAL.union(*of_methods)
    for key in given:
        if key not in known:
            raise UnknownName("key in [model]", key, known)
    return read_table(Model, {key: given[key] for key in given if key in own}, "[model]")


def _of_training(given: Mapping[str, Any]) -> dict[str, Any]:
    own = {field.name for field in fields(Model)}
    return {key: value for key, value in given.items() if key not in own}


# How a word list is named: after a colon (also inside another policy), or by a setting.
WORD_LIST, WORD_LIST_SETTING = "lexicon:", "lexicon.path"
_KEYS = {"find", "except", "settings"}


def resolve_policy(study: StudySpec, own: Mapping[str, Any]) -> dict[str, Any]:
    """What a policy finds and leaves out, as written, and what identifies the files it names."""
    given = own.get("policy", "everything")
    if isinstance(given, str) and given in study.policies:
        if "except" in own:
            raise InvalidArgument(
                f"except belongs in [policies.{given}], where the policy is defined"
            )
        table = study.policies[given]
        settings = table.get("settings", {}) if isinstance(table, Mapping) else None
        if not isinstance(settings, Mapping) or not set(table) <= _KEYS:
            raise InvalidArgument(f"[policies.{given}] holds find, except and a table of settings")
        found, without = table.get("find", []), table.get("except", [])
    else:
        found, without, settings = given, own.get("except", []), {}
    resolved: dict[str, Any] = {
        "find": _list(found),
        "except": _list(without),
        "settings": dict(settings),
    }
    files = [file_identity(study, path) for path in _files(resolved)]
    files += [file_identity(study, path, RUNS) for path in _code(study, resolved)]
    return resolved | ({"files": files} if files else {})


def policy_of(study: StudySpec, resolved: Mapping[str, Any]) -> Policy:
    """The policy of resolved settings."""
    there = locate_files(study, resolved)
    return combine_policies(there["find"], there["except"], there["settings"])


def locate_files(study: StudySpec, resolved: Mapping[str, Any]) -> dict[str, Any]:
    """The same settings with paths that are valid in any working folder."""
    found, without = (
        [with_files(spec, study.place) for spec in resolved[side]] for side in ("find", "except")
    )
    settings = settings_with_files(resolved["settings"], study.place, [*found, *without])
    return {"find": found, "except": without, "settings": settings}


def resolve_measure(study: StudySpec, name: str, given: Mapping[str, object]) -> Measure:
    """A measure with the study's settings, its files located and its policies resolved."""
    component = study.component("measures", name)
    study.check_measure(name, component)
    named = {key for key, use in purposes(component).items() if use == NAMES_POLICY}
    others = {key: value for key, value in given.items() if key not in named}
    placed = dict(given) | place_files(study, component, others)
    made = configure_measure(study.component_name(name), placed)
    policies = {
        key: policy_of(study, resolve_policy(study, {"policy": _listed(getattr(made, key))}))
        for key in named & set(given)
        if getattr(made, key)
    }
    resolved: Measure = replace(made, **policies)  # type: ignore[type-var]  # it is a dataclass
    return resolved


def _listed(given: str | tuple[str, ...]) -> str | list[str]:
    return given if isinstance(given, str) else list(given)


def meaning_of(study: StudySpec, settings: Mapping[str, Any]) -> dict[str, Any]:
    """The policy behind a measure's setting, if the study defines it: the name is not enough."""
    given = settings.get("policy")
    if not isinstance(given, str) or given not in study.policies:
        return {}
    return {"policy": resolve_policy(study, {"policy": given})}


def _files(resolved: Mapping[str, Any]) -> list[str]:
    specs = [*resolved["find"], *resolved["except"]]
    named = [spec.partition(WORD_LIST)[2] for spec in specs if _names_file(spec)]
    set_apart = resolved["settings"].get(WORD_LIST_SETTING)
    return [*named, *([set_apart] if isinstance(set_apart, str) else [])]


def _code(study: StudySpec, resolved: Mapping[str, Any]) -> list[str]:
    """The files with the study's own code that a policy names, each checked to be allowed."""
    named: list[str] = []

    def note(written: str, purpose: str) -> str:
        if purpose == RUNS:
            named.append(written)
        return study.place(written, purpose)

    for spec in (*resolved["find"], *resolved["except"]):
        with_files(spec, note)
    return named


def _names_file(spec: str) -> bool:
    """Whether a policy is a word list, or wraps one.

    >>> _names_file("lexicon:words.txt"), _names_file("imperfect:lexicon:words.txt")
    (True, True)
    >>> _names_file("regex:lexicon:[a-z]+"), _names_file("lexicon:")
    (False, False)
    """
    before, found, path = spec.partition(WORD_LIST)
    return bool(found and path) and before.removesuffix("imperfect:") == ""


def _list(given: object) -> list[str]:
    values = [given] if isinstance(given, str) else given
    if not isinstance(values, list) or not all(isinstance(one, str) for one in values):
        raise InvalidArgument("a policy is a name, or a list of names")
    return list(values)


TEXT_KEYS = ("mechanism", "epsilon", "policy", "except", "vectors", "unknown", "case", "search")
# One anchor has so little noise that every word stays, the other so much that the output does not
# depend on the word. Both use the exponential mechanism, whose output is then the word itself or
# uniform over all words. Other mechanisms have no level (masks), or reveal something at every
# level: the group of a word, or the public words that are kept.
TEXT_ANCHORS: dict[str, dict[str, Any]] = {
    NO_PRIVACY: {"mechanism": "exponential", "epsilon": 1e9, "unknown": "keep"},
    RANDOM_OUTPUT: {"mechanism": "exponential", "epsilon": 1e-9},
}
# What the anchors take from the first text method: its policy and its word vectors.
_OF_ANCHORS = ("policy", "except", "vectors")
# The setting of a text that is a link to the originals, not a copy.
LINKED = "linked"
_CHOICES = {"unknown": UNKNOWN, "case": CASE, "search": SEARCHES}


def text_settings(study: StudySpec, own: Mapping[str, Any], name: str) -> dict[str, Any]:
    """The settings of a privatizer, with the policy resolved; errors name the method."""
    settings = {
        key: own[key] for key in own if key in TEXT_KEYS and key not in ("policy", "except")
    }
    for key in own:
        if key not in (*TEXT_KEYS, "settings", "training"):
            known = (*TEXT_KEYS, "settings", *PLACE_KEYS, "training", "grid")
            raise UnknownName(f"key of the text method {name}", key, known)
    found: dict[str, Any] = settings | {"policy": resolve_policy(study, own)}
    if "settings" in own:
        if not isinstance(own["settings"], Mapping):
            raise InvalidArgument(f"the settings of {name} must be a table")
        found["settings"] = dict(own["settings"])
    if "vectors" in own:
        if not isinstance(own["vectors"], str):
            raise InvalidArgument(f"the vectors of {name} must be the path of a file")
        found["vectors"] = file_identity(study, own["vectors"])
    try:
        if isinstance(own["mechanism"], str):
            found |= code_identity(study, own["mechanism"])
        policy_of(study, found["policy"])
        _check_mechanism(study, found)
    except CodeNotAllowed:
        raise
    except (InvalidArgument, StorageFailed) as error:
        kind = InvalidArgument if isinstance(error, InvalidArgument) else StorageFailed
        raise kind(f"the method {name!r}: {error}") from None
    return found


def anchor_settings(texts: Iterable[GridPoint]) -> dict[str, Any] | None:
    """What the anchors take from the first text method; None if there is none."""
    for point in texts:
        return {key: value for key, value in point.settings.items() if key in _OF_ANCHORS}
    return None


def _check_mechanism(study: StudySpec, settings: Mapping[str, Any]) -> None:
    """Check everything that can be checked without loading word vectors."""
    mechanism = settings["mechanism"]
    if not isinstance(mechanism, str):
        raise InvalidArgument(f"mechanism={mechanism!r} must be a name")
    component = study.component("mechanisms", mechanism)
    own = place_files(study, component, settings.get("settings", {}))
    mechanism = study.component_name(mechanism)
    if rewrites_documents(mechanism):
        level = {key: settings[key] for key in ("epsilon",) if key in settings}
        # Made, but not asked for its guarantee: that would load its pool or model.
        selective = Privatizer(
            policy=policy_of(study, settings["policy"]), mechanism=mechanism, settings=own, **level
        ).selective
        assert isinstance(selective, Selective)  # noqa: S101
        selective.refuse_selecting()
        return
    if replaces_stretches(mechanism):
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
    if not is_dataclass(component) or not isinstance(component, type):
        return  # its settings are checked when it is made
    known = settings_of(component, {"space": None, "epsilon": None})
    for key in own:
        if key.removesuffix("_") not in known:
            raise UnknownName(f"setting of {name_of(mechanism)}", key, known)
