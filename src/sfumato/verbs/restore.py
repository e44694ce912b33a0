"""Undo the pseudonyms in a file, for whoever has its vault and the key."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from sfumato.core.checks import names
from sfumato.core.errors import InvalidArgument
from sfumato.verbs.inputs import Placed, path_of

if TYPE_CHECKING:
    from sfumato.releases.restoring import Restored


def restore(
    source: Placed,
    output: str | Path,
    *,
    vault: str | Path,
    vault_key: str | Path | None = None,
    field: str | Sequence[str] | None = None,
    format: str | None = None,
    encoding: str = "utf-8",
    overwrite: bool = False,
) -> Restored:
    """Put back what pseudonyms stand for; every other character stands as it was.

    ``source`` is a file that was privatized with a ``vault``, or any text in which its codes stand.
    The key is in the file ``vault_key``, or in the environment variable SFUMATO_VAULT_KEY. Which
    fields hold text, and how the file is read, is told by what stands beside a privatized file,
    unless it is given.

    Where the codes stand as they were written each place gets back its own spelling; elsewhere a
    code gets back the first spelling that stood for it. Codes that the vault does not know stay.
    The output is private text again.
    """
    from sfumato.files.formats import of_path
    from sfumato.files.source import Source
    from sfumato.releases.recorded import recorded_format, recorded_layout, recorded_settings
    from sfumato.releases.restoring import restore_file
    from sfumato.releases.vault import Vault

    path, target = path_of(source), Path(output)
    told = recorded_settings(path)
    layout = recorded_layout(
        told,
        field=None if field is None else names("field", field),
        encoding=encoding,
        several=True,
    )
    kind = recorded_format(told, format)
    text = Source.of(path, layout, file_format=kind, like=target)
    wanted = of_path(target)
    if kind is None and wanted is not None and wanted.name != text.format.name:
        raise InvalidArgument(
            f"the input is {text.format.name} but {target.name} looks like {wanted.name}; "
            "restoring keeps the format (compression may change)"
        )
    return restore_file(text, target, Vault.of(vault, vault_key), overwrite=overwrite)
