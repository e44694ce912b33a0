"""``sfumato restore``: undo pseudonyms with a vault."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from sfumato.cli import options
from sfumato.cli.output import note, print_json


def restore(  # noqa: PLR0913  # a command's options are its parameters
    source: Annotated[str, typer.Argument(metavar="IN", help="A privatized file, or - for stdin.")],
    output: options.OutputOption,
    vault: options.VaultOption,
    vault_key: options.VaultKeyOption = None,
    field: options.RecordedFieldsOption = [],  # noqa: B006
    file_format: options.FormatOption = None,
    encoding: options.EncodingOption = "utf-8",
    overwrite: options.OverwriteOption = False,
    json: options.JsonOption = False,
) -> None:
    """Put back what pseudonyms stand for; it takes the vault and its key.

    IN is what 'sfumato privatize -m pseudonym --vault FILE' wrote, or any text with its codes.
    Where they stand as they were written, each place gets back its own spelling. Codes that the
    vault does not know stay. What is written is private text again.

    Example: sfumato restore coded.jsonl -o again.jsonl --vault notes.vault --vault-key vault.key
    """
    from sfumato.files.output import is_stream
    from sfumato.files.paths import split_names
    from sfumato.verbs.restore import restore as restored

    found = restored(
        source,
        output,
        vault=vault,
        vault_key=vault_key,
        field=split_names(field) or None,
        format=file_format,
        encoding=encoding,
        overwrite=overwrite,
    )
    if json and not is_stream(output):
        print_json(found.as_dict())
        return
    text = "\n".join(found.lines)
    # With -o - the data own stdout.
    note(text) if is_stream(output) else sys.stdout.write(text + "\n")
