"""Whether processes have the same weights, corpus and settings; weights can be made the same.

Guarantee
    Every checkpoint is one that all processes have bit for bit, and all of them train on the same
    units in the same order by the same settings.

Why it holds
    Digests are compared before a checkpoint is written, and before the first step. If one machine
    had the same documents in another order, a unit could be on two processes, and count twice in a
    sum that has noise for once.

Care
    The digest of a corpus is sent between the processes, which all hold the corpus; it is written
    nowhere.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from hashlib import blake2b
from typing import Any

import torch

from sfumato.core.errors import ProcessesDisagree
from sfumato.text.document import Document
from sfumato.training.processes.meetings import STARTED, STEPPED, meet
from sfumato.training.processes.team import Team

# A digest as whole numbers that a double holds exactly.
_WORDS, _BYTES = 5, 6


def share_weights(team: Team, network: torch.nn.Module) -> None:
    """Give all processes the weights of the first: what was drawn without a seed differs."""
    if team.size == 1:
        return
    meet(team, STARTED)
    with torch.no_grad():
        for one in (*network.parameters(), *network.buffers()):
            if one.is_contiguous():
                team.copy(one.data)
            else:
                whole = one.data.contiguous()
                team.copy(whole)
                one.data.copy_(whole)


def refuse_other_weights(team: Team, network: torch.nn.Module, bound: float, step: int) -> None:
    """Refuse to save weights, or a clipping norm, that are not the same in all processes."""
    if team.size > 1:
        digest = blake2b(f"{bound!r}".encode())
        for name, one in network.state_dict().items():
            digest.update(name.encode())
            whole = one.detach().cpu().reshape(-1)  # a number by itself has no bytes to view
            digest.update(whole.view(torch.uint8).numpy().data)
        _compare(team, digest.digest(), STEPPED, step, "weights", _OTHER_MACHINES)


def refuse_other_work(
    team: Team, documents: Sequence[Document], settings: Mapping[str, Any]
) -> None:
    """Refuse to begin with another corpus, or other settings, than the other processes."""
    if team.size > 1:
        for what, parts in (
            ("documents", (json.dumps([one.text, one.author, *one.labels]) for one in documents)),
            ("settings", [json.dumps(dict(settings), sort_keys=True, default=str)]),
        ):
            _compare(team, _digest(parts), STARTED, 0, what, _SAME_FOR_ALL)


_OTHER_MACHINES = (
    "processors of different kinds, or numbers of threads, round differently; train on machines "
    "that are alike"
)
_SAME_FOR_ALL = "start all of them with the same command, on copies of the same file"


def _digest(parts: Iterable[str]) -> bytes:
    found = blake2b()
    for one in parts:
        encoded = one.encode("utf-8", "surrogatepass")
        found.update(len(encoded).to_bytes(8, "big") + encoded)
    return found.digest()


def _compare(team: Team, digest: bytes, place: int, step: int, what: str, advice: str) -> None:
    words = [
        int.from_bytes(digest[start : start + _BYTES], "big")
        for start in range(0, _WORDS * _BYTES, _BYTES)
    ]
    if len(set(meet(team, place, words, step=step))) > 1:
        raise ProcessesDisagree(
            f"the processes of this training have different {what}; {advice}. Nothing was saved"
        )
