"""``sfumato policy``: how good is a policy?"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from sfumato.cli import options
from sfumato.cli.output import note, print_json, stdout

if TYPE_CHECKING:
    from sfumato.policies.scoring import PolicyScores, Precision, Recall

app = typer.Typer(help="Measure policies.", no_args_is_help=True)


@app.callback()
def _group() -> None:
    """Measure policies."""


@app.command("score")
def score(
    source: Annotated[Path, typer.Argument(metavar="FILE", help="JSON lines with gold spans.")],
    policy: options.PolicyOption = ["pii"],  # noqa: B006
    exclude: options.ExceptOption = [],  # noqa: B006
    settings: options.SetOption = [],  # noqa: B006
    json: options.JsonOption = False,
) -> None:
    """Recall, then precision, per type, on labeled spans.

    Each line of FILE: {"text": …, "spans": [{"start", "end", "label"}]}. A gold span is found
    when all its words are selected, whatever label the policy gave them.
    """
    from sfumato.verbs.score import score_policy

    report = score_policy(
        source, policy=policy, exclude=exclude, settings=options.read_settings(settings)
    )
    if not report.recall:
        note("warning: there is no labeled span, so there is nothing to score")
    print_json(report.as_dict(), indent=2) if json else _print(report)


def _print(report: PolicyScores) -> None:
    from rich.table import Table

    console = stdout()
    recall = Table("gold type", "recall", "95 % interval", "found", "partly", "gold", box=None)
    for row in (*report.recall, report.overall_recall):
        recall.add_row(
            row.label, *_shares(row), f"{row.found:,}", f"{row.partly:,}", f"{row.gold:,}"
        )
    precision = Table("found as", "precision", "95 % interval", "right", "found", box=None)
    for found in (*report.precision, report.overall_precision):
        precision.add_row(found.label, *_shares(found), f"{found.right:,}", f"{found.predicted:,}")
    console.print(recall)
    console.print()
    console.print(precision)
    console.print(
        f"\n{report.policy}: {report.selected:,} of {report.words:,} words selected "
        f"in {report.documents:,} documents"
    )


def _shares(row: Recall | Precision) -> tuple[str, str]:
    low, high = row.interval()
    return ("–" if row.share is None else f"{row.share:.3f}", f"{low:.3f}–{high:.3f}")
