"""Gathering evidence: every available model scores every candidate.

Only what the wanted signals need is measured: no neighbors are made and no shadow is trained for a
signal that was not asked for.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from sfumato.attacks.attack import Done
from sfumato.attacks.membership.candidates import Candidates
from sfumato.attacks.membership.evidence import Evidence, OtherModels, ScoreTable, losses
from sfumato.attacks.membership.label_only import Answers, alter, ask, ask_copies
from sfumato.attacks.membership.signals import (
    AROUND,
    COPIES,
    LABELS,
    NEEDS,
    OUTSIDE,
    SHADOWS,
    SIGNALS,
    TEXTS,
)
from sfumato.attacks.model_target import ModelTarget
from sfumato.attacks.token_scores import ScoreStore, TokenScores, token_scores
from sfumato.core.arrays import Floats
from sfumato.core.errors import InvalidArgument
from sfumato.core.randomness import Randomness
from sfumato.corpora.canaries import Canary
from sfumato.text.document import Document

if TYPE_CHECKING:
    from sfumato.training.request import Request

# Two shadows with a text and two without it are needed to estimate a variance.
FEWEST_ONLINE = 4
_STEPS = 1000


@dataclass(frozen=True, eq=False, kw_only=True)
class Suspects:
    """What the target is attacked with.

    ``candidates`` are members and others, ``secrets`` planted canaries, ``references`` models that
    were trained on no member. ``recipe`` says how shadows are trained, ``folder`` where they are
    kept.
    """

    candidates: Candidates | None = None
    secrets: tuple[Canary, ...] = ()
    references: tuple[ModelTarget, ...] = ()
    recipe: Request | None = None
    store: ScoreStore = field(default_factory=ScoreStore)
    folder: Path | None = None


@dataclass(frozen=True, kw_only=True)
class GatheringEffort:
    """How many shadows, and neighbors or copies, to make, and the model that makes neighbors."""

    shadows: int
    neighbors: int
    masked_model: str


@dataclass
class _Phases:
    """Progress over several phases, each with its own total."""

    done: Done | None
    count: int
    finished: int = 0

    def tell(self, reached: int, total: int) -> None:
        if self.done:
            part = reached / max(1, total)
            self.done(int((self.finished + part) * _STEPS), self.count * _STEPS)

    def next(self) -> None:
        self.finished += 1
        self.tell(0, 1)


def usable(
    asked: Sequence[str], target: ModelTarget, data: Suspects, effort: GatheringEffort
) -> tuple[list[str], list[str]]:
    """The signals that can be computed, and a note for each need that is not met."""
    trains = bool(effort.shadows and data.recipe is not None and data.folder is not None)
    unmet = set()
    if target.model.classes:
        unmet |= {TEXTS, AROUND}
    else:
        unmet |= {LABELS, COPIES}
    if not data.references and not trains:
        unmet.add(OUTSIDE)
    if not trains:
        unmet.add(SHADOWS)
    # Whoever attacks a language model need not read that a classifier would give labels.
    other = {LABELS, COPIES} - {SIGNALS[name].needs for name in asked if name in SIGNALS}
    silent = other if other <= unmet else set()
    wanted = [
        name
        for name in SIGNALS
        if (not asked or name in asked) and SIGNALS[name].needs not in silent
    ]
    chosen = [name for name in wanted if SIGNALS[name].needs not in unmet]
    if "lira-online" in chosen and effort.shadows < FEWEST_ONLINE:
        chosen.remove("lira-online")
    notes = []
    for need, explained in NEEDS.items():
        lacking = [name for name in wanted if name not in chosen and SIGNALS[name].needs == need]
        if lacking:
            notes.append(f"not tried: {', '.join(lacking)}. They {explained}")
    return chosen, notes


def gather_evidence(
    target: ModelTarget,
    data: Suspects,
    signals: Sequence[str],
    effort: GatheringEffort,
    randomness: Randomness,
    done: Done | None = None,
) -> tuple[Evidence, list[str]]:
    """The evidence that the signals need, and notes on where it came from."""
    if data.candidates is None:
        raise InvalidArgument("there are no candidates to gather evidence about")
    needs = {SIGNALS[name].needs for name in signals}
    documents, notes = data.candidates.documents, list[str]()
    trains = effort.shadows > 0 and (SHADOWS in needs or (OUTSIDE in needs and not data.references))
    phases = _Phases(done, 2 + len(data.references) + trains)
    table = measure_target(target, documents, data.store, phases.tell)
    phases.next()
    references = shadows = None
    if OUTSIDE in needs and data.references:
        tables = []
        for one in data.references:
            tables.append(measure_target(one, documents, data.store, phases.tell))
            phases.next()
        references = OtherModels.strangers(tables)
        notes += _reference_notes(target, data.references)
    if trains:
        shadows = _shadows(data, effort.shadows, randomness.stream(0), phases.tell)
        notes.append(_shadow_note(target, effort.shadows))
        phases.next()
    around = None
    if AROUND in needs:
        around, said = _around(target, data, effort, randomness.stream(1), phases.tell)
        notes.append(said)
    answers = None
    if needs & {LABELS, COPIES}:
        copies = effort.neighbors if COPIES in needs else 0
        answers = _answers(target, documents, copies, randomness.stream(2), phases.tell)
    evidence = Evidence(
        texts=data.candidates.texts,
        target=table,
        references=references,
        shadows=shadows,
        around=around,
        answers=answers,
    )
    return evidence, notes


def measure_target(
    target: ModelTarget,
    documents: Sequence[Document],
    store: ScoreStore,
    done: Done | None = None,
) -> ScoreTable:
    """Token scores of the documents; for a classifier, the ln p of the label as a single token."""
    if not target.model.classes:
        return tuple(token_scores(target, documents, store, done))
    from sfumato.training.evaluation import predict_labels

    found = []
    for one in predict_labels(target.model, documents):
        logs = -one.losses.astype(np.float32)
        found.append(TokenScores(logs, np.zeros_like(logs), np.zeros_like(logs)))
    return tuple(found)


def _shadows(
    data: Suspects, count: int, randomness: Randomness, done: Done | None
) -> OtherModels | None:
    from sfumato.attacks.membership.shadows import shadow_models

    if data.recipe is None or data.folder is None or data.candidates is None:
        return None
    documents = data.candidates.documents
    return shadow_models(
        data.recipe,
        documents,
        count,
        data.folder,
        lambda model: measure_target(model, documents, data.store),
        randomness,
        done,
    )


def _around(
    target: ModelTarget,
    data: Suspects,
    effort: GatheringEffort,
    randomness: Randomness,
    done: Done | None,
) -> tuple[Floats, str]:
    """The mean loss of each text's neighbors, and a note on where these came from."""
    texts = data.candidates.texts if data.candidates is not None else ()
    if effort.masked_model:
        from sfumato.attacks.membership.neighbors import from_masked_model, load_masked

        model = load_masked(Path(effort.masked_model))
        made = from_masked_model(texts, model, effort.neighbors, randomness)
        said = f"neighbors come from the masked language model in {effort.masked_model}"
    else:
        from sfumato.attacks.membership.neighbors import from_vectors
        from sfumato.vectors.load import default_space

        made = from_vectors(texts, default_space(), effort.neighbors)
        said = (
            "neighbors come from the embedded word vectors; a masked language model makes better "
            "ones: `settings={'masked_model': FOLDER}`"
        )
    flat = [Document(text) for some in made for text in some]
    found = losses(measure_target(target, flat, data.store, done)) if flat else np.empty(0)
    ends = np.cumsum([len(some) for some in made])[:-1]
    means = [float(part.mean()) if len(part) else np.nan for part in np.split(found, ends)]
    return np.array(means), said


def _answers(
    target: ModelTarget,
    documents: Sequence[Document],
    copies: int,
    randomness: Randomness,
    done: Done | None,
) -> Answers:
    """The labels that a classifier gives, to so many copies of each text as well."""
    right = ask(target, documents)
    if not copies:
        return Answers(right)
    from sfumato.vectors.load import default_space

    made = alter([one.text for one in documents], default_space(), copies, randomness)
    kept = ask_copies(target, documents, made, done)
    return Answers(right, (right + copies * kept) / (1 + copies))


def _reference_notes(target: ModelTarget, references: Sequence[ModelTarget]) -> list[str]:
    other = [one for one in references if one.model.tokenizer.size != target.model.tokenizer.size]
    if not other:
        return []
    return [
        f"{len(other)} of {len(references)} references have another vocabulary than the target: "
        "their losses per token are hardly comparable"
    ]


def _shadow_note(target: ModelTarget, count: int) -> str:
    said = f"{count} shadows were trained on random halves of the texts, as the target was"
    if target.epsilon is not None and np.isfinite(target.epsilon):
        return f"{said}, but without the noise that the target was trained with"
    return said
