"""A wrong setting is refused before a budget is held, whatever the mechanism and the setting."""

from __future__ import annotations

import json
import math
import secrets
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, get_args

import pytest
import torch

from sfumato import catalog
from sfumato.accounting.budget import Budget, Limit
from sfumato.core.randomness import Randomness
from sfumato.core.settings import purposes, settings_of
from sfumato.files.layout import Layout
from sfumato.files.source import Source
from sfumato.guarantees.guarantee import Guarantee, Notion
from sfumato.mechanisms.build import rewrites_documents
from sfumato.releases import job
from sfumato.releases.job import Job, run_job
from sfumato.releases.payment import Payment
from sfumato.releases.privatizer import Privatizer
from sfumato.vectors.space import Space
from unit.models.folders import autoencoder, gpt2, masked_bert, with_our_tokenizer, with_word_pieces

WRAPPERS = ("levels", "selective")
NAMES = [name for name in catalog.entries("mechanisms") if name not in WRAPPERS]
TEXT = "Ann paid 12 in Paris on 3 May 2021. The film was good."
PUBLIC = ["The film was good.", "A bad film.", "The train was late.", "The wine was cold."]
WRONG: dict[type, tuple[Any, ...]] = {
    bool: (),
    int: (-1,),
    float: (-1.0, math.nan),
    str: ("no such",),
}


class Desk:
    """A budget, a file, and what mechanisms need that cannot do without."""

    def __init__(self, folder: Path, space: Space) -> None:
        self.folder, self.space, self.count = folder, space, 0
        self.key, self.place = folder / "budget.key", str(folder / "budget.db")
        self.key.write_text(secrets.token_hex(32))
        (folder / "in.jsonl").write_text(json.dumps({"text": TEXT}) + "\n")
        (folder / "public.txt").write_text("\n".join(PUBLIC) + "\n")
        Budget.at(self.place, self.key, new=True).close()
        torch.manual_seed(1)

    def needs(self, name: str) -> dict[str, Any]:
        """Settings without which a mechanism cannot be made."""
        made: dict[str, Any] = {
            "latent": lambda: {"model": str(autoencoder(self.folder / "latent"))},
            "masked": lambda: {
                "model": str(with_word_pieces(masked_bert(), self.folder / "masked")), "tokens": 3,
            },
            "temperature": lambda: {
                "model": str(with_our_tokenizer(gpt2(), self.folder / "writer")),
                "tokens": 2, "prompt": "{}",
            },
        }  # fmt: skip
        if name in ("candidates", "sentences"):
            return {"pool": str(self.folder / "public.txt"), "most": 2}
        return made[name]() if name in made else {}

    def run(self, privatizer: Callable[[], Privatizer]) -> tuple[BaseException | None, int]:
        """What a run was refused for, if it was, and how often its account was charged."""
        self.count += 1
        account = f"text:{self.count}"
        with Budget.at(self.place, self.key) as budget:
            budget.open(account, Limit.of("level", math.inf))
            refused = None
            try:
                run_job(self._job(account), privatizer())
            except (Exception, SystemExit) as error:
                refused = error
            return refused, budget.show(account).charges

    def _job(self, account: str) -> Job:
        return Job(
            source=Source.of(self.folder / "in.jsonl", Layout()),
            target=self.folder / f"out-{self.count}.jsonl",
            payment=Payment(self.place, account, self.key),
        )

    def privatizer(self, name: str, settings: Mapping[str, Any]) -> Privatizer:
        given = dict(settings)
        kinds = settings_of(catalog.find("mechanisms", name).load())
        takes = name == "auto" or "epsilon" in kinds
        epsilon = given.pop("epsilon", 2.0 if takes and "window" not in given else None)
        return Privatizer(
            policy="everything" if rewrites_documents(name) or "space" in kinds else "pii",
            mechanism=name,
            epsilon=epsilon,
            vectors=self.space if "space" in kinds or name == "auto" else None,
            settings=given,
        )


def wrong(kind: Any, *, file: bool) -> tuple[Any, ...]:
    options = [one for one in (get_args(kind) or (kind,)) if one in WRONG]
    return tuple(value for one in options for value in (WRONG[one] if not file else WRONG[str]))


@pytest.fixture(scope="module")
def desk(tmp_path_factory: pytest.TempPathFactory, small_space: Space, small_vectors: None) -> Desk:
    return Desk(tmp_path_factory.mktemp("desk"), small_space)


@pytest.mark.parametrize("name", NAMES)
def test_a_wrong_setting_leaves_the_account_untouched(desk: Desk, name: str) -> None:
    component = catalog.find("mechanisms", name).load()
    files, base = purposes(component), desk.needs(name)
    for setting, (_, kind) in settings_of(component).items():
        for value in wrong(kind, file=setting in files):
            given = base | {setting: value}
            refused, charges = desk.run(lambda given=given: desk.privatizer(name, given))  # type: ignore[misc]
            assert refused is None or charges == 0, (setting, value, type(refused), str(refused))
    free = {"generalize", "pseudonym", "redact", "surrogate"}
    if name not in free:  # or the above would say nothing
        assert desk.run(lambda: desk.privatizer(name, base)) == (None, 1)


@dataclass(frozen=True)
class Late:
    """A rewriter of somebody's own, which looks at its setting when there is a text."""

    words: int

    def guarantee(self) -> Guarantee:
        return Guarantee(
            notion=Notion.PURE_DP, unit="document", neighbors="any two documents", epsilon=1.0
        )

    def rewrite(self, documents: Sequence[str], randomness: Randomness) -> list[str]:  # noqa: ARG002
        if self.words < 1:
            raise ValueError("words must be 1 at least")
        return ["word " * self.words for _ in documents]


def test_what_fails_at_the_first_text_is_not_paid_for(desk: Desk) -> None:
    for words, charged in ((1, 1), (-1, 0)):
        refused, charges = desk.run(
            lambda words=words: Privatizer(policy="everything", mechanism=Late(words))  # type: ignore[misc]
        )
        assert (refused is None, charges) == (bool(charged), charged)


def test_twin_without_a_trial_it_is_paid_for(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(job, "try_out", lambda _: None)
    refused, charges = desk.run(lambda: Privatizer(policy="everything", mechanism=Late(-1)))
    assert (type(refused), charges) == (ValueError, 1)
