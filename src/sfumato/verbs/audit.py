"""``sfumato.audit``: measure a model's epsilon from below, and compare it with its claim."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from sfumato.core.checks import extra
from sfumato.core.errors import BadInput, MissingInput
from sfumato.core.progress import progress
from sfumato.verbs.inputs import Placed, draws_from, path_of

if TYPE_CHECKING:
    from sfumato.audits.coins import Audited


def audit(
    run: Placed,
    *,
    coins: str | Path | None = None,
    guesses: int | None = None,
    confidence: float = 0.95,
    seed: int | None = None,
) -> Audited:
    """Guess which made-up documents a model was trained on, and what that says about epsilon.

    ``run`` is a finished training run on a corpus with ``coins``: made-up documents that are in it
    or not, each by a fair coin (``sfumato data coins``). A bound above the claimed epsilon refutes
    the claim; one below it proves nothing.
    """
    from sfumato.attacks.model_target import not_a_model, open_model
    from sfumato.audits.coins import Guessing, audit_run
    from sfumato.corpora.coins import read_coins

    if coins is None:
        raise MissingInput(
            "an audit needs `coins=...`: made-up documents that are in the corpus by fair coins. "
            "Make them before training, train on the corpus with them, and give the file of coins "
            "that was written beside it"
        )
    extra("torch", needed_for="auditing a model", extra="train")
    folder = path_of(run)
    problem = not_a_model(folder)
    if problem is not None:
        raise BadInput(problem)
    tossed = read_coins(Path(coins))
    guessing = Guessing(guesses=guesses, confidence=confidence)
    guessing.number(len(tossed))  # what is wrong is said before a model is loaded
    target = open_model(folder)
    if target.model.classes:
        raise BadInput(f"{folder} is a classifier; this audit is of language models")
    with progress("auditing", len(tossed), unit_is_bytes=False) as advance:
        advance(0)
        return audit_run(
            target,
            tossed,
            guessing,
            draws_from(seed),
            done=lambda reached, _whole: advance(reached),
        )
