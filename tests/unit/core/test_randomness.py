"""Where noise comes from: the cipher, its keys, and what a copy or a child process gets of them."""

from __future__ import annotations

import copy
import os
import pickle
import secrets
import threading
from collections.abc import Callable, Sequence

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import stats

from references.aes128 import encrypted
from references.chacha20 import chacha20_block, keystream
from sfumato.core import randomness
from sfumato.core.errors import InvalidArgument
from sfumato.core.randomness import Randomness
from statistical import budget


def draws(source: Randomness, count: int = 8) -> list[float]:
    return [float(number) for number in source.uniform(count)]


def raw(source: Randomness, count: int) -> NDArray[np.uint64]:
    """The bits behind the numbers."""
    return np.asarray(source._ready().bit_generator.random_raw(count))


def test_our_reference_cipher_gives_the_block_printed_in_the_standard() -> None:
    # RFC 8439, section 2.3.2.
    key = bytes(range(32))
    tail = bytes.fromhex("01000000000000090000004a00000000")
    expected = (
        "10f1e7e4d13b5915500fdd1fa32071c4c7d1f4c733c068030422aa9ac3d46c4e"
        "d2826446079faa0914c2d705d98b02a2b5129cd1de164eb9cbd083e8a2503c4e"
    )
    assert chacha20_block(key, tail).hex() == expected


