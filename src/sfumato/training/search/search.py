"""A search that is charged as a whole: trials one after the other, of which the best is kept.

Guarantee
    That of ``training.search.plan``, for the run that is left at the end: its model, its settings,
    its score and everything else in its folder. There is nothing else left: no model, score or log
    of another trial, no number of trials, no time at which a trial ended.

Why it holds
    Number of trials and their settings are drawn before the first trial and written down
    (``training.search.state``); all trials are made, whatever they show, and each has randomness of
    its own. A trial that fails because of its data (a gradient that is no number) is the worst
    outcome, not an end of the search; so is one that was killed after its steps were charged and
    before any of them was saved. Nothing of the trials is shown while they run: a loss or a score
    that is seen can make somebody stop the search, and a line that every trial writes counts them.
    What the first trial has to do is said only where all trials have to do the same: beside the
    settings of the best trial it would tell that there was another one.

Care
    How long the search takes shows how many trials there were, to whoever watches the process. The
    files of the winner all get the same time, that of the end: their own would tell which trial it
    was. A search that ends without a model (all trials failed, or a Poisson law gave none) is paid
    for like any other.
"""

from __future__ import annotations

import json
import math
import os
import shutil
import time
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from sfumato.accounting.budget.charges import Claim
from sfumato.accounting.budget.payment import Hold, Payment, digest_of, refuse_seed
from sfumato.core.errors import (
    ENDED_BY_RECORDS,
    BadInput,
    CannotResume,
    InvalidArgument,
    StorageFailed,
)
from sfumato.core.files import sync_folder
from sfumato.core.json import write_number
from sfumato.core.progress import QUIET
from sfumato.core.randomness import Randomness
from sfumato.text.document import Document
from sfumato.training.checkpoints import Checkpoint
from sfumato.training.execution import train_model
from sfumato.training.folder import RunFolder
from sfumato.training.methods.base import ANNOUNCED_TO, Announce
from sfumato.training.request import Request
from sfumato.training.run import Run
from sfumato.training.search.plan import SearchPlan
from sfumato.training.search.scoring import HeldOutScore, PublicScore, Score, Scored, split_units
from sfumato.training.search.space import SearchSpace
from sfumato.training.search.state import SearchFolder, SearchState

# Independent streams of a search's randomness.
COUNT, DRAWS, SPLIT, SCORES, SEEDS = range(5)

MakeRequest = Callable[[Mapping[str, Any], float, int | None], Request]
"""The request of a trial: its settings, its noise, and a seed if the search has one."""


@dataclass(frozen=True, kw_only=True)
class Search:
    """Everything a search needs; ``settings`` are public, and must be the same on resuming.

    ``score`` is on public documents; without one, ``hold_out`` is the share of units that are not
    trained on. With a ``payment`` the whole search is paid before anything is drawn.
    """

    plan: SearchPlan
    space: SearchSpace
    request: MakeRequest
    documents: Sequence[Document] = field(repr=False)
    unit: str = "example"
    score: PublicScore | None = None
    hold_out: float | None = None
    settings: Mapping[str, Any] = field(default_factory=dict)
    seed: int | None = None
    payment: Payment | None = None

    def randomness(self, *streams: int) -> Randomness:
        """Secure, unless a seed was given."""
        source = Randomness.secure() if self.seed is None else Randomness.reproducible(self.seed)
        for stream in streams:
            source = source.stream(stream)
        return source

    def draw(self) -> tuple[tuple[Mapping[str, Any], ...], int]:
        """The settings of all trials, and the number that decides what is held out."""
        count = self.plan.trials.draw(self.randomness(COUNT))
        drawn = tuple(self.space.draw(self.randomness(DRAWS, place)) for place in range(count))
        return drawn, _whole(self.randomness(SPLIT))

    def seed_of(self, trial: int) -> int | None:
        """The seed of a trial; none if the search has none."""
        return None if self.seed is None else _whole(self.randomness(SEEDS, trial))

    def split(self, number: int) -> tuple[Sequence[Document], Score]:
        """What is trained on, and what decides."""
        if self.hold_out is None or self.plan.score_noise is None:
            if self.score is None:
                raise InvalidArgument("a search needs public documents or held-out units to score")
            return self.documents, self.score
        trained, held = split_units(self.documents, self.unit, self.hold_out, number)
        return trained, HeldOutScore(held, self.plan.score_noise)

    def public(self) -> dict[str, Any]:
        """What a run's folder says about the search."""
        scored = "public text" if self.hold_out is None else f"{self.hold_out:g} of the units"
        return self.plan.as_dict() | {"space": self.space.as_dict(), "scored_on": scored}


