"""Token inference as it is run: on files, with every attacker, and what is said about it."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from sfumato.attacks.attack import Inputs, run_attack
from sfumato.attacks.inference.attackers import blind_share, displace
from sfumato.attacks.inference.priors import Prior
from sfumato.attacks.inference.token_inference import TokenInference
from sfumato.core.errors import BadInput, InvalidArgument, MissingInput, MissingModel
from sfumato.core.randomness import Randomness
from sfumato.files.layout import Layout
from sfumato.files.source import Source
from sfumato.mechanisms.build import build_mechanism
from sfumato.releases import job
from sfumato.releases.privatizer import Privatizer
from sfumato.results.scores import Scores
from sfumato.text.document import Document
from sfumato.vectors.space import Space
from unit.attacks.inference.made import everything, privatized
from unit.attacks.inference.tiny_masked import trained_masked

SEED = Randomness.reproducible
TEXTS = ["Paris rome, cat dog. 12 7!", "quark Atlantis paris", "the CAT", "rome rome rome 7"] * 5


def scored(space: Space, attack: TokenInference, epsilon: float = 3.0, **rules: str) -> Scores:
    mechanism = build_mechanism("exponential", space=space, epsilon=epsilon)
    target, originals = privatized(everything(mechanism, **rules), TEXTS)
    return attack.score(target, originals, SEED(1))


@pytest.mark.usefixtures("small_vectors")
def test_a_file_is_attacked(tmp_path: Path) -> None:
    """From the output of a release to figures, over the frequent embedded words."""
    notes = tmp_path / "in.jsonl"
    texts = [f"Room {number} and code {7 * number}." for number in range(1, 9)]
    notes.write_text("".join(json.dumps({"text": text}) + "\n" for text in texts))
    source, out = Source.of(notes, Layout()), tmp_path / "out.jsonl"
    job.run_job(
        job.Job(source=source, target=out),
        Privatizer(policy="digits", mechanism="custom", epsilon=300.0, seed=3),
    )
    inputs = Inputs(target=out, originals=notes)
    scores = run_attack(TokenInference(top=5, candidates=2000), inputs, SEED(1))
    assert scores.figure("top-1").n == 16
    assert scores.figure("top-1").value > 0.5
    assert scores.control.figures[0].value < 0.5
    assert set(scores.chance) <= {figure.metric for figure in scores.figures}
    assert "digits" not in json.dumps(scores.as_dict())
    assert "Room" not in json.dumps(scores.as_dict())
    assert scores.seconds > 0
    assert any("seed" in note for note in scores.notes)
    alone = Inputs(target=out)
    with pytest.raises(MissingInput, match="`originals=IN`"):
        run_attack(TokenInference(), alone, SEED(1))
    with pytest.raises(MissingInput, match="is a folder"):
        run_attack(TokenInference(), Inputs(target=tmp_path, originals=notes), SEED(1))


def test_figures_fit_together(small_space: Space) -> None:
    scores = scored(small_space, TokenInference(top=4))
    first, several = scores.figure("top-1"), scores.figure("top-4")
    changed, unchanged = scores.figure("top-1 where changed"), scores.figure("unchanged")
    assert first.value <= several.value
    assert changed.n == first.n - round(unchanged.value * unchanged.n)
    for figure in scores.figures:
        assert figure.low is not None
        assert figure.high is not None
        assert figure.low <= figure.value <= figure.high
    curve = [point["share"] for point in scores.details["success"]]
    assert curve == sorted(curve)
    assert curve[0] == first.value
    assert curve[-1] == several.value


def test_the_chart_is_drawn_from_the_details(small_space: Space) -> None:
    attack = TokenInference(top=4)
    scores = scored(small_space, attack)
    (values,) = attack.chart(scores).spec["datasets"].values()
    drawn = [value["found"] for value in values if value["series"] == "attacker"]
    assert drawn == [point["share"] for point in scores.details["success"]]
    assert scores.details["success"][0]["control"] == scores.control.figures[0].value


def test_at_a_high_level_all_known_words_are_found(small_space: Space) -> None:
    scores = scored(small_space, TokenInference(top=3), epsilon=1e5)
    unknown = scores.figure("unknown words")
    assert unknown.value * unknown.n == pytest.approx(10)  # Atlantis and the, five times each
    assert scores.figure("top-1").value == pytest.approx(1 - unknown.value)
    assert scores.figure("unchanged").value == pytest.approx(1 - unknown.value)
    assert any("count as not found" in note for note in scores.notes)


def test_at_a_low_level_nobody_does_better_than_the_prior(small_space: Space) -> None:
    """The replacement says nothing, so the likeliest word is guessed everywhere."""
    scores = scored(small_space, TokenInference(top=3), epsilon=1e-6)
    assert scores.figure("top-1").value == pytest.approx(scores.chance["top-1"])
    assert scores.figure("top-3").value == pytest.approx(scores.chance["top-3"])


def test_words_in_the_clear_are_called_that(small_space: Space) -> None:
    scores = scored(small_space, TokenInference(top=3), unknown="keep")
    assert scores.notes[0].startswith("10 selected words STAND IN THE CLEAR")
    assert scores.figure("unknown words").value == 0
    kept = scored(small_space, TokenInference(top=3))
    assert scores.figure("top-1").n == kept.figure("top-1").n - 10
    assert not any("CLEAR" in note for note in kept.notes)


def test_capitals_are_no_obstacle(small_space: Space) -> None:
    scores = scored(small_space, TokenInference(top=3), epsilon=1e5, case="restore")
    assert scores.figure("top-1").value == pytest.approx(1 - scores.figure("unknown words").value)
    assert any("capitals of the originals" in note for note in scores.notes)


@pytest.mark.parametrize("prior", ["uniform", "unigram", "bigram"])
def test_every_prior_runs(small_space: Space, tmp_path: Path, prior: str) -> None:
    corpus = tmp_path / "public.txt"
    corpus.write_text("paris rome. cat dog 12\n")
    attack = TokenInference(prior=prior, corpus=str(corpus), top=3, candidates=3)
    scores = scored(small_space, attack)
    assert 0 < scores.figure("top-1").value < 1
    if prior == "uniform":
        assert "alike" in scores.knowledge
        known = 1 - scores.figure("unknown words").value
        assert scores.chance["top-1"] == pytest.approx(known / 12)
    else:
        assert "corpus" in scores.knowledge


@pytest.mark.parametrize("selectable", ["auto", "no", "yes"])
def test_whoever_knows_the_policy_expects_what_it_selects(
    small_space: Space, selectable: str
) -> None:
    mechanism = build_mechanism("exponential", space=small_space, epsilon=1e-6)
    release = Privatizer(policy="digits", mechanism=mechanism).selective
    target, originals = privatized(release, ["paris 12", "rome 12", "cat 7"] * 5)  # type: ignore[arg-type]
    scores = TokenInference(top=2, selectable=selectable).score(target, originals, SEED(1))
    # 12 stands before 7 in the vocabulary; a prior over all words would guess paris.
    expected = 0 if selectable == "no" else 2 / 3
    assert scores.figure("top-1").value == pytest.approx(expected)
    assert scores.chance["top-1"] == pytest.approx(expected)
    assert ("only such as the policy selects" in scores.knowledge) == (selectable != "no")


def test_a_policy_that_reads_context_has_no_words_of_its_own(small_space: Space) -> None:
    mechanism = build_mechanism("exponential", space=small_space, epsilon=1.0)
    release = Privatizer(policy="regex:(?<=the )cat", mechanism=mechanism).selective
    target, originals = privatized(release, ["the cat"])  # type: ignore[arg-type]
    assert TokenInference(top=2).score(target, originals, SEED(1)).figure("top-1").n == 1
    with pytest.raises(InvalidArgument, match="'selectable': 'no'"):
        TokenInference(top=2, selectable="yes").score(target, originals, SEED(1))


def test_noise_mechanisms_are_counted_and_that_is_said(small_space: Space) -> None:
    target, originals = privatized(
        everything(build_mechanism("laplace", space=small_space, epsilon=30.0)), TEXTS
    )
    scores = TokenInference(top=3, draws=20).score(target, originals, SEED(1))
    assert any("20 draws for each candidate" in note for note in scores.notes)
    near = TokenInference(attacker="nearest", top=3).score(target, originals, SEED(1))
    assert not any("draws" in note for note in near.notes)
    assert near.figure("top-1").value == pytest.approx(near.figure("unchanged").value)


def test_another_text_is_refused(small_space: Space) -> None:
    target, originals = privatized(
        everything(build_mechanism("exponential", space=small_space, epsilon=1.0)), TEXTS
    )
    with pytest.raises(BadInput, match="same documents"):
        TokenInference().score(target, originals[1:], SEED(1))
    with pytest.raises(BadInput, match="document 3 cannot be"):
        TokenInference().score(
            target, [*originals[:2], Document("secret? words"), *originals[3:]], SEED(1)
        )


@pytest.mark.parametrize(
    ("settings", "match"),
    [
        ({"attacker": "masked"}, "'model': FOLDER"),
        ({"prior": "bigram"}, "'corpus': FILE"),
        ({"attacker": "bayess"}, "did you mean 'bayes'"),
        ({"top": 1}, "top=1"),
        ({"draws": 0}, "draws=0"),
    ],
)
def test_settings_are_checked(settings: dict[str, object], match: str) -> None:
    with pytest.raises(InvalidArgument, match=match):
        TokenInference(**settings)  # type: ignore[arg-type]


def test_blind_guesses() -> None:
    originals = np.array([0, 0, 1, 5])
    skewed = Prior(np.array([0, 1, 2]), np.array([0.2, 0.5, 0.3]), "")
    assert blind_share(skewed, originals, 1) == 0.25
    assert blind_share(skewed, originals, 3) == 0.75
    even = Prior(np.array([0, 1, 2]), np.full(3, 1 / 3), "")
    assert blind_share(even, originals, 1) == pytest.approx(0.75 / 3)
    assert sorted(displace(9, SEED(1)).tolist()) == list(range(9))
    assert (displace(9, SEED(1)) != np.arange(9)).all()


def test_a_masked_model_reads_the_words_around(small_space: Space, tmp_path: Path) -> None:
    """'cat' stands before 'dog' and '12' before '7' in what the model has learned."""
    folder = trained_masked(tmp_path / "masked", small_space, [("cat", "dog"), ("12", "7")])
    texts = ["cat dog", "12 7"] * 10
    release = Privatizer(
        policy="regex:dog|7",
        mechanism=build_mechanism("exponential", space=small_space, epsilon=1e-3),
    ).selective
    target, originals = privatized(release, texts)  # type: ignore[arg-type]
    attack = TokenInference(attacker="masked", model=str(folder), top=2)
    scores = attack.score(target, originals, SEED(1))
    # The replacement is noise, and the context gives the word away.
    assert scores.figure("top-1").value > 0.9
    assert TokenInference(top=2).score(target, originals, SEED(1)).figure("top-1").value < 0.5
    # In the control each word is compared with another one, so half of them fit by chance.
    assert 0.1 < scores.control.figures[0].value < 0.9
    assert "original of another word" in scores.control.what
    with pytest.raises(MissingModel, match="holds no model"):
        TokenInference(attacker="masked", model=str(tmp_path)).score(target, originals, SEED(1))


def test_a_masked_model_does_not_beat_bayes_on_words_without_context(
    small_space: Space, tmp_path: Path
) -> None:
    folder = trained_masked(tmp_path / "masked", small_space, [("cat", "dog")])
    lone = ["paris", "rome", "cat", "12", "7", "quark", "berlin"] * 6
    mechanism = build_mechanism("exponential", space=small_space, epsilon=4.0)
    target, originals = privatized(everything(mechanism), lone)
    masked = TokenInference(attacker="masked", model=str(folder), top=2)
    by_context = masked.score(target, originals, SEED(1)).figure("top-1").value
    bayes = TokenInference(prior="uniform", top=2).score(target, originals, SEED(1))
    assert by_context <= bayes.figure("top-1").value


def test_a_model_without_a_mask_is_refused(small_space: Space, tmp_path: Path) -> None:
    from sfumato.attacks.inference.attackers import MaskedModel

    folder = trained_masked(tmp_path / "masked", small_space, [("cat", "dog")], steps=0)
    settings = json.loads((folder / "tokenizer_config.json").read_text())
    settings.pop("mask_token")
    (folder / "tokenizer_config.json").write_text(json.dumps(settings))
    with pytest.raises(InvalidArgument, match="has no mask"):
        MaskedModel.load(folder)
    whole = trained_masked(tmp_path / "whole", small_space, [("cat", "dog")], steps=0)
    config = json.loads((whole / "config.json").read_text())
    (whole / "config.json").write_text(json.dumps(config | {"model_type": "nonsense"}))
    with pytest.raises(BadInput, match="cannot be loaded as a masked"):
        MaskedModel.load(whole)
