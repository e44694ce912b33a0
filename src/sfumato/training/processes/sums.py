"""Sums over the processes that train together, and the witness that they have noise exactly once.

Guarantee
    A step's sum that training goes on with is the sum over *all* processes of the team, and every
    part of it has the noise of one process, once: neither none, nor that of two, nor that of a team
    that has lost a member. Otherwise there is an error, and nothing of the sum is used.

Why it holds
    The sum is cut into the pieces that ``add_noise`` draws; piece i gets its full noise on the
    process i mod W, before the sum. The marks of who has noised which piece are added up in the
    *same* operation as the numbers, with a 1 of every process that takes part: unless that is W,
    and each piece has exactly the marks it is due, the step raises. Marks are made where the noise
    is added, one at a time, and small whole numbers are exact. Numbers are copied back only after
    that. So a process gets the whole noisy sum or an error.
    The alternative, noise of σ/√W from each, is right only while the team that divides is the team
    that adds up: with a W that is out of date it is too little, and nothing shows it.

Care
    **What is trusted.** All processes see private records. What one sends to the others is the sum
    of its own clipped records, with noise on its own pieces and *none* on all others (and, with
    adaptive clipping, its count, with noise from the first process only). So the network between
    them carries private numbers, and is inside the boundary of trust like the memory of a machine:
    use a network, or a tunnel, that nobody else reads. The guarantee is for whoever sees the
    weights after a step, checkpoints and the model.
    How long a process takes in a step depends on the records that it holds, and the others wait for
    it; whoever sees the traffic sees that, too.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import torch
from torch import Tensor

from sfumato.core.errors import ProcessesDisagree
from sfumato.training.processes.meetings import SUMMED, meet
from sfumato.training.processes.team import Team


def add_up(team: Team, sums: Sequence[Tensor], noised: Tensor, due: float | Tensor) -> None:
    """Put the sums over all processes in their place, if everything in them has noise once.

    ``noised`` says how often this process has noised each part; over all processes that must be
    ``due``.
    """
    if team.size == 1:
        _check(torch.ones(1), 1, noised, due)
        return
    with torch.no_grad():
        buffer = _joined([*sums, noised, torch.ones(1)])
        meet(team, SUMMED)
        team.add(buffer)
        marks = len(noised)
        _check(buffer[-1:], team.size, buffer[-1 - marks : -1], due)
        start = 0
        for one in sums:
            one.copy_(buffer[start : start + one.numel()].view(one.shape))
            start += one.numel()


def add_gradients(team: Team, parameters: Iterable[torch.nn.Parameter]) -> None:
    """Add up gradients without noise: those of public text, or of training without a guarantee.

    A gradient that no process has stays missing, so that the optimizer leaves the weight alone.
    """
    if team.size == 1:
        return
    trained = list(parameters)
    gradients = [
        torch.zeros_like(one) if one.grad is None else one.grad.contiguous() for one in trained
    ]
    used = torch.tensor([float(one.grad is not None) for one in trained])
    add_up(team, [*gradients, used], torch.zeros(0), 0.0)
    for one, gradient, count in zip(trained, gradients, used.tolist(), strict=True):
        one.grad = gradient if count else None


def _joined(parts: Sequence[Tensor]) -> Tensor:
    """All numbers in a row, in the widest precision among them, single at least."""
    kind = torch.float32
    for one in parts:
        kind = torch.promote_types(kind, one.dtype)
    place = parts[0].device
    return torch.cat([one.detach().reshape(-1).to(device=place, dtype=kind) for one in parts])


def _check(present: Tensor, size: int, noised: Tensor, due: float | Tensor) -> None:
    if float(present) != size:
        raise ProcessesDisagree(
            f"{float(present):g} of {size} processes took part in a sum; nothing of it was used"
        )
    wanted = torch.as_tensor(due).to(noised)
    if not bool((noised == wanted).all()):
        raise ProcessesDisagree(
            "a part of a step's sum has noise of more than one process, or of none; nothing of it "
            "was used"
        )
