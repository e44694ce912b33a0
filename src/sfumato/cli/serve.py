"""``sfumato serve`` and ``sfumato studio``: the service over HTTP, and its page."""

from __future__ import annotations

import sys
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from sfumato.cli import options
from sfumato.cli.output import cell, note, print_json, stdout
from sfumato.core.errors import InvalidArgument

if TYPE_CHECKING:
    from sfumato.service.settings import ServiceSettings

app = typer.Typer(help="The service over HTTP, and the tokens of its callers.")
token_app = typer.Typer(help="Tokens: who may ask the service for what.", no_args_is_help=True)
app.add_typer(token_app, name="token")

EVERY = "analyze,release,explain,budget,admin"
HostOption = Annotated[
    str, typer.Option("--host", help="The address to listen at; all but loopback is the world.")
]
PortOption = Annotated[int, typer.Option("--port", help="0 takes a free port.")]
NameOption = Annotated[
    list[str],
    typer.Option(
        "--allow-host", metavar="NAME", help="A further name by which callers may call it."
    ),
]
TokensOption = Annotated[
    Path | None,
    typer.Option(
        "--tokens", metavar="FILE", help="The file of tokens ('sfumato serve token add')."
    ),
]
TokenFileOption = Annotated[
    Path, typer.Option("--tokens", metavar="FILE", help="The file of tokens; made if missing.")
]
BudgetOption = Annotated[
    str | None,
    typer.Option(
        "--budget", metavar="BUDGET", help="A budget to charge: a file, or postgresql://…"
    ),
]
BudgetKeyOption = Annotated[
    Path | None,
    typer.Option("--budget-key", metavar="FILE", help="Its key; otherwise SFUMATO_BUDGET_KEY is."),
]
UnchargedOption = Annotated[
    bool,
    typer.Option(
        "--uncharged", help="Also release without an account, although there is a budget."
    ),
]


@app.callback(invoke_without_command=True)
def serve(  # noqa: PLR0913  # a command's options are its parameters
    context: typer.Context,
    host: HostOption = "127.0.0.1",
    port: PortOption = 8470,
    allow_host: NameOption = [],  # noqa: B006
    tokens: TokensOption = None,
    budget: BudgetOption = None,
    budget_key: BudgetKeyOption = None,
    uncharged: UnchargedOption = False,
    at_once: Annotated[
        int, typer.Option("--at-once", help="Requests that compute at the same time.")
    ] = 2,
    waiting: Annotated[
        int, typer.Option("--waiting", help="Requests that wait; more are sent away.")
    ] = 32,
    seconds: Annotated[
        float, typer.Option("--seconds", help="The longest that a request may take.")
    ] = 60.0,
    body: Annotated[int, typer.Option("--body", metavar="BYTES", help="The largest request.")] = 4
    << 20,
    per_minute: Annotated[
        int, typer.Option("--per-minute", help="Requests of one token in a minute.")
    ] = 6000,
) -> None:
    """Serve over HTTP what the commands do: analyze, anonymize, privatize, explain, budgets.

    It listens on this machine alone unless told otherwise, and every caller needs a token.

    Example: sfumato serve token add --tokens tokens.json --rights analyze,release && sfumato serve
    --tokens tokens.json --budget budget.db --budget-key budget.key
    """
    if context.invoked_subcommand is not None:
        return
    from sfumato.service.settings import Limits, ServiceSettings

    settings = ServiceSettings(
        host=host,
        port=port,
        hosts=tuple(allow_host),
        budget=budget,
        budget_key=budget_key,
        uncharged=uncharged,
        limits=Limits(
            body=body, at_once=at_once, waiting=waiting, seconds=seconds, per_minute=per_minute
        ),
    )
    _serve(settings, tokens)


