"""A lower bound on what a run leaks, beside what it claims: coins guessed in one run."""

from __future__ import annotations

from sfumato.results.measured import Measured
from sfumato.studies.kinds.context import CellResult, Context
from sfumato.studies.kinds.corpus import texts
from sfumato.studies.measures.measure import Meaning, rows


def compute(context: Context) -> CellResult:
    """Guess which made-up documents the model was trained on."""
    from sfumato.attacks.model_target import open_model
    from sfumato.audits.coins import Guessing, audit_run
    from sfumato.core.errors import BadInput
    from sfumato.corpora.coins import read_coins

    path = texts(context).coins
    if path is None:
        raise BadInput("an audit needs [coins], which the study does not have")
    guessing = Guessing(guesses=context.cell.settings["guesses"])
    found = audit_run(
        open_model(context.target_path), read_coins(path), guessing, context.randomness
    )
    bound = found.one_run
    figure = Measured("epsilon at least", bound.epsilon, None, None, bound.samples)
    meaning = Meaning.leaked("audit", {"epsilon at least": 0.0})
    return CellResult(rows=tuple(rows([figure], meaning)), details=found.as_dict())
