"""An attack on a privatized text or on a model, for everybody and for each group of documents."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from sfumato.attacks.attack import Inputs, run
from sfumato.core.errors import BadInput, InvalidArgument
from sfumato.core.settings import configure
from sfumato.mechanisms.build import is_baseline
from sfumato.results.row import Row
from sfumato.results.scores import Scores
from sfumato.studies.cell import RELEASE, place_files
from sfumato.studies.kinds.context import CellResult, Context, Meaning, rows
from sfumato.studies.kinds.corpus import groups_of, texts
from sfumato.studies.kinds.release import vectors_path
from sfumato.studies.resolve import locate_files

# Attacks that look at planted sentences only, which belong to no group.
WITHOUT_GROUPS = ("exposure", "classifier-extraction")
# Attacks that tell members from others: a group needs enough of both.
WITH_OTHERS = ("membership",)
# Attacks that guess the word behind each replacement.
WORD_BY_WORD = ("token-inference",)
FEWEST_IN_GROUP = 10
# What attacks say beside: how the texts are without any method. It is the same at every level, is
# no leakage of any, and stays with the scores.
ABOUT_THE_DATA = frozenset(
    {"auc without the model", "auc references alone", "originals", "unknown words"}
)


def about_the_data(metric: str) -> bool:
    """Whether a figure speaks of the texts, or of chance, and not of what was made of them."""
    return metric in ABOUT_THE_DATA or metric.startswith("chance of")


def compute(context: Context) -> CellResult:
    """Attack, and attack again for each group."""
    there = texts(context)
    attack = _attack(context)
    if attack.name in WORD_BY_WORD and _masks(context):
        return CellResult(details={"none": "this method does not replace words by words"})
    inputs = Inputs(
        target=context.target_path,
        members=there.members,
        others=there.test,
        originals=there.train,
        canaries=there.canaries,
        layout=there.layout,
        file_format=there.file_format,
    )
    scores = run(attack, inputs, context.randomness)
    found = _rows(scores)
    left_out: dict[str, str] = {}
    field = context.cell.settings.get("groups")
    if field and attack.name not in WITHOUT_GROUPS:
        members = groups_of(there.documents(there.members))
        compared = attack.name in WITH_OTHERS and there.test is not None
        others = groups_of(there.documents(there.test)) if compared and there.test else {}
        for place, (group, documents) in enumerate(members.items()):
            try:
                fewest = len(documents)
                if compared:
                    fewest = min(fewest, len(others.get(group, ())))
                if fewest < FEWEST_IN_GROUP:
                    raise BadInput(f"{fewest} documents are too few")
                own = run(attack, replace(inputs, label=group), context.randomness.stream(place))
            except (BadInput, InvalidArgument) as error:
                left_out[group] = str(error)
                continue
            found += _rows(own, (field, group))
    return CellResult(rows=tuple(found), scores=scores.as_dict(), details={"left_out": left_out})


def _masks(context: Context) -> bool:
    target = context.target
    return target.kind == RELEASE and is_baseline(
        context.study.component_name(str(target.settings["mechanism"]))
    )


def _attack(context: Context) -> Any:
    component = context.study.component("attacks", context.cell.name)
    settings = place_files(context.study, component, context.cell.settings["settings"])
    made = configure(component, settings)
    if context.target.kind != RELEASE:
        return made
    # Whoever attacks a text knows how it was made; the study knows it as well as he does.
    of_release = context.target.settings
    known: dict[str, Any] = {}
    path = vectors_path(context.study, of_release.get("vectors"))
    if path is not None and getattr(made, "vectors", None) == "":
        known["vectors"] = str(path)
    if getattr(made, "policy", None) == "":
        known["policy"] = _write(locate_files(context.study, of_release["policy"]))
    return replace(made, **known)


def _write(policy: dict[str, Any]) -> str:
    if policy["settings"]:
        return ""
    without = f" − {' + '.join(policy['except'])}" if policy["except"] else ""
    return " + ".join(policy["find"]) + without


def _rows(scores: Scores, group: tuple[str, str] | None = None) -> list[Row]:
    figures = [one for one in scores.figures if not about_the_data(one.metric)]
    return rows(figures, Meaning.leaked(scores.attack, scores.chance), group)
