"""How well a trained model predicts documents: token by token, or their classes; with intervals."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from sfumato.core.display import as_html
from sfumato.core.errors import BadInput, InvalidArgument
from sfumato.core.progress import Advance, progress
from sfumato.core.randomness import Randomness
from sfumato.models.load import LoadedModel
from sfumato.models.tagging import find_spans
from sfumato.models.tokenizer import IGNORED
from sfumato.policies.policy import Policy, find_in
from sfumato.results.measured import Measured, Predicted
from sfumato.statistics.class_tree import measure_tree
from sfumato.statistics.classification import Classified, measure_classes
from sfumato.statistics.entities import Tagged, measure_entities
from sfumato.statistics.prediction import accuracy, perplexity
from sfumato.text.document import Document
from sfumato.text.tagging import types_of
from sfumato.training.batches import physical_batches
from sfumato.training.features import HeadFeatures
from sfumato.training.methods.streams import inside
from sfumato.training.objectives import make_objective
from sfumato.training.records import (
    Cut,
    TokenRecords,
    make_labeled_records,
    make_language_records,
    make_objective_records,
)
from sfumato.training.row_losses import row_scores

TOKENS_AT_ONCE = 4096
# Names the public draws of what an objective hides; they protect nothing.
HIDDEN = 2022


def predict_tokens(
    model: LoadedModel, documents: Sequence[Document], done: Advance | None = None
) -> list[Predicted]:
    """−ln p of every token of every document, including the token for its end.

    A model that was trained to fill in spans, masks or the rest of a text is asked for that: the
    same hidden tokens for every model with the same tokenizer. A document longer than the context
    is read in pieces, as in training. ``done`` is called with the number of finished documents.
    """
    cut, objective = Cut(context=model.context), make_objective(model)
    if objective is not None:
        records = make_objective_records(documents, model.tokenizer, cut, objective)
    else:
        records = make_language_records(documents, model.tokenizer, cut)
    return _predict(model, records, done)


def predict_labels(
    model: LoadedModel, documents: Sequence[Document], done: Advance | None = None
) -> list[Predicted]:
    """−ln p of every document's label, from a classifier; it reads the start of a long document."""
    cut = Cut(context=model.context, long="truncate")
    records = make_labeled_records(documents, model.tokenizer, cut, model.classes)
    return _predict(model, records, done)


@dataclass(frozen=True)
class Classification:
    """What a classifier says of documents; ``None`` for one without text.

    It reads the first ``context`` tokens of a document; ``cut_off`` counts those that have more.
    """

    documents: tuple[Classified | None, ...]
    context: int
    cut_off: int

    def note(self) -> str:
        """What was not read, in a sentence; empty if all was."""
        if not self.cut_off:
            return ""
        return (
            f"{self.cut_off:,} of {len(self.documents):,} documents are longer than the "
            f"{self.context:,} tokens that the model reads; the rest of them is not read"
        )


def classify(
    model: LoadedModel, documents: Sequence[Document], done: Advance | None = None
) -> Classification:
    """The true class of every document, and the one that a classifier finds likeliest.

    Of classes in a tree it is the one that is reached by the likeliest node at every level.
    """
    tree = model.tree
    cut = Cut(context=model.context, long="truncate")
    records = make_labeled_records(documents, model.tokenizer, cut, model.classes)
    found: list[Classified | None] = [None] * len(documents)
    for count, (place, logits, label) in enumerate(each_row(model, records), start=1):
        said = int(logits.argmax()) if tree is None else tree.choose(logits.double().numpy())
        author = documents[place].author
        found[place] = Classified(int(label), said, author)
        if done:
            done(count)
    return Classification(tuple(found), model.context, records.counts.truncated)


def tag(model: LoadedModel, documents: Sequence[Document]) -> list[Tagged]:
    """The spans that came with each document, and those that a tagger finds."""
    types = set(types_of(model.tags))
    found = find_spans(model, [document.text for document in documents])
    tagged = []
    for number, (document, said) in enumerate(zip(documents, found, strict=True), start=1):
        if any(span.label not in types for span in document.spans):
            raise BadInput(
                f"document {number} has a span whose label is none of the tags "
                f"({', '.join(types_of(model.tags))})"
            )
        truth, said_too = (
            frozenset((span.start, span.end, span.label) for span in spans)
            for spans in (document.spans.disjoint(), said)
        )
        tagged.append(Tagged(truth, said_too, document.author))
    return tagged