@pytest.mark.parametrize("key", [0, 1, 2**255 + 7, int.from_bytes(bytes(range(32)), "little")])
def test_the_stream_is_chacha20_under_exactly_the_given_key(
    key: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    # A key that went through a mixer, or fewer rounds, would give another stream.
    monkeypatch.setattr(secrets, "randbits", lambda _bits: key)
    assert (raw(Randomness.secure(), 160) == keystream(key, 20)).all()


def test_twins_with_fewer_rounds_or_a_mixed_key_give_another_stream() -> None:
    from randomgen import ChaCha

    expected = keystream(7, 1)
    assert (ChaCha(key=7, rounds=20).random_raw(8) == expected).all()
    assert not (ChaCha(key=7, rounds=8).random_raw(8) == expected).any()
    assert not (ChaCha(seed=7, rounds=20).random_raw(8) == expected).any()


def test_our_reference_block_cipher_gives_the_block_printed_in_the_standard() -> None:
    # FIPS 197, appendix C.1.
    block = encrypted(bytes(range(16)), bytes.fromhex("00112233445566778899aabbccddeeff"))
    assert block.hex() == "69c4e0d86a7b0430d8cdb78070b4c55a"


def test_much_noise_comes_from_aes_under_a_key_that_the_stream_gives() -> None:
    low, high = Randomness.reproducible(5)._ready().integers(2**64, size=2, dtype=np.uint64)
    key = int(low).to_bytes(8, "little") + int(high).to_bytes(8, "little")
    blocks = b"".join(encrypted(key, number.to_bytes(16, "little")) for number in range(64))
    bits = iter(np.frombuffer(blocks, dtype="<u8").tolist())

    from randomgen import UserBitGenerator

    # Numpy's own method for normal numbers, fed with the reference's bits.
    replayed = np.random.Generator(UserBitGenerator(lambda _state: next(bits), bits=64))
    expected = replayed.standard_normal(50)
    assert Randomness.reproducible(5).noise(50).tolist() == expected.tolist()


def test_noise_is_never_given_twice() -> None:
    source = Randomness.reproducible(5)
    assert source.noise(3).tolist() != source.noise(3).tolist()
    assert (
        Randomness.reproducible(5).noise(3).tolist() == Randomness.reproducible(5).noise(3).tolist()
    )
    assert Randomness.secure().noise(3).tolist() != Randomness.secure().noise(3).tolist()


def test_a_secure_key_has_256_bits_from_the_operating_system(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    asked: list[int] = []

    def recorded(bits: int) -> int:
        asked.append(bits)
        return 2**256 - 1

    monkeypatch.setattr(secrets, "randbits", recorded)
    stream = raw(Randomness.secure(), 8)
    assert asked == [256]
    assert (stream == keystream(2**256 - 1, 1)).all()


def test_every_secure_stream_has_a_key_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    keys: list[int] = []
    honest = secrets.randbits

    def recorded(bits: int) -> int:
        keys.append(honest(bits))
        return keys[-1]

    monkeypatch.setattr(secrets, "randbits", recorded)
    parent = Randomness.secure()
    for source in (parent, Randomness.secure(), parent.stream(0), parent.stream(0)):
        draws(source)
        draws(source)
    assert len(keys) == 4, "one key per stream, drawn once"
    assert len(set(keys)) == 4
    assert all(key.bit_length() > 192 for key in keys)


@pytest.mark.parametrize(
    "duplicated",
    [copy.copy, copy.deepcopy, lambda source: pickle.loads(pickle.dumps(source))],
    ids=["copy", "deepcopy", "pickle"],
)
def test_a_copy_of_a_secure_stream_never_carries_its_key(
    duplicated: Callable[[Randomness], Randomness],
) -> None:
    source = Randomness.secure()
    draws(source)  # now it holds a key
    other = duplicated(source)
    assert other.for_release
    assert draws(other) != draws(source)


def test_neither_a_pickle_nor_the_representation_holds_the_key(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    key = int.from_bytes(b"KEY-" * 8, "little")
    monkeypatch.setattr(secrets, "randbits", lambda _bits: key)
    source = Randomness.secure()
    draws(source)
    for protocol in range(pickle.HIGHEST_PROTOCOL + 1):
        assert b"KEY-" not in pickle.dumps(source, protocol)
    assert str(key) not in repr(source)
    assert "KEY" not in repr(source)


def drawn_in_a_child(source: Randomness) -> list[float]:
    """The next numbers as a forked child sees them."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:  # pragma: no cover - runs in the child
        os.write(writing, np.array(draws(source)).tobytes())
        os._exit(0)
    os.close(writing)
    with os.fdopen(reading, "rb") as pipe:
        content = pipe.read()
    assert os.waitpid(child, 0)[1] == 0
    return list(np.frombuffer(content).tolist())


needs_fork = pytest.mark.skipif(not hasattr(os, "fork"), reason="SKIPPED: no fork here")


@needs_fork
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_forked_child_never_repeats_its_parents_noise() -> None:
    source = Randomness.secure()
    draws(source)  # the child inherits a generator with a key in it
    first, second = drawn_in_a_child(source), drawn_in_a_child(source)
    own = draws(source)
    assert len(first) == len(own)
    assert not set(first) & set(own)
    assert not set(first) & set(second)


@needs_fork
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_twin_that_forgets_who_owns_the_key_repeats_it(monkeypatch: pytest.MonkeyPatch) -> None:
    # Shows that the test above would see a child replaying its parent.
    source = Randomness.secure()
    draws(source)
    monkeypatch.setattr(randomness, "_process", lambda: source._owner)
    assert drawn_in_a_child(source) == draws(source)


def test_the_same_seed_gives_the_same_stream() -> None:
    assert draws(Randomness.reproducible(7)) == draws(Randomness.reproducible(7))
    assert draws(Randomness.reproducible(7)) != draws(Randomness.reproducible(8))


def test_streams_of_a_seed_are_stable_and_do_not_depend_on_their_order() -> None:
    one, other = Randomness.reproducible(3), Randomness.reproducible(3)
    forward = {index: draws(one.stream(index)) for index in range(6)}
    draws(other)
    backward = {index: draws(other.stream(index)) for index in reversed(range(6))}
    assert forward == backward


def test_streams_of_different_index_seed_or_depth_differ() -> None:
    seeds = [Randomness.reproducible(seed) for seed in (0, 1)]
    sources = [
        source
        for root in seeds
        for source in (
            root,
            root.stream(0),
            root.stream(1),
            root.stream(0).stream(0),
            root.stream(0).stream(1),
            root.stream(1).stream(0),
        )
    ]
    firsts = {tuple(draws(source)) for source in sources}
    assert len(firsts) == len(sources)


def test_a_copy_of_a_reproducible_stream_starts_from_its_beginning() -> None:
    source = Randomness.reproducible(5).stream(2)
    beginning = draws(source)
    again = pickle.loads(pickle.dumps(source))
    assert not again.for_release
    assert draws(again) == beginning


def test_drawing_from_one_stream_leaves_the_others_alone() -> None:
    root = Randomness.reproducible(9)
    child = root.stream(4)
    undisturbed = draws(Randomness.reproducible(9).stream(4))
    draws(root, 1000)
    assert draws(child) == undisturbed


def test_only_secure_streams_are_for_release() -> None:
    assert Randomness.secure().for_release
    assert Randomness.secure().stream(3).for_release
    assert not Randomness.reproducible(0).for_release
    assert not Randomness.reproducible(0).stream(3).for_release


@pytest.mark.parametrize("seed", [-1, 1.0, "7", None, True, float("nan")])
def test_a_seed_that_is_not_a_whole_number_is_refused(seed: object) -> None:
    with pytest.raises(InvalidArgument, match="seed="):
        Randomness.reproducible(seed)  # type: ignore[arg-type]


@pytest.mark.parametrize("index", [-1, 0.5, "0"])
def test_an_index_that_is_not_a_whole_number_is_refused(index: object) -> None:
    with pytest.raises(InvalidArgument, match="index="):
        Randomness.secure().stream(index)  # type: ignore[arg-type]


def test_large_seeds_are_used_in_full() -> None:
    assert draws(Randomness.reproducible(2**200)) != draws(Randomness.reproducible(2**200 + 1))
    assert draws(Randomness.reproducible(2**64)) != draws(Randomness.reproducible(0))


def test_the_global_generator_of_numpy_is_neither_used_nor_disturbed() -> None:
    np.random.seed(1)
    undisturbed = np.random.random()
    np.random.seed(1)
    first = draws(Randomness.secure())
    assert np.random.random() == undisturbed
    np.random.seed(1)
    assert draws(Randomness.secure()) != first


def test_chosen_numbers_are_different_and_in_order() -> None:
    chosen = Randomness.reproducible(1).choose(50, 20).tolist()
    assert chosen == sorted(set(chosen))
    assert len(chosen) == 20
    assert 0 <= chosen[0] <= chosen[-1] < 50


def test_threads_can_draw_from_streams_of_their_own() -> None:
    root, found = Randomness.reproducible(21), {}

    def work(index: int) -> None:
        found[index] = draws(root.stream(index), 1000)

    threads = [threading.Thread(target=work, args=(index,)) for index in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == {index: draws(root.stream(index), 1000) for index in range(4)}


def uniformity_is_wrong(case: str, samples: Sequence[NDArray[np.float64]]) -> bool:
    p_values = [budget.fits_law(sample, stats.uniform()) for sample in samples]
    return budget.rejects("randomness: streams", case, p_values)


def test_numbers_of_a_secure_stream_are_uniform() -> None:
    # The one check whose seed cannot be fixed: its false-alarm share is spent on every run.
    sample = Randomness.secure().uniform(5000)
    assert not uniformity_is_wrong("secure", [sample])
    assert uniformity_is_wrong("secure", [sample**1.2])


def test_numbers_of_a_reproducible_stream_follow_their_laws() -> None:
    source = Randomness.reproducible(31)
    normal = stats.norm.cdf(source.normal(50, 100).ravel())
    gamma = stats.gamma(3.5, scale=2.0).cdf(source.gamma(3.5, 2.0, 5000))
    assert not uniformity_is_wrong("reproducible", [source.uniform(5000), normal, gamma])
    shifted = stats.norm.cdf(source.normal(50, 100).ravel() + 0.2)
    assert uniformity_is_wrong("reproducible", [shifted])


def test_sibling_streams_are_independent() -> None:
    root = Randomness.reproducible(32)
    first, second = root.stream(0).uniform(5000), root.stream(1).uniform(5000)
    # For independent uniform numbers the sum modulo one is uniform too.
    assert not uniformity_is_wrong("sibling streams", [(first + second) % 1])
    assert uniformity_is_wrong("sibling streams", [(first + first) ** 2 % 1])


def test_no_two_secure_streams_are_the_same_whatever_their_index() -> None:
    one, other = Randomness.secure(), Randomness.secure()
    streams = [one.stream(0), one.stream(0), other.stream(0), one.stream(1), other.stream(1)]
    draws = {tuple(stream.uniform(4)) for stream in streams}
    assert len(draws) == len(streams)


@needs_fork
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_fork_with_the_same_process_number_gets_a_key_of_its_own(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # As happens in a container, where every first process has the number 1.
    monkeypatch.setattr(os, "getpid", lambda: 1)
    source = Randomness.secure()
    draws(source)
    assert not set(drawn_in_a_child(source)) & set(draws(source))
