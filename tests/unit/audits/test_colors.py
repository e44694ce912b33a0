"""The small space has what breaks wrong mechanisms: shared places, near-duplicates, a rim."""

from __future__ import annotations

import numpy as np
import pytest

from sfumato.audits.colors import color_space
from sfumato.mechanisms.claims import euclidean


def test_colors_stand_where_their_codes_say() -> None:
    space = color_space(4.0)
    assert len(set(space.words)) == len(space) == 40
    assert space.vectors[space.point_of("white")].tolist() == [1.0, 1.0, 1.0]
    assert space.vectors[space.point_of("navy")] == pytest.approx([0, 0, 128 / 255])


def test_some_share_a_place_and_some_are_near_duplicates() -> None:
    space = color_space(1.0)
    away = euclidean(space, space.point_of("aqua"))
    assert away[space.point_of("cyan")] == 0
    assert 0 < euclidean(space, space.point_of("navy"))[space.point_of("darkblue")] < 0.2


@pytest.mark.parametrize("epsilon", [1e-3, 1.0, 1e3])
def test_the_scale_makes_claims_alike_at_every_level(epsilon: float) -> None:
    space = color_space(epsilon)
    bounds = np.stack([epsilon * euclidean(space, point) for point in range(41)])
    assert bounds.max() == pytest.approx(4.0 * 3**0.5, rel=1e-5)
