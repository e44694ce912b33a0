"""How accountants behave; that their figures are right is checked in ``references``."""

from __future__ import annotations

import math
import subprocess
import sys
import warnings
from collections.abc import Iterator

import pytest

from sfumato.accounting import accountants, library
from sfumato.accounting.accountants import ACCOUNTANTS, compute_spending
from sfumato.accounting.events import SampledGaussian
from sfumato.core.errors import InvalidArgument, MissingExtra, UnknownName

EACH = pytest.mark.parametrize("accountant", ACCOUNTANTS)
EVENT = SampledGaussian(rate=0.05, noise_multiplier=1.0, count=40)


@EACH
def test_nothing_costs_nothing_and_no_noise_costs_everything(accountant: str) -> None:
    assert compute_spending([], accountant).epsilon(1e-5) == 0.0
    assert compute_spending([], accountant).delta(1.0) == 0.0
    bare = compute_spending([EVENT, SampledGaussian(noise_multiplier=0.0)], accountant)
    assert bare.epsilon(1e-5) == math.inf
    assert bare.delta(100.0) == 1.0


@EACH
def test_more_noise_fewer_steps_and_rarer_sampling_cost_less(accountant: str) -> None:
    def level(rate: float, noise: float, count: int) -> float:
        event = SampledGaussian(rate=rate, noise_multiplier=noise, count=count)
        return compute_spending([event], accountant).epsilon(1e-5)

    middle = level(0.05, 1.0, 40)
    assert level(0.05, 1.2, 40) < middle < level(0.05, 0.8, 40)
    assert level(0.05, 1.0, 30) < middle < level(0.05, 1.0, 60)
    assert level(0.04, 1.0, 40) < middle < level(0.06, 1.0, 40)


@EACH
def test_a_larger_delta_costs_less(accountant: str) -> None:
    found = compute_spending([EVENT], accountant)
    assert found.epsilon(1e-3) < found.epsilon(1e-5) < found.epsilon(1e-7)


@EACH
def test_releases_add_up_in_any_order_and_however_they_are_written(accountant: str) -> None:
    other = SampledGaussian(rate=0.1, noise_multiplier=2.0, count=20)
    half = SampledGaussian(rate=0.05, noise_multiplier=1.0, count=20)
    wanted = compute_spending([EVENT, other], accountant).epsilon(1e-5)
    for events in ([other, EVENT], [half, other, half]):
        assert compute_spending(events, accountant).epsilon(1e-5) == pytest.approx(wanted, rel=1e-9)


@pytest.mark.parametrize("accountant", ["pld", "rdp"])
def test_level_and_delta_are_inverse_to_each_other(accountant: str) -> None:
    found = compute_spending([EVENT], accountant)
    assert found.delta(found.epsilon(1e-5)) == pytest.approx(1e-5, rel=1e-6)


def test_pure_composition_says_so_when_it_has_no_delta() -> None:
    with pytest.raises(InvalidArgument, match="pld or rdp"):
        compute_spending([EVENT], "pure").delta(1.0)


def test_a_delta_within_rounding_is_refused_with_a_way_out() -> None:
    with pytest.raises(InvalidArgument, match="use the accountant rdp"):
        compute_spending([EVENT]).epsilon(1e-14)
    assert compute_spending([EVENT], "rdp").epsilon(1e-14) < math.inf
    assert compute_spending([EVENT], "rdp").epsilon(0.0) == math.inf
    assert compute_spending([EVENT], "pure").epsilon(0.0) == math.inf


def test_hardly_any_noise_gives_no_level_rather_than_an_error() -> None:
    almost_bare = [SampledGaussian(rate=0.5, noise_multiplier=1e-5, count=1000)]
    assert compute_spending(almost_bare).epsilon(1e-5) == math.inf
    assert compute_spending(almost_bare, "rdp").epsilon(1e-5) < math.inf


def test_levels_beyond_the_range_of_exp_are_finite_and_fall_as_noise_grows() -> None:
    # Where exp(−level) underflows the library alone says infinity, here and there.
    noise = [0.02 + 0.005 * place for place in range(20)] + [0.089]
    levels = {
        one: compute_spending(
            [SampledGaussian(rate=0.0024, noise_multiplier=one, count=1259)]
        ).epsilon(2e-5)
        for one in sorted(noise)
    }
    assert all(math.isfinite(level) for level in levels.values())
    assert list(levels.values()) == sorted(levels.values(), reverse=True)


def test_divergences_below_zero_are_not_taken_for_perfect_privacy() -> None:
    # So little is released that the library rounds some divergences below 0, and then calls the
    # whole perfectly private.
    import dp_accounting as dp
    from dp_accounting import rdp

    event = dp.PoissonSampledDpEvent(1e-9, dp.GaussianDpEvent(1e4))
    library = rdp.RdpAccountant().compose(event)
    assert library.rdp.min() < 0
    assert library.get_epsilon(1e-8) == 0.0
    assert (
        compute_spending([SampledGaussian(rate=1e-9, noise_multiplier=1e4)], "rdp").epsilon(1e-8)
        > 0.0
    )


def test_an_unknown_accountant_is_named_with_the_nearest() -> None:
    with pytest.raises(UnknownName, match="did you mean 'pld'"):
        compute_spending([EVENT], "pdl")


@EACH
def test_the_library_says_nothing(accountant: str, capfd: pytest.CaptureFixture[str]) -> None:
    # At this noise some series of the library do not converge, and it says so at length.
    loud = SampledGaussian(rate=0.03, noise_multiplier=0.29, count=50)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        compute_spending([loud], accountant).epsilon(1e-5)
    assert capfd.readouterr() == ("", "")


@pytest.fixture
def without_library(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    for name in [name for name in sys.modules if name.split(".")[0] == "dp_accounting"]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "dp_accounting", None)
    for cached in (library.load_library, accountants._orders, accountants._divergences):
        cached.cache_clear()
    yield
    for cached in (library.load_library, accountants._orders, accountants._divergences):
        cached.cache_clear()


@pytest.mark.usefixtures("without_library")
@EACH
def test_without_the_library_the_extra_is_named(accountant: str) -> None:
    with pytest.raises(MissingExtra, match=r"sfumato\[train\]"):
        compute_spending([EVENT], accountant).epsilon(1e-5)


def test_accounting_does_without_torch() -> None:
    program = (
        "import sys\n"
        "from sfumato.training.plan import Plan\n"
        "assert 'dp_accounting' not in sys.modules and 'numpy' not in sys.modules\n"
        "Plan.for_epsilon(epsilon=5, units=100, batch_size=10, epochs=1)\n"
        "assert 'torch' not in sys.modules\n"
    )
    subprocess.run([sys.executable, "-c", program], check=True)
