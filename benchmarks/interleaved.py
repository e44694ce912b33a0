"""A step of interleaved training against a plain DP step on the same tokens.

Both ways take the same turns of the same documents with the same LSTM, by turns. The plain DP step
reads every turn as one row, clips it, adds noise once and updates. The interleaved step updates on
the public part without noise, clips and noises the private part, updates again, and releases the
states. A ratio above 1 is what interleaving costs.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch

from benchmarks.timing import Row, Work, by_turns
from sfumato.core.randomness import Randomness
from sfumato.models.load import LoadedModel, load_model
from sfumato.policies.parsing import combine_policies
from sfumato.text.document import Document
from sfumato.training.clipping.clippers import Flat
from sfumato.training.clipping.losses import record_losses
from sfumato.training.methods.interleaved import Interleaved, InterleavedPlan
from sfumato.training.methods.interleaved_steps import InterleavedRun
from sfumato.training.methods.stretch_records import (
    Step,
    StretchRecords,
    all_steps,
    row_batches,
    stretch_records,
)
from sfumato.training.optimizers import make_optimizer
from sfumato.training.settings import Course, Privacy
from sfumato.training.steps import make_private

# One: on a machine that others use as well, two threads mostly wait for each other.
THREADS = 1
TEXT = (
    "the package was sent to the address that the customer gave on the phone and it should have "
    "arrived there by now unless the driver did not find the door and took it back to the depot"
)


def run(quick: bool) -> list[Row]:
    """Documents with few private stretches, and with many."""
    torch.set_num_threads(THREADS)
    rows: list[Row] = []
    count, steps, repetitions = (24, 1, 2) if quick else (96, 2, 5)
    for state in ("noise", "reset"):
        for every in (40, 12):
            size = 8 if quick else 32
            documents = [_document(number, every) for number in range(count)]
            rows.append(_measured(documents, size, state, steps, repetitions) | {"words": every})
    return rows


def _measured(
    documents: Sequence[Document], size: int, state: str, steps: int, repetitions: int
) -> Row:
    policy = combine_policies(["digits"], [], {})
    model = _model()
    records = stretch_records(documents, policy, model.tokenizer)
    plan = InterleavedPlan.of(
        records,
        Privacy(epsilon=8.0, epochs=3, batch_sizes=(size,)),
        Interleaved(state=state),
    )
    order = all_steps(records.turns, plan.batch_size, plan.epochs, key=1, first=2)
    taken = [next(order) for _ in range(steps)]
    ours = InterleavedRun.begun(model, records, plan, Course(), Randomness.secure())

    def interleaved() -> None:
        for step in taken:
            ours.take(step)

    ways: dict[str, Work] = {
        "plain DP step": _dp(records, plan, taken),
        "interleaved": interleaved,
    }
    timings = by_turns(ways, repetitions)
    places = sum(_places(records, step) for step in taken)
    return {
        "state": state,
        "documents per step": size,
        "places per step": f"{places / steps:.0f}",
        "private": f"{records.selected:.0%}",
        "processor time / plain DP step": timings["plain DP step"].cpu_ratio(
            timings["interleaved"]
        ),
        "wall time / plain DP step": timings["plain DP step"].ratio(timings["interleaved"]),
        "places/s": timings["interleaved"].rate(places),
    }


def _dp(records: StretchRecords, plan: InterleavedPlan, taken: Sequence[Step]) -> Work:
    """Every turn is a row that is clipped as a whole."""
    model = _model()
    network = model.network.train()
    private = make_private(
        network,
        make_optimizer("adam", network.parameters(), 1e-3),
        clipper=Flat(plan.clipping.norm),
        noise_multiplier=plan.noise_multiplier,
        expected_batch_size=plan.batch_size,
        randomness=Randomness.secure(),
    )

    def step() -> None:
        for one in taken:
            stretches = {}
            for member, (document, number) in enumerate(
                zip(one.documents.tolist(), one.numbers.tolist(), strict=True)
            ):
                turn = records.turn(document, number)
                stretches[member] = (turn.begin, turn.end)
            for rows in row_batches(records, stretches, Course().tokens_at_once):
                logits = network(input_ids=rows.input_ids).logits
                private.backward(record_losses(logits, rows.labels))
            private.step()

    return step


def _places(records: StretchRecords, step: Step) -> int:
    turns = zip(step.documents.tolist(), step.numbers.tolist(), strict=True)
    return sum(turn.end - turn.begin for turn in (records.turn(*one) for one in turns))


def _model() -> LoadedModel:
    return load_model("lstm", randomness=Randomness.reproducible(1))


def _document(number: int, every: int) -> Document:
    """Some 150 words with a number after every so many of them."""
    words: list[str] = []
    known = TEXT.split()
    for place in range(120 + number % 60):
        words.append(known[(place * 7 + number) % len(known)])
        if place % every == number % every:
            words.append(str(10_000 + 37 * place + number))
    return Document(" ".join(words))
