"""Names that a package exports without importing anything until one is used (PEP 562).

Every ``__init__`` that exports names lists them twice: for type checkers and editors as imports
under ``TYPE_CHECKING``, and for Python as a mapping from the module to its names. A test checks
that both lists are equal, and that no exported name is also the name of a module in the package:
importing that module would replace the exported name.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any


def export(
    package: str, names: Mapping[str, str]
) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """The package's ``__getattr__`` and ``__dir__``; ``names`` maps each module to its names.

    >>> found, listed = export("sfumato.core", {"sfumato.core.randomness": "Randomness"})
    >>> found("Randomness").__name__, listed()
    ('Randomness', ['Randomness'])
    """
    places = {name: module for module, listed in names.items() for name in listed.split()}

    def find(name: str) -> Any:
        if name not in places:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        return getattr(import_module(places[name]), name)

    def names_of() -> list[str]:
        return sorted(places)

    return find, names_of
