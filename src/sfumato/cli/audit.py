"""``sfumato audit``: measure a model's epsilon from below, and compare it with its claim."""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from sfumato.cli import options
from sfumato.cli.output import note, print_json, stdout

if TYPE_CHECKING:
    from sfumato.audits.coins import Audited

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
    from sfumato.audits.coins import bounds_chart
    from sfumato.core.errors import MissingInput
    from sfumato.verbs.audit import audit as measure

    if coins is None:
        raise MissingInput(
            "an audit needs --coins FILE: made-up documents that are in the corpus by fair coins. "
            "Make them before training: sfumato data coins CORPUS -o OUT; sfumato train OUT … -o "
            "RUN; sfumato audit RUN --coins OUT.coins.json"
        )
    if output is not None:
        from sfumato.charts.chart import ready_for

        ready_for(output, overwrite=overwrite)
    found = {
        str(run): measure(run, coins=coins, guesses=guesses, confidence=confidence, seed=seed)
        for run in runs
    }
    if output is not None:
        bounds_chart(found).save(output, overwrite=overwrite)
    if json:
        print_json([{"run": run} | one.as_dict() for run, one in found.items()], indent=2)
    else:
        for run, one in found.items():
            _print(run, one)
    if output is not None:
        note(f"the chart is in {output}")
    if any(one.refuted for one in found.values()):
        raise typer.Exit(CLAIM_IS_FALSE)


def _print(run: str, one: Audited) -> None:
    from rich.table import Table

    from sfumato.audits.coins import ASSUMES
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
    if one.proven_at_most is not None:
        console.print(
            f"Share of right guesses: measured at least {one.measured_at_least:.3g}, proven at "
            f"most {at_most(one.proven_at_most, 3)}.",
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
