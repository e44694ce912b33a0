"""``sfumato.preset``: the settings of a preset, or of a settings file, as keywords."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from sfumato.core.config import OF_ONE_RUN, read_config, read_preset
from sfumato.core.errors import InvalidArgument, UnknownName
from sfumato.core.settings import settings_of


def preset(name: str | Path) -> dict[str, Any]:
    """The keywords for ``privatize`` that a preset holds, or a settings file.

    A text that ends in .toml, or a path, is a file.

    >>> preset("chat-logs")["settings"]
    {'consistent': 'no'}
    """
    from sfumato.verbs.privatize import privatize

    named = isinstance(name, str) and not name.endswith(".toml")
    config = read_preset(str(name)) if named else read_config(Path(name))
    found = dict(config.table("privatize"))
    known = [one for one in settings_of(privatize) if one not in {"source", "output", *OF_ONE_RUN}]
    for key in found:
        if key in OF_ONE_RUN:
            raise InvalidArgument(f"{config.label}: {key} is for one run, and not for a file")
        if key not in known:
            raise UnknownName(f"key in [privatize] of {config.label}", key, known)
    return found
