"""A study that takes a moment: numbers in a few sentences, privatized and measured, no model."""

from __future__ import annotations

from pathlib import Path

from sfumato.studies.parsing import parse_spec
from sfumato.studies.spec import StudySpec

SMALL = """
title = "Small"
seeds = [1, 2]

[corpus]
kind = "customersim"
count = 6
seed = 3

[[methods]]
name = "SMDP"
mechanism = "laplace"
policy = "digits"
epsilon = [1, 9]

[[methods]]
name = "masks"
mechanism = "redact"
policy = "digits"

[measures.text]
"""


def small_study(folder: Path, text: str = SMALL) -> StudySpec:
    return parse_spec(text, folder, "small")
