"""Documents from a noisy vector: the set, the noise, the folder, and twins that claim too much."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import special, stats

import sfumato
from sfumato.accounting.gaussian import gaussian_delta, gaussian_noise
from sfumato.audits.exact import check_rows
from sfumato.audits.verify import Effort, refute
from sfumato.core.arrays import Floats
from sfumato.core.errors import BadInput, InvalidArgument, MissingModel
from sfumato.core.randomness import Randomness
from sfumato.guarantees.guarantee import Notion
from sfumato.mechanisms.identity import mechanism_identity
from sfumato.mechanisms.rewriting.latent import MODEL_GAP, Latent
from sfumato.mechanisms.rewriting.latent_law import LatentLaw, OnDiameter, log_marginal
from sfumato.models.autoencoder import load_autoencoder
from sfumato.releases.privatizer import Privatizer
from sfumato.testing import check_mechanism
from statistical.budget import fits_law, level, lower_bounds, rejects, upper_bounds
from unit.models.folders import SAID as WORDS
from unit.models.folders import autoencoder

TEXTS = ["", "The film was good.", "bad " * 50, "zebra!", "\x00 日本 🇩🇪"]
WILD = (0.0, 1e-300, -3.0, 1e150, -1.7e308, np.nan, np.inf)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> str:
    return str(autoencoder(tmp_path_factory.mktemp("models") / "tiny"))


def law(size: int = 4, **settings: Any) -> LatentLaw:
    given = {"clip_norm": 1.0, "clip_width": 0.8, "epsilon": 2.0} | settings
    return LatentLaw.of(size=size, **given)


def test_the_smaller_set_is_taken_and_everything_is_clipped_to_it() -> None:
    generator = np.random.default_rng(1)
    for one in (law(), law(clip_width=0.2), law(64), law(1)):
        ball, box = 2.0, 2 * (0.2 if one.reach == 0.2 else 0.8) * math.sqrt(one.size)
        assert one.diameter == pytest.approx(min(ball, box))
        vectors = [generator.choice(WILD, size=one.size) for _ in range(200)]
        clipped = np.stack([one.clip(vector) for vector in vectors])
        assert np.isfinite(clipped).all()
        apart = np.linalg.norm(clipped[:, None] - clipped[None], axis=2)
        assert apart.max() <= one.diameter
        inside = np.full(one.size, 0.1 / one.size)
        assert np.array_equal(one.clip(inside), inside)


def test_the_noise_is_that_of_the_level() -> None:
    pure = law()
    assert (pure.kind, pure.scale, pure.delta) == ("gamma", 1.0, 0.0)
    normal = law(delta=1e-5, kind="gaussian")
    assert normal.scale == pytest.approx(2 * gaussian_noise(2.0, 1e-5))
    assert gaussian_delta(normal.diameter / normal.scale, 2.0) <= 1e-5
    # A delta allows for either noise: at a large level the pure one is smaller.
    assert law(64, epsilon=500.0, delta=1e-5).kind == "gamma"
    assert law(64, epsilon=500.0, delta=1e-5).guarantee("x").notion is Notion.PURE_DP
    assert law(64, epsilon=2.0, delta=1e-5).kind == "gaussian"
    with pytest.raises(InvalidArgument, match="without a delta"):
        law(kind="gaussian")


def test_lengths_of_the_noise_have_their_law() -> None:
    lengths = np.linalg.norm(law().noise(2000, Randomness.reproducible(3)), axis=1)
    case = "rewriting: whole documents", "latent, law"
    assert not rejects(*case, [fits_law(lengths, stats.gamma(4, scale=1.0))])
    assert rejects(*case, [fits_law(lengths, stats.gamma(3, scale=1.0))])


@pytest.mark.parametrize("size", [2, 3, 64])
def test_one_coordinate_of_the_noise_is_integrated_to_the_last_digits(size: int) -> None:
    places = np.array([0.01, 0.5, 3.0, 40.0, 500.0])
    order = size / 2
    known = order * np.log(places) + np.log(special.kve(order, places)) - places
    found = log_marginal(places, size)
    assert np.allclose(found - found[2], known - known[2], rtol=1e-10, atol=1e-10)


SETTINGS: dict[str, dict[str, Any]] = {
    "pure": {},
    "pure, large": {"size": 64, "epsilon": 100.0},
    "box": {"clip_width": 0.3},
    "gaussian": {"delta": 1e-5, "kind": "gaussian"},
    "gaussian, large": {"size": 64, "epsilon": 100.0, "delta": 1e-5, "kind": "gaussian"},
}


def refuted(one: LatentLaw) -> bool:
    """By arithmetic, over all pairs."""
    mechanism = OnDiameter(law=one)
    every = np.arange(len(mechanism.space) + 1, dtype=np.intp)
    return check_rows(mechanism, [every], "a line", lambda _: None).refuted


def test_draws_are_those_of_the_rows() -> None:
    sure = 1 - level("rewriting: whole documents", "latent, claim") / 2
    effort, noise = Effort(draws=400, pairs=4), Randomness.reproducible(1)
    honest = OnDiameter(law=law())
    assert not refute(honest, confidence=sure, effort=effort, randomness=noise).refuted


@dataclass(frozen=True, kw_only=True)
class Unclipped(LatentLaw):
    def clip(self, vector: Floats) -> Floats:
        return vector


def test_verify_spares_true_claims_and_refutes_twins() -> None:
    made = {name: law(**given) for name, given in SETTINGS.items()}
    assert [name for name, one in made.items() if refuted(one)] == []
    # A box of [−c, c] taken for one that is c wide.
    assert refuted(replace(made["box"], scale=made["box"].scale / 2))
    # The classic σ at ε = 100, and vectors as the encoder gives them.
    classic = 2 * math.sqrt(2 * math.log(1.25 / 1e-5)) / 100
    assert refuted(replace(made["gaussian, large"], scale=classic))
    for one in (made["pure"], made["gaussian"]):
        assert refuted(Unclipped(**vars(one)))


@dataclass(frozen=True, kw_only=True)
class Broadcast(LatentLaw):
    """One number of noise for all coordinates, as published for positions."""

    def noise(self, count: int, randomness: Randomness) -> Floats:
        return np.repeat(super().noise(count, randomness)[:, :1], self.size, axis=1)


def told_apart(one: LatentLaw, draws: int = 1000) -> bool:
    """Whether the difference of two coordinates is likelier positive than the level allows."""
    alpha = level("rewriting: whole documents", "latent, claim") / 8
    end = np.eye(one.size)[0] * one.reach
    hits = []
    for vector in (end, -end):
        released = one.clip(vector) + one.noise(draws, Randomness.reproducible(6))
        hits.append(int((released[:, 0] > released[:, 1]).sum()))
    count = np.array([draws])
    low = lower_bounds(np.array(hits[:1]), count, alpha)
    high = upper_bounds(np.array(hits[1:]), count, alpha)
    return bool((low > math.exp(one.epsilon) * high + one.delta).any())


@pytest.mark.parametrize("name", ["pure", "gaussian"])
def test_noise_for_all_coordinates_together_is_refuted(name: str) -> None:
    one = law(**SETTINGS[name])
    assert not told_apart(one)
    assert told_apart(Broadcast(**vars(one)))


def test_only_the_noisy_vector_is_written(folder: str) -> None:
    # At such a level the noise is all there is: with one seed, any document gives the same text.
    nothing = Latent(model=folder, epsilon=1e-9)
    alone = [nothing.rewrite([one], Randomness.reproducible(4)) for one in TEXTS]
    assert all(one == alone[0] for one in alone)
    much = Latent(model=folder, epsilon=1e9)
    assert len({much.rewrite([one], Randomness.reproducible(4))[0] for one in TEXTS}) > 1
    texts = much.rewrite(TEXTS * 4, Randomness.reproducible(4))
    assert max(len(one.split()) for one in texts) <= 5
    assert set(" ".join(texts).split()) <= set(WORDS)
    short = Latent(model=folder, epsilon=1e9, tokens=2).rewrite(TEXTS, Randomness.secure())
    assert max(len(one.split()) for one in short) <= 2


def test_what_an_autoencoder_reads_is_cut_and_never_fails(folder: str) -> None:
    made = load_autoencoder(Path(folder))
    assert made.row("The FILM, zebra") == [4, 5, 3, 3, 2]  # two unknown ones, then the end
    assert len(made.row("bad " * 100)) == 6
    for text in TEXTS:
        assert np.linalg.norm(made.encode(text)) == pytest.approx(1.0, abs=1e-6)
    assert np.array_equal(made.encode("bad " * 5), made.encode("bad " * 9))
    for vector in (np.zeros(4), np.full(4, 1e30), np.full(4, np.nan), np.full(4, 1e300)):
        assert made.decode(vector, 5) is not None


def test_another_word_is_another_model(folder: str, tmp_path: Path) -> None:
    for one in Path(folder).iterdir():
        (tmp_path / one.name).write_bytes(one.read_bytes())
    assert load_autoencoder(tmp_path).digest == load_autoencoder(Path(folder)).digest
    (tmp_path / "vocab.txt").write_text("\n".join((*WORDS[:-1], "!")))
    assert load_autoencoder(tmp_path).digest != load_autoencoder(Path(folder)).digest


def test_a_folder_that_is_damaged_is_refused(folder: str, tmp_path: Path) -> None:
    with pytest.raises(MissingModel, match=r"autoencoder\.json"):
        load_autoencoder(tmp_path)
    source = Path(folder)
    for name in ("autoencoder.json", "vocab.txt", "weights.safetensors"):
        (tmp_path / name).write_bytes((source / name).read_bytes())
    told = json.loads((tmp_path / "autoencoder.json").read_text())
    for wrong, said in (
        ({"size": 5}, "does not fit"),
        ({"size": 0}, "sizes"),
        ({"clip_norm": -1.0}, "clip_norm"),
        ({"more": 1}, "more"),
    ):
        (tmp_path / "autoencoder.json").write_text(json.dumps({**told, **wrong}))
        with pytest.raises(BadInput, match=said):
            load_autoencoder(tmp_path)
    (tmp_path / "autoencoder.json").write_text(json.dumps(told))
    (tmp_path / "vocab.txt").write_text("the\nthe\n")
    with pytest.raises(BadInput, match="each once"):
        load_autoencoder(tmp_path)


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"model": ""}, "FOLDER"),
        ({"epsilon": None}, "epsilon"),
        ({"delta": 1.0}, "delta"),
        ({"noise": "gaussian"}, "without a delta"),
        ({"noise": "uniform"}, "noise"),
        ({"tokens": 0}, "tokens"),
        ({"clip_norm": 0.0}, "clip_norm"),
    ],
    ids=str,
)
def test_what_breaks_the_claim_is_refused_with_the_reason(wrong: dict[str, Any], said: str) -> None:
    with pytest.raises(InvalidArgument, match=said):
        Latent(**{"model": "m", "epsilon": 4.0, **wrong})


def test_it_does_all_that_a_mechanism_must(folder: str, tmp_path: Path) -> None:
    settings = {"model": folder, "epsilon": 30.0}
    check_mechanism("latent", settings=settings)
    one, other = Latent(model=folder, epsilon=30.0), Latent(model=folder, epsilon=31.0)
    assert mechanism_identity(one) != mechanism_identity(other)
    privatizer = Privatizer(
        policy="everything", mechanism="latent", epsilon=30.0, settings={"model": folder}
    )
    sentence = privatizer.guarantee().sentence()
    assert "any two documents" in sentence
    assert MODEL_GAP in sentence
    assert privatizer.public_settings()["mechanism_settings"]["noise"] == "gamma"
    source, output = tmp_path / "in.txt", tmp_path / "out.txt"
    source.write_text("the film was good\nthe film was bad\na bad film\n")
    sfumato.privatize(source, output, mechanism="latent", epsilon=30.0, settings={"model": folder})
    found = sfumato.attack("reidentification", output, originals=source)
    assert any(note.startswith("So a guess") for note in found.notes)
    with pytest.raises(InvalidArgument, match="leave out the setting 'model'"):
        sfumato.attack("reidentification", output, originals=source, settings={"model": folder})
    rows = sfumato.compare(
        "latent", epsilon=[3, 30], corpus=source, settings={"model": folder}, seed=1
    ).rows
    assert [one.guarantee.epsilon for one in rows] == [3.0, 30.0]
    checked = sfumato.verify(
        "latent", epsilon=30.0, settings={"model": folder}, draws=100, pairs=4, seed=1
    )
    assert not checked.refuted