def run_search(search: Search, run: Path, *, resume: bool = False) -> Run:
    """Make all trials of a search, and leave the best as a run folder."""
    folder = SearchFolder.beside(run)
    folder.refuse(run, resume=resume)
    if RunFolder(run).finished:
        return _already(search, RunFolder(run), folder)
    if run.exists():
        raise CannotResume(f"{run} is not the result of a search; choose another folder")
    _pay(search, folder, run)
    SearchState.opened(folder, search.settings, search.draw)
    with folder.held():
        # Read under the lock: another process may have gone on meanwhile.
        state = SearchState.opened(folder, search.settings, search.draw)
        trained, score = search.split(state.split)
        while not state.ended and state.done < len(state.drawn):
            state = _settle(folder, _trial(search, folder, state, (trained, score)))
        if state.best is None:
            state.over().save(folder)
            _paid(search, folder)
            raise BadInput(
                "the search ended without a model: a law of trials may give none, and a trial "
                "whose gradient or score is no number does not count. Its level is spent; another "
                "search, with smaller learning rates or another law, needs another folder, and "
                "both levels add up"
            )
        _finish(search, folder, state)
        folder.best.replace(run)
        sync_folder(run.absolute().parent)
    _paid(search, folder)
    folder.remove()
    return Run.open(run)


def _pay(search: Search, folder: SearchFolder, run: Path) -> None:
    """Hold what the search costs, before its coins are drawn; once."""
    if search.payment is None:
        return
    refuse_seed(search.randomness())
    if folder.state.exists() and not folder.budget.is_file():
        raise CannotResume(
            f"{folder.path} holds a search that was begun without a budget; resume it without one, "
            "or begin another search in another folder"
        )
    try:
        folder.make()
    except OSError as error:
        raise StorageFailed(f"cannot write {folder.path}: {error.strerror}") from None
    stated = search.plan.promise(search.plan.candidates[0].plan.guarantee())
    work = {
        "work": "tune",
        "corpus": digest_of((one.text, one.author, *one.labels) for one in search.documents),
        "plan": search.plan.as_dict(),
        "place": str(run.resolve()),
    }
    search.payment.pay_at(folder.budget, Claim(stated), work)


def _paid(search: Search, folder: SearchFolder) -> None:
    """The search has ended: what was held for it is spent."""
    if search.payment is not None and folder.budget.is_file():
        Hold(search.payment, search.payment.code_at(folder.budget)).settle()


def chosen_settings(run: Run) -> dict[str, Any]:
    """What the best trial of a search had drawn."""
    return dict(run.files.settings().get("chosen") or {})


def _trial(
    search: Search,
    folder: SearchFolder,
    state: SearchState,
    on: tuple[Sequence[Document], Score],
) -> SearchState:
    """Make the next trial, unless it was made already; its score is on the disk afterwards."""
    if state.scored is not None:
        return state
    scored = _scored(search, folder, state, on)
    return state.with_score(scored).save(folder)


def _scored(
    search: Search,
    folder: SearchFolder,
    state: SearchState,
    on: tuple[Sequence[Document], Score],
) -> Scored:
    drawn, trial = state.drawn[state.done], RunFolder(folder.trial)
    noise = search.plan.candidate(drawn).plan.noise_multiplier
    request = search.request(drawn, noise, search.seed_of(state.done))
    documents, score = on
    # A pause before the first private step leaves a checkpoint of none.
    begun = trial.ledger.exists() and not (
        trial.checkpoint.exists() and Checkpoint.load(trial.checkpoint).steps
    )
    failed = Scored(-math.inf)
    try:
        with _unheard():
            made = train_model(
                request, documents, trial, resume=True, announce=_announce(search, drawn)
            )
            search.plan.check(made.plan, drawn)
            return score.of(made.model, search.randomness(SCORES, state.done))
    except ENDED_BY_RECORDS:
        return failed
    except CannotResume:
        # Its steps are charged, and nobody has their results.
        if begun and not trial.model.exists():
            return failed
        raise


