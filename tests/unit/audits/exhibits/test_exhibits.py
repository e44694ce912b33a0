"""Each exhibit does what it says: the published law on one side, the repair on the other.

Where draws are compared with a law, the tolerance is at least eight standard errors wide: no share
of the false-alarm budget is needed for that.
"""

from __future__ import annotations

import math

import numpy as np
import pytest

from pairs import all_rows
from sfumato.audits.exhibits import encoders, synthesis, words
from sfumato.audits.exhibits.exhibit import frequent_words
from sfumato.audits.exhibits.table import EXHIBITS, find_exhibit
from sfumato.audits.subject import VectorSubject
from sfumato.core.errors import UnknownName
from sfumato.core.randomness import Randomness
from sfumato.mechanisms.claims import loss_bounds
from sfumato.mechanisms.custom import Custom
from sfumato.mechanisms.laplace import laplace_coordinates
from sfumato.mechanisms.rows import distances
from sfumato.mechanisms.truncated import Truncated
from sfumato.mechanisms.vickrey import Vickrey
from sfumato.vectors.load import default_space


def source() -> Randomness:
    return Randomness.reproducible(12)


def drawn(subject: object, number: int, count: int = 4000) -> np.ndarray[tuple[int, int]]:
    assert isinstance(subject, VectorSubject)
    return np.asarray(subject.draw(number, count, source()))


def test_the_list_has_every_claim_that_must_be_caught() -> None:
    names = [exhibit.name for exhibit in EXHIBITS]
    assert names == [
        "adept",
        "aug-pe-labels",
        "broadcast-noise",
        "cape",
        "cape-one-noise",
        "classic-gaussian",
        "custext-across-groups",
        "custext-without-half",
        "dpnr",
        "dptext",
        "equal-coins",
        "federate",
        "flower-metrics",
        "flower-missing",
        "flower-next-norm",
        "flower-undefined",
        "flower-weights",
        "kappa-across-dimensions",
        "kept-stop-words",
        "micro-batches",
        "noise-over-batch",
        "ome",
        "one-epoch-for-all",
        "poisson-directions",
        "sentencepiece-one-word",
        "skipped-empty-batches",
        "stale-shares",
        "tem-wrong-bottom",
        "top-k-support",
        "truncated-gumbel",
        "unclipped-temperature",
        "vickrey-without-input",
    ]
    for exhibit in EXHIBITS:
        assert all((exhibit.source, exhibit.claim, exhibit.reason, exhibit.repair))
        assert find_exhibit(exhibit.name) is exhibit


def test_a_mistyped_exhibit_is_guessed() -> None:
    with pytest.raises(UnknownName, match="did you mean 'dptext'"):
        find_exhibit("dp-text")


def test_noise_of_coordinates_is_symmetric_with_the_given_scale() -> None:
    noise = laplace_coordinates((2000, 5), 3.0, source())
    assert np.abs(noise).mean() == pytest.approx(3.0, rel=0.1)
    assert abs(noise.mean()) < 0.4


def test_adept_clips_in_one_norm_and_pays_in_another() -> None:
    for subject, factor in (
        (encoders.ADEPT.broken(), 1.0),
        (encoders.ADEPT.repaired(), math.sqrt(encoders.ADEPT_DIMENSION)),
    ):
        outputs = drawn(subject, 0)
        spread = np.abs(outputs - 1 / math.sqrt(encoders.ADEPT_DIMENSION)).mean()
        assert spread == pytest.approx(
            2 * encoders.ADEPT_LENGTH / encoders.ADEPT_EPSILON * factor, rel=0.05
        )
    # The two codes differ by 2C√k in L1: with the published scale that costs √k times ε.
    clipped = encoders.ADEPT_CODES[:2] / np.linalg.norm(
        encoders.ADEPT_CODES[:2], axis=1, keepdims=True
    )
    published = 2 * encoders.ADEPT_LENGTH / encoders.ADEPT_EPSILON
    loss = np.abs(clipped[0] - clipped[1]).sum() / published
    assert loss == pytest.approx(math.sqrt(encoders.ADEPT_DIMENSION) * encoders.ADEPT_EPSILON)


