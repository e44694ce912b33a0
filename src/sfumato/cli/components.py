"""``sfumato list``: what there is.

``sfumato show``: one component in full.
"""

from __future__ import annotations

import inspect
import sys
from dataclasses import MISSING, fields, is_dataclass
from typing import Annotated, Any

import typer

from sfumato.catalog import KINDS, Entry, entries, search
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


def show(
    name: Annotated[str, typer.Argument(metavar="NAME", help="NAME, or KIND/NAME.")],
    json: JsonOption = False,
) -> None:
    """Show what a component does, its settings and its guarantee."""
    described = [_describe(entry) for entry in search(name)]
    if json:
        print_json(described if len(described) > 1 else described[0], indent=2)
        return
    console = stdout()
    for one in described:
        console.print(f"[bold]{one['kind']}/{one['name']}[/bold] — {one['summary']}")
        for setting in one["settings"]:
            default = "" if setting["default"] is None else f" = {setting['default']}"
            console.print(f"  {setting['name']}: {setting['type']}{default}", markup=False)
        if "inputs" in one:
            console.print(f"  takes: {', '.join(one['inputs'])}", markup=False)
        console.print("\n" + one["description"] + "\n", markup=False)


def _describe(entry: Entry) -> dict[str, Any]:
    component = entry.load()
    module = sys.modules[component.__module__]
    takes = {}
    if entry.kind == "attacks":
        from sfumato.attacks.attack import needs_of

        takes = {"inputs": list(needs_of(component).inputs)}
    return takes | {
        "kind": entry.kind,
        "name": entry.name,
        "summary": entry.summary,
        "settings": _settings(component, _GIVEN if entry.kind == "mechanisms" else ()),
        "description": inspect.getdoc(module if entry.kind in _TOLD_BY_MODULE else component) or "",
    }


# Of these the module's own page says most.
_TOLD_BY_MODULE = ("attacks", "measures", "mechanisms", "methods")
# Given by --vectors, --epsilon, --policy and --level, not by --set.
_GIVEN = ("epsilon", "levels", "mechanism", "policy", "space")


def _settings(component: Any, given: tuple[str, ...]) -> list[dict[str, Any]]:
    if not is_dataclass(component):
        return []
    return [
        {
            "name": field.name.removesuffix("_"),
            "type": field.type if isinstance(field.type, str) else field.type.__name__,
            "default": None if field.default is MISSING else field.default,
        }
        for field in fields(component)
        if field.init and field.name not in given
    ]
