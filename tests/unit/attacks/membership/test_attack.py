"""The attack as a whole: it finds what was memorized, says what it lacks, and leaks no text."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from sfumato import catalog
from sfumato.attacks.attack import Inputs, run_attack
from sfumato.attacks.membership.attack import Membership
from sfumato.attacks.membership.candidates import Candidates
from sfumato.attacks.membership.evidence import Evidence
from sfumato.attacks.membership.gathering import GatheringEffort, Suspects, usable
from sfumato.attacks.membership.label_only import ask
from sfumato.attacks.membership.signals import COPIES, LABELS, SIGNALS, Knobs, Signal
from sfumato.attacks.model_target import open_model
from sfumato.core.arrays import Floats
from sfumato.core.errors import BadInput, InvalidArgument, MissingInput, UnknownName
from sfumato.core.randomness import Randomness
from sfumato.corpora.canaries import Canary
from sfumato.files.layout import Layout
from sfumato.results.scores import Scores
from sfumato.text.document import Document
from sfumato.training.execution import train_model
from sfumato.training.folder import RunFolder
from sfumato.training.request import Request
from sfumato.training.settings import Privacy
from unit.attacks.membership.small import (
    World,
    documents,
    made_up,
    request,
    tokenizer,
    trained,
    written,
)
from unit.models.folders import masked_bert, with_word_pieces

SHADOWS = 6
OF_LABELS = [name for name, one in SIGNALS.items() if one.needs in (LABELS, COPIES)]
OF_TEXTS = [name for name in SIGNALS if name not in OF_LABELS]
# Neighbors of a text are made of words near its own: of few, which is quicker.
pytestmark = pytest.mark.usefixtures("small_vectors")


def inputs(world: World) -> Inputs:
    return Inputs(
        target=world.run,
        members=world.members,
        others=world.others,
        references=world.references,
        cache=world.cache,
    )


@pytest.fixture(scope="module")
def scores(world: World) -> Scores:
    """All signals on the model that knows its members by heart."""
    return run_attack(Membership(shadows=SHADOWS), inputs(world), Randomness.reproducible(1))


def test_it_is_in_the_catalog() -> None:
    assert catalog.find("attacks", "membership").load() is Membership


@pytest.mark.parametrize("signal", OF_TEXTS)
def test_every_signal_finds_what_was_memorized(scores: Scores, signal: str) -> None:
    found = scores.figure(f"auc {signal}")
    assert found.value > 0.9
    assert found.low is not None
    assert found.high is not None
    assert 0.5 < found.low <= found.value <= found.high
    assert found.n == 53


def test_signals_with_the_wrong_sign_would_be_caught(
    world: World, scores: Scores, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The twin of the test above; all models and scores are in the cache already."""

    def flipped(right: Signal) -> Signal:
        def wrong(evidence: Evidence, knobs: Knobs) -> Floats:
            return -right.score(evidence, knobs)

        return Signal(right.needs, wrong)

    for name, right in list(SIGNALS.items()):
        monkeypatch.setitem(SIGNALS, name, flipped(right))
    found = run_attack(Membership(shadows=SHADOWS), inputs(world), Randomness.reproducible(1))
    for name in OF_TEXTS:
        figure = f"auc {name}"
        assert found.figure(figure).value == pytest.approx(1 - scores.figure(figure).value)
        assert found.figure(figure).value < 0.1


def test_every_figure_is_a_number_with_an_interval_and_a_chance(scores: Scores) -> None:
    """The files hold an empty text, white space, a letter and emoji."""
    for figure in (*scores.figures, *scores.control.figures):
        assert figure.low is not None
        assert figure.high is not None
        assert np.isfinite([figure.value, figure.low, figure.high]).all()
        assert figure.low <= figure.value <= figure.high
        assert figure.metric in scores.chance
    assert {f"auc {name}" for name in OF_TEXTS} == {one.metric for one in scores.control.figures}
    assert scores.figure("advantage yeom").value > 0.3
    assert scores.figure("advantage reference-rule").value > 0.7
    assert scores.figure("accuracy loss").value > 0.9
    assert scores.chance["auc without the model"] == 0.5


def test_notes_and_knowledge_say_what_must_be_known(scores: Scores) -> None:
    said = "\n".join(scores.notes)
    assert "embedded word vectors; a masked language model makes better ones" in said
    assert "6 shadows were trained on random halves" in said
    assert "27 others cannot show them" in said
    assert "texts without a token: 1" in said
    assert "not tried" not in said
    assert "probability of each token" in scores.knowledge
    assert "models of the same kind" in scores.knowledge
    assert "mean loss on the training texts" in scores.knowledge
    assert "were they trained on one side" not in said


