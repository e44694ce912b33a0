"""``sfumato list``: what there is."""

from __future__ import annotations

from typing import Annotated

import typer

from sfumato.catalog import KINDS, entries
from sfumato.cli.options import JsonOption
from sfumato.cli.output import print_json, stdout


def list_components(
    kind: Annotated[
        str | None, typer.Argument(metavar=f"[{'|'.join(KINDS)}]", show_default=False)
    ] = None,
    json: JsonOption = False,
) -> None:
    """List the components of a kind, or all of them."""
    kinds = KINDS if kind is None else (kind,)
    found = [entry for one in kinds for entry in entries(one).values()]
    if json:
        fields = ("kind", "name", "summary")
        print_json([{name: getattr(entry, name) for name in fields} for entry in found])
        return
    from rich.table import Table

    table = Table("kind", "name", "what it does", box=None)
    for entry in found:
        table.add_row(entry.kind, entry.name, entry.summary)
    stdout().print(table)
