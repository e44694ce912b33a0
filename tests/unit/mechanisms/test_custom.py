"""Inside a group no pair exceeds the level; across groups nothing is hidden, and that is said."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from pairs import Logs, all_points, all_rows, worst_excess
from sfumato.core.errors import IncomparableGuarantees, InvalidArgument
from sfumato.core.randomness import Randomness
from sfumato.guarantees.guarantee import Notion
from sfumato.mechanisms import custom as module
from sfumato.mechanisms.build import build_mechanism
from sfumato.mechanisms.claims import covered_outputs, loss_bounds
from sfumato.mechanisms.custom import NOBODY, Custom
from sfumato.mechanisms.draws import draw_from_rows
from sfumato.mechanisms.selective import Selective
from sfumato.mechanisms.vocabulary import OverVocabulary
from sfumato.policies.patterns import Digits, Everything
from sfumato.releases.privatizer import Privatizer
from sfumato.releases.sidefile import side_file
from sfumato.releases.tally import Tally
from sfumato.vectors.load import default_space
from sfumato.vectors.space import Space

LEVELS = pytest.mark.parametrize("epsilon", [0.1, 1.0, 10.0, 100.0])
SIZES = pytest.mark.parametrize("size", [2, 3, 20, 1000])  # the last puts all words in one group


def written_out(claim: Custom, *, half: float = 0.5, nearest_to_input: bool = False) -> Logs:
    """Rows from the definition, one input at a time, or of a twin that strays from it."""
    space, logs = claim.space, []
    places = space.at(all_points(space))
    apart = np.sqrt(np.square(places[:, None] - places[None]).sum(axis=2))
    for point in all_points(space).tolist():
        group = np.flatnonzero(claim.groups == claim.groups[point])
        outputs = group[group < space.unknown]
        widest = apart[np.ix_(group, outputs)].max()
        if nearest_to_input:
            outputs = space.distances_from(point).argsort(kind="stable")[: len(outputs)]
        similarity = 1 - apart[point, outputs] / (widest or 1.0)
        # Shifted by the largest, so that no level is too high.
        scores = half * claim.epsilon * (similarity - similarity.max())
        row = np.full(len(space), -np.inf)
        row[outputs] = scores - math.log(math.fsum(np.exp(scores)))
        logs.append(row)
    return np.stack(logs)


# --- the inequality --------------------------------------------------------------------------


@LEVELS
@SIZES
def test_no_pair_inside_a_group_exceeds_the_claim(
    random_space: Space, epsilon: float, size: int
) -> None:
    custom = Custom(space=random_space, epsilon=epsilon, size=size)
    assert covered_outputs(custom).all()
    assert worst_excess(all_rows(custom), custom) <= 1e-9


@LEVELS
@SIZES
def test_every_row_sums_to_one(random_space: Space, epsilon: float, size: int) -> None:
    rows = np.exp(all_rows(Custom(space=random_space, epsilon=epsilon, size=size)))
    assert np.abs(rows.sum(axis=1) - 1).max() <= 1e-12


@LEVELS
@SIZES
def test_rows_are_the_definition_written_out(
    random_space: Space, epsilon: float, size: int
) -> None:
    custom = Custom(space=random_space, epsilon=epsilon, size=size)
    rows = all_rows(custom)
    naive = written_out(custom)
    assert (np.isfinite(rows) == np.isfinite(naive)).all()
    assert np.abs(np.exp(rows) - np.exp(naive)).max() <= 1e-12
    assert rows[np.isfinite(rows)] == pytest.approx(naive[np.isfinite(naive)], abs=1e-9)
    assert custom.log_row(5) == pytest.approx(naive[5], abs=1e-9)


@LEVELS
def test_twin_without_the_half_is_caught(small_space: Space, epsilon: float) -> None:
    # One group with a crowd at one end and a lonely word at the other, so that the sums differ.
    claim = Custom(space=small_space, epsilon=epsilon, size=12)
    # The twin fails for what was left out, not for how it is written.
    assert worst_excess(written_out(claim), claim) <= 1e-9
    assert worst_excess(written_out(claim, half=1.0), claim) > 1e-3


@LEVELS
def test_twin_whose_outputs_are_the_nearest_of_the_input_is_caught(
    random_space: Space, epsilon: float
) -> None:
    claim = Custom(space=random_space, epsilon=epsilon, size=20)
    assert worst_excess(written_out(claim, nearest_to_input=True), claim) == math.inf


@LEVELS
def test_twin_that_does_not_scale_its_similarity_is_caught(
    random_space: Space, epsilon: float
) -> None:
    claim = Custom(space=random_space, epsilon=epsilon, size=20)
    widest = float(claim.diameters.max())
    assert widest > 2
    assert worst_excess(written_out(claim, half=0.5 * widest), claim) > 1e-6


def test_across_groups_every_output_tells_the_two_apart(random_space: Space) -> None:
    custom = Custom(space=random_space, epsilon=0.1, size=20)
    possible = np.isfinite(all_rows(custom))
    for point in all_points(random_space).tolist():
        bounds = loss_bounds(custom, point)
        elsewhere = custom.groups != custom.groups[point]
        assert elsewhere.any()
        assert np.isinf(bounds[elsewhere]).all()
        # Whatever is possible for the one is impossible for the other.
        assert not (possible[elsewhere] & possible[point]).any()
        assert bounds[point] == 0
        assert (np.delete(bounds, point)[~np.delete(elsewhere, point)] == 0.1).all()


def test_no_pair_of_the_embedded_words_exceeds_the_claim() -> None:
    custom = Custom(space=default_space(), epsilon=5.0)
    logs = custom.log_inside(all_points(custom.space))
    order = custom.groups[:-1].argsort(kind="stable")
    inside = logs[order].reshape(len(custom.members), -1, custom.members.shape[1])
    spread = inside.max(axis=1) - inside.min(axis=1)
    assert spread.max() <= 5.0 + 1e-9
    assert spread.max() > 2.5
    home = inside[custom.groups[-1]]
    assert np.abs(home - logs[-1]).max() <= 5.0 + 1e-9


# --- groups and the unknown point ------------------------------------------------------------


def test_groups_partition_the_vocabulary_in_public_order(random_space: Space) -> None:
    custom = Custom(space=random_space, epsilon=1, size=7)
    present = custom.members[custom.members != NOBODY]
    assert sorted(present.tolist()) == list(range(len(random_space)))
    for number, row in enumerate(custom.members):
        words = row[row != NOBODY]
        assert (np.diff(words) > 0).all()
        assert len(words) >= 7
        assert (custom.groups[words] == number).all()


def test_groups_are_the_same_for_everybody_who_knows_the_vectors(random_space: Space) -> None:
    first = Custom(space=random_space, epsilon=1, size=5)
    first.privatize(np.array([3, 3, 100]), Randomness.secure())
    copy = Space("another name", list(random_space.words), random_space.vectors.copy())
    second = Custom(space=copy, epsilon=50, size=5)
    assert (first.groups == second.groups).all()
    assert (first.diameters == second.diameters).all()


def test_the_unknown_point_belongs_to_the_group_of_the_nearest_word(small_space: Space) -> None:
    custom = Custom(space=small_space, epsilon=2.0, size=3)
    nearest = int(small_space.distances_from(small_space.unknown).argmin())
    assert custom.groups[-1] == custom.groups[nearest]
    row = custom.row(small_space.unknown)
    assert (np.flatnonzero(row) == custom.members[custom.groups[nearest]]).all()
    assert loss_bounds(custom, small_space.unknown)[nearest] == 2.0


def test_the_diameter_counts_the_unknown_point() -> None:
    # The two words next to the centroid stand close together, and the centroid far from both.
    vectors = np.array([[-9, 0], [-9, 1], [9, 0], [9, 1], [0, 5], [0, 5.5]], dtype=np.float32)
    custom = Custom(space=Space("ring", list("abcdef"), vectors), epsilon=3.0, size=2)
    assert custom.groups.tolist() == [0, 0, 1, 1, 2, 2, 2]
    assert custom.diameters[:2] == pytest.approx(1.0)
    assert custom.diameters[2] == pytest.approx(5.5 - 12.5 / 6)
    assert worst_excess(all_rows(custom), custom) <= 1e-9


def test_words_that_all_stand_at_one_place_are_drawn_alike() -> None:
    vectors = np.array([[1, 2]] * 4 + [[5, 5]] * 4, dtype=np.float32)
    custom = Custom(space=Space("two places", list("abcdefgh"), vectors), epsilon=50.0, size=4)
    assert custom.diameters[custom.groups[4]] == 0.0
    assert custom.row(4)[4:] == pytest.approx(0.25, rel=1e-12)


# --- drawing ---------------------------------------------------------------------------------


@pytest.mark.parametrize("size", [2, 7, 1000])
def test_draws_are_those_from_whole_rows(random_space: Space, size: int) -> None:
    custom = Custom(space=random_space, epsilon=2.0, size=size)
    points = np.tile(all_points(random_space), 30)
    inside = custom.privatize(points, Randomness.reproducible(4))
    whole = draw_from_rows(custom, points, Randomness.reproducible(4))
    assert (inside == whole).all()
    assert (custom.groups[inside] == custom.groups[points]).all()


def test_drawing_never_builds_a_row_over_the_vocabulary(
    random_space: Space, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> None:
        raise AssertionError("a whole row was built")

    monkeypatch.setattr(Custom, "log_rows", refuse)
    custom = Custom(space=random_space, epsilon=2.0)
    assert len(custom.privatize(all_points(random_space), Randomness.secure())) == 201


def test_rows_do_not_depend_on_blocks(random_space: Space, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = all_rows(Custom(space=random_space, epsilon=2.0, size=7))
    monkeypatch.setattr(module, "CELLS", 1)
    assert (all_rows(Custom(space=random_space, epsilon=2.0, size=7)) == whole).all()


def test_at_a_very_high_level_words_stay(small_space: Space) -> None:
    points = all_points(small_space)
    custom = Custom(space=small_space, epsilon=1e9, size=3)
    outputs = custom.privatize(points, Randomness.secure())
    assert (outputs[:-1] == points[:-1]).all()
    assert outputs[-1] == small_space.distances_from(small_space.unknown).argmin()


# --- what is said ----------------------------------------------------------------------------


def test_the_guarantee_says_that_across_groups_there_is_none(random_space: Space) -> None:
    guarantee = Custom(space=random_space, epsilon=3, size=7).guarantee()
    assert guarantee.notion is Notion.LDP_WITHIN_GROUPS
    assert guarantee.epsilon == 3.0
    sentence = guarantee.sentence()
    assert "at most exp(3) times likelier" in sentence
    assert "of the same group" in sentence
    assert "words of different groups are told apart for certain" in sentence
    assert "epsilon is infinite" in sentence
    assert "still visible: at any epsilon, which group each original is in" in sentence
    assert "groups of 7 or 8 words of random" in sentence
    assert "·d" not in sentence


def test_the_sizes_in_the_guarantee_are_those_of_the_groups(random_space: Space) -> None:
    for size in (2, 7, 20, 99, 150, 1000):
        custom = Custom(space=random_space, epsilon=3, size=size)
        sizes = sorted(set(np.bincount(custom.groups[:-1]).tolist()))
        listed = " or ".join(str(one) for one in sizes)
        assert f"(groups of {listed} words of random" in custom.guarantee().leaks[0]


def test_a_selection_compares_words_of_one_group_only(small_space: Space) -> None:
    over = OverVocabulary(points=Custom(space=small_space, epsilon=2.0, size=3))
    for policy in (Digits(), Everything()):
        guarantee = Selective(policy=policy, mechanism=over).guarantee()
        assert guarantee.notion is Notion.LDP_WITHIN_GROUPS
        assert "any two values of one word in the same group" in guarantee.neighbors
        assert "told apart for certain" in guarantee.sentence()
        assert any("which group each original is in" in leak for leak in guarantee.leaks)


def test_the_side_file_speaks_of_groups_and_of_no_distance(small_space: Space) -> None:
    privatizer = Privatizer(
        policy="digits", mechanism="custom", epsilon=2, vectors=small_space, settings={"size": 3}
    )
    content = side_file(privatizer, Tally(), has_fields=False)
    assert "exp(2) bounds" in content["per_word"]["statement"]
    assert "of the same group" in content["per_word"]["statement"]
    assert "leaves its group" in content["per_document"]["statement"]
    for part in ("per_word", "per_document"):
        assert "distance" not in content[part]["statement"]
    assert content["settings"]["mechanism_settings"] == {"size": 3}


def test_releases_add_up_for_the_same_groups_only(small_space: Space) -> None:
    custom = Custom(space=small_space, epsilon=2.0, size=3)
    assert custom.guarantee().then(replace(custom, epsilon=1.0).guarantee()).epsilon == 3.0
    other = Space("small", small_space.words, small_space.vectors.copy())
    for different in (replace(custom, size=4), replace(custom, space=other)):
        with pytest.raises(IncomparableGuarantees):
            custom.guarantee().then(different.guarantee())


# --- settings --------------------------------------------------------------------------------


@pytest.mark.parametrize("size", [0, 1, -5, 1001, 2.5, math.nan, True, "many"])
def test_a_size_that_is_none_is_refused(small_space: Space, size: int) -> None:
    with pytest.raises(InvalidArgument, match="size="):
        Custom(space=small_space, epsilon=1, size=size)


@pytest.mark.parametrize(("size", "allowed"), [(1, "at least 2"), (1001, "at most 1000")])
def test_a_size_out_of_range_is_refused_with_the_range(
    small_space: Space, size: int, allowed: str
) -> None:
    with pytest.raises(InvalidArgument, match=f"size={size} must be {allowed}"):
        Custom(space=small_space, epsilon=1, size=size)


def test_zero_epsilon_is_refused_with_a_reason(small_space: Space) -> None:
    with pytest.raises(InvalidArgument, match=r"epsilon=0 must be greater than 0"):
        Custom(space=small_space, epsilon=0)


def test_the_size_is_read_from_the_command_line(small_space: Space) -> None:
    built = build_mechanism("custom", space=small_space, epsilon=1.0, settings={"size": "5"})
    assert isinstance(built, Custom)
    assert built.size == 5
