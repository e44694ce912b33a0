"""An attack on a privatized text or on a model, for everybody and for each group of documents."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from sfumato.attacks.attack import Inputs, run
from sfumato.attacks.scores import Scores
from sfumato.catalog import find
from sfumato.core.config import configured
from sfumato.core.errors import BadInput, InvalidArgument
from sfumato.metrics.rows import Row
from sfumato.studies.cells import RELEASE
from sfumato.studies.computing.context import Context, Found, Meaning, rows
from sfumato.studies.computing.corpus import texts
from sfumato.studies.computing.grouping import groups_of
from sfumato.studies.computing.release import vectors_path

# Attacks that look at planted sentences only, which belong to no group.
WITHOUT_GROUPS = ("exposure", "classifier-extraction")
FEWEST_IN_GROUP = 10


def compute(context: Context) -> Found:
    """Attack, and attack again for each group."""
    there = texts(context)
    attack = _attack(context)
    inputs = Inputs(
        target=context.target_path,
        members=there.train,
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
        members = groups_of(there.documents(there.train))
        for place, (group, documents) in enumerate(members.items()):
            try:
                if len(documents) < FEWEST_IN_GROUP:
                    raise BadInput(f"{len(documents)} documents are too few")
                own = run(attack, replace(inputs, label=group), context.randomness.stream(place))
            except (BadInput, InvalidArgument) as error:
                left_out[group] = str(error)
                continue
            found += _rows(own, (field, group))
    return Found(rows=tuple(found), scores=scores.as_dict(), details={"left_out": left_out})


def _attack(context: Context) -> Any:
    settings = dict(context.cell.settings["settings"])
    made = configured(find("attacks", context.cell.name).load(), settings)
    if context.target.kind != RELEASE:
        return made
    # Whoever attacks a text knows how it was made; the study knows it as well as he does.
    of_release = context.target.settings
    known: dict[str, Any] = {}
    path = vectors_path(context.study, of_release.get("vectors"))
    if path is not None and getattr(made, "vectors", None) == "":
        known["vectors"] = str(path)
    if getattr(made, "policy", None) == "":
        known["policy"] = _written(of_release["policy"])
    return replace(made, **known)


def _written(policy: dict[str, Any]) -> str:
    if policy["settings"]:
        return ""
    without = f" − {' + '.join(policy['except'])}" if policy["except"] else ""
    return " + ".join(policy["find"]) + without


def _rows(scores: Scores, group: tuple[str, str] | None = None) -> list[Row]:
    # How likely a figure is where nothing leaks is no leakage; it stays with the scores.
    figures = [one for one in scores.figures if not one.metric.startswith("chance of")]
    return rows(figures, Meaning.leaked(scores.attack, scores.chance), group)