def test_dptext_never_goes_below_its_input() -> None:
    for number, state in enumerate(encoders.DPTEXT_STATES):
        assert drawn(encoders.DPTEXT.broken(), number).min() >= state
        repaired = drawn(encoders.DPTEXT.repaired(), number) - state
        assert (repaired < 0).mean() == pytest.approx(0.5, abs=0.03)
        assert np.abs(repaired).mean() == pytest.approx(encoders.DPTEXT_SCALE, rel=0.05)


def test_dpnr_drops_the_word_and_scales_for_one_coordinate() -> None:
    assert pytest.approx(math.log(0.9 * math.e + 0.1)) == encoders.DPNR_LEVEL
    means = drawn(encoders.DPNR.broken(), 1, 20_000).mean(axis=1)
    assert means.mean() == pytest.approx(1 - encoders.DPNR_DROPPED, abs=0.03)
    assert abs(drawn(encoders.DPNR.broken(), 0, 20_000).mean()) < 0.03
    # Without dropout one level of ε is spent k times: what the claim pays for once.
    assert encoders.DPNR_DIMENSION * encoders.DPNR_EPSILON > encoders.DPNR_LEVEL


def test_ome_keeps_bits_with_the_published_chances() -> None:
    ones = drawn(encoders.OME.broken(), 0, 20_000).mean(axis=0)
    even = np.arange(encoders.OME_PLACES) % 2 == 0
    assert ones[encoders.OME_CODES[0] & even] == pytest.approx(100 / 101, abs=0.01)
    assert ones[encoders.OME_CODES[0] & ~even] == pytest.approx(1e-6, abs=1e-3)
    assert ones[~encoders.OME_CODES[0]] == pytest.approx(
        1 / (1 + 100 * math.exp(1 / encoders.OME_PLACES)), abs=0.01
    )
    one_bit = math.log((100 / 101) * (1 + 100 * math.exp(1 / encoders.OME_PLACES)))
    assert one_bit == pytest.approx(math.log(100) + 1 / encoders.OME_PLACES, abs=0.02)
    assert one_bit > encoders.OME_EPSILON


def test_repaired_ome_costs_epsilon_over_all_bits() -> None:
    flipped = 1 / (1 + math.exp(encoders.OME_EPSILON / encoders.OME_PLACES))
    assert encoders.OME_PLACES * math.log((1 - flipped) / flipped) == pytest.approx(
        encoders.OME_EPSILON
    )
    assert (encoders.OME_CODES[0] != encoders.OME_CODES[1]).all()


def test_vickrey_without_the_input_never_gives_it() -> None:
    broken = words.VICKREY_WITHOUT_INPUT.broken()
    assert isinstance(broken, words.VickreyWithoutTheInput)
    points = np.arange(len(broken.space) + 1).repeat(50)
    assert (broken.privatize(points, source()) != points).all()
    repaired = words.VICKREY_WITHOUT_INPUT.repaired()
    assert isinstance(repaired, Vickrey)
    assert broken.guarantee() == repaired.guarantee()


def test_without_its_half_custext_is_itself_at_twice_the_level() -> None:
    broken = words.CUSTEXT_WITHOUT_HALF.broken()
    assert isinstance(broken, words.CustomWithoutHalf)
    louder = Custom(space=broken.space, epsilon=2 * words.CUSTEXT_EPSILON)
    assert (all_rows(broken) == all_rows(louder)).all()
    claimed = Custom(space=broken.space, epsilon=words.CUSTEXT_EPSILON)
    assert (loss_bounds(broken, 3) == loss_bounds(claimed, 3)).all()


def test_across_groups_the_rows_are_right_and_the_claim_is_wider() -> None:
    broken = words.CUSTEXT_ACROSS_GROUPS.broken()
    assert isinstance(broken, words.CustomAnywhere)
    honest = words.CUSTEXT_ACROSS_GROUPS.repaired()
    assert isinstance(honest, Custom)
    assert (all_rows(broken) == all_rows(honest)).all()
    assert np.isfinite(loss_bounds(broken, 3)).all()
    assert np.isinf(loss_bounds(honest, 3)).any()


