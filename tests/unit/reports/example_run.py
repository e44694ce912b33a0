"""The folder of a finished training run, as training leaves it."""

from __future__ import annotations

from pathlib import Path

from sfumato.guarantees.guarantee import Guarantee, Notion
from sfumato.training.folder import RunFolder


def write_run(path: Path, model: str = "lstm") -> Path:
    """A run with a guarantee, a plan and one figure."""
    folder = RunFolder(path)
    folder.begin(
        {"model": model, "kind": "causal", "policy": "digits", "seed": 3,
         "settings": {"hidden": 64, "tied": True}},
        resume=False,
    )  # fmt: skip
    guarantee = Guarantee(
        notion=Notion.SELECTIVE_DP, unit="document", neighbors="two corpora", epsilon=7.5,
        delta=0.01, uncovered=("what the policy digits does not find",),
    )  # fmt: skip
    paper = {
        "epsilon": 2.25,
        "delta": 0.01,
        "proven": False,
        "why": "not proven: states are left out",
    }
    folder.write_guarantee(
        guarantee, {"plan": {"steps": 54}, "epsilon_planned": 8.0, "as_in_the_paper": paper}
    )
    folder.add_results(
        [{"metric": "perplexity", "value": 31.5, "low": 30.0, "high": 33.0, "n": 900}]
    )
    folder.model.mkdir()
    return folder.path
