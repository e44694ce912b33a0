"""An attack on a privatized text or on a model, for everybody and for each group of documents."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

from sfumato.attacks.attack import Inputs, Needs, needs_of, run_attack
from sfumato.core.errors import BadInput
from sfumato.core.settings import configure
from sfumato.mechanisms.build import is_baseline
from sfumato.results.row import Row
from sfumato.results.scores import Scores
from sfumato.studies.cell import RELEASE, place_files
from sfumato.studies.kinds.context import CellResult, Context, Group, by_group
from sfumato.studies.kinds.corpus import StudyTexts, groups_of, texts
from sfumato.studies.kinds.release import vectors_path
from sfumato.studies.measures.measure import Meaning, rows
from sfumato.studies.resolve import locate_files

FEWEST_IN_GROUP = 10


def compute(context: Context) -> CellResult:
    """Attack, and attack again for each group."""
    there = texts(context)
    attack = _attack(context, there)
    needs = needs_of(attack)
    if needs.word_by_word and _masks(context):
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
    scores = run_attack(attack, inputs, context.randomness)
    asked = context.cell.settings.get("groups") and needs.by_group
    members = groups_of(there.documents(there.members)) if asked else {}
    compared = there.test if asked and needs.compares else None
    others = groups_of(there.documents(compared)) if compared else {}

    def look(group: Group) -> list[Row]:
        fewest = len(group.places)
        if compared:
            fewest = min(fewest, len(others.get(group.name, ())))
        if fewest < FEWEST_IN_GROUP:
            raise BadInput(f"{fewest} documents are too few")
        randomness = context.randomness.stream(group.number)
        return _rows(
            run_attack(attack, replace(inputs, label=group.name), randomness), needs, group
        )

    found, left_out = by_group(context, members, look)
    return CellResult(
        rows=(*_rows(scores, needs), *found),
        scores=scores.as_dict(),
        details={"left_out": left_out},
    )


def _masks(context: Context) -> bool:
    target = context.target
    return target.kind == RELEASE and is_baseline(
        context.study.component_name(str(target.settings["mechanism"]))
    )


def _attack(context: Context, there: StudyTexts) -> Any:
    """The attack, told what an attacker knows about the target; the study knows it as well."""
    component = context.study.component("attacks", context.cell.name)
    settings = place_files(context.study, component, context.cell.settings["settings"])
    made = configure(component, settings)
    offered = {"coins": there.coins, **_about_release(context)}
    known = {
        name: str(offered[name])
        for name in needs_of(made).known
        if offered.get(name) and getattr(made, name, None) == ""
    }
    return replace(made, **known) if known else made


def _about_release(context: Context) -> dict[str, Path | str | None]:
    if context.target.kind != RELEASE:
        return {}
    settings = context.target.settings
    return {
        "vectors": vectors_path(context.study, settings.get("vectors")),
        "policy": _write(locate_files(context.study, settings["policy"])),
    }


def _write(policy: dict[str, Any]) -> str:
    if policy["settings"]:
        return ""
    without = f" − {' + '.join(policy['except'])}" if policy["except"] else ""
    return " + ".join(policy["find"]) + without


def _rows(scores: Scores, needs: Needs, group: Group | None = None) -> list[Row]:
    figures = [one for one in scores.figures if one.metric not in needs.about_the_data]
    meaning = Meaning.leaked(scores.attack, scores.chance)
    return rows(figures, meaning, group.said if group else None)