def test_the_result_is_for_json_and_holds_no_text(scores: Scores, world: World) -> None:
    spelled = json.dumps(scores.as_dict())
    for line in (world.members.read_text() + world.others.read_text()).splitlines():
        text = json.loads(line)["text"]
        assert len(text) < 8 or text not in spelled


def test_the_chart_draws_every_signal(scores: Scores) -> None:
    picture = Membership().chart(scores).content("svg").decode()
    for signal in OF_TEXTS:
        assert f">{signal} (AUC " in picture


def test_with_texts_alone_the_rest_is_named(world: World) -> None:
    given = replace(inputs(world), references=())
    found = run_attack(Membership(), given, Randomness.reproducible(1))
    tried = {one.metric for one in found.figures if one.metric.startswith("auc ")}
    assert tried == {
        "auc loss", "auc zlib", "auc min-k", "auc min-k++", "auc neighborhood",
        "auc without the model",
    }  # fmt: skip
    assert any(
        "reference, reference-rank, lira-offline, rmia" in note and "`reference=[RUN]`" in note
        for note in found.notes
    )
    assert any("lira-online, shadow" in note and "'shadows': 8" in note for note in found.notes)
    assert "models of the same kind" not in found.knowledge


def test_two_shadows_are_too_few_for_two_variances(world: World, tmp_path: Path) -> None:
    target = open_model(world.run)
    data = Suspects(recipe=request(), folder=tmp_path)
    asked = ("lira-online", "shadow")
    for shadows, expected in ((2, ["shadow"]), (4, ["lira-online", "shadow"])):
        effort = GatheringEffort(shadows=shadows, neighbors=1, masked_model="")
        chosen, notes = usable(asked, target, data, effort)
        assert chosen == expected
        assert len(notes) == 2 - len(expected)


def test_shadows_stand_in_for_references(world: World) -> None:
    given = replace(inputs(world), references=())
    attack = Membership(shadows=SHADOWS, signals=("reference", "lira-offline", "rmia"))
    found = run_attack(attack, given, Randomness.reproducible(1))
    for signal in attack.signals:
        assert found.figure(f"auc {signal}").value > 0.9


def test_members_and_others_of_different_kinds_are_noted(world: World, tmp_path: Path) -> None:
    """The figures look fine, and mean nothing: the note says so."""
    known = [json.loads(line)["text"] for line in world.members.read_text().splitlines()]
    dated = written(tmp_path / "dated.jsonl", [f"{text} {text} {text}" for text in made_up(40, 9)])
    found = run_attack(
        Membership(signals=("loss",)),
        replace(inputs(world), others=dated),
        Randomness.reproducible(1),
    )
    assert found.notes[0].startswith("members and others differ without the model")
    blind = found.figure("auc without the model")
    assert blind.low is not None
    assert blind.low > 0.5
    assert len(known) == 26


def test_references_that_know_one_side_are_noted(world: World, tmp_path: Path) -> None:
    """Trained on the others they make every member look known, whatever the target is."""
    others = [json.loads(line)["text"] for line in world.others.read_text().splitlines()]
    partial = trained(tmp_path / "partial", others, seed=9)
    given = replace(inputs(world), target=world.references[0], references=(partial,))
    found = run_attack(Membership(signals=("reference",)), given, Randomness.reproducible(1))
    assert found.figure("auc reference").value > 0.9
    assert found.figure("auc references alone").value < 0.1
    assert any("were they trained on one side" in note for note in found.notes)
    assert (
        not run_attack(
            Membership(signals=("reference",)), inputs(world), Randomness.reproducible(1)
        )
        .notes[0]
        .startswith("the references")
    )


def test_the_target_is_no_reference(world: World) -> None:
    with pytest.raises(InvalidArgument, match="the target itself"):
        run_attack(
            Membership(), replace(inputs(world), references=(world.run,)), Randomness.secure()
        )


def test_neighbors_may_come_from_a_masked_model(world: World, tmp_path: Path) -> None:
    folder = with_word_pieces(masked_bert(), tmp_path / "bert")
    attack = Membership(signals=("neighborhood",), masked_model=str(folder), neighbors=2)
    found = run_attack(attack, inputs(world), Randomness.reproducible(1))
    assert any(f"masked language model in {folder}" in note for note in found.notes)


