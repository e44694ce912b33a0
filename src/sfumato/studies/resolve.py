"""From what a study's file says to what each computation is told, checked before any begins.

The points of a method's grid
    A list in place of a single value is an axis of the grid. Where a setting is a list by nature (a
    policy of several parts, batch sizes in stages), its axis is written under ``grid``. One axis is
    the parameter that curves are drawn against: epsilon if it is one, else the first of numbers; of
    the others each value is a method of its own.
Policies
    By a name of the study, or written out. A word list is a file like any other that a study names:
    it is looked for from where the study stands, and one that was written again makes new cells.
What methods are told
    What a privatizer is told for those that privatize text; the model and its training for those
    that train.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field, fields, is_dataclass, replace
from itertools import product
from math import prod
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
    read,
    read_table,
    settings_of,
)
from sfumato.mechanisms.build import is_baseline
from sfumato.mechanisms.vocabulary import CASE, UNKNOWN
from sfumato.models.name import check_model
from sfumato.policies.parsing import combine_policies, settings_with_files, with_files
from sfumato.policies.policy import Policy
from sfumato.releases.privatizer import Privatizer, name_of
from sfumato.results.row import NO_PRIVACY, RANDOM_OUTPUT
from sfumato.studies.cell import code_identity, file_identity, place_files
from sfumato.studies.doors import CodeNotAllowed
from sfumato.studies.measures.measure import Measure, configure_measure
from sfumato.studies.spec import MethodSettings, StudySpec, check_seeds
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
    long: str = "split"

    def __post_init__(self) -> None:
        one_of("long", self.long, LONG)


def model_settings(study: StudySpec) -> dict[str, Any]:
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


def training_settings(study: StudySpec, own: Mapping[str, Any], name: str) -> dict[str, Any]:
    """The settings of training that differ from sfumato's: the study's first, then the method's."""
    if study.model is None:
        raise InvalidArgument(f"{name} trains a model, and there is no [model]")
    usual = _of_training(study.model)
    named = own.get("method", usual.get("method", Training.method))
    if not isinstance(named, str):
        raise InvalidArgument(f"the method {name}: method={named!r} must be a name")
    method = study.component("methods", named)
    # What [model] says is for the methods that have such a setting.
    shared = {key: usual[key] for key in usual if key in GENERAL or key in settings_of(method)}
    values = _training_table(method, shared, "[model]")
    values |= _training_table(method, own, f"the method {name}")
    if not method.adds_noise:
        values.pop("epsilon", None)
    chosen = Training.of(values | {"method": study.component_name(named)})
    chosen.privacy()  # what is wrong is said before anything is computed
    chosen.course()
    return values


