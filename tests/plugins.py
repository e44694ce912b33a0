"""Components of another package: a file that a test writes, and its entry in the catalog."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.metadata import EntryPoint
from pathlib import Path
from textwrap import dedent

import pytest

from sfumato import catalog


@contextmanager
def installed(folder: Path, kind: str, entry: str, source: str) -> Iterator[None]:
    """One file and one entry, ``NAME = MODULE:CLASS``, as long as the block lasts."""
    name, place = (part.strip() for part in entry.split("="))
    module = place.partition(":")[0]
    (folder / f"{module}.py").write_text(dedent(source))

    def found(group: str) -> list[EntryPoint]:
        return [EntryPoint(name, place, group)] if group == f"sfumato.{kind}" else []

    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(folder))
        patch.setattr(catalog, "entry_points", found)
        catalog.entries.cache_clear()
        yield
    catalog.entries.cache_clear()
    sys.modules.pop(module, None)