@token_app.command("add")
def add_token(
    tokens: TokenFileOption,
    rights: Annotated[
        str,
        typer.Option("--rights", help=f"What it allows, of {EVERY.replace(',', ', ')}; or all."),
    ],
    label: Annotated[str, typer.Option("--label", help="Whose it is, for the list.")] = "",
    days: Annotated[
        float | None, typer.Option("--days", help="How long it is valid. [default: for ever]")
    ] = None,
) -> None:
    """Make a token and print it; it is not kept, so this is the only time.

    Example: sfumato serve token add --tokens tokens.json --rights analyze,release --label crm
    """
    from sfumato.service.tokens import Tokens, make_token

    named = EVERY if rights == "all" else rights
    spelled, kept = make_token(label, [one.strip() for one in named.split(",")], days)
    Tokens(tokens).add(kept)
    note(f"token {kept.id} is in {tokens}; only its hash is kept, so this is shown once:")
    stdout().print(spelled, markup=False)


@token_app.command("list")
def list_tokens(tokens: TokenFileOption, json: options.JsonOption = False) -> None:
    """All tokens: their numbers, labels and rights.

    Example: sfumato serve token list --tokens tokens.json
    """
    from sfumato.service.tokens import Tokens

    found = Tokens(tokens).listed()
    if json:
        print_json([one.as_dict() for one in found], indent=2)
        return
    from rich.table import Table

    table = Table("number", "label", "rights", "made", "until")
    for one in found:
        shown = ", ".join(sorted(right.value for right in one.rights))
        table.add_row(one.id, cell(one.label), shown, one.made, one.expires or "")
    stdout().print(table)


@token_app.command("revoke")
def revoke_token(
    number: Annotated[str, typer.Argument(metavar="NUMBER", help="The number of a token.")],
    tokens: TokenFileOption,
) -> None:
    """Take a token back; it no longer works from the next request on.

    Example: sfumato serve token revoke 1f3a9c20 --tokens tokens.json
    """
    from sfumato.service.tokens import Tokens

    gone = Tokens(tokens).revoke(number)
    stdout().print(f"token {gone.id} is no longer valid", markup=False)


def studio(
    port: PortOption = 0,
    budget: BudgetOption = None,
    budget_key: BudgetKeyOption = None,
    uncharged: UnchargedOption = False,
    browser: Annotated[
        bool, typer.Option("--browser/--no-browser", help="Open the page in a browser.")
    ] = True,
) -> None:
    """Open the studio: see what a level means on your own text before you release anything.

    It runs on this machine alone, and ends with Ctrl-C.

    Example: sfumato studio
    """
    from sfumato.service.running import open_page, run_service
    from sfumato.service.settings import ServiceSettings
    from sfumato.service.tokens import Tokens, make_token

    settings = ServiceSettings(port=port, budget=budget, budget_key=budget_key, uncharged=uncharged)
    spelled, kept = make_token("studio", EVERY.split(","))
    with ExitStack() as stack:

        def ready(address: str) -> None:
            if browser:
                stack.enter_context(open_page(address, spelled))
            else:
                stdout().print(f"{address}#token={spelled}", markup=False)
                sys.stdout.flush()
            note(f"the studio is at {address} until Ctrl-C")

        run_service(settings, Tokens(own=[kept]), ready)


def _serve(settings: ServiceSettings, path: Path | None) -> None:
    from sfumato.service.running import run_service
    from sfumato.service.tokens import Tokens, make_token

    if path is None and not sys.stdout.isatty():
        # Whatever is printed here ends up in a log.
        raise InvalidArgument(
            "name the file of tokens: `tokens=FILE`; 'sfumato serve token add --tokens FILE "
            "--rights analyze,release' makes one"
        )
    tokens = Tokens(path)
    if path is not None and not tokens.listed():
        raise InvalidArgument(
            f"there is no token in {path}, so nobody could call; 'sfumato serve token add' adds one"
        )
    spelled = ""
    if path is None:
        spelled, kept = make_token("this terminal", EVERY.split(","))
        tokens = Tokens(own=[kept])

    def ready(address: str) -> None:
        stdout().print(f"serving at {address}", markup=False)
        if spelled:
            stdout().print(f"a token until it stops: {spelled}", markup=False)
        sys.stdout.flush()
        if not settings.is_loopback:
            note(
                "it listens to other machines and does not encrypt: put a proxy with TLS before it"
            )

    run_service(settings, tokens, ready)
