"""``sfumato.tune``: a model with the best settings of a search, and a guarantee for all of it."""

from __future__ import annotations

import math
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sfumato.core.checks import extra, one_of, pairs, positive
from sfumato.core.display import as_html, as_lines
from sfumato.core.errors import InvalidArgument
from sfumato.core.progress import announce
from sfumato.training.processes.launch import refuse_together
from sfumato.verbs.train import (
    choose_tokenizer,
    read_source,
    refuse_half_a_request,
    valid_documents,
)

if TYPE_CHECKING:
    from sfumato.guarantees.guarantee import Guarantee
    from sfumato.models.private_tokenizer import PrivateTokenizer
    from sfumato.models.tokenizer import Tokenizer
    from sfumato.training.request import Request
    from sfumato.training.run import Run
    from sfumato.training.search.plan import Candidate, SearchPlan
    from sfumato.training.search.search import Search
    from sfumato.training.search.space import SearchSpace


@dataclass(frozen=True, eq=False)
class SearchResult:
    """What came of a search: the best run, what it had drawn, and the plan of the whole.

    After an estimate there is no run.
    """

    plan: SearchPlan
    found: Run | None = None

    @property
    def run(self) -> Run:
        """The best run: an ordinary one, whose guarantee is that of the search."""
        if self.found is None:
            raise InvalidArgument("this search was estimated, not made: `estimate=False` makes it")
        return self.found

    @property
    def guarantee(self) -> Guarantee:
        """What is proven about the best model."""
        return self.run.guarantee

    @property
    def chosen(self) -> dict[str, Any]:
        """The settings of the best trial."""
        from sfumato.training.search.search import chosen_settings

        return chosen_settings(self.run)

    def rows(self) -> list[dict[str, Any]]:
        """The figures of the best trial."""
        return [row for row in self.run.files.measured() if row.get("corpus")]

    def as_dict(self) -> dict[str, Any]:
        """For JSON."""
        about: dict[str, Any] = {"search": self.plan.compare()}
        if self.found is None:
            return about
        return {
            "run": str(self.run.folder),
            "chosen": self.chosen,
            "guarantee": self.guarantee.as_dict(),
            "sentence": self.guarantee.sentence(),
            "results": self.rows(),
        } | about

    def __fspath__(self) -> str:
        return str(self.run.folder)

    def __repr__(self) -> str:
        return as_lines("Search", self._facts())

    def _repr_html_(self) -> str:
        return as_html("Search", ["", ""], self._facts())

    def _facts(self) -> list[tuple[str, str]]:
        planned = [("planned", line) for line in self.plan.lines()]
        if self.found is None:
            return planned
        drawn = ", ".join(f"{name}={value}" for name, value in self.chosen.items())
        return [("best", drawn), *planned, ("guarantee", self.guarantee.sentence())]


