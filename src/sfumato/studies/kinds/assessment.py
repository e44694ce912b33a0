"""What is found out about a privatized text or a model: by an attack, a measure or an audit.

Attacks and measures look at all documents, and again at each group of documents that the study asks
for: authors, dialects, countries, any field. An audit gives a lower bound on what a run leaks, to
compare with what the run claims.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from sfumato.attacks.attack import Inputs, Needs, needs_of, run_attack
from sfumato.core.errors import BadInput, InvalidArgument
from sfumato.core.settings import configure
from sfumato.mechanisms.build import replaces_stretches, rewrites_documents
from sfumato.mechanisms.selective import Selective
from sfumato.results.measured import POSITIVE, Measured
from sfumato.results.row import Row
from sfumato.results.scores import Scores
from sfumato.studies.cell import RELEASE, VECTORS, place_files
from sfumato.studies.kinds.context import CellResult, Context, StudyTexts, texts
from sfumato.studies.kinds.corpus import NOBODY
from sfumato.studies.kinds.target import privatizer, vectors_path
from sfumato.studies.measures.measure import (
    MECHANISM,
    MODEL,
    Meaning,
    Specimen,
    rows,
    take,
    vector_specimen,
)
from sfumato.studies.measures.measure import VECTORS as OF_VECTORS
from sfumato.studies.resolve import locate_files, resolve_measure
from sfumato.studies.vectors import encoder_of
from sfumato.text.document import Document

# Groups with fewer documents are left out.
FEWEST_TO_ATTACK = 10
FEWEST_TO_MEASURE = 3


def compute_attack(context: Context) -> CellResult:
    """Attack all documents, then each group."""
    there = texts(context)
    attack = _attack(context, there)
    needs = needs_of(attack)
    if needs.word_by_word and _masks(context):
        return CellResult(details={"none": "this method does not replace each word by another"})
    inputs = Inputs(
        target=context.target_path,
        members=there.members,
        others=there.others,
        originals=there.train,
        canaries=there.canaries,
        layout=there.layout,
        file_format=there.file_format,
    )
    scores = run_attack(attack, inputs, context.randomness)
    asked = context.cell.settings.get("groups") and needs.by_group
    members = groups_of(there.documents(there.members)) if asked else {}
    compared = there.others if asked and needs.compares else None
    others = groups_of(there.documents(compared)) if compared else {}

    def look(group: Group) -> list[Row]:
        fewest = len(group.places)
        if compared:
            fewest = min(fewest, len(others.get(group.name, ())))
        if fewest < FEWEST_TO_ATTACK:
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
    if target.kind != RELEASE:
        return False
    name = context.study.component_name(str(target.settings["mechanism"]))
    return replaces_stretches(name) or rewrites_documents(name)


def _attack(context: Context, there: StudyTexts) -> Any:
    """The attack, with those settings filled in that an attacker would know about the target."""
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
    if context.target.kind == VECTORS:
        return {"encoder": encoder_of(context.study, context.target.settings)}
    if context.target.kind != RELEASE:
        return {}
    settings = context.target.settings
    return {
        "vectors": vectors_path(context.study, settings.get("vectors")),
        "policy": _spell_policy(locate_files(context.study, settings["policy"])),
    }


def _spell_policy(policy: dict[str, Any]) -> str:
    if policy["settings"]:
        return ""
    without = f" − {' + '.join(policy['except'])}" if policy["except"] else ""
    return " + ".join(policy["find"]) + without


def _rows(scores: Scores, needs: Needs, group: Group | None = None) -> list[Row]:
    figures = [one for one in scores.figures if not needs.is_about_the_data(one.metric)]
    meaning = Meaning.leaked(scores.attack, scores.chance)
    return rows(figures, meaning, group.said if group else None)


def compute_measure(context: Context) -> CellResult:
    """Measure all documents, then each group."""
    settings = context.cell.settings["settings"]
    measure = resolve_measure(context.study, context.cell.name, settings)
    specimen = _specimen(context, measure.of)
    whole = take(measure, specimen, context.randomness)

    def look(group: Group) -> Iterable[Row]:
        if len(group.places) < FEWEST_TO_MEASURE:
            return ()
        part = specimen.part(group.places, group.name)
        return take(measure, part, context.randomness, group.said).rows

    # A privatized document may have lost the field that names its group. Its original has not.
    told_by = specimen.documents if specimen.originals is None else specimen.originals
    found, _ = by_group(context, groups_of(told_by), look)
    return CellResult(rows=(*whole.rows, *found), details=whole.details)


def _specimen(context: Context, of: str) -> Specimen:
    there = texts(context)
    if of == MECHANISM:
        release = privatizer(context.study, context.target).selective
        found = release.mechanism if isinstance(release, Selective) else None
        return Specimen(mechanism=found)
    if of == MODEL:
        if there.test is None:
            raise BadInput("a model is measured on [test], which the study does not have")
        return Specimen(model=context.target_path, documents=there.documents(there.test))
    originals = there.documents(there.members)
    if of == OF_VECTORS:
        encoder = encoder_of(context.study, context.target.settings)
        return vector_specimen(context.target_path, originals, encoder)
    # Coins and lone canaries are made up, at the end of the file. They are not measured.
    released = there.documents(context.target_path)[: len(originals)]
    return Specimen(documents=released, originals=originals)


def compute_audit(context: Context) -> CellResult:
    """Guess which made-up documents the model was trained on."""
    from sfumato.attacks.model_target import open_model
    from sfumato.audits.coins import Guessing, audit_run
    from sfumato.corpora.coins import read_coins

    path = texts(context).coins
    if path is None:
        raise BadInput("an audit needs [coins], which the study does not have")
    guessing = Guessing(guesses=context.cell.settings["guesses"])
    found = audit_run(
        open_model(context.target_path), read_coins(path), guessing, context.randomness
    )
    bound = found.one_run
    figure = Measured("epsilon at least", bound.epsilon, None, None, bound.samples, POSITIVE)
    meaning = Meaning.leaked("audit", {"epsilon at least": 0.0})
    return CellResult(rows=tuple(rows([figure], meaning)), details=found.as_dict())


@dataclass(frozen=True)
class Group:
    """A group of documents: the field that defines it, its value, and where its documents are."""

    field: str
    name: str
    number: int
    places: Sequence[int]

    @property
    def said(self) -> tuple[str, str]:
        """The field and its value, as rows store them."""
        return self.field, self.name


def by_group(
    context: Context, groups: Mapping[str, Sequence[int]], look: Callable[[Group], Iterable[Row]]
) -> tuple[list[Row], dict[str, str]]:
    """The rows of every group that the study asks for, and why a group has none."""
    field_ = context.cell.settings.get("groups")
    found: list[Row] = []
    left_out: dict[str, str] = {}
    for number, (name, places) in enumerate(groups.items() if field_ else ()):
        try:
            found += look(Group(str(field_), name, number, places))
        except (BadInput, InvalidArgument) as error:
            left_out[name] = str(error)
    return found, left_out


def groups_of(documents: Sequence[Document]) -> dict[str, list[int]]:
    """Which documents belong to each group, the largest group first.

    >>> two = [Document("a", labels=("GB",)), Document("b", labels=("US",))]
    >>> groups_of([*two, Document("c", labels=("US",))])
    {'US': [1, 2], 'GB': [0]}

    Beside the label of a classifier, the group is the last one.
    """
    found: dict[str, list[int]] = {}
    for place, document in enumerate(documents):
        for label in document.labels[-1:]:
            found.setdefault(label, []).append(place)
    found.pop(NOBODY, None)
    return dict(sorted(found.items(), key=lambda one: (-len(one[1]), one[0])))