# --- secrets ------------------------------------------------------------------------------------


def test_planted_secrets_are_told_from_decoys(tmp_path: Path) -> None:
    rng = np.random.default_rng(3)
    secrets = tuple(Canary(secret=f"{number:06d}") for number in rng.choice(10**6, 12, False))
    texts = [one.text for one in secrets]
    knows = open_model(trained(tmp_path / "knows", texts, epochs=120))
    found = Membership().score(knows, Suspects(secrets=secrets), Randomness.reproducible(1))
    assert found.figure("auc secrets").value > 0.9
    assert found.figure("accuracy secrets").value > 0.8
    assert found.figure("auc secrets").n == 72
    assert "12 planted secrets against 60 decoys" in found.notes[0]
    assert "format" in found.knowledge
    assert [one.metric for one in found.control.figures] == ["auc secrets"]


def test_three_secrets_are_too_few_and_that_is_said(world: World) -> None:
    secrets = tuple(Canary(secret=f"{number:06d}") for number in range(3))
    target = open_model(world.run)
    with pytest.raises(MissingInput, match="3 were planted, and it takes 4"):
        Membership().score(target, Suspects(secrets=secrets), Randomness.secure())
    candidates = Candidates.of(documents(made_up(5, 1)), documents(made_up(5, 2)))
    both = Suspects(candidates=candidates, secrets=secrets)
    found = Membership(signals=("loss", "secrets")).score(target, both, Randomness.secure())
    assert any("3 were planted" in note for note in found.notes)
    assert "format" not in found.knowledge


# --- classifiers --------------------------------------------------------------------------------


def test_a_classifier_is_attacked_by_the_loss_of_its_labels(tmp_path: Path) -> None:
    """Labels that mean nothing can only be known by heart."""
    rng = np.random.default_rng(4)
    path = {}
    for seed, side in enumerate(("members", "others")):
        rows = [
            {"text": text, "label": str(rng.choice(["good", "bad"]))} for text in made_up(20, seed)
        ]
        path[side] = tmp_path / f"{side}.jsonl"
        path[side].write_text("".join(json.dumps(row) + "\n" for row in rows))
    given = Inputs(
        target=tmp_path / "run",
        members=path["members"],
        others=path["others"],
        layout=Layout(label_field="label"),
    )
    asked = Request(
        model="gpt-small",
        kind="classifier",
        classes=("good", "bad"),
        privacy=Privacy(epsilon=math.inf, epochs=40, batch_sizes=(20,)),
        tokenizer=tokenizer(),
        settings={"layers": 1, "width": 32, "heads": 2, "context": 32},
        seed=1,
    )
    train_model(asked, given.documents(path["members"]), RunFolder(given.target))
    found = run_attack(Membership(), given, Randomness.reproducible(1))
    assert found.figure("auc loss").value > 0.7
    assert not any("zlib" in one.metric for one in found.figures)
    assert any("which a classifier does not give" in note for note in found.notes)
    assert "with their labels and can ask the classifier" in found.knowledge
    assert "For 'gap' and 'label-robustness' they see no more than the label" in found.knowledge
    # The labels alone tell them apart as well, and the gap is the difference of two accuracies.
    target, candidates = open_model(given.target), sides(given)
    accuracies = [ask(target, side).mean() for side in candidates]
    assert found.figure("auc gap").value == pytest.approx((1 + accuracies[0] - accuracies[1]) / 2)
    assert found.figure("auc gap").value > 0.6
    assert found.figure("auc label-robustness").value > 0.6
    only = run_attack(Membership(signals=("gap",)), given, Randomness.reproducible(1))
    assert "probability" not in only.knowledge
    assert {one.metric for one in only.control.figures} == {"auc gap"}
    assert only.figure("auc gap").value == found.figure("auc gap").value


def sides(given: Inputs) -> list[list[Document]]:
    assert given.members is not None
    assert given.others is not None
    return [given.documents(given.members), given.documents(given.others)]


def test_a_language_model_gives_no_labels(world: World) -> None:
    found = lacking(inputs(world), Membership(signals=("gap", "label-robustness")))
    assert "gap" in found
    assert "need a classifier" in found


