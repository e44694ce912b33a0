"""The frame of attacks that rebuild text: exact for one who knows, chance for one who does not."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pytest

from sfumato.attacks.gradients import release as releases
from sfumato.attacks.gradients.rebuilding import Rebuilding
from sfumato.attacks.gradients.rebuilt import FIGURES, Text, Texts, put_in_order
from sfumato.attacks.gradients.release import Seen
from sfumato.core.errors import BadInput, InvalidArgument
from sfumato.core.randomness import Randomness
from sfumato.results.scores import Scores
from unit.attacks.gradients.models import encoder, framed_tokenizer, sentences

TARGET = encoder()
KNOWN = releases.Batch.of(TARGET.model, sentences(8), 16).texts()


@dataclass(frozen=True, kw_only=True)
class Oracle(Rebuilding):
    """Knows all texts, and tells by the gradient of the positions how long the longest is."""

    name: ClassVar[str] = "oracle"
    knowledge: ClassVar[str] = "The attacker knows everything."

    def rebuild(self, seen: Seen, randomness: Randomness) -> list[Text]:  # noqa: ARG002
        if seen.step.sigma:
            return []
        # The order is unknown, so it must not count.
        return [one for one in KNOWN[::-1] if len(one) + 2 in seen.lengths][: seen.step.batch]


@dataclass(frozen=True, kw_only=True)
class Thief(Oracle):
    """Finds the texts by their gradients."""

    def rebuild(self, seen: Seen, randomness: Randomness) -> list[Text]:  # noqa: ARG002
        rows = seen.gradient["bert.embeddings.word_embeddings.weight"].norm(dim=1)
        there = set(rows.nonzero()[:, 0].tolist())
        return [one for one in KNOWN if set(one) <= there][: seen.step.batch]


def scored(attack: Rebuilding) -> Scores:
    return attack.score(TARGET, sentences(8), Randomness.reproducible(3))


@pytest.mark.parametrize("batch", [1, 2])
def test_exact_for_one_who_knows_and_null_at_chance(batch: int) -> None:
    found = scored(Thief(batch=batch))
    assert [one.metric for one in found.figures] == [f"{name} without noise" for name in FIGURES]
    assert {one.value for one in found.figures} == {1.0}
    assert {one.n for one in found.figures} == {8}
    for one in found.control.figures:
        # A twin whose null is the text's own release would score 1.
        assert (one.low or 0.0) <= found.chance[one.metric] <= (one.high or 0.0) < 1
    assert found.chance["exact texts without noise"] == 0
    assert "text" not in str(found.details)


def test_a_null_that_is_its_own_text_is_found_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Texts, "null", Texts.figures)
    found = scored(Thief())
    assert all((one.low or 0) > found.chance[one.metric] for one in found.control.figures)


def test_nothing_rebuilt_scores_nothing() -> None:
    found = scored(Oracle(sigma=(0.0, 0.1)))
    assert found.figure("ROUGE-1 at σ = 0.1").value == 0
    assert found.figure("ROUGE-1 without noise").value > 0.2


def test_special_tokens_are_never_scored(monkeypatch: pytest.MonkeyPatch) -> None:
    """A twin that scores [CLS] and [SEP] finds words where none were found."""

    @dataclass(frozen=True, kw_only=True)
    class Empty(Oracle):
        def rebuild(self, seen: Seen, randomness: Randomness) -> list[Text]:  # noqa: ARG002
            frame = framed_tokenizer().frame
            return [[*frame[0], *frame[1]]]

    def best(found: Scores) -> float:
        return max(one.value for one in found.figures)

    assert best(scored(Oracle(sigma=(1.0,)))) == 0
    assert best(scored(Empty())) == 0
    monkeypatch.setattr(releases, "special_tokens", lambda _: frozenset())
    assert best(scored(Empty())) > 0.1


def test_order_within_a_batch_does_not_count() -> None:
    texts = [[1, 2, 3], [4, 5], [6]]
    assert put_in_order([[4, 5, 7], [1, 2]], texts) == [[1, 2], [4, 5, 7], []]
    assert put_in_order([], texts) == [[], [], []]


def test_intervals_count_batches_that_fail_together() -> None:
    """Of eight texts in two batches, one batch all right: no eight independent successes."""
    texts = Texts((tuple([one] for one in range(4)), tuple([one] for one in range(4, 8))),
                  framed_tokenizer())  # fmt: skip
    half = texts.figures([[[one] for one in range(4)], []], "without noise")[-1]
    mixed = texts.figures([[[0], [1]], [[4], [5]]], "without noise")[-1]
    assert half.value == mixed.value == 0.5
    widths = [(one.high or 0) - (one.low or 0) for one in (half, mixed)]
    assert widths[0] > widths[1] + 0.1  # two batches tell little, even if they agree


def test_settings_of_a_run_and_what_is_refused() -> None:
    with pytest.raises(InvalidArgument, match="target is"):
        scored(Oracle(noise="run"))
    with pytest.raises(BadInput, match="16 are needed"):
        scored(Oracle(batch=8))
    with pytest.raises(InvalidArgument, match="sigma"):
        Oracle(sigma=())
    with pytest.raises(InvalidArgument, match="nothing for sigma"):
        Oracle(noise="none", sigma=(1.0,))
    with pytest.raises(InvalidArgument, match="own"):
        Oracle(noise="run", clip_norm=1.0)
    with pytest.raises(InvalidArgument, match="directions only"):
        Oracle(noise="directional", clip_norm=1.0)


def test_a_run_is_seen_with_and_without_its_noise() -> None:
    from dataclasses import replace

    plan = {
        "stages": [{"steps": 1, "batch_size": 64, "noise_multiplier": 0.5}],
        "clipping": {"kind": "fixed", "norm": 0.25},
    }
    run = replace(TARGET, settings={"method": "private", "plan": plan})
    found = Thief(noise="run").score(run, sentences(8), Randomness.reproducible(3))
    assert found.figure("exact texts without noise").value == 1
    assert found.figure("exact texts at σ = 0.5").value < 1
    assert "64 records" in found.notes[0]
    assert found.details["batch"] == 4
    assert np.isfinite([one.value for one in found.figures]).all()
