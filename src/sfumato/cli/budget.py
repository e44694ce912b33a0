"""``sfumato budget``: accounts of privacy that last, in a file or a database."""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from sfumato.cli import options
from sfumato.cli.output import in_options, print_json, stdout
from sfumato.core.errors import InvalidArgument

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from sfumato.accounting.budget.accounts import Account
    from sfumato.accounting.budget.charges import Charge
    from sfumato.accounting.budget.choosing import Choice
    from sfumato.accounting.budget.shared import Budget
    from sfumato.charts.chart import Chart

app = typer.Typer(
    help="Accounts of privacy that last, in a file or a database.", no_args_is_help=True
)

PlaceArgument = Annotated[
    str,
    typer.Argument(metavar="BUDGET", help="A file, or a database: postgresql://…"),
]
AccountOption = Annotated[
    str,
    typer.Option("--account", metavar="KIND:ID", help="text:ID, author:ID or corpus:ID."),
]
KeyOption = Annotated[
    Path | None,
    typer.Option("--key", metavar="FILE", help="The key; otherwise SFUMATO_BUDGET_KEY is."),
]
DeltaOption = Annotated[
    float, typer.Option("--delta", help="The delta at which a level is stated.")
]


@app.command("key")
def make_key(
    path: Annotated[Path, typer.Argument(metavar="FILE", help="A new file; keep it elsewhere.")],
) -> None:
    """Make a key for a new budget; whoever loses it has lost the accounts.

    Example: sfumato budget key budget.key
    """
    import secrets

    from sfumato.core.errors import OutputExists
    from sfumato.core.files import write_first

    if not write_first(path, secrets.token_hex(32).encode() + b"\n", private=True):
        raise OutputExists(f"{path} exists already; a key is never replaced")
    stdout().print(f"wrote {path}: keep it elsewhere than the budget", markup=False)


@app.command("open")
def open_account(  # noqa: PLR0913  # a command's options are its parameters
    budget: PlaceArgument,
    account: AccountOption,
    limit: Annotated[str, typer.Option("--limit", help="The most that may be charged, or inf.")],
    measure: Annotated[
        str | None,
        typer.Option("--measure", help="level, approximate, rho or renyi. [default: level]"),
    ] = None,
    delta: Annotated[
        float,
        typer.Option("--delta", help="The limit of delta, for 'approximate' and --for-plan."),
    ] = 0.0,
    order: Annotated[
        float | None, typer.Option("--order", help="The one order, for 'renyi'.")
    ] = None,
    for_plan: Annotated[
        str | None,
        typer.Option(
            "--for-plan",
            metavar="OPTIONS",
            help="Choose the order of 'renyi' for such plans, described by options of 'sfumato "
            "plan'; --limit and --delta are then a level and its delta.",
        ),
    ] = None,
    key: KeyOption = None,
    json: options.JsonOption = False,
) -> None:
    """Open an account; the budget is made if there is none.

    The limit is fixed for good: what is proven is proven at the limit, and only because nothing can
    raise it later. New data have a new account.

    Example: sfumato budget open budget.db --account corpus:tickets --measure approximate --limit 8
    --delta 1e-5 --key budget.key
    """
    from sfumato.accounting.budget.accounts import AccountName, Limit

    AccountName.read(account)  # a mistyped name must not leave an empty budget behind
    if for_plan is not None:
        if measure not in (None, "renyi") or order is not None:
            raise InvalidArgument("--for-plan chooses the order of 'renyi': give no other of both")
        choice, told = _for_plan(for_plan, _number(limit), delta)
        with _at(budget, key, new=True) as found:
            _report(found.open(account, choice.limit), as_json=json, delta=delta, told=told)
        return
    most = Limit.of(measure or "level", _number(limit), delta=delta, order=order)
    with _at(budget, key, new=True) as found:
        _report(found.open(account, most), as_json=json)


@app.command("list")
def list_accounts(
    budget: PlaceArgument, key: KeyOption = None, json: options.JsonOption = False
) -> None:
    """All accounts, by codes: a name cannot be told from its code.

    Example: sfumato budget list budget.db --key budget.key
    """
    with _at(budget, key) as found:
        accounts = found.accounts()
    if json:
        print_json({code: account.as_dict() for code, account in accounts.items()}, indent=2)
        return
    from rich.table import Column, Table

    table = Table(
        Column("account", no_wrap=True),
        "kind",
        "measure",
        "limit",
        "used",
        "held",
        "charges",
        "state",
    )
    for code, one in accounts.items():
        limit, used = one.limit.most, one.spent
        table.add_row(
            code,
            one.kind.value,
            one.limit.measure.value,
            _both(limit.level, limit.probability),
            _both(used.level, used.probability),
            f"{one.held.level:g}",
            f"{one.charges:,}",
            "open" if one.closed is None else "closed",
        )
    stdout().print(table)


@app.command("show")
def show(
    budget: PlaceArgument,
    account: AccountOption,
    key: KeyOption = None,
    delta: DeltaOption = 1e-5,
    json: options.JsonOption = False,
) -> None:
    """What an account allows, what is used, and what holds at its limit.

    Example: sfumato budget show budget.db --account corpus:tickets --key budget.key
    """
    with _at(budget, key) as found:
        _report(found.show(account), delta=delta, as_json=json)