@contextmanager
def _unheard() -> Iterator[None]:
    """Within this block no line is written: one for each trial would tell how many there are.

    A warning would also tell when a search was resumed, and how far a trial had come.
    """
    token = QUIET.set(True)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        QUIET.reset(token)


class _Untold:
    """In the place of what a trial trains on, where that depends on its settings."""

    def lines(self) -> tuple[str, ...]:
        """Nothing."""
        return ()

    def public_bits(self) -> tuple[()]:
        """Nothing."""
        return ()


def _announce(search: Search, drawn: Mapping[str, Any]) -> Announce:
    told = ANNOUNCED_TO.get()

    def announce(plan: Any, material: Any) -> Any:
        search.plan.check(plan, drawn)
        if told is None:
            return None
        return told(plan, material if search.space.alike else _Untold())

    return announce


def _settle(folder: SearchFolder, state: SearchState) -> SearchState:
    """Keep the trial if it is the best so far, and nothing of it otherwise.

    After a kill at any place, this is done again with the same result.
    """
    if state.better:
        if folder.trial.exists():
            shutil.rmtree(folder.best, ignore_errors=True)
            folder.trial.replace(folder.best)
            sync_folder(folder.path)
    else:
        shutil.rmtree(folder.trial, ignore_errors=True)
    return state.settled().save(folder)


def _finish(search: Search, folder: SearchFolder, state: SearchState) -> None:
    """Restate the best run as the result of a search."""
    best, plan = RunFolder(folder.best), search.plan
    guarantee = plan.promise(Run.open(folder.best).guarantee)
    drawn = state.drawn[state.chosen or 0]
    charged = plan.candidate(drawn).plan
    best.write_guarantee(
        guarantee,
        {
            "plan": best.settings()["plan"],
            "epsilon_planned": write_number(plan.epsilon),
            "search": search.public(),
        },
    )
    best.add_settings({"epsilon": plan.epsilon, "search": search.public(), "chosen": dict(drawn)})
    values = {"epsilon": guarantee.epsilon, "delta": guarantee.delta}
    of_search = [
        {"metric": metric, "value": value, "low": None, "high": None, "n": charged.units}
        for metric, value in values.items()
    ]
    scored = state.best.rows if state.best is not None else ()
    best.add_results([*of_search, *scored])
    _same_time(folder.best)


def _same_time(path: Path) -> None:
    """Give all files the same time: their own would tell when the trial was made."""
    now = time.time()
    for one in (*path.rglob("*"), path):
        os.utime(one, (now, now))


def _already(search: Search, run: RunFolder, folder: SearchFolder) -> Run:
    """A search that has ended, if it is this one."""
    settings = run.settings()
    if any(settings.get(key) != value for key, value in _asked(search, run).items()):
        raise CannotResume(
            f"{run.path} holds a run of another search, or of none; choose another folder"
        )
    _paid(search, folder)
    folder.remove()  # left by a kill at the very end
    found = Run.open(run.path)
    return Run(found.files, found.guarantee, already_finished=True)


def _asked(search: Search, run: RunFolder) -> dict[str, Any]:
    """What the run of such a search says of itself: the search, the corpus and the model."""
    request = search.request(chosen_settings(Run.open(run.path)), 1.0, None)
    asked = {
        "search": search.public(),
        "corpus": request.corpus,
        "model": request.model,
        "classes": request.classes,
        "model_settings": {key: str(value) for key, value in request.settings.items()},
    }
    found: dict[str, Any] = json.loads(json.dumps(asked))
    return found


def _whole(randomness: Randomness) -> int:
    return int(randomness.integers(2**62, 1)[0])
