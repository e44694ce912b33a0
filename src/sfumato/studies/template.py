"""A study to begin with: every table explained in the file itself, and ready to run."""

from __future__ import annotations

from importlib.resources import files
from pathlib import Path

from sfumato.core.errors import StorageFailed
from sfumato.core.files import refuse_existing, write_whole


def template() -> str:
    """The commented file."""
    return files("sfumato.studies").joinpath("data", "template.toml").read_text("utf-8")


def write_template(path: Path, *, overwrite: bool = False) -> None:
    """Write the commented file somewhere."""
    refuse_existing(path, overwrite=overwrite)
    try:
        write_whole(path, template().encode())
    except OSError as error:
        raise StorageFailed(f"cannot write {path}: {error.strerror or 'it failed'}") from None
