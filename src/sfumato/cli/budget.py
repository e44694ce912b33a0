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
    from sfumato.accounting.budget.accounts import Account
    from sfumato.accounting.budget.shared import Budget

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
        str, typer.Option("--measure", help="level, approximate, rho or renyi.")
    ] = "level",
    delta: Annotated[
        float, typer.Option("--delta", help="The limit of delta, for 'approximate'.")
    ] = 0.0,
    order: Annotated[
        float | None, typer.Option("--order", help="The one order, for 'renyi'.")
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
    most = Limit.of(measure, _number(limit), delta=delta, order=order)
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
    json: options.JsonOption = False,
) -> None:
    """All charges of an account, the oldest first.

    Example: sfumato budget history budget.db --account corpus:tickets --key budget.key
    """
    with _at(budget, key) as found:
        charges = found.history(account)
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
        Path, typer.Option("--output", "-o", metavar="FILE", help="A page in Markdown.")
    ],
    key: KeyOption = None,
    delta: DeltaOption = 1e-5,
    overwrite: options.OverwriteOption = False,
) -> None:
    """A page for a data-protection officer: what holds, what was charged and when.

    Example: sfumato budget export budget.db --account corpus:tickets -o statement.md
    --key budget.key
    """
    from sfumato.accounting.budget.statement import statement
    from sfumato.core.files import refuse_existing, write_whole

    refuse_existing(output, overwrite=overwrite)
    with _at(budget, key) as found:
        page = statement(found.code(account), found.show(account), found.history(account), delta)
    write_whole(output, page.encode())
    stdout().print(f"wrote {output}", markup=False)


def _at(place: str, key: Path | None, *, new: bool = False) -> Budget:
    from sfumato.accounting.budget.shared import Budget

    return Budget.at(place, key, new=new)


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


def _report(account: Account, *, as_json: bool, delta: float = 1e-5) -> None:
    if as_json:
        print_json(account.as_dict() | {"sentence": account.sentence(delta)}, indent=2)
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
    for line in lines:
        console.print(in_options(line), markup=False)
