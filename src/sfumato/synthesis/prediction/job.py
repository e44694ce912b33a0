"""From a private corpus to a synthetic one by private prediction: read, split, speak, write."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from sfumato.core.errors import BadInput
from sfumato.core.progress import progress
from sfumato.core.randomness import Randomness
from sfumato.synthesis.corpus import (
    PRIVATE_PREDICTION,
    Statement,
    Synthesized,
    SyntheticCorpus,
    check_outputs,
    write_synthetic,
)
from sfumato.synthesis.labels import count_labels, label_places
from sfumato.synthesis.prediction.ensemble import Ensemble, PrivateRecord
from sfumato.synthesis.prediction.plan import VOCABULARY_GAP, PredictionPlan
from sfumato.synthesis.prediction.settings import Prediction
from sfumato.synthesis.prediction.split import Group, split_places
from sfumato.synthesis.request import SynthesisRequest
from sfumato.synthesis.voting import chosen_records
from sfumato.text.document import Document

# Streams of randomness: what is drawn for one purpose must not depend on another.
AUTHORS, COUNTS, ORDER, TOKENS, CONTROL = range(5)


@dataclass(frozen=True, kw_only=True)
class PredictionRequest(SynthesisRequest):
    """Private prediction; without ``texts``, as many as there are records for."""

    chosen: Prediction
    texts: int | None = None

    @property
    def reads(self) -> object:
        """What names the public text that decides the tokens."""
        return self.chosen

    def plan(self, units: int) -> PredictionPlan:
        """What so many units are enough for."""
        chosen = self.chosen
        return PredictionPlan(
            units=units,
            epsilon=self.epsilon,
            delta=self.delta,
            tokens=chosen.tokens,
            clip=chosen.clip,
            temperature=chosen.temperature,
            prompts=chosen.prompts,
            shots=chosen.shots,
            unit=self.unit,
            labels=self.labels,
            classes=len(self.classes),
            asked=self.texts,
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
        """Write the corpus and its guarantee; with ``control``, one by prompts without records."""
        check_outputs(output, control, overwrite=overwrite)
        count_labels(documents, self.classes)  # or an error that names a place
        chosen = chosen_records(
            documents, unit=self.unit, votes=1, randomness=randomness.stream(AUTHORS)
        )
        if len(chosen) < 2:
            raise BadInput(f"there must be two {self.unit}s at least, and there are {len(chosen)}")
        plan = self.plan(len(chosen))
        names = self.classes or ("",)
        ensemble = self.chosen.ensemble(plan, names)
        units = [documents[one] for (one,) in chosen]
        labels = label_places(units, self.classes)
        held = self.pay(documents, output, plan.guarantee(), plan.costs(), randomness)
        counts = noisy_counts(plan, labels, randomness.stream(COUNTS))
        groups = split_places(plan, labels, counts, randomness.stream(ORDER))
        encoded = ensemble.writer.tokenizer.encode_many([one.text for one in units])
        records = [
            PrivateRecord(tuple(tokens.tolist()), label)
            for tokens, label in zip(encoded, labels, strict=True)
        ]
        found = _write(ensemble, groups, records, randomness.stream(TOKENS), "writing")
        alone = (
            []
            if control is None
            else _write(ensemble, groups, None, randomness.stream(CONTROL), "control")
        )
        written = write_synthetic(
            output,
            _statement(self, plan, ensemble),
            found,
            names,
            for_release=randomness.for_release,
            control=None if control is None else (control, alone),
            overwrite=overwrite,
        )
        if held is not None:
            held.settle()
        return written


def noisy_counts(
    plan: PredictionPlan, labels: Sequence[int], randomness: Randomness
) -> list[float]:
    """Units by label with whole-numbered Gaussian noise; nothing unless the plan pays for it."""
    if not plan.counts_labels:
        return []
    counts = np.bincount(np.asarray(labels), minlength=plan.classes)
    noise = np.rint(plan.label_noise * randomness.noise(plan.classes))
    return [float(one) for one in counts + noise]


def _write(
    ensemble: Ensemble,
    groups: Sequence[Group],
    records: Sequence[PrivateRecord] | None,
    randomness: Randomness,
    label: str,
) -> list[Synthesized]:
    found: list[Synthesized] = []
    with progress(label, sum(len(one.labels) for one in groups), unit_is_bytes=False) as advance:
        done = 0
        advance(0)
        for number, group in enumerate(groups):
            draws = randomness.stream(number)
            said = (
                ensemble.write_without_records(group.labels, draws)
                if records is None
                else ensemble.write(group, records, draws)
            )
            # A text that ended before it began is none.
            found += [Synthesized(text, label) for label, text in said if text]
            done += len(group.labels)
            advance(done)
    return found


def _statement(asked: PredictionRequest, plan: PredictionPlan, ensemble: Ensemble) -> Statement:
    guarantee = plan.guarantee()
    if asked.chosen.vocabulary:
        guarantee = guarantee.not_covering(VOCABULARY_GAP)
    return Statement(
        mechanism=PRIVATE_PREDICTION,
        how=f"every token drawn by what {plan.speakers:,} prompts with {_records(plan.shots)} say "
        f"on average, at the temperature {plan.heat:.4g}",
        guarantee=guarantee,
        replacement=plan.replacement_epsilon,
        settings=_settings(asked, plan, ensemble),
    )


def _records(shots: int) -> str:
    return "one record each" if shots == 1 else f"{shots} records each"


def _settings(asked: PredictionRequest, plan: PredictionPlan, ensemble: Ensemble) -> dict[str, Any]:
    """What is public; nothing here depends on what a record says."""
    return {
        **asked.chosen.public_facts(ensemble),
        "unit": plan.unit,
        "labels": plan.labels if asked.classes else "none",
        "classes": list(asked.classes),
        "tokens": plan.tokens,
        "clip": plan.clip,
        "temperature": plan.heat,
        "prompts": plan.speakers,
        "shots": plan.shots,
        "rho": plan.rho,
        "accountant": plan.proven.accountant,
        **({"label_noise": plan.label_noise} if plan.counts_labels else {}),
        "field": "text",
    }
