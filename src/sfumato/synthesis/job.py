"""From a private corpus to a synthetic one: read, encode, vote, write."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sfumato.core.errors import BadInput, InvalidArgument
from sfumato.core.progress import progress
from sfumato.core.randomness import Randomness
from sfumato.synthesis.corpus import (
    SyntheticCorpus,
    check_output,
    side_path,
    write_side,
    write_texts,
)
from sfumato.synthesis.embedding import Embedding
from sfumato.synthesis.evolution import (
    AUTHORS,
    Breeding,
    Evolution,
    Synthesized,
    first_candidates,
    stand_for_election,
)
from sfumato.synthesis.generator import Generator, public_facts
from sfumato.synthesis.plan import VotingPlan
from sfumato.synthesis.voting import Unit, chosen_records
from sfumato.text.document import Document


@dataclass(frozen=True, kw_only=True)
class Synthesis:
    """All that decides a synthetic corpus besides the private one; every part of it is public.

    ``classes`` are the labels; none where records have none. ``generator_name`` is what the side
    file calls the generator.
    """

    generator: Generator
    generator_name: str
    breeding: Breeding
    epsilon: float
    delta: float | str = "auto"
    rounds: int = 2
    votes: int = 1
    unit: str = "record"
    labels: str = "equal"
    classes: tuple[str, ...] = ()
    encoder: str = ""

    def plan(self, units: int) -> VotingPlan:
        """The noise for so many units."""
        return VotingPlan(
            units=units,
            epsilon=self.epsilon,
            delta=self.delta,
            rounds=self.rounds,
            votes=self.votes,
            unit=self.unit,
            labels=self.labels,
        )


def run_synthesis(
    asked: Synthesis,
    documents: Sequence[Document],
    output: Path,
    *,
    randomness: Randomness,
    control: Path | None = None,
    overwrite: bool = False,
) -> SyntheticCorpus:
    """Write the corpus and its guarantee; with ``control``, a second one chosen by noise alone."""
    for path in (output, *([] if control is None else [control])):
        check_output(path, overwrite=overwrite)
    if control is not None and control.resolve() == output.resolve():
        raise InvalidArgument("`control=...` must be another file than the output")
    labels = asked.classes or ("",)
    counts = _count_labels(documents, asked.classes)
    voting = chosen_records(
        documents, unit=asked.unit, votes=asked.votes, randomness=randomness.stream(AUTHORS)
    )
    if len(voting) < 2:
        raise BadInput(f"there must be two {asked.unit}s at least, and there are {len(voting)}")
    plan = asked.plan(len(voting))
    # The largest histogram that a round can have, known before anything is drawn.
    plan.refuse_mostly_noise(len(labels) * asked.breeding.candidates)
    invented = first_candidates(asked.generator, labels, asked.breeding.candidates, randomness)
    embedding = Embedding.of(asked.encoder, [one for some in invented for one in some])
    first = stand_for_election(invented, embedding)
    _refuse_too_few(asked, len(first.texts))
    units = _encode(documents, voting, asked.classes, embedding)

    evolution = Evolution(
        generator=asked.generator,
        plan=plan,
        breeding=asked.breeding,
        labels=labels,
        embedding=embedding,
    )

    def chosen(voters: Sequence[Unit] | None, draws: Randomness, label: str) -> list[Synthesized]:
        with progress(label, plan.rounds, unit_is_bytes=False) as advance:
            advance(0)
            known = counts if voters is not None else {}
            return evolution.run(first, voters, counts=known, randomness=draws, advance=advance)

    found = chosen(units, randomness, "voting")
    settings = _settings(asked, plan, embedding, first.cells)
    # An older corpus must not stand beside this guarantee, not even for a moment.
    output.unlink(missing_ok=True)
    summary = write_side(
        output, plan, settings, texts=len(found), for_release=randomness.for_release
    )
    write_texts(output, found, labels, overwrite=overwrite)
    if control is not None:
        write_texts(control, chosen(None, randomness.stream(10), "control"), labels,
                    overwrite=overwrite)  # fmt: skip
    stated = plan.guarantee()
    guarantee = stated if randomness.for_release else stated.reproducible()
    return SyntheticCorpus(output, side_path(output), guarantee, summary, control)


def _count_labels(documents: Sequence[Document], classes: Sequence[str]) -> Counter[str]:
    """Records by label; a label that is not among the public ones is named by its place only."""
    counts: Counter[str] = Counter()
    for number, document in enumerate(documents, start=1):
        label = document.labels[0] if classes and document.labels else ""
        if classes and label not in classes:
            raise BadInput(
                f"{document.place or f'record {number}'} has a label that is not among the public "
                f"ones, {', '.join(classes)}; name it in `classes=...`, or leave the record out"
            )
        counts[label] += 1
    return counts


def _refuse_too_few(asked: Synthesis, texts: int) -> None:
    if asked.breeding.choice == "rank" and texts < asked.breeding.texts:
        raise InvalidArgument(
            f"texts={asked.breeding.texts:,} are asked for, and the generator made {texts:,} "
            "different candidates, so votes would choose nothing; take fewer texts, more "
            "`candidates=...`, or a generator with more to draw from"
        )


def _encode(
    documents: Sequence[Document],
    voting: Sequence[Sequence[int]],
    classes: Sequence[str],
    embedding: Embedding,
) -> list[Unit]:
    places = {name: place for place, name in enumerate(classes)}
    every = [one for own in voting for one in own]
    with progress("encoding records", len(every), unit_is_bytes=False) as advance:
        advance(0)
        vectors = embedding.private([documents[one].text for one in every], advance)
    units, start = [], 0
    for own in voting:
        labels = tuple(places[documents[one].labels[0]] if classes else 0 for one in own)
        units.append(Unit(vectors[start : start + len(own)], labels))
        start += len(own)
    return units


def _settings(
    asked: Synthesis, plan: VotingPlan, embedding: Embedding, cells: int
) -> dict[str, Any]:
    """What is public; nothing here depends on what a record says."""
    breeding = asked.breeding
    return {
        "generator": asked.generator_name,
        **public_facts(asked.generator),
        "encoder": embedding.name,
        "unit": plan.unit,
        "labels": plan.labels if asked.classes else "none",
        "classes": list(asked.classes),
        "rounds": plan.rounds,
        "votes": plan.votes,
        "candidates": breeding.candidates,
        "kept": breeding.kept,
        "choice": breeding.choice,
        "threshold": breeding.threshold,
        "noise": plan.noise,
        "noise_share": plan.noise_share(cells),
        "field": "text",
    }