def test_what_the_level_of_a_run_allows_stands_beside_the_figures(world: World) -> None:
    private = replace(
        open_model(world.run), epsilon=1.0, delta=0.0, notion="approximate differential privacy"
    )
    data = Suspects(candidates=Candidates.of(documents(made_up(5, 1)), documents(made_up(5, 2))))
    attack = Membership(signals=("loss",))
    found = attack.score(private, data, Randomness.reproducible(1))
    bounds = found.details["bounds"]
    assert bounds["auc loss"] == pytest.approx(1 - math.exp(-1) / 2)
    assert bounds["advantage loss"] == pytest.approx(math.tanh(0.5))
    assert bounds["accuracy loss"] == pytest.approx((1 + math.tanh(0.5)) / 2)
    # Yeom's attacker was told the mean loss of the members; no model says that.
    assert not {"advantage yeom", "auc without the model"} & set(bounds)
    assert any("if a fair coin decided" in note for note in found.notes)
    assert "what the level allows" in attack.chart(found).content("svg").decode()
    for other in (
        replace(private, epsilon=math.inf),
        replace(private, notion="selective differential privacy"),
        replace(private, settings={"plan": {"unit": "author"}}),
        # A run that tells how many texts it had keeps this level, and tells one text by itself.
        replace(private, settings={"plan": {"unit": "example", "neighbors": "replacement"}}),
    ):
        assert "bounds" not in attack.score(other, data, Randomness.reproducible(1)).details


# --- what is lacking ----------------------------------------------------------------------------


def lacking(given: Inputs, attack: Membership | None = None) -> str:
    with pytest.raises(MissingInput) as caught:
        run_attack(attack or Membership(), given, Randomness.secure())
    return str(caught.value)


def test_what_is_missing_is_explained(world: World, tmp_path: Path) -> None:
    whole = inputs(world)
    assert "sfumato.train(" in lacking(replace(whole, target=world.members))
    assert "neither the folder" in lacking(replace(whole, target=tmp_path / "nowhere"))
    assert "lacks `others=FILE`" in lacking(replace(whole, others=None))
    assert "lacks `members=FILE`;" in lacking(replace(whole, members=None))
    assert "`canaries=" in lacking(replace(whole, members=None, others=None))
    assert "the reference" in lacking(replace(whole, references=(world.members,)))


def test_a_signal_that_was_asked_for_is_not_left_out_silently(world: World) -> None:
    bare = replace(inputs(world), references=(), cache=None)
    nothing = replace(bare, members=None, others=None)
    assert "`reference=[RUN]`" in lacking(bare, Membership(signals=("rmia",)))
    assert "'shadows': 8" in lacking(bare, Membership(signals=("shadow",)))
    assert "`cache=FOLDER`" in lacking(bare, Membership(shadows=4))
    model = replace(bare, target=world.run / "model", cache=world.cache)
    assert "does not say how" in lacking(model, Membership(shadows=4))
    assert "sfumato.plant_canaries(" in lacking(bare, Membership(signals=("secrets",)))
    assert "loss: `members=FILE` and `others=FILE`" in lacking(
        replace(nothing, canaries=world.members), Membership(signals=("loss",))
    )
    assert "is no folder" in lacking(bare, Membership(masked_model="nowhere"))


def test_a_library_user_is_told_as_well(world: World) -> None:
    target = open_model(world.run)
    candidates = Candidates.of(documents(made_up(5, 1)), documents(made_up(5, 2)))
    data = Suspects(candidates=candidates)
    with pytest.raises(MissingInput, match="nothing to compute secrets from"):
        Membership(signals=("secrets",)).score(target, data, Randomness.secure())
    with pytest.raises(MissingInput, match="nothing to compute any signal from"):
        Membership().score(target, Suspects(), Randomness.secure())


@pytest.mark.parametrize(
    ("settings", "problem"),
    [
        ({"signals": ("los",)}, "did you mean 'loss'"),
        ({"shadows": 3}, "must be even"),
        ({"share": 0.0}, "share"),
        ({"alpha": 2.0}, "alpha"),
        ({"gamma": 0.0}, "gamma"),
        ({"offset": -1.0}, "offset"),
        ({"neighbors": 0}, "neighbors"),
        ({"most": 1}, "most"),
    ],
)
def test_settings_outside_what_is_allowed_are_refused(
    settings: dict[str, object], problem: str
) -> None:
    with pytest.raises((InvalidArgument, UnknownName), match=problem):
        Membership(**settings)  # type: ignore[arg-type]


def test_too_few_texts_are_refused(world: World, tmp_path: Path) -> None:
    few = written(tmp_path / "few.jsonl", made_up(2, 1))
    with pytest.raises(BadInput, match="too few"):
        run_attack(Membership(), replace(inputs(world), others=few), Randomness.secure())
