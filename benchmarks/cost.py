"""What private training needs: predicted on tensors without numbers, checked on a shape held out.

Every shape that can be run here is trained for some steps in a process of its own, one way after
the other. Two laws are fitted on the first shapes: memory beyond the start of the process is
a + b·(predicted peak), from the third step on, and processor time is a sum of operations, bytes
moved and weights that get noise, each at a rate of its own. The last two shapes were held out:
their rows show the error of prediction. The rows after that are shapes that cannot be run here;
their time, in float32, is what this processor would take on one core, and their memory the
predicted peak of tensors. What bfloat16 takes on a processor that has no instructions for it says
nothing about others, so no time is given.
"""

from __future__ import annotations

import ctypes
import json
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

from benchmarks.timing import Row
from benchmarks.training_step import status

# Layers, width, vocabulary, rows, places.
SHAPES = {
    "2 × 256": (2, 256, 4_000, 2, 64),
    "2 × 512": (2, 512, 8_000, 2, 128),
    "6 × 384": (6, 384, 8_000, 2, 128),
    "4 × 256, long": (4, 256, 4_000, 16, 256),
}
# One that is larger than the others, and one whose batch is most of its memory.
HELD_OUT = ("6 × 384", "4 × 256, long")
# In float32 alone: a processor without instructions for bfloat16 takes many times as long in it.
WAYS = (("nothing", "float32", None), ("blocks", "float32", None), ("all", "float32", None))
FULL, SHORT = "float32", "bf16"
# Shape, rank of LoRA, and what is computed again in which precision.
LARGE = (
    ("gpt2", None, (("nothing", FULL), ("all", FULL))),
    ("gpt2-medium", None, (("nothing", FULL), ("all", FULL))),
    ("llama-2-7b", 8, (("nothing", FULL), ("nothing", SHORT), ("blocks", SHORT))),
)
ROWS, PLACES = 4, 256
# Processor time is measured, so several processes may run at once.
AT_ONCE = 16


def run(quick: bool) -> list[Row]:
    """Runs, laws, what was held out, and what cannot be run."""
    shapes = dict(list(SHAPES.items())[:3]) if quick else SHAPES
    large = LARGE[: 1 if quick else None]
    asked = [
        (model, [what, precision, rank])
        for model, rank, every in large
        for what, precision in every
    ]
    trained = [(shape, way) for shape in shapes for way in WAYS]
    with ThreadPoolExecutor(AT_ONCE) as several:
        runs = several.map(lambda one: _alone("train", *one)["pair"], trained)
        predictions = several.map(lambda one: _alone("large", *one), asked)
        seen, extrapolated = dict(zip(trained, runs, strict=True)), list(predictions)
    fitted = [pair for (shape, _), pair in seen.items() if shape not in HELD_OUT]
    memory, speed = _fit_memory(fitted), _fit_time(fitted)
    rows: list[Row] = []
    for (shape, way), (predicted, measured) in seen.items():
        megabytes = memory[0] + memory[1] * predicted["peak"] / 1e6
        seconds = float(_features(predicted) @ speed)
        rows.append(
            {
                "shape": f"{shape}{' LoRA' if way[2] else ''}",
                "role": "held out" if shape in HELD_OUT else "fitted",
                "recompute": way[0],
                "precision": way[1],
                "MB": f"{measured['megabytes']:.0f}",
                "MB while rows are compared": f"{measured['compared']:.0f}",
                "MB predicted": f"{megabytes:.0f} ({megabytes / measured['megabytes'] - 1:+.0%})",
                "s": f"{measured['seconds']:.2f}",
                "s predicted": f"{seconds:.2f} ({seconds / measured['seconds'] - 1:+.0%})",
            }
        )
    for one, predicted in zip(asked, extrapolated, strict=True):
        rows.append(_extrapolated(one, predicted, speed))
    return rows


def _extrapolated(asked: tuple[str, list[Any]], predicted: dict[str, float], speed: Any) -> Row:
    model, (what, precision, rank) = asked
    seconds = "" if predicted["short"] else f"{float(_features(predicted) @ speed):,.0f}"
    return {
        "shape": f"{model}{f' LoRA {rank}' if rank else ''}, {ROWS} × {PLACES}",
        "role": "extrapolated",
        "recompute": what,
        "precision": precision,
        "MB predicted": f"{predicted['peak'] / 1e6:,.0f}",
        "s predicted": seconds,
        "weights": f"{predicted['weights'] / 1e6:,.0f}",
        "optimizer": f"{predicted['optimizer'] / 1e6:,.0f}",
        "sums": f"{predicted['sums'] / 1e6:,.0f}",
        "batch": f"{predicted['batch'] / 1e6:,.0f}",
        "10¹² operations": f"{predicted['operations'] / 1e12:.2f}",
    }


