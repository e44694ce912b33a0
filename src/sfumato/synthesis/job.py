"""From a private corpus to a synthetic one: read, encode, vote, write."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sfumato.core.errors import BadInput, InvalidArgument
from sfumato.core.progress import progress
from sfumato.core.randomness import Randomness
from sfumato.guarantees.wording import at_most
from sfumato.synthesis.corpus import (
    PRIVATE_EVOLUTION,
    Statement,
    Synthesized,
    SyntheticCorpus,
    check_outputs,
    write_synthetic,
)
from sfumato.synthesis.embedding import Embedding
from sfumato.synthesis.evolution import (
    AUTHORS,
    Breeding,
    Evolution,
    first_candidates,
    stand_for_election,
)
from sfumato.synthesis.generator import Generator, public_facts
from sfumato.synthesis.labels import count_labels, label_places
from sfumato.synthesis.plan import VotingPlan
from sfumato.synthesis.request import SynthesisRequest
from sfumato.synthesis.voting import Unit, chosen_records
from sfumato.text.document import Document


@dataclass(frozen=True, kw_only=True)
class Synthesis(SynthesisRequest):
    """Private evolution; ``generator_name`` is what the side file calls the generator."""

    generator: Generator
    generator_name: str
    breeding: Breeding
    rounds: int = 2
    votes: int = 1
    encoder: str = ""

    def __post_init__(self) -> None:
        super().__post_init__()
        self.plan(2)  # or an error, before anything is read

    @property
    def reads(self) -> object:
        """The generator, which may read public text."""
        return self.generator

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

    def run(
        self,
        documents: Sequence[Document],
        output: Path,
        *,
        randomness: Randomness,
        control: Path | None = None,
        overwrite: bool = False,
    ) -> SyntheticCorpus:
        """Write the corpus and its guarantee; with ``control``, one chosen by noise alone."""
        check_outputs(output, control, overwrite=overwrite)
        labels = self.classes or ("",)
        counts = count_labels(documents, self.classes)
        voting = chosen_records(
            documents, unit=self.unit, votes=self.votes, randomness=randomness.stream(AUTHORS)
        )
        if len(voting) < 2:
            raise BadInput(f"there must be two {self.unit}s at least, and there are {len(voting)}")
        plan = self.plan(len(voting))
        # The largest histogram that a round can have, known before anything is drawn.
        plan.refuse_mostly_noise(len(labels) * self.breeding.candidates)
        invented = first_candidates(self.generator, labels, self.breeding.candidates, randomness)
        embedding = Embedding.of(self.encoder, [one for some in invented for one in some])
        first = stand_for_election(invented, embedding)
        _refuse_too_few(self, len(first.texts))
        units = _encode(documents, voting, self.classes, embedding)

        evolution = Evolution(
            generator=self.generator,
            plan=plan,
            breeding=self.breeding,
            labels=labels,
            embedding=embedding,
        )

        def chosen(
            voters: Sequence[Unit] | None, draws: Randomness, label: str
        ) -> list[Synthesized]:
            with progress(label, plan.rounds, unit_is_bytes=False) as advance:
                advance(0)
                known = counts if voters is not None else {}
                return evolution.run(first, voters, counts=known, randomness=draws, advance=advance)

        held = self.pay(documents, output, plan.guarantee(), plan.costs(), randomness)
        found = chosen(units, randomness, "voting")
        alone = [] if control is None else chosen(None, randomness.stream(10), "control")
        written = write_synthetic(
            output,
            _statement(self, plan, _settings(self, plan, embedding, first.cells)),
            found,
            labels,
            for_release=randomness.for_release,
            control=None if control is None else (control, alone),
            overwrite=overwrite,
        )
        if held is not None:
            held.settle()
        return written


def _statement(asked: Synthesis, plan: VotingPlan, settings: dict[str, Any]) -> Statement:
    return Statement(
        mechanism=PRIVATE_EVOLUTION,
        how=f"chosen by noisy votes in {plan.rounds} round{'s' * (plan.rounds != 1)} "
        f"(standard deviation {at_most(plan.noise, 3)} on every count; "
        f"{settings['noise_share']:.0%} of the counts is noise) "
        f"from texts of the generator {asked.generator_name}",
        guarantee=plan.guarantee(),
        replacement=plan.replacement_epsilon,
        settings=settings,
    )


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
    every = [one for own in voting for one in own]
    with progress("encoding records", len(every), unit_is_bytes=False) as advance:
        advance(0)
        vectors = embedding.private([documents[one].text for one in every], advance)
    units, start = [], 0
    for own in voting:
        labels = tuple(label_places([documents[one] for one in own], classes))
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
