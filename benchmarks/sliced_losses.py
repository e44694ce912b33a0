"""Losses in slices against losses from the scores of a whole batch: time, kernel time, memory.

An LSTM of 96 with the 8,192 tokens of the package, plain and private steps and evaluation, each way
in a process of its own. System time is what the kernel takes to hand out pages.
"""

from __future__ import annotations

import json
import resource
import subprocess
import sys
from typing import Any

from benchmarks.timing import Row

KINDS = ("plain", "private", "evaluation")
WAYS = ("whole", "slices")
# Rows, places, steps.
SHAPES = ((32, 96, 5),)
QUICK = ((8, 64, 3),)


def run(quick: bool) -> list[Row]:
    """All kinds of work, both ways."""
    rows: list[Row] = []
    for shape in QUICK if quick else SHAPES:
        for kind in KINDS:
            found = {way: _apart(kind, way, shape) for way in WAYS}
            for way, (user, system, memory) in found.items():
                before = found["whole"]
                rows.append(
                    {
                        "work": f"{kind}, {shape[0]} × {shape[1]}",
                        "way": way,
                        "user s": f"{user:.2f}",
                        "system s": f"{system:.2f}",
                        "processor time / whole": f"{(user + system) / sum(before[:2]):.2f}",
                        "MB beyond the start": f"{memory:.0f}",
                    }
                )
    return rows


def _apart(kind: str, way: str, shape: tuple[int, int, int]) -> tuple[float, float, float]:
    command = [sys.executable, "-m", __name__, json.dumps([kind, way, *shape])]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"{kind} with {way} failed: {done.stderr.strip()}")
    user, system, memory = map(float, done.stdout.split()[-3:])
    return user, system, memory


def _alone(kind: str, way: str, rows: int, places: int, steps: int) -> None:
    import torch

    from benchmarks.training_step import status
    from sfumato.core.randomness import Randomness
    from sfumato.models.load import load_model
    from sfumato.training.clipping.clippers import Flat
    from sfumato.training.clipping.losses import next_tokens, record_losses
    from sfumato.training.row_losses import row_losses, row_scores
    from sfumato.training.steps import PlainStep, make_private

    settings = {"embedding": 96, "hidden": 96, "tied": True}
    network: Any = load_model(
        "lstm", randomness=Randomness.reproducible(1), settings=settings
    ).network
    source = torch.Generator().manual_seed(1)
    tokens = torch.randint(8192, (rows, places), generator=source)
    labels, weights = next_tokens(tokens), torch.full((rows,), 1 / places)
    inputs = {"input_ids": tokens}
    optimizer = torch.optim.SGD(network.parameters(), 1e-3)
    step: Any = PlainStep(optimizer)
    if kind == "private":
        step = make_private(
            network,
            optimizer,
            clipper=Flat(1.0),
            noise_multiplier=1.0,
            expected_batch_size=rows,
            randomness=Randomness.reproducible(2),
        )

    def losses(some: Any) -> Any:
        if way == "slices":
            return row_losses(network, {"input_ids": tokens[some]}, labels[some], weights[some])
        scores = network(input_ids=tokens[some]).logits
        return record_losses(scores, labels[some], divisor=1.0) * weights[some]

    def take() -> None:
        if kind == "evaluation":
            with torch.no_grad():
                each = row_scores(network, inputs)
                for one in each if way == "slices" else network(**inputs).logits:
                    one.logsumexp(1)
            return
        step.check_rows(losses, rows)
        step.backward(losses(torch.arange(rows)))
        step.step(noise_multiplier=1.0, expected_batch_size=float(rows))

    start = int(status("VmRSS"))
    for _ in range(3):  # rows are compared in the first steps
        take()
    before = resource.getrusage(resource.RUSAGE_SELF)
    for _ in range(steps):
        take()
    after = resource.getrusage(resource.RUSAGE_SELF)
    memory = (int(status("VmHWM")) - start) / 1024
    print(after.ru_utime - before.ru_utime, after.ru_stime - before.ru_stime, memory)


if __name__ == "__main__":
    _alone(*json.loads(sys.argv[1]))
