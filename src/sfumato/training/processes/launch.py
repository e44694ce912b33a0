"""Whether this process was started together with others, by torchrun or in its way.

Nothing is imported here: a command that trains nothing does not wait for torch.
"""

from __future__ import annotations

import os

from sfumato.core.errors import InvalidArgument

# What torchrun tells a process, and other launchers do.
_TOLD = ("RANK", "WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT")


def started_together() -> bool:
    """Whether there are other processes with the same command."""
    told = {name: os.environ.get(name, "") for name in _TOLD}
    if not all(told.values()):
        return False
    if not (told["RANK"].isdigit() and told["WORLD_SIZE"].isdigit()):
        raise InvalidArgument(
            "the environment variables RANK and WORLD_SIZE must be whole numbers, as torchrun sets "
            "them"
        )
    return int(told["WORLD_SIZE"]) > 1


def rank_told() -> int:
    """The number that this process was started with; 0 if it was started by itself."""
    return int(os.environ["RANK"]) if started_together() else 0


def refuse_together(what: str) -> None:
    """Refuse what is for one process only, before anything is read."""
    if started_together():
        refused = InvalidArgument(
            f"{what}, is for one process: start it in one. Single trainings run on several "
            "(`sfumato.train(CORPUS, RUN, ...)`)"
        )
        refused.said_elsewhere = rank_told() > 0
        raise refused
