"""One world for all tests of the attack: it is trained once."""

from __future__ import annotations

import pytest

from unit.attacks.membership.small import (
    ODD_MEMBERS,
    ODD_OTHERS,
    World,
    made_up,
    trained,
    written,
)


@pytest.fixture(scope="session")
def world(tmp_path_factory: pytest.TempPathFactory) -> World:
    """24 texts known by heart and 24 that were not seen, with a few odd ones on both sides."""
    folder = tmp_path_factory.mktemp("membership")
    members, others = made_up(24, 1) + ODD_MEMBERS, made_up(24, 2) + ODD_OTHERS
    return World(
        run=trained(folder / "run", members),
        members=written(folder / "members.jsonl", members),
        others=written(folder / "others.jsonl", others),
        references=tuple(
            trained(folder / f"reference{seed}", made_up(24, 100 + seed), epochs=5, seed=seed)
            for seed in (5, 6, 7)
        ),
        cache=folder / "cache",
    )
