"""``sfumato init``: write a settings file to begin with, or show a preset."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from sfumato.cli import options
from sfumato.cli.output import note
from sfumato.core.config import NAME, preset_text, presets
from sfumato.core.files import refuse_existing, write_whole

DEFAULT = "support-desk"


def init(
    path: Annotated[Path, typer.Argument(metavar="FILE", help="Where to write it.")] = Path(NAME),
    preset: Annotated[
        str, typer.Option("--preset", metavar="NAME", help=f"One of {', '.join(presets())}.")
    ] = DEFAULT,
    show: Annotated[bool, typer.Option("--print", help="Show it, and write nothing.")] = False,
    overwrite: options.OverwriteOption = False,
) -> None:
    """Write a settings file, which every command here and in folders below then uses.

    It is a preset with its comments, to be changed. What is typed on a command line wins over it,
    and --no-config leaves it out.

    Example: sfumato init --preset clinical-notes
    """
    text = preset_text(preset)
    if show:
        sys.stdout.write(text)
        return
    refuse_existing(path, overwrite=overwrite)
    write_whole(path, text.encode())
    note(f"{path} is written; sfumato privatize uses it here and in folders below")