@dataclass(frozen=True)
class EvaluationRow:
    """A figure on some tokens: ``all``, those that a policy selects, the others, or ``labels``.

    That of a tagger is on ``spans``.

    ``group`` names the documents, if they are only those of a group. If there are no such tokens,
    there is no value.
    """

    tokens: str
    metric: str
    value: float | None = None
    low: float | None = None
    high: float | None = None
    n: int = 0
    group: str | None = None

    def cells(self) -> tuple[str, ...]:
        """The displayed texts: tokens, metric, value, interval, n."""
        tokens = self.tokens if self.group is None else f"{self.tokens}, {self.group}"
        value = "–" if self.value is None else f"{self.value:.4g}"
        interval = "–" if self.low is None else f"{self.low:.4g}–{self.high:.4g}"
        return tokens, self.metric, value, interval, f"{self.n:,}"


COLUMNS = ("tokens", "metric", "value", "95 % interval", "n")


@dataclass(frozen=True, repr=False)
class Evaluation:
    """How well a model predicts a text; for private text, a release that no guarantee covers.

    ``notes`` say what was not read.
    """

    rows: tuple[EvaluationRow, ...]
    notes: tuple[str, ...] = ()

    def as_dicts(self) -> list[dict[str, Any]]:
        """For JSON."""
        return [asdict(row) for row in self.rows]

    def __repr__(self) -> str:
        lines = [COLUMNS, *(row.cells() for row in self.rows)]
        widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
        shown = ["  ".join(map(str.ljust, line, widths)).rstrip() for line in lines]
        return "\n".join([*shown, *self.notes])

    def _repr_html_(self) -> str:
        return as_html("Evaluation", COLUMNS, [row.cells() for row in self.rows])


def evaluate_model(
    model: LoadedModel, documents: Sequence[Document], policy: Policy | None = None
) -> Evaluation:
    """Perplexity and accuracy, also for the tokens that a policy selects.

    For a tagger precision, recall and F1 of the spans that came with the documents. For a
    classifier accuracy, Matthews correlation and F1, also of every group of documents, which is the
    second of their labels.
    """
    if model.tags:
        found = measure_predictions(model, documents, Randomness.secure())
        return Evaluation(
            tuple(
                EvaluationRow("spans", one.metric, one.value, one.low, one.high, one.n)
                for one in found
            )
        )
    if policy is not None:
        refuse_selecting(model)
    with progress("evaluating", len(documents), unit_is_bytes=False) as advance:
        advance(0)
        if model.classes:
            return _evaluate_classes(model, documents, classify(model, documents, advance))
        scores = predict_tokens(model, documents, advance)
    rows = _measure("all", scores, perplexity, accuracy)
    if policy is not None:
        pairs = list(zip(scores, select_tokens(model, documents, policy), strict=True))
        chosen = [one.only(flags) for one, flags in pairs]
        others = [one.only(~flags) for one, flags in pairs]
        rows += _measure("selected", chosen, perplexity, accuracy)
        rows += _measure("other", others, perplexity, accuracy)
    return Evaluation(rows)


def _evaluate_classes(
    model: LoadedModel, documents: Sequence[Document], found: Classification
) -> Evaluation:
    groups: dict[str | None, list[Classified]] = {None: []}
    for document, one in zip(documents, found.documents, strict=True):
        if one is not None:
            for group in (None, *document.labels[1:]):
                groups.setdefault(group, []).append(one)
    rows = [
        EvaluationRow("labels", one.metric, one.value, one.low, one.high, one.n, group)
        for group, some in sorted(groups.items(), key=lambda pair: (-len(pair[1]), pair[0] or ""))
        for one in _measure_labels(model, some, Randomness.secure())
    ]
    return Evaluation(tuple(rows), tuple(filter(None, [found.note()])))


def _measure_labels(
    model: LoadedModel, said: Sequence[Classified], randomness: Randomness
) -> list[Measured]:
    found = measure_classes(said, model.classes, randomness)
    tree = model.tree
    return found if tree is None else [*found, *measure_tree(said, tree, randomness)]