@app.command("history")
def history(
    budget: PlaceArgument,
    account: AccountOption,
    key: KeyOption = None,
    chart: Annotated[
        Path | None,
        typer.Option("--chart", metavar="CHART", help="A chart: .svg, .png, .html or .json."),
    ] = None,
    overwrite: options.OverwriteOption = False,
    json: options.JsonOption = False,
) -> None:
    """All charges of an account, the oldest first; --chart draws them against the limit.

    Example: sfumato budget history budget.db --account corpus:tickets --key budget.key --chart
    spending.svg
    """
    if chart is not None:
        from sfumato.charts.chart import ready_for

        ready_for(chart, overwrite=overwrite)
    with _at(budget, key) as found:
        standing, charges = found.show(account), found.history(account)
    if chart is not None:
        _chart(standing, charges).save(chart, overwrite=overwrite)
    if json:
        print_json([one.as_dict() for one in charges], indent=2)
        return
    from rich.table import Table

    table = Table("at", "charged", "state", "for")
    for one in charges:
        shown = one.as_dict()
        told = shown["guarantee"]
        table.add_row(
            one.at,
            _both(one.amount.level, one.amount.probability),
            str(shown["state"]),
            str(told["notion"] if isinstance(told, dict) else told),
        )
    stdout().print(table)


@app.command("close")
def close(
    budget: PlaceArgument,
    account: AccountOption,
    key: KeyOption = None,
    json: options.JsonOption = False,
) -> None:
    """Close an account: nothing more can be charged to it, ever.

    Example: sfumato budget close budget.db --account corpus:tickets --key budget.key
    """
    with _at(budget, key) as found:
        _report(found.end(account), as_json=json)


@app.command("export")
def export(
    budget: PlaceArgument,
    account: AccountOption,
    output: Annotated[
        Path,
        typer.Option("--output", "-o", metavar="FILE", help="A page: .md, or .html with a chart."),
    ],
    key: KeyOption = None,
    delta: DeltaOption = 1e-5,
    overwrite: options.OverwriteOption = False,
) -> None:
    """A page for a data-protection officer: what holds, what was charged and when.

    Example: sfumato budget export budget.db --account corpus:tickets -o statement.html
    --key budget.key
    """
    from sfumato.accounting.budget.statement import Statement
    from sfumato.core.files import refuse_existing, write_whole

    refuse_existing(output, overwrite=overwrite)
    with _at(budget, key) as found:
        shown, charges = found.show(account), found.history(account)
        stated = Statement.of(found.code(account), shown, charges, delta)
    page = stated.markdown().encode()
    if output.suffix.lower() in (".html", ".htm"):
        from sfumato.reports.budget import write_statement

        page = write_statement(stated, _chart_if_any(shown, charges))
    write_whole(output, page)
    stdout().print(f"wrote {output}", markup=False)


def _chart(account: Account, charges: Sequence[Charge]) -> Chart:
    from datetime import UTC, datetime

    from sfumato.charts.spending import spending_chart

    return spending_chart(account, charges, datetime.now(UTC).isoformat(timespec="milliseconds"))


def _chart_if_any(account: Account, charges: Sequence[Charge]) -> Chart | None:
    """A page needs no chart: without charges, or what draws them, it has none."""
    from sfumato.charts.chart import needs_charts
    from sfumato.core.errors import MissingExtra

    if not charges:
        return None
    try:
        needs_charts()
    except MissingExtra:
        return None
    return _chart(account, charges)


def _at(place: str, key: Path | None, *, new: bool = False) -> Budget:
    from sfumato.accounting.budget.shared import Budget

    return Budget.at(place, key, new=new)


def _for_plan(written: str, level: float, delta: float) -> tuple[Choice, dict[str, float]]:
    """The order for plans that options describe, and what there is to tell of it."""
    from sfumato.accounting.budget.choosing import choose_order
    from sfumato.cli.plan import described_plan

    plan = described_plan(written)
    choice = choose_order(plan.costs(), level, delta)
    epsilon, chance = plan.epsilon(), float(plan.delta)
    told = {
        "order": choice.order,
        "cost": choice.cost.level,
        "plans": choice.plans,
        "plans_by_adding_levels": min(math.floor(level / epsilon), math.floor(delta / chance)),
    }
    return choice, told


def _number(written: str) -> float:
    try:
        found = float(written)
    except ValueError:
        found = math.nan
    if math.isnan(found):
        raise InvalidArgument(f"--limit {written} must be a number, or inf")
    return found


def _both(level: float, delta: float) -> str:
    return f"{level:g}" + (f", δ {delta:.3g}" if delta else "")


def _report(
    account: Account,
    *,
    as_json: bool,
    delta: float = 1e-5,
    told: Mapping[str, float] | None = None,
) -> None:
    if as_json:
        chosen = {} if told is None else {"for_plan": dict(told)}
        print_json(account.as_dict() | {"sentence": account.sentence(delta)} | chosen, indent=2)
        return
    console = stdout()
    limit, used, left = account.limit.most, account.spent, account.left
    lines = [
        f"measure: {account.limit.measure.value}"
        + (f" of order {account.limit.order:g}" if account.limit.order else ""),
        f"limit: {_both(limit.level, limit.probability)}",
        f"used: {_both(used.level, used.probability)} in {account.charges:,} charges"
        + (
            f", of which {account.held.level:g} is held by work in progress"
            if account.held.units
            else ""
        ),
        f"left: {_both(left.level, left.probability)}",
        *(["closed: nothing more can be charged"] if account.closed else []),
        account.sentence(delta),
    ]
    if told is not None:
        lines.append(
            f"Such a plan costs {told['cost']:.6g} at this order, and {told['plans']:,} of them "
            f"fit; by adding levels and deltas, {told['plans_by_adding_levels']:,} would."
        )
    for line in lines:
        console.print(in_options(line), markup=False)