def _features(predicted: dict[str, float]) -> Any:
    return np.array([predicted[name] for name in ("operations", "moved", "trained")])


def _fit_memory(fitted: list[tuple[dict[str, float], dict[str, float]]]) -> Any:
    """A and b of a + b·peak, in megabytes, by least squares."""
    peaks = np.array([one["peak"] / 1e6 for one, _ in fitted])
    found = np.array([one["megabytes"] for _, one in fitted])
    return np.linalg.lstsq(np.stack([np.ones_like(peaks), peaks], 1), found, rcond=None)[0]


def _fit_time(fitted: list[tuple[dict[str, float], dict[str, float]]]) -> Any:
    """Seconds for each operation, byte and weight, none of them negative; errors are relative."""
    from scipy.optimize import nnls

    seconds = np.array([one["seconds"] for _, one in fitted])
    features = np.stack([_features(one) for one, _ in fitted]) / seconds[:, None]
    scale = features.max(0) + 1e-300
    return nnls(features / scale, np.ones(len(seconds)))[0] / scale


def _alone(task: str, *what: Any) -> dict[str, Any]:
    """A task in a process of its own."""
    command = [sys.executable, "-W", "ignore", "-m", __name__, json.dumps([task, *what])]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"{task} {what} failed: {done.stderr.strip()}")
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found


def _network(shape: str, way: list[Any]) -> Any:
    from transformers import GPT2Config, GPT2LMHeadModel

    from sfumato.core.randomness import Randomness
    from sfumato.models.load import slice_losses
    from sfumato.models.lora import Lora
    from sfumato.models.precision import set_precision
    from sfumato.models.recomputing import recompute

    layers, width, words, _, _ = SHAPES[shape]
    config = GPT2Config(
        vocab_size=words,
        n_embd=width,
        n_layer=layers,
        n_head=width // 64,
        bos_token_id=0,
        eos_token_id=0,
    )
    network: Any = GPT2LMHeadModel(config)
    slice_losses(network)
    if way[2]:
        network = Lora(rank=way[2]).attach(network, Randomness.reproducible(0))
    recompute(network, way[0])
    set_precision(network, way[1])
    return network


def _predict(shape: str, way: list[Any]) -> dict[str, float]:
    import torch

    from sfumato.training.footprint import measure_footprint
    from sfumato.training.settings import Course

    with torch.device("meta"):
        network = _network(shape, way)
    course = Course(recompute=way[0], precision=way[1])
    found = measure_footprint(network, course, *SHAPES[shape][3:])
    return vars(found) | {"peak": found.peak}


def _large(model: str, way: list[Any]) -> dict[str, float]:
    from sfumato.verbs.footprint import footprint

    found = footprint(
        model, rows=ROWS, places=PLACES, lora_rank=way[2], recompute=way[0], precision=way[1]
    )
    return vars(found) | {"peak": found.peak}


def _train(shape: str, way: list[Any]) -> dict[str, Any]:
    """What is predicted; processor time of a step and peak memory beyond the start."""
    import torch
    import transformers  # noqa: F401  # before the start is measured

    from sfumato.core.randomness import Randomness
    from sfumato.training.clipping.clippers import Flat
    from sfumato.training.optimizers import make_optimizer
    from sfumato.training.row_losses import row_losses
    from sfumato.training.steps import make_private

    torch.set_num_threads(1)
    predicted = _predict(shape, way)
    start = int(status("VmRSS"))
    network = _network(shape, way).train()
    rows, places = SHAPES[shape][3:]
    tokens = torch.randint(0, SHAPES[shape][2], (rows, places))
    step = make_private(
        network,
        make_optimizer("adam", network.parameters(), 1e-4),
        clipper=Flat(1.0),
        noise_multiplier=1.0,
        expected_batch_size=rows,
        randomness=Randomness.secure(),
        two_passes=way[0] == "all",
    )
    taken = []
    inputs = {"input_ids": tokens, "attention_mask": torch.ones_like(tokens)}
    for number in range(4):
        if number == 2:  # in the first two, rows are compared
            compared = (int(status("VmHWM")) - start) / 1024
            _forget_peak()
        began = time.process_time()
        step.backward(row_losses(network, inputs, tokens, torch.ones(rows)))
        step.step()
        taken.append(time.process_time() - began)
    megabytes = (int(status("VmHWM")) - start) / 1024
    measured = {"seconds": median(taken[2:]), "megabytes": megabytes, "compared": compared}
    return {"pair": [predicted, measured]}


def _forget_peak() -> None:
    """Give free memory back, and let the kernel measure the peak from here on."""
    ctypes.CDLL("libc.so.6").malloc_trim(0)
    Path("/proc/self/clear_refs").write_text("5", encoding="ascii")


if __name__ == "__main__":
    task, *what = json.loads(sys.argv[1])
    doing: Any = {"large": _large, "train": _train}[task]
    print(json.dumps(doing(*what)))