MeasureOf = Callable[[Sequence[Predicted], Randomness], Measured]


def _measure(
    tokens: str, scores: Sequence[Predicted], *metrics: MeasureOf
) -> tuple[EvaluationRow, ...]:
    if not any(len(one.losses) for one in scores):
        return tuple(EvaluationRow(tokens, one.__name__) for one in metrics)
    found = [one(scores, Randomness.secure()) for one in metrics]
    return tuple(
        EvaluationRow(tokens, one.metric, one.value, one.low, one.high, one.n) for one in found
    )


def measure_predictions(
    model: LoadedModel, documents: Sequence[Document], randomness: Randomness
) -> list[Measured]:
    """Perplexity and accuracy of a language model; accuracy, correlation and F1 of a classifier.

    Of a tagger, precision, recall and F1 of spans.
    """
    if model.tags:
        return measure_entities(tag(model, documents), types_of(model.tags), randomness)
    if model.classes:
        said = [one for one in classify(model, documents).documents if one is not None]
        return _measure_labels(model, said, randomness)
    scores = predict_tokens(model, documents)
    return [measure(scores, randomness) for measure in (perplexity, accuracy)]


def refuse_selecting(model: LoadedModel) -> None:
    """Refuse a policy for a model that does not predict every token."""
    if make_objective(model) is not None:
        raise InvalidArgument(
            "a policy selects among all tokens, and this model predicts only some of them "
            f"({model.objective or model.kind}); leave it out"
        )


def select_tokens(
    model: LoadedModel, documents: Sequence[Document], policy: Policy
) -> list[NDArray[np.bool_]]:
    """Which predicted tokens of each document contain a character that a policy selects."""
    chosen = []
    for document, spans in find_in(policy, documents):
        places = [(span.start, span.end) for span in spans]
        flags = inside(document.text, places, model.tokenizer).tolist()
        if flags and model.tokenizer.end is not None:
            flags.append(False)  # the end of a document is not private
        if model.tokenizer.begin is None:
            flags = flags[1:]  # the first token is given, not predicted
        chosen.append(np.array(flags, dtype=np.bool_))
    return chosen


def _predict(model: LoadedModel, records: TokenRecords, done: Advance | None) -> list[Predicted]:
    found: dict[int, list[Predicted]] = {}
    for record, logits, labels in each_row(model, records):
        found.setdefault(record, []).append(_of_row(logits, labels))
        if done:
            done(len(found))
    return [_join(found.get(record, [])) for record in range(len(records))]


def each_row(
    model: LoadedModel, records: TokenRecords
) -> Iterator[tuple[int, torch.Tensor, torch.Tensor]]:
    """The record, the logits and the labels of every row; rows of one record come in order."""
    model.network.eval()
    kept = HeadFeatures.of_trained(model, records)
    # What is hidden is the same for all models, so that they can be compared.
    records, everyone = records.drawn(range(len(records)), Randomness.reproducible(HIDDEN))
    with torch.no_grad():
        for group in physical_batches(
            records, everyone, most_tokens=max(TOKENS_AT_ONCE, records.context)
        ):
            for rows in group:
                if kept is None:
                    scores = row_scores(model.network, rows.inputs())
                else:
                    together = torch.arange(len(rows.owner))
                    scores = row_scores(kept.head, kept.inputs(rows, together))
                yield from zip(rows.owner.tolist(), scores, rows.labels, strict=True)


def _of_row(logits: torch.Tensor, labels: torch.Tensor) -> Predicted:
    """The predictions for a row of tokens, or for the one label of a document."""
    wanted = labels.reshape(-1)
    scores = logits.reshape(len(wanted), -1)[wanted != IGNORED].double()
    wanted = wanted[wanted != IGNORED]
    losses = scores.logsumexp(1) - scores.gather(1, wanted[:, None])[:, 0]
    return Predicted(losses.numpy(), (scores.argmax(1) == wanted).numpy())


def _join(pieces: list[Predicted]) -> Predicted:
    if not pieces:
        return Predicted(np.empty(0), np.empty(0, dtype=np.bool_))
    return Predicted(
        np.concatenate([one.losses for one in pieces]),
        np.concatenate([one.right for one in pieces]),
    )
