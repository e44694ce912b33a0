"""An attack: its inputs, its scores, and its control."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable
from dataclasses import is_dataclass
from typing import Any

from sfumato.attacks.attack import Attack, Inputs, run_attack
from sfumato.core.randomness import Randomness
from sfumato.results.measured import Measured
from sfumato.results.scores import Scores
from sfumato.testing.holding import hold


def check_attack(attack: Attack[Any, Any], inputs: Inputs) -> None:
    """An attack, on inputs that it can be run on."""
    who = type(attack).__name__
    hold(is_dataclass(attack), f"{who} must be a dataclass: its fields are its settings")
    hold(bool(attack.name), f"{who} needs a name")
    kinds = ("model", "text", "vectors")
    hold(attack.target in kinds, f"{who}.target must be one of {', '.join(kinds)}")
    lacking = attack.missing(Inputs(target=inputs.target / "nowhere"))
    hold(
        isinstance(lacking, str) and bool(lacking),
        f"{who}.missing must say in a sentence that the target is not there",
    )
    told = attack.missing(inputs)
    hold(told is None, f"{who} cannot be run on these inputs: {told}")
    first, second = (run_attack(attack, inputs, Randomness.reproducible(1)) for _ in range(2))
    _check_scores(who, attack.name, first)
    hold(
        first.figures == second.figures,
        f"{who} must give the same figures with the same randomness: draw from it alone",
    )
    written = json.dumps(first.as_dict(), ensure_ascii=False)
    for text in _texts_of(inputs):
        hold(text not in written, f"{who} writes a private text into its scores")


def _check_scores(who: str, name: str, scores: Scores) -> None:
    hold(isinstance(scores, Scores), f"{who}.score must give Scores")
    hold(scores.attack == name, f"the scores of {who} must bear its name, {name!r}")
    hold(scores.knowledge.endswith("."), f"{who} must say what the attacker knows, in a sentence")
    hold(bool(scores.control.figures), f"{who} needs a control: the same where nothing can leak")
    for one in (*scores.figures, *scores.control.figures):
        hold(_in_order(one), f"{one.metric} of {who} must lie inside its interval")
    compared = {one.metric for one in scores.control.figures} & {
        one.metric for one in scores.figures
    }
    hold(bool(compared), f"the control of {who} must have a figure that the attack has, too")
    hold(bool(scores.chance), f"{who} must say what chance would score")


def _in_order(one: Measured) -> bool:
    low = one.value if one.low is None else one.low
    high = one.value if one.high is None else one.high
    return low <= one.value <= high or math.isnan(one.value)


def _texts_of(inputs: Inputs) -> Iterable[str]:
    for path in (inputs.members, inputs.others, inputs.originals):
        if path is not None and path.is_file():
            yield from (one.text for one in inputs.documents(path) if len(one.text) > 20)
