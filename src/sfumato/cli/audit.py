"""``sfumato audit``: measure a model's epsilon from below, and compare it with its claim."""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from sfumato.cli import options
from sfumato.cli.output import note, print_json, stdout

if TYPE_CHECKING:
    from sfumato.audits.coins import Audited

ASSUMES = {
    "one_run": "nothing",
    "two_run": "documents do not influence each other",
    "gaussian": "the same, and a Gaussian trade-off",
}
CLAIM_IS_FALSE = 1


def audit(  # noqa: PLR0913  # a command's options are its parameters
    runs: Annotated[
        list[Path],
        typer.Argument(metavar="RUN…", help="Finished training runs on the corpus with coins."),
    ],
    coins: Annotated[
        Path | None,
        typer.Option(
            "--coins", metavar="FILE", help="CORPUS.coins.json, which 'sfumato data coins' wrote."
        ),
    ] = None,
    guesses: Annotated[
        int | None,
        typer.Option("--guesses", help="How many coins to guess. [default: a fifth of them]"),
    ] = None,
    confidence: Annotated[
        float, typer.Option("--confidence", help="How surely each bound speaks the truth.")
    ] = 0.95,
    output: options.ChartOption = None,
    overwrite: options.OverwriteOption = False,
    seed: Annotated[
        int | None, typer.Option("--seed", help="Split the documents the same way again.")
    ] = None,
    json: options.JsonOption = False,
) -> None:
    """Measure epsilon from below: guess which made-up documents a model was trained on.

    First: sfumato data coins CORPUS -o OUT; sfumato train OUT … -o RUN. A bound above the claimed
    epsilon refutes the claim (exit code 1); one below it proves nothing. Several runs on the same
    corpus, such as at several levels, make one chart.

    Example: sfumato audit run --coins corpus.jsonl.coins.json
    """
    from sfumato.core.checks import extra
    from sfumato.core.errors import MissingInput

    if coins is None:
        raise MissingInput(
            "an audit needs --coins FILE: made-up documents that are in the corpus by fair coins. "
            "Make them before training: sfumato data coins CORPUS -o OUT; sfumato train OUT … -o "
            "RUN; sfumato audit RUN --coins OUT.coins.json"
        )
    extra("torch", needed_for="auditing a model", extra="train")
    if output is not None:
        from sfumato.charts.chart import ready_for

        ready_for(output, overwrite=overwrite)
    found = {str(run): _audit(run, coins, guesses, confidence, seed) for run in runs}
    if output is not None:
        _chart(found).save(output, overwrite=overwrite)
    if json:
        print_json([{"run": run} | one.as_dict() for run, one in found.items()], indent=2)
    else:
        for run, one in found.items():
            _print(run, one)
    if output is not None:
        note(f"the chart is in {output}")
    if any(one.refuted for one in found.values()):
        raise typer.Exit(CLAIM_IS_FALSE)


def _audit(
    run: Path, coins: Path, guesses: int | None, confidence: float, seed: int | None
) -> Audited:
    from sfumato.attacks.model_target import not_a_model, open_model
    from sfumato.audits.coins import Guessing, audit_run
    from sfumato.core.errors import BadInput
    from sfumato.core.progress import progress
    from sfumato.core.randomness import Randomness
    from sfumato.corpora.coins import read_coins

    problem = not_a_model(run)
    if problem is not None:
        raise BadInput(problem)
    tossed = read_coins(coins)
    guessing = Guessing(guesses=guesses, confidence=confidence)
    guessing.number(len(tossed))  # what is wrong is said before a model is loaded
    target = open_model(run)
    if target.model.classes:
        raise BadInput(f"{run} is a classifier; this audit is of language models")
    randomness = Randomness.secure() if seed is None else Randomness.reproducible(seed)
    with progress("auditing", len(tossed), unit_is_bytes=False) as advance:
        return audit_run(
            target, tossed, guessing, randomness, done=lambda reached, _whole: advance(reached)
        )


def _chart(found: dict[str, Audited]) -> Any:
    from sfumato.charts.audit import AuditRow, audit_chart

    return audit_chart(
        [
            AuditRow(
                run=run if one.comparable else f"{run} (claims something else)",
                claimed=one.claimed if one.comparable else None,
                bound=name,
                measured=getattr(one, name).epsilon,
            )
            for run, one in found.items()
            for name in ASSUMES
        ]
    )


def _print(run: str, one: Audited) -> None:
    from rich.table import Table

    from sfumato.guarantees.wording import at_most

    console = stdout()
    claim = "nothing"
    nothing = one.claimed is None or math.isinf(one.claimed)
    if one.claimed is not None and not nothing:
        claim = f"ε = {at_most(one.claimed, 4)} at δ = {at_most(one.delta)}"
    console.print(f"{run}: claims {claim}", style="bold", markup=False)
    table = Table("bound", box=None)
    table.add_column("ε at least", justify="right")
    table.add_column("assumes")
    for name, assumed in ASSUMES.items():
        bound = getattr(one, name)
        at = f" (at δ = {at_most(bound.delta)})" if bound.delta != one.delta else ""
        table.add_row(name.replace("_", " "), f"{bound.epsilon:.4g}", assumed + at)
    console.print(table)
    console.print(
        f"{one.right} of {one.guesses} guesses were right, about {one.one_run.samples} coins; each "
        f"bound speaks the truth with probability {one.one_run.confidence:g}. The attacker holds "
        "the model and all made-up documents, and guesses which were in the corpus.",
        markup=False,
    )
    if not nothing and not one.comparable:
        console.print(
            "The claim is about what a policy finds in a document, not about whole documents: "
            "these bounds cannot be compared with it.",
            markup=False,
        )
    elif not nothing:
        told = "refuted" if one.refuted else "not refuted, which does not prove it"
        console.print(f"The claim is {told}.", markup=False)
    console.print()