def test_the_wrong_bottom_is_all_that_is_wrong() -> None:
    broken, honest = words.TEM_WRONG_BOTTOM.broken(), words.TEM_WRONG_BOTTOM.repaired()
    assert isinstance(broken, words.WrongBottom)
    assert isinstance(honest, Truncated)
    assert np.exp(all_rows(broken)).sum(axis=1) == pytest.approx(1.0)
    away = distances(broken.space, np.arange(len(broken.space)))
    point = 40
    near = np.flatnonzero(away[point] <= words.TEM_GAMMA)
    # Among near words both mechanisms say the same, up to one factor.
    steps = broken.log_row(point)[near] - honest.log_row(point)[near]
    assert steps == pytest.approx(steps[0], abs=1e-9)
    far = np.flatnonzero(away[point] > words.TEM_GAMMA)
    weight = (len(broken.space) / len(near)) / len(far)
    jump = broken.log_row(point)[far[0]] - broken.log_row(point)[point]
    assert jump == pytest.approx(
        -0.5 * words.TEM_EPSILON * words.TEM_GAMMA + math.log(weight), abs=1e-9
    )


def test_gumbel_rows_are_what_the_published_procedure_draws() -> None:
    broken = words.TRUNCATED_GUMBEL.broken()
    assert isinstance(broken, words.TruncatedGumbel)
    size, draws = len(broken.space), 20_000
    between = distances(broken.space, np.arange(size))
    apart = between[between > 0]
    scale, reach = broken.scale(apart.min(), apart.max()), apart.max()
    generator = np.random.default_rng(4)
    chances = np.exp(words.log_chances(size))
    for point in (5, 23):
        k = generator.choice(np.arange(1, size + 1), p=chances / chances.sum(), size=draws)
        noise = generator.gumbel(0, scale, size=(draws, size))
        while (beyond := np.abs(noise) > reach).any():
            noise[beyond] = generator.gumbel(0, scale, size=beyond.sum())
        order = np.argsort(between[point], kind="stable")
        noisy = between[point][order] + noise
        noisy[np.arange(size) >= k[:, None]] = np.inf
        shares = np.bincount(order[noisy.argmin(axis=1)], minlength=size) / draws
        assert shares == pytest.approx(broken.row(point), abs=0.03)


def test_gumbel_breaks_for_almost_every_pair() -> None:
    broken = words.TRUNCATED_GUMBEL.broken()
    assert isinstance(broken, words.TruncatedGumbel)
    rows = all_rows(broken)[:-1]
    worst = [
        (row - rows).max(axis=1) - loss_bounds(broken, point)[:-1] for point, row in enumerate(rows)
    ]
    broken_pairs = int((np.array(worst)[~np.eye(len(rows), dtype=bool)] > 0).sum())
    assert broken_pairs > 0.99 * len(rows) * (len(rows) - 1)


def test_frequent_words_are_those_of_the_embedded_space() -> None:
    space = frequent_words(50)
    assert list(space.words) == list(default_space().words[:50])
    assert (space.vectors == default_space().vectors[:50]).all()


def test_texts_by_true_label_counts_show_a_record_and_by_noisy_ones_do_not() -> None:
    broken = synthesis.evolved_corpus(true_counts=True)
    with_record, without = (drawn(broken, number, 50)[:, -2:] for number in (0, 1))
    assert {tuple(one) for one in with_record.tolist()} == {(40.0, 21.0)}
    assert {tuple(one) for one in without.tolist()} == {(41.0, 20.0)}
    repaired = drawn(synthesis.evolved_corpus(true_counts=False), 0, 50)
    assert len({tuple(one) for one in repaired[:, -2:].tolist()}) > 5
    assert (repaired[:, -2:].sum(axis=1) == synthesis.TEXTS).all()
