"""What a step needs, computed on tensors without numbers, against what one really holds."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import pytest
import torch
from transformers import GPT2Config, GPT2LMHeadModel

import sfumato
from sfumato.core.errors import InvalidArgument
from sfumato.models.devices import check_device, require_device
from sfumato.models.load import slice_losses
from sfumato.models.recomputing import recompute
from sfumato.models.shapes import shape_of
from sfumato.training import footprint as measured
from sfumato.training.clipping.recording import Recording
from sfumato.training.footprint import Footprint, measure_footprint
from sfumato.training.settings import Course

ROWS, PLACES = 3, 12


def gpt2(what: str) -> Any:
    config = GPT2Config(
        vocab_size=50, n_positions=16, n_embd=24, n_layer=2, n_head=2, bos_token_id=0,
        eos_token_id=0,
    )  # fmt: skip
    model = GPT2LMHeadModel(config)
    slice_losses(model)
    recompute(model, what)
    return model


@cache
def predicted(what: str) -> Footprint:
    with torch.device("meta"):
        model = gpt2(what)
    return measure_footprint(model, Course(recompute=what), ROWS, PLACES)


def counted(what: str) -> tuple[int, int]:
    """Held and peak bytes of the same step on real numbers."""
    model = gpt2(what).train()
    count = measured._Counting()
    for one in (*model.parameters(), *model.buffers()):
        count.hold(one)
    optimizer = torch.optim.Adam(model.parameters())
    recording = Recording(model, two_passes=what == "all")
    answers, measured._ANSWERS = measured._ANSWERS, {}
    try:
        with count, measured.never_compared(recording):
            grads = {one: torch.ones_like(one) for one in model.parameters()}
            measured._update(optimizer, grads)
            count.start()
            measured._take_step(model, recording, optimizer, (ROWS, PLACES))
    finally:
        measured._ANSWERS = answers
        recording.close()
    return count.held, count.peak


@pytest.mark.parametrize("what", ["nothing", "all"])
def test_the_prediction_is_what_a_real_step_holds(what: str) -> None:
    found, (held, peak) = predicted(what), counted(what)
    assert found.weights + found.optimizer == pytest.approx(held, rel=0.01)
    # Tokens of a real batch repeat, so that it holds a little less.
    assert 0.9 * found.peak <= peak <= 1.01 * found.peak


def test_what_is_computed_again_needs_less_memory_and_more_operations() -> None:
    nothing, blocks, everything = map(predicted, ("nothing", "blocks", "all"))
    assert nothing.batch > blocks.batch > everything.batch
    assert nothing.operations < blocks.operations < everything.operations
    assert nothing.weights == everything.weights == 4 * nothing.parameters


def test_the_verb_reads_settings_of_a_built_in_model() -> None:
    settings = {"width": 16, "layers": 1, "heads": 2}
    full = sfumato.footprint("gpt-small", rows=1, places=8, settings=settings)
    short = sfumato.footprint(
        "gpt-small", rows=1, places=8, settings=settings, lora_rank=2, precision="bf16"
    )
    assert short.trained < full.trained
    assert short.weights < 0.6 * full.weights
    assert short.short > 0 == full.short
    assert dict(full.lines())["in all"].endswith("GB")


@pytest.mark.parametrize("model", ["lstm", "bert-small", "t5-small-from-scratch"])
def test_models_of_every_kind_have_a_footprint(model: str) -> None:
    """Norms of other people's classes are known, and what was tied still is."""
    found = sfumato.footprint(model, rows=1, places=4)
    with_weights = shape_of(model)
    assert found.parameters == sum(one.numel() for one in with_weights.parameters())
    assert found.trained == found.parameters


def test_rows_that_the_model_cannot_read_are_refused() -> None:
    with pytest.raises(InvalidArgument, match="that a row of this model can have"):
        sfumato.footprint("gpt2", places=1025)


def test_known_shapes_have_the_published_sizes() -> None:
    for name, millions in (("gpt2", 124), ("gpt2-medium", 355), ("llama-2-7b", 6738)):
        network = shape_of(name)
        assert round(sum(one.numel() for one in network.parameters()) / 1e6) == millions


@pytest.mark.parametrize("device", ["gpu", "cuda:", "cuda:x", "meta", ""])
def test_names_that_are_no_device_are_refused(device: str) -> None:
    with pytest.raises(InvalidArgument, match="must be 'cpu'"):
        check_device(device)


@pytest.mark.parametrize(
    "make",
    [
        lambda: Course(recompute="layers"),
        lambda: Course(precision="fp16"),
        lambda: Course(device="tpu"),
        lambda: sfumato.footprint("lstm", recompute="all"),
    ],
)
def test_what_makes_no_sense_is_refused(make: Callable[[], object]) -> None:
    with pytest.raises(InvalidArgument):
        make()


def test_a_device_that_is_not_there_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 1)
    require_device("cuda:0")
    with pytest.raises(InvalidArgument, match="no such device"):
        require_device("cuda:1")


def test_older_runs_say_nothing_about_how_they_used_the_machine() -> None:
    assert not {"recompute", "precision", "device"} & Course().as_dict().keys()
    assert Course(recompute="all").as_dict()["recompute"] == "all"
    assert Course().is_usual
    assert not Course(precision="bf16").is_usual
