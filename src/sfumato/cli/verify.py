"""``sfumato verify``: refute what a mechanism claims, or fail to."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from sfumato.cli import options
from sfumato.cli.output import in_options, print_json, stdout, visible
from sfumato.core.errors import InvalidArgument

if TYPE_CHECKING:
    from sfumato.audits.exhibits.table import ExhibitOutcome
    from sfumato.audits.verdict import Finding, Verdict

FINDING = 1


def verify(  # noqa: PLR0913  # a command's options are its parameters
    mechanism: Annotated[
        str | None,
        typer.Argument(
            metavar="[M]",
            help="A mechanism by name ('sfumato list mechanisms'), module:Class or file.py:Class; "
            "with --exhibit the name of one exhibit.",
            show_default=False,
        ),
    ] = None,
    epsilon: Annotated[
        float | None, typer.Option("--epsilon", "-e", help="The level that is claimed.")
    ] = None,
    confidence: Annotated[
        float,
        typer.Option("--confidence", help="1 minus the chance to accuse a true claim, in all."),
    ] = 0.99,
    vectors: options.VectorsOption = None,
    settings: options.SetOption = [],  # noqa: B006
    pairs: Annotated[
        int | None, typer.Option("--pairs", help="Pairs of inputs to look at in each space.")
    ] = None,
    draws: Annotated[
        int | None,
        typer.Option(
            "--draws", help="Draws for each input on the average, where there are no rows."
        ),
    ] = None,
    seed: Annotated[
        int | None, typer.Option("--seed", help="Make the verification reproducible.")
    ] = None,
    exhibit: Annotated[
        bool, typer.Option("--exhibit", help="Refute the claims that are known to be false.")
    ] = False,
    json: options.JsonOption = False,
) -> None:
    """Try to refute the guarantee that a mechanism claims.

    Exact where the mechanism knows its probabilities; otherwise events are learned from some draws
    and bounded on others. Exit code 0: not refuted, 1: refuted, with the witness.

    Example: sfumato verify laplace --epsilon 5
    """
    from sfumato.verbs import verify as verb

    if exhibit:
        if epsilon is not None or vectors or settings or pairs is not None or draws is not None:
            raise InvalidArgument(
                "--exhibit brings its own claims: leave out --epsilon, --vectors, --set, --pairs "
                "and --draws"
            )
        outcomes = verb.verify_exhibits(mechanism, confidence=confidence, seed=seed)
        print_json([one.as_dict() for one in outcomes], indent=2) if json else _table(outcomes)
        raise typer.Exit(0 if all(one.as_expected for one in outcomes) else FINDING)
    if mechanism is None:
        raise InvalidArgument("verify takes a mechanism and --epsilon, or --exhibit")
    verdict = verb.verify(
        mechanism,
        epsilon=epsilon,
        confidence=confidence,
        vectors=vectors,
        settings=options.read_settings(settings),
        pairs=pairs,
        draws=draws,
        seed=seed,
    )
    print_json(verdict.as_dict(), indent=2) if json else _print(verdict)
    raise typer.Exit(FINDING if verdict.refuted else 0)


def _print(verdict: Verdict) -> None:
    lines = [f"Claim: {verdict.claim}", *map(_line, verdict.findings)]
    lines += map(in_options, verdict.notes)
    lines.append(verdict.sentence())
    if not verdict.refuted and verdict.witness is not None:
        lines.append(f"The closest: {verdict.witness.sentence()}.")
    if any(finding.draws for finding in verdict.findings):
        budget = f"{1 - verdict.confidence:.3g}, over all pairs and events."
        lines.append(f"A claim that is true is refuted with a probability of at most {budget}")
    _say(lines)


def _say(lines: list[str]) -> None:
    # Words may come from somebody's file of vectors: they must not steer the terminal.
    console = stdout()
    for line in lines:
        console.print(visible(line), markup=False)


def _line(finding: Finding) -> str:
    how = "exactly" if finding.method == "exact" else _draw(finding)
    line = f"{finding.where}: {finding.pairs:,} pairs of {finding.inputs:,} inputs, {how}"
    return f"{line}: {finding.note}" if finding.note else line


def _draw(finding: Finding) -> str:
    nearest = f"; the {finding.decided} nearest to their bound in depth" if finding.decided else ""
    return f"by {finding.draws:,} draws for each input on the average{nearest}"


def _table(outcomes: list[ExhibitOutcome]) -> None:
    from rich.table import Table

    console = stdout()
    table = Table("exhibit", "claim", "repaired", box=None)
    for one in outcomes:
        refuted = "refuted" if one.broken.refuted else "NOT REFUTED"
        repaired = "REFUTED" if one.repaired.refuted else "not refuted"
        table.add_row(one.exhibit.name, refuted, repaired)
    console.print(table)
    for one in outcomes:
        shown = one.exhibit
        _say([f"\n{shown.name}: {shown.source}", f"  claimed: {shown.claim}"])
        _say([f"  false because {shown.reason}", f"  {one.broken.sentence()}"])
        _say([f"  repair: {shown.repair}"])