def _training_table(method: type[Any], given: Mapping[str, Any], where: str) -> dict[str, Any]:
    """The settings of training and the method's own, which stand beside each other in a table."""
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
    """What to find and what to leave out, as it is written, and the files that it names."""
    given = own.get("policy", "everything")
    if isinstance(given, str) and given in study.policies:
        if "except" in own:
            raise InvalidArgument(
                f"except belongs into [policies.{given}], where the policy stands"
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
    """The policy itself."""
    there = locate_files(study, resolved)
    return combine_policies(there["find"], there["except"], there["settings"])


def locate_files(study: StudySpec, resolved: Mapping[str, Any]) -> dict[str, Any]:
    """The same with files where they are, whatever folder the process works in."""
    found, without = (
        [with_files(spec, study.place) for spec in resolved[side]] for side in ("find", "except")
    )
    settings = settings_with_files(resolved["settings"], study.place, [*found, *without])
    return {"find": found, "except": without, "settings": settings}


def resolve_measure(study: StudySpec, name: str, given: Mapping[str, object]) -> Measure:
    """A measure with the study's settings: files where they are, policies as the study has them."""
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
    """What a measure's policy stands for, if it is one of the study's: a name does not say it."""
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
    """The files with code of the study's own, which a policy names and the study may run."""
    named: list[str] = []

    def note(written: str, purpose: str) -> str:
        if purpose == RUNS:
            named.append(written)
        return study.place(written, purpose)

    for spec in (*resolved["find"], *resolved["except"]):
        with_files(spec, note)
    return named


def _names_file(spec: str) -> bool:
    """Whether it is a word list, or a policy around one.

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


# Keys whose value may be a list without being a grid.
LISTS = frozenset(
    {"policy", "except", "seeds", "corpora", "batch_size", "noise_schedule", "levels"}
)
# Keys of a method that say where it is computed, and are no settings of it.
_WHERE = ("seeds", "corpora")


# More would not be computed in anybody's lifetime, and their names alone fill the memory.
MOST_POINTS = 100_000


@dataclass(frozen=True, kw_only=True)
class GridPoint:
    """A method at one place of its grid; ``seeds`` and ``corpora`` are its own, if it has any."""

    method: str
    parameter: str | None
    level: float | None
    settings: Mapping[str, Any]
    seeds: tuple[int, ...] | None = None
    corpora: tuple[str, ...] | None = None


def points(method: MethodSettings) -> list[GridPoint]:
    """All points of a method.

    >>> grid = {"epsilon": [6, 8], "unknown": ["centroid", "keep"]}
    >>> smdp = MethodSettings(name="SMDP", settings=grid)
    >>> [(point.method, point.level) for point in points(smdp)][1:3]
    [('SMDP, unknown keep', 6.0), ('SMDP, unknown centroid', 8.0)]
    """
    fixed, axes = _split(method)
    size = prod(map(len, axes.values()))
    if size > MOST_POINTS:
        raise InvalidArgument(
            f"the grid of {method.name!r} has {size:,} points; a study has at most {MOST_POINTS:,}"
        )
    parameter = _parameter(fixed, axes)
    found = []
    for values in product(*axes.values()):
        chosen = dict(zip(axes, values, strict=True))
        settings = fixed | chosen
        level = settings.get(parameter) if parameter else None
        others = [f"{key} {_short(chosen[key])}" for key in axes if key != parameter]
        found.append(
            GridPoint(
                method=", ".join([method.name, *others]),
                parameter=parameter,
                level=None
                if level is None
                else read(f"{method.name}.{parameter}", level, float, typed=True),
                settings={key: value for key, value in settings.items() if key not in _WHERE},
                seeds=_seeds(method.name, settings),
                corpora=_corpora(method.name, settings),
            )
        )
    return found


def _split(method: MethodSettings) -> tuple[dict[str, Any], dict[str, list[Any]]]:
    fixed: dict[str, Any] = {}
    axes: dict[str, list[Any]] = {}
    for key, value in method.settings.items():
        if key == "grid":
            continue
        if isinstance(value, list) and key not in LISTS:
            axes[key] = value
        else:
            fixed[key] = value
    listed = method.settings.get("grid", {})
    if not isinstance(listed, Mapping) or not all(isinstance(one, list) for one in listed.values()):
        raise InvalidArgument(f"{method.name}.grid must be a table of lists")
    axes |= listed
    for key, values in axes.items():
        if not values:
            raise InvalidArgument(f"{method.name}.{key} is an empty list: name at least one value")
        if key in fixed:
            raise InvalidArgument(f"{method.name}.{key} is given twice: alone and under grid")
        if len({repr(one) for one in values}) != len(values):
            raise InvalidArgument(f"{method.name}.{key} names a value twice")
    return fixed, axes


def _parameter(fixed: Mapping[str, Any], axes: Mapping[str, list[Any]]) -> str | None:
    if "epsilon" in axes or "epsilon" in fixed:
        return "epsilon"
    return next((key for key, values in axes.items() if all(map(_is_number, values))), None)


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _seeds(name: str, settings: Mapping[str, Any]) -> tuple[int, ...] | None:
    given = settings.get("seeds")
    if given is None:
        return None
    seeds: tuple[int, ...] = read(f"{name}.seeds", given, tuple[int, ...], typed=True)
    return check_seeds(f"{name}.seeds", seeds)


def _corpora(name: str, settings: Mapping[str, Any]) -> tuple[str, ...] | None:
    given = settings.get("corpora")
    if given is None:
        return None
    listed = [given] if isinstance(given, str) else given
    found: tuple[str, ...] = read(f"{name}.corpora", listed, tuple[str, ...], typed=True)
    if not found:
        raise InvalidArgument(f"{name}.corpora is an empty list: name at least one corpus")
    return found


def points_of(study: StudySpec) -> dict[str, list[GridPoint]]:
    """The points of all methods on each corpus, by its name."""
    every = [point for method in study.methods for point in points(method)]
    for point in every:
        for name in point.corpora or ():
            if not study.corpora:
                raise InvalidArgument(
                    f"{point.method}.corpora names a corpus, and this study has one without a "
                    "name: write it as [corpora.NAME]"
                )
            if name not in study.corpora:
                raise UnknownName(f"corpus of {point.method}", name, study.corpora)
    return {
        name: [point for point in every if point.corpora is None or name in point.corpora]
        for name in study.corpora or ("",)
    }


def _short(value: object) -> str:
    return " + ".join(map(str, value)) if isinstance(value, list) else str(value)


TEXT_KEYS = ("mechanism", "epsilon", "policy", "except", "vectors", "unknown", "case", "search")
# So little noise that every word stays, and so much that no word counts. The mechanism is always
# this one, whose rows are then one word, or all words alike. Others have no level (masks), or show
# something at every level: the group that a word stays in, the public words that are kept.
TEXT_ANCHORS: dict[str, dict[str, Any]] = {
    NO_PRIVACY: {"mechanism": "exponential", "epsilon": 1e9, "unknown": "keep"},
    RANDOM_OUTPUT: {"mechanism": "exponential", "epsilon": 1e-9},
}
# What the ends take from the first method: which words count, and the space that they stand in.
_OF_ANCHORS = ("policy", "except", "vectors")
# The setting of a text that is a link to the originals and no copy of them.
LINKED = "linked"
_CHOICES = {"unknown": UNKNOWN, "case": CASE, "search": SEARCHES}


def text_settings(study: StudySpec, own: Mapping[str, Any], name: str) -> dict[str, Any]:
    """What a privatizer is told, the policy resolved; what is wrong is said with the method."""
    settings = {
        key: own[key] for key in own if key in TEXT_KEYS and key not in ("policy", "except")
    }
    for key in own:
        if key not in (*TEXT_KEYS, "settings", "training"):
            known = (*TEXT_KEYS, "settings", *_WHERE, "training", "grid")
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
    """What the two ends have in common with the first text method, if there is one."""
    for point in texts:
        return {key: value for key, value in point.settings.items() if key in _OF_ANCHORS}
    return None


def _check_mechanism(study: StudySpec, settings: Mapping[str, Any]) -> None:
    """All that can be told without loading word vectors."""
    mechanism = settings["mechanism"]
    if not isinstance(mechanism, str):
        raise InvalidArgument(f"mechanism={mechanism!r} must be a name")
    component = study.component("mechanisms", mechanism)
    own = place_files(study, component, settings.get("settings", {}))
    mechanism = study.component_name(mechanism)
    if is_baseline(mechanism):
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
        return  # its settings are looked at when it is made
    known = settings_of(component, {"space": None, "epsilon": None})
    for key in own:
        if key.removesuffix("_") not in known:
            raise UnknownName(f"setting of {name_of(mechanism)}", key, known)
