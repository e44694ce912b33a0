"""Other packages add components through entry points, and cannot take a name that is ours."""

from __future__ import annotations

from collections.abc import Iterator
from importlib.metadata import EntryPoint

import pytest

from sfumato import catalog
from sfumato.core.errors import UnknownName
from sfumato.policies.parsing import parse_policy
from sfumato.policies.patterns import Digits, Everything


@pytest.fixture
def third_party(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    def found(group: str) -> list[EntryPoint]:
        place = "sfumato.policies.patterns:Everything"
        names = ["shouting", "digits"] if group == "sfumato.policies" else []
        return [EntryPoint(name, place, group) for name in names]

    monkeypatch.setattr(catalog, "entry_points", found)
    catalog.entries.cache_clear()
    yield
    catalog.entries.cache_clear()


@pytest.mark.usefixtures("third_party")
def test_an_entry_point_adds_a_name_and_never_replaces_ours() -> None:
    assert isinstance(parse_policy("shouting"), Everything)
    assert isinstance(parse_policy("digits"), Digits)


def test_an_unknown_kind_and_an_unknown_component_are_guessed() -> None:
    with pytest.raises(UnknownName, match="did you mean 'policies'"):
        catalog.entries("policy")
    with pytest.raises(UnknownName, match="did you mean 'laplace'"):
        catalog.search("laplac")