def tune(
    corpus: str | Path,
    folder: str | Path,
    *,
    epsilon: float,
    search: Mapping[str, object],
    valid: str | Path | None = None,
    hold_out: float | None = None,
    score: str = "",
    trials: str = "geometric",
    trials_mean: float = 8.0,
    estimate: bool = False,
    delta: float | str = "auto",
    unit: str = "example",
    record: str = "",
    epochs: float = 3.0,
    batch_size: int | Sequence[int] = 64,
    noise_schedule: Sequence[float] = (1.0,),
    clip_norm: float = 1.0,
    clipping: str = "fixed",
    sampling: str = "auto",
    accountant: str = "pld",
    model: str | Path = "gpt-small",
    settings: Mapping[str, object] | None = None,
    lora_rank: int | None = None,
    trainable: str | None = None,
    pooling: str | None = None,
    tokenizer: str | Path | Tokenizer | PrivateTokenizer | None = None,
    tokenizer_corpus: str | Path | None = None,
    classes: Sequence[str | int] = (),
    class_weights: Sequence[float] = (),
    learning_rate: float = 1e-3,
    optimizer: str = "adam",
    schedule: str = "constant",
    field: str = "text",
    author_field: str | None = None,
    label_field: str | None = None,
    format: str | None = None,
    encoding: str = "utf-8",
    header: bool = True,
    long: str = "split",
    resume: bool = False,
    checkpoint_every: int = 50,
    tokens_at_once: int = 4096,
    recompute: str = "nothing",
    precision: str = "float32",
    device: str = "cpu",
    seed: int | None = None,
    budget: str | Path | None = None,
    account: str | None = None,
    budget_key: str | Path | None = None,
) -> SearchResult:
    """Search for settings and train with them, all of it under one level.

    ``search`` names settings and what to draw for each in every trial: a list of values, or
    ``LOW..HIGH`` with or without ``:log`` for ``learning_rate`` and ``clip_norm``. The number of
    trials is random and stays secret: ``trials`` is ``geometric``, ``logarithmic``, ``poisson`` or
    the shape of a truncated negative binomial law, and ``trials_mean`` its mean. ``epsilon`` is
    for the whole search.

    What decides is a figure on ``valid``, a PUBLIC file, by its name in ``score``; or, without one,
    a noisy figure on the share ``hold_out`` of the private units, which no trial is trained on.

    ``folder`` then holds the best run, as training leaves it; nothing of the other trials is kept.
    A search that was stopped, or killed, goes on with ``resume=True``, with the same trials. With
    ``estimate=True`` nothing is drawn or trained: the result says what the search would take.

    With a ``budget`` (a file, or ``postgresql://…``) the whole search is charged to an ``account``
    of it, ``corpus:ID``, before anything is drawn, and refused if too little is left. Its key is in
    the file ``budget_key`` or in the environment variable SFUMATO_BUDGET_KEY.
    """
    extra("torch", needed_for="training", extra="train")
    refuse_together("a search, whose trials are drawn and compared by one process")
    from sfumato.accounting.budget.payment import corpus_payment
    from sfumato.accounting.delta import resolve_delta
    from sfumato.accounting.selection import SEARCH_ACCOUNTANTS
    from sfumato.accounting.trials import TrialCount
    from sfumato.files.dialect import Dialect
    from sfumato.files.layout import Layout
    from sfumato.files.source import Source
    from sfumato.training.plan import PrivacyCaution
    from sfumato.training.search.plan import SearchPlan
    from sfumato.training.search.scoring import PublicScore, held_out_units, owners_of
    from sfumato.training.search.search import Search, run_search
    from sfumato.training.search.space import SearchSpace
    from sfumato.training.search.state import SearchFolder

    names = tuple(str(one) for one in classes)
    refuse_half_a_request(unit, author_field, names, label_field)
    if positive("epsilon", epsilon) == math.inf:
        raise InvalidArgument("`epsilon=inf` promises nothing; a search is for a level")
    if (valid is None) == (hold_out is None):
        raise InvalidArgument(
            "a search needs one thing that decides which model is the best: `valid=FILE`, a "
            "public file, or `hold_out=SHARE` of the private units"
        )
    if score and valid is None:
        raise InvalidArgument("`score=...` names a figure on `valid=FILE`; leave it out")
    one_of("accountant", accountant, SEARCH_ACCOUNTANTS)
    payment = corpus_payment(budget, account, budget_key)
    space, law = SearchSpace.of(pairs("search", search)), TrialCount.named(trials, trials_mean)
    fixed: dict[str, Any] = {
        "delta": delta,
        "unit": unit,
        "record": record,
        "epochs": epochs,
        "batch_size": batch_size if isinstance(batch_size, int) else tuple(batch_size),
        "noise_schedule": tuple(noise_schedule),
        "clip_norm": clip_norm,
        "clipping": clipping,
        "sampling": sampling,
        "accountant": accountant,
        "learning_rate": learning_rate,
        "optimizer": optimizer,
        "schedule": schedule,
        "class_weights": tuple(class_weights),
        "tokens_at_once": tokens_at_once,
        "recompute": recompute,
        "precision": precision,
        "device": device,
        "checkpoint_every": checkpoint_every,
    }
    SearchFolder.beside(Path(folder)).refuse(Path(folder), resume=resume or estimate)
    layout = Layout(
        field=field,
        encoding=encoding,
        author_field=author_field,
        label_field=label_field,
        dialect=Dialect(header=header),
    )
    source = Source.of(str(corpus), layout, file_format=format)
    checked = [] if valid is None else valid_documents(str(valid), source, format, names)
    documents = read_source(source)
    units = len(set(owners_of(documents, unit)))
    # One delta for all units, whether they are trained on or held out.
    fixed["delta"] = resolve_delta(delta, max(2, units))
    decides = (
        PublicScore.named(checked, score, classifier=bool(names)) if valid is not None else None
    )
    parts = _Parts(
        fixed=fixed,
        model=str(model),
        settings=pairs("settings", settings),
        lora_rank=lora_rank,
        trainable=trainable,
        pooling=pooling,
        tokenizer=choose_tokenizer(tokenizer, tokenizer_corpus, source, documents),
        classes=names,
        long=long,
        corpus=source.settings() | source.claims(),
    )
    parts.check(space)
    trained = units if hold_out is None else units - held_out_units(units, hold_out)
    draft = SearchPlan(
        epsilon=epsilon,
        delta=fixed["delta"],
        trials=law,
        candidates=parts.candidates(space, trained),
        accountant=accountant,
    )
    drafted = Search(
        plan=draft.solved(held_out=hold_out is not None),
        space=space,
        request=parts.request,
        documents=documents,
        unit=unit,
        score=decides,
        hold_out=hold_out,
        seed=seed,
        payment=payment,
    )
    if estimate:
        return SearchResult(drafted.plan)
    # Said once, here: of a line for each trial they could be counted.
    for sentence in drafted.plan.candidates[0].plan.cautions():
        warnings.warn(sentence, PrivacyCaution, stacklevel=2)
    for line in drafted.plan.lines():
        announce(line)
    ready = replace(drafted, settings=_identity(drafted, parts, valid))
    return SearchResult(ready.plan, run_search(ready, Path(folder), resume=resume))


