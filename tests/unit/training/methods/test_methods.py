"""Methods of training: the streams do not meet, and each promises what it keeps."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from sfumato.core.errors import CannotResume, InvalidArgument, UnknownName
from sfumato.core.randomness import Randomness
from sfumato.guarantees.guarantee import Notion
from sfumato.models.load import LoadedModel, load_model
from sfumato.models.precision import set_precision
from sfumato.policies.parsing import combine_policies
from sfumato.policies.policy import Policy
from sfumato.text.document import Document
from sfumato.training.execution import train_model
from sfumato.training.folder import RunFolder
from sfumato.training.loop import fit
from sfumato.training.methods.base import build_method
from sfumato.training.methods.promise import Misses, PolicyPromise
from sfumato.training.methods.selective import PublicCourse
from sfumato.training.methods.streams import PublicSteps, selective_streams
from sfumato.training.plan import Plan
from sfumato.training.records import Cut
from sfumato.training.request import Request
from sfumato.training.run import Run
from sfumato.training.settings import Course, Privacy

TEXTS = ["Code 42 is mine", "Nothing here", "Ring 12345 or 678 now", "A plain line", "Room 9"]
TINY = {"embedding": 6, "hidden": 6, "context": 32}


def digits() -> Policy:
    return combine_policies(["digits"], [], {})


def documents(texts: list[str] = TEXTS) -> list[Document]:
    return [Document(text) for text in texts]


def tiny() -> LoadedModel:
    return load_model("lstm", randomness=Randomness.reproducible(1), settings=dict(TINY))


def weights(model: LoadedModel) -> dict[str, torch.Tensor]:
    return {name: one.clone() for name, one in model.network.state_dict().items()}


def same(one: dict[str, torch.Tensor], other: dict[str, torch.Tensor]) -> bool:
    return all(torch.equal(one[name], other[name]) for name in one)


def request(method: str, **changes: Any) -> Request:
    """Ten tiny steps of a method."""
    public: dict[str, object] = {"public_epochs": 2} if method in ("selective", "twice") else {}
    chosen = build_method(method, public | ({"lead": 0.5} if method == "selective" else {}))
    epsilon = 8.0 if chosen.adds_noise else float("inf")
    settings: dict[str, Any] = {
        "model": "lstm",
        "settings": dict(TINY),
        "privacy": Privacy(epsilon=epsilon, delta=1e-2, epochs=5, batch_sizes=(2,)),
        "method": chosen,
        "protection": PolicyPromise(digits()) if chosen.needs_policy else None,
        "course": Course(checkpoint_every=2),
        "seed": 5,
    }
    return Request(**(settings | changes))


def steps_after(
    texts: list[str], count: int, precision: str = "float32"
) -> dict[str, torch.Tensor]:
    """The weights after some public steps from the same start."""
    model = tiny()
    set_precision(model.network, precision)
    streams = selective_streams(documents(texts), digits(), model.tokenizer, Cut(context=32))
    course = PublicCourse(epochs=count / 5 * 2, batch_size=2, lead=1.0)
    steps = PublicSteps(model, streams.public, course, Course(), Randomness.reproducible(3))
    list(steps.reach(0, 1))
    assert steps.taken == count
    return weights(model)


@pytest.mark.parametrize("precision", ["float32", "bf16"])
def test_public_steps_are_bitwise_the_same_whatever_the_secrets_are(precision: str) -> None:
    changed = [text.replace("12345", "999999999999").replace("42", "7") for text in TEXTS]
    assert same(steps_after(TEXTS, 3, precision), steps_after(changed, 3, precision))


@pytest.mark.parametrize("precision", ["float32", "bf16"])
def test_public_steps_learn_the_public_text(precision: str) -> None:
    """A twin with other public words gives other weights, so the check above can fail."""
    changed = [text.replace("plain", "purple") for text in TEXTS]
    assert not same(steps_after(TEXTS, 3, precision), steps_after(changed, 3, precision))
    assert not same(steps_after(TEXTS, 3, precision), weights(tiny()))


@pytest.mark.parametrize("method", ["selective", "twice"])
def test_products_of_few_digits_change_no_promise(tmp_path: Path, method: str) -> None:
    found = {}
    for precision in ("float32", "bf16"):
        course = Course(checkpoint_every=2, precision=precision)
        folder = RunFolder(tmp_path / precision)
        found[precision] = train_model(request(method, course=course), documents(), folder)
    assert found["bf16"].guarantee == found["float32"].guarantee
    written = [weights(one.model) for one in found.values()]
    assert not same(*written)
    with pytest.raises(InvalidArgument, match="takes steps of two kinds on one model"):
        train_model(request(method, course=Course(recompute="all")), documents(), folder)
    with pytest.raises(InvalidArgument, match="computes more than that in full"):
        request("interleaved", course=Course(precision="bf16"))


def test_a_public_step_is_the_plain_step() -> None:
    """By hand: mean over records of the mean over their tokens, masks left out, then Adam."""
    model, twin = tiny(), tiny()
    streams = selective_streams(
        documents(["Code 42 is"]), digits(), model.tokenizer, Cut(context=32)
    )
    course = PublicCourse(epochs=1, batch_size=1, learning_rate=0.01, lead=1.0)
    steps = PublicSteps(model, streams.public, course, Course(), Randomness.reproducible(3))
    list(steps.reach(0, 1))
    optimizer = torch.optim.Adam(twin.network.parameters(), lr=0.01)
    tokens = streams.public.tokens.astype(np.int64)
    assert streams.public.wanted is not None
    logits = twin.network(input_ids=torch.from_numpy(tokens[None, :-1])).logits[0]
    chosen = torch.from_numpy(streams.public.wanted[1:])
    loss = torch.nn.functional.cross_entropy(logits[chosen], torch.from_numpy(tokens[1:])[chosen])
    loss.backward()  # type: ignore[no-untyped-call]
    optimizer.step()
    for name, value in weights(twin).items():
        torch.testing.assert_close(weights(model)[name], value, atol=1e-6, rtol=1e-5)


def test_the_two_samples_are_independent() -> None:
    """The private sample is the same with and without public steps, and with other ones."""

    def private_sample(public: bool) -> list[list[int]]:
        model = tiny()
        streams = selective_streams(documents(), digits(), model.tokenizer, Cut(context=32))
        plan = Plan.for_epsilon(epsilon=8, delta=1e-2, units=3, batch_size=1, epochs=4)
        seen: list[list[int]] = []
        course = PublicCourse(epochs=3, batch_size=2)
        between = PublicSteps(model, streams.public, course, Course(), Randomness.reproducible(77))
        honest = Plan.batches

        def watched(self: Plan, *given: Any, **more: Any) -> Any:
            for batch in honest(self, *given, **more):
                seen.append(batch.members.tolist())
                yield batch

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(Plan, "batches", watched)
            fit(
                model,
                streams.private,
                plan,
                randomness=Randomness.reproducible(4),
                between=between if public else None,
            )
        assert between.taken == (8 if public else 0)
        return seen

    assert private_sample(True) == private_sample(False)


def test_with_everything_private_it_is_dp_sgd_on_everything() -> None:
    """The private stream predicts every token, and the public one nothing but ends."""
    everything = combine_policies(["everything"], [], {})
    model = tiny()
    streams = selective_streams(documents(), everything, model.tokenizer, Cut(context=32))
    assert len(streams.private) == len(TEXTS)
    assert streams.private.wanted is not None
    for record in range(len(TEXTS)):
        for row in streams.private.rows_of(record):
            marked = streams.private.marked(row)
            assert marked is not None
            assert marked.all()


@pytest.mark.parametrize("lead", [0.0, 0.3, 1.0])
@pytest.mark.parametrize("private", [1, 2, 7])
def test_all_public_steps_are_taken_and_never_go_back(lead: float, private: int) -> None:
    course = PublicCourse(epochs=3, batch_size=10, lead=lead)
    reached = [course.before(step, private, 101) for step in range(private)]
    assert reached == sorted(reached)
    if private > 1:
        assert reached[0] == round(lead * 30)
        assert reached[-1] == course.steps(101) == 30


@pytest.mark.parametrize("method", ["selective", "twice"])
def test_a_run_states_selective_privacy_and_names_its_policy(tmp_path: Path, method: str) -> None:
    trained = train_model(request(method), documents(), RunFolder(tmp_path / "run"))
    guarantee = trained.guarantee
    assert guarantee.notion is Notion.SELECTIVE_DP
    assert 7 < guarantee.epsilon <= 8
    assert trained.plan.units == 3
    assert "digits" in guarantee.neighbors
    assert "what the policy digits does not find" in guarantee.uncovered
    stored = json.loads((tmp_path / "run" / "guarantee.json").read_bytes())
    assert stored["guarantee"]["notion"] == Notion.SELECTIVE_DP.value
    settings = json.loads((tmp_path / "run" / "config.json").read_bytes())["settings"]
    assert settings["method"] == method
    assert settings["policy"] == "digits"


def test_redaction_promises_nothing_and_hides_all_that_was_found(tmp_path: Path) -> None:
    changed = [text.replace("12345", "999999999999").replace("42", "7") for text in TEXTS]
    found: list[Run] = [
        train_model(request("redacted"), documents(texts), RunFolder(tmp_path / str(place)))
        for place, texts in enumerate((TEXTS, changed))
    ]
    assert found[0].guarantee.notion is Notion.NONE
    assert "what the policy digits does not find" in found[0].guarantee.uncovered
    assert same(weights(found[0].model), weights(found[1].model))


def test_misses_are_stated_where_they_were_measured() -> None:
    plan = Plan.for_epsilon(epsilon=8, delta=1e-2, units=3, batch_size=1, epochs=4)
    measured = PolicyPromise(digits(), misses=Misses(3, 40))
    tokenizer = tiny().tokenizer
    asked = request("selective", protection=measured)
    said = asked.promised(plan.guarantee(), tokenizer).sentence()
    assert "measured on labeled text: 3 of 40 spans missed" in said
    unmeasured = request("selective").promised(plan.guarantee(), tokenizer)
    assert "measured" not in unmeasured.sentence()


def test_twice_takes_all_public_steps_first(tmp_path: Path) -> None:
    course = PublicCourse(epochs=2, batch_size=2, lead=1.0)
    assert course.before(0, 9, 5) == course.steps(5) == 5
    trained = train_model(request("twice"), documents(), RunFolder(tmp_path / "run"))
    assert trained.plan.units == 3


class Killed(Exception):
    """As if the process had gone."""


def test_a_killed_run_goes_on_with_both_streams(tmp_path: Path) -> None:
    folder = RunFolder(tmp_path / "run")

    def killing(*_: Any) -> Any:
        def watch(now: Any) -> None:
            if now.step == 5:
                raise Killed

        return watch

    with pytest.raises(Killed):
        train_model(request("selective"), documents(), folder, announce=killing)
    trained = train_model(request("selective"), documents(), folder, resume=True)
    whole = train_model(request("selective"), documents(), RunFolder(tmp_path / "whole"))
    assert trained.guarantee == whole.guarantee
    assert trained.files.finished


def test_another_method_is_not_resumed(tmp_path: Path) -> None:
    folder = RunFolder(tmp_path / "run")
    train_model(request("selective"), documents(), folder)
    with pytest.raises(CannotResume, match="method"):
        train_model(request("twice"), documents(), folder, resume=True)


def test_half_a_method_is_refused() -> None:
    with pytest.raises(InvalidArgument, match="selective needs a policy"):
        request("selective", protection=None)
    with pytest.raises(InvalidArgument, match="private has no use for a policy"):
        request("private", protection=PolicyPromise(digits()))
    with pytest.raises(UnknownName, match="setting of redacted 'public_epochs'"):
        build_method("redacted", {"public_epochs": 2})
    with pytest.raises(InvalidArgument, match="twice takes all public steps first"):
        build_method("twice", {"lead": "0.5"})
    with pytest.raises(InvalidArgument, match="cannot be set on a method object"):
        build_method(build_method("twice"), {"lead": 1.0})


def test_levels_and_classifiers_that_do_not_fit_are_refused() -> None:
    with pytest.raises(InvalidArgument, match="keeps no epsilon"):
        request("redacted", privacy=Privacy(epsilon=3.0))
    with pytest.raises(InvalidArgument, match="for language models"):
        replace(request("selective"), kind="classifier", classes=("a", "b"))
