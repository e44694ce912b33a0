"""Private training on one process and on two, over gloo on this machine: the same steps.

One thread for each process, so that two processes have twice the processors of one. What a process
imports is imported before, and models are small, so sums and meetings weigh more than they usually
do. A quick run has a quarter of the batch, so they weigh even more there.
"""

from __future__ import annotations

import os
import signal
import socket
import traceback
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NoReturn

import torch

from benchmarks.timing import Row, Work, by_turns
from sfumato.core.randomness import Randomness
from sfumato.models.load import load_model
from sfumato.text.document import Document
from sfumato.training.folder import RunFolder
from sfumato.training.loop import fit
from sfumato.training.plan import Plan
from sfumato.training.processes.group import joined
from sfumato.training.records import Cut, TokenRecords, make_language_records
from sfumato.training.settings import Course
from sfumato.training.stages import Stage

SIZES = (1, 2)
BATCH, QUICK_BATCH, CONTEXT = 64, 16, 64


def run(quick: bool) -> list[Row]:
    """Two models, each by one process and by two, in turns."""
    rows: list[Row] = []
    torch.set_num_threads(1)
    for model in ("lstm", "gpt-small"):
        steps, batch = (2, QUICK_BATCH) if quick else (8, BATCH)
        load_model(model, randomness=Randomness.secure())
        records = _records(model, batch)
        stage = Stage(steps=steps, batch_size=batch, noise_multiplier=1.0)
        work = {f"{size}": _work(model, records, stage, size) for size in SIZES}
        timings = by_turns(work, 1 if quick else 5, warm=not quick)
        rows += [
            {
                "model": model,
                "processes": name,
                "steps": steps,
                "times as fast as 1": timing.ratio(timings["1"]),
                "processor time of 1, per own": timing.cpu_ratio(timings["1"]),
            }
            for name, timing in timings.items()
        ]
    return rows


def _records(model: str, batch: int) -> TokenRecords:
    tokenizer = load_model(model, randomness=Randomness.secure()).tokenizer
    text = "the same few words again and again, so that a record is as long as a context is "
    documents = [Document(f"{number} {text * 4}") for number in range(4 * batch)]
    return make_language_records(documents, tokenizer, Cut(context=CONTEXT, long="truncate"))


def _work(model: str, records: TokenRecords, stage: Stage, size: int) -> Work:
    def train() -> None:
        plan = Plan(units=len(records), stages=(stage,), accountant="rdp")
        with TemporaryDirectory() as folder, joined() as team:
            place = RunFolder(Path(folder)) if team.rank == 0 else None
            loaded = load_model(model, randomness=Randomness.secure())
            fit(loaded, records, plan, Course(), folder=place)

    return lambda: _together(train, size)


def _together(train: Work, size: int) -> None:
    """Fork processes that do this together, and wait for them."""
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        port = found.getsockname()[1]
    told = {"WORLD_SIZE": size, "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": port}
    children: set[int] = set()
    for rank in range(size):
        child = os.fork()
        if child == 0:
            os.environ.update({name: str(one) for name, one in (told | {"RANK": rank}).items()})
            _do_and_leave(train)
        children.add(child)
    _wait_for(children)


def _do_and_leave(work: Work) -> NoReturn:
    """In a process of its own: nothing that was inherited is tidied up here."""
    failed = 1
    try:
        work()
        failed = 0
    except BaseException:
        traceback.print_exc()
    finally:
        os._exit(failed)


def _wait_for(children: set[int]) -> None:
    """Until all have ended; one that failed would leave the others waiting for it, for hours."""
    try:
        while children:
            child, status = os.wait()
            children.discard(child)
            if status:
                raise RuntimeError("a training process failed")
    finally:
        for child in children:
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)