@dataclass(frozen=True)
class _Parts:
    """What all trials have in common."""

    fixed: Mapping[str, Any]
    model: str
    settings: Mapping[str, object]
    lora_rank: int | None
    trainable: str | None
    pooling: str | None
    tokenizer: str | Tokenizer | PrivateTokenizer | None
    classes: tuple[str, ...]
    long: str
    corpus: dict[str, Any]

    def request(self, drawn: Mapping[str, Any], noise: float, seed: int | None) -> Request:
        """The request of a trial with what it drew."""
        from sfumato.training.request import Request
        from sfumato.training.search.space import of_model
        from sfumato.training.settings import GENERAL, Training

        general = {name: value for name, value in drawn.items() if name in GENERAL}
        chosen = Training(
            **{**self.fixed, **general}, method="private", method_settings={"sigma": noise}
        )
        return Request(
            model=self.model,
            privacy=chosen.privacy(),
            method=chosen.built_method(),
            course=chosen.course(),
            kind="classifier" if self.classes else "causal",
            classes=self.classes,
            long=self.long,
            lora_rank=drawn.get("lora_rank", self.lora_rank),
            trainable=drawn.get("trainable", self.trainable),
            pooling=self.pooling,
            tokenizer=self.tokenizer,
            settings=dict(self.settings) | of_model(drawn),
            corpus=self.corpus,
            seed=seed,
        )

    def candidates(self, space: SearchSpace, units: int) -> tuple[Candidate, ...]:
        """Every combination of settings that decide the noise, with a plan to be scaled."""
        from sfumato.training.search.plan import Candidate

        return tuple(
            Candidate(settings, self.request(settings, 1.0, None).privacy.draft(units))
            for settings in space.combinations()
        )

    def check(self, space: SearchSpace) -> None:
        """Refuse values that no trial can be made with, before any trial is drawn."""
        from sfumato.core.randomness import Randomness

        for drawn in space.extremes():
            # What shapes the model is tried with all else that does.
            if not any(drawn.keys() <= one.keys() for one in space.shapes()):
                self.request(drawn, 1.0, None)
        for drawn in filter(None, space.shapes()):
            self.request(drawn, 1.0, None).load(Randomness.secure())


def _identity(search: Search, parts: _Parts, valid: str | Path | None) -> dict[str, Any]:
    """What must be the same on resuming; all of it is public."""
    return {
        "search": search.public(),
        "score": None if search.score is None else search.score.metric,
        "valid": None if valid is None else [str(valid), Path(valid).stat().st_mtime_ns],
        "model": parts.model,
        "model_settings": {key: str(value) for key, value in parts.settings.items()},
        "training": {key: _plain(value) for key, value in parts.fixed.items()},
        "lora_rank": parts.lora_rank,
        "trainable": parts.trainable,
        "pooling": parts.pooling,
        "classes": list(parts.classes),
        "long": parts.long,
        "corpus": parts.corpus,
        "seed": search.seed,
        "budget": search.payment is not None,
    }


def _plain(value: object) -> object:
    return list(value) if isinstance(value, tuple) else value
