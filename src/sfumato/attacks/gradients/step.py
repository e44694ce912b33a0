"""What a step does to the gradients of its batch before somebody sees them.

Every record's gradient is bounded: reduced to its direction, clipped, or left whole. All are
summed, and noise is added: once to the sum (``gaussian``, as DP-SGD does), to every record
(``per-record``), or by turning every direction (``directional``, von Mises–Fisher). Numbers are in
units of the bound, so that no record is longer than 1 and ``sigma`` is the standard deviation of
the noise in every coordinate of one record; a directional step has the concentration that is
matched to it in the model's own number of dimensions.

A step is given by hand, or it is one of a run (``step_of_run``): with the clipping norm, the noise
and the batch size of its plan.

Care
    The noise of a run is that of its step with the least noise. Under Poisson sampling the size of
    a batch is random; here a step has as many records as were expected.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from sfumato.accounting.directional import match_sigma
from sfumato.core.checks import at_least, between, one_of, positive
from sfumato.core.errors import BadInput, InvalidArgument

NOISES = ("none", "gaussian", "per-record", "directional")
OF_RUN = "run"
LARGEST_NOISE = 1e9
BOUNDS = ("direction", "clipped", "automatic", "whole")
# Methods whose steps see one batch of documents, as a plan describes them.
METHODS = ("directional", "per-record", "plain", "private")


@dataclass(frozen=True, kw_only=True)
class Step:
    """How gradients are bounded and summed, and the noise on them.

    ``clip_norm`` is the bound of ``clipped`` and ``automatic`` steps.
    """

    noise: str = "gaussian"
    sigma: float = 0.0
    batch: int = 1
    bound: str = "direction"
    clip_norm: float = 1.0

    def __post_init__(self) -> None:
        one_of("noise", self.noise, NOISES)
        one_of("bound", self.bound, BOUNDS)
        between("sigma", self.sigma, 0.0, LARGEST_NOISE)
        at_least("batch", self.batch, 1)
        positive("clip_norm", self.clip_norm)
        if self.sigma and self.noise == "none":
            raise InvalidArgument("noise is none, and sigma says how much there is; give one")
        if self.sigma and self.bound == "whole":
            raise InvalidArgument("gradients of any length have no unit for sigma; clip them")
        if self.noise in ("per-record", "directional") and self.bound not in ("direction", "whole"):
            raise InvalidArgument(f"{self.noise} noise has directions only; leave clip_norm out")

    @property
    def deviation(self) -> float:
        """Standard deviation of the noise in every coordinate of the sum."""
        return self.sigma * (1.0 if self.noise == "gaussian" else math.sqrt(self.batch))

    @property
    def said(self) -> str:
        """The noise in a few words, for the name of a figure."""
        return f"at σ = {self.sigma:.4g}" if self.sigma else "without noise"

    def silent(self) -> Step:
        """The same step without its noise."""
        return replace(self, sigma=0.0)


def step_of_run(settings: Mapping[str, Any] | None) -> Step:
    """The step of a run with the least noise."""
    if settings is None:
        raise InvalidArgument(
            f"noise={OF_RUN!r} takes noise, clipping and batch size from a run, and the target is "
            "none; attack the folder of a run, or say `noise`, `sigma` and `batch`"
        )
    method = str(settings.get("method", "private"))
    if method not in METHODS:
        raise InvalidArgument(
            f"a step of the method {method} is not one batch of whole documents; attacks on "
            f"gradients know the steps of {', '.join(METHODS)}"
        )
    try:
        why = _other_records(method, settings)
        step = _planned(method, settings["plan"])
    except (KeyError, TypeError, ValueError, ZeroDivisionError):
        raise BadInput("the settings of the run are damaged, or of another version") from None
    if why is not None:
        raise InvalidArgument(f"{why}; say `noise`, `sigma`, `batch` and `clip_norm` by hand")
    return step


def _other_records(method: str, settings: Mapping[str, Any]) -> str | None:
    """Why records of a run have another gradient than that of a document's own loss, if so."""
    plan, course = settings["plan"], settings.get("course") or {}
    if plan.get("unit", "example") != "example":
        return (
            "a record of this run is all that an author wrote, and attacks on gradients take every "
            "document for a record"
        )
    if plan["clipping"]["kind"] == "adaptive":
        return "the clipping norm of this run follows its gradients: no step is like another"
    if settings.get("class_separator"):
        return (
            "losses of this run are over the levels of a tree, which attacks on gradients are not"
        )
    # A direction has no length, so that these change nothing there.
    weighed = any(course.get(one) for one in ("divisor", "class_weights", "group_weights"))
    if method in ("plain", "private") and weighed:
        return (
            "losses of this run have a divisor or weights of classes or groups, which attacks on "
            "gradients do not have"
        )
    return None


def _planned(method: str, plan: Mapping[str, Any]) -> Step:
    stage = min(plan["stages"], key=lambda one: float(one["noise_multiplier"]))
    multiplier, batch = float(stage["noise_multiplier"]), int(stage["batch_size"])
    if method == "plain" or multiplier == 0.0:
        bound = "direction" if method in ("directional", "per-record") else "whole"
        return Step(noise="none", bound=bound, batch=batch)
    if method == "directional":
        dimension = int(plan["dimension"])
        sigma = match_sigma(math.sqrt(dimension) / multiplier, dimension)
        return Step(noise="directional", sigma=sigma, batch=batch)
    if method == "per-record":
        return Step(noise="per-record", sigma=multiplier, batch=batch)
    clipping = plan["clipping"]
    return Step(
        sigma=multiplier,
        batch=batch,
        bound="automatic" if clipping["kind"] == "automatic" else "clipped",
        clip_norm=float(clipping["norm"]),
    )
