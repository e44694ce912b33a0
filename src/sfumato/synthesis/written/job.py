"""From a trained model to a synthetic corpus: draw, filter, write.

Guarantee
    That of the training run, for the same neighbors and at the same level; with noised label
    counts, their level is added (``label_counts.py``).

Why it holds
    Texts are drawn from the weights, public codes and public numbers, and filtered by what they
    say themselves: post-processing of the weights. Any sampler will do, top-k and a low temperature
    as well, and however many texts are drawn. The private corpus is read for label counts only, and
    only if they are noised.

Care
    How many texts a label gets must be public or noised: prompts by true label counts, as a
    published recipe has them, release the counts.

Reference
    Yue et al. 2023, "Synthetic text generation with differential privacy: a simple and practical
    recipe"; Mattern et al. 2022, "Differentially private language models for secure data sharing".
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from sfumato.accounting.budget.payment import Payment
from sfumato.core.checks import at_least, one_of
from sfumato.core.errors import BadInput, InvalidArgument
from sfumato.core.progress import announce, progress
from sfumato.core.randomness import Randomness
from sfumato.guarantees.guarantee import Guarantee
from sfumato.models.encoder import digest_of_folder
from sfumato.models.sampling import TextSampling, sample_texts
from sfumato.synthesis.corpus import (
    PRIVATE_TRAINING,
    Statement,
    Synthesized,
    SyntheticCorpus,
    check_output,
    write_synthetic,
)
from sfumato.synthesis.plan import EQUAL, NOISED
from sfumato.synthesis.shares import divide
from sfumato.synthesis.written.filters import TextFilter
from sfumato.synthesis.written.label_counts import (
    given_weights,
    noised_weights,
    pay_for_counts,
    together,
)
from sfumato.synthesis.written.unfinished import Batch, Unfinished
from sfumato.text.document import Document
from sfumato.training.control_codes import code_of
from sfumato.training.run import Run

GIVEN = "given"
# So many times as many texts are drawn as are wanted, before a label is left with fewer.
_PATIENCE = 20
_COUNTS, _TEXTS = 0, 1
_SCOPE = "the synthetic corpus, and {model}"
CLASSIFIER_GAP = "what the classifier that filters was trained on, which must be public"
SHARES_GAP = "the shares of labels, which were given and must be public"


@dataclass(frozen=True, kw_only=True)
class WritingRequest:
    """All that decides a corpus besides the model; all of it is public.

    ``shares`` are weights of labels; without them labels get equally many texts, or with
    ``labels_epsilon`` as many as noised counts of the ``originals`` say, for which a ``payment``
    pays.
    """

    texts: int = 500
    sampling: TextSampling = field(default_factory=TextSampling)
    kept: TextFilter = field(default_factory=TextFilter)
    shares: dict[str, float] = field(default_factory=dict)
    labels_epsilon: float | None = None
    batch: int = 64
    payment: Payment | None = field(default=None, repr=False, compare=False)

    def __post_init__(self) -> None:
        if self.payment is not None and self.labels_epsilon is None:
            raise InvalidArgument(
                "what a trained model writes costs nothing more than its training, so there is "
                "nothing to pay for: leave `budget=...` out (it pays for `labels_epsilon=...`)"
            )
        at_least("texts", self.texts, 1)
        at_least("batch", self.batch, 1)
        if self.shares and self.labels_epsilon is not None:
            raise InvalidArgument(
                "give the shares of labels, `shares=...`, or a level for counting them, "
                "`labels_epsilon=...`; not both"
            )

    @property
    def labels(self) -> str:
        """How many texts a label gets: equally many, as given, or by noised counts."""
        if self.labels_epsilon is not None:
            return NOISED
        return GIVEN if self.shares else EQUAL


def write_from_run(  # noqa: PLR0913  # what writes, what and where
    run: Run,
    asked: WritingRequest,
    output: Path,
    *,
    originals: Callable[[], Sequence[Document]] | None,
    randomness: Randomness,
    resume: bool = False,
    overwrite: bool = False,
) -> SyntheticCorpus:
    """Write the corpus and its guarantee; ``originals`` are read for noised label counts only."""
    check_output(output, overwrite=overwrite)
    one_of("the kind of a model that writes", run.kind, ("causal",))
    told = run.files.settings()
    codes = tuple(str(one) for one in told.get("control_codes", ()))
    labels = codes or ("",)
    stated = _guarantee(run, asked, codes, with_originals=originals is not None)
    asked.kept.check(labels)
    settings = _settings(run, asked, told, codes)
    seed = {"seed": randomness.seed}
    unfinished = Unfinished.beside(output, settings | seed, resume=resume, overwrite=overwrite)
    if not unfinished.begun:
        weights = _weights(asked, labels, originals, stated.unit, randomness.stream(_COUNTS))
        unfinished.begin({"shares": weights})
    wanted = divide(asked.texts, unfinished.saved["shares"])
    _write(run, asked, labels, wanted, unfinished, randomness.stream(_TEXTS))
    texts = [Synthesized(one, batch.label) for batch in unfinished.batches for one in batch.texts]
    texts = [one for place in range(len(labels)) for one in
             [each for each in texts if each.label == place][: wanted[place]]]  # fmt: skip
    if not texts:
        raise BadInput("nothing that the model wrote was kept; loosen what texts must be like")
    if len(texts) < asked.texts:
        announce(f"{len(texts):,} of {asked.texts:,} texts were kept; the model gave no more")
    drawn = sum(one.drawn for one in unfinished.batches)
    corpus = write_synthetic(
        output,
        _statement(asked, stated, settings | {"drawn": drawn}),
        texts,
        labels,
        # Draws from a private model protect nothing; noise on counts does.
        for_release=stated.for_release and (randomness.for_release or asked.labels_epsilon is None),
        overwrite=overwrite,
    )
    unfinished.remove()
    return corpus


def _write(
    run: Run,
    asked: WritingRequest,
    labels: Sequence[str],
    wanted: Sequence[int],
    unfinished: Unfinished,
    randomness: Randomness,
) -> None:
    """Batches until every label has its texts, or the model has nothing more to say."""
    known = {one for batch in unfinished.batches for one in batch.texts}
    kept = [0] * len(labels)
    drawn = [0] * len(labels)
    for batch in unfinished.batches:
        kept[batch.label] += len(batch.texts)
        drawn[batch.label] += batch.drawn
    with progress("writing", sum(wanted), unit_is_bytes=False) as advance:
        advance(_done(kept, wanted))
        for place, label in enumerate(labels):
            while kept[place] < wanted[place] and drawn[place] < _PATIENCE * max(
                wanted[place], asked.batch
            ):
                said = sample_texts(
                    run.model,
                    code_of(label) if label else "",
                    asked.batch,
                    asked.sampling,
                    randomness.stream(len(unfinished.batches)),
                )
                found = asked.kept.keep(said, label, known)
                unfinished.add(Batch(place, asked.batch, tuple(found)))
                known.update(found)
                kept[place] += len(found)
                drawn[place] += asked.batch
                advance(_done(kept, wanted))


def _done(kept: Sequence[int], wanted: Sequence[int]) -> int:
    return sum(min(one, most) for one, most in zip(kept, wanted, strict=True))


def _guarantee(
    run: Run, asked: WritingRequest, codes: Sequence[str], *, with_originals: bool
) -> Guarantee:
    stated = run.guarantee
    if (asked.shares or asked.labels_epsilon is not None) and not codes:
        raise InvalidArgument(
            f"the model in {run.folder} was trained without control codes, so it writes for no "
            "label; train it with `control_codes=True`"
        )
    if asked.labels_epsilon is not None:
        if not with_originals:
            raise InvalidArgument(
                "labels are counted in the private corpus: name it, `originals=FILE`, and the "
                "field that holds them, `label_field=NAME`"
            )
        stated = together(stated, asked.labels_epsilon)
    elif with_originals:
        raise InvalidArgument(
            "`originals=...` is read for label counts with noise only: give their level, "
            "`labels_epsilon=0.1`, or leave it out"
        )
    stated = replace(stated, scope=_SCOPE.format(model=stated.scope))
    if asked.shares:
        stated = stated.not_covering(SHARES_GAP)
    return stated.not_covering(CLASSIFIER_GAP) if asked.kept.classifier else stated


def _weights(
    asked: WritingRequest,
    labels: Sequence[str],
    originals: Callable[[], Sequence[Document]] | None,
    unit: str,
    randomness: Randomness,
) -> list[float]:
    if asked.labels_epsilon is not None and originals is not None:
        documents = originals()
        held = pay_for_counts(asked.payment, documents, asked.labels_epsilon, unit, randomness)
        weights = noised_weights(
            documents, labels, epsilon=asked.labels_epsilon, unit=unit, randomness=randomness
        )
        if held is not None:
            held.settle()
        return weights
    return given_weights(asked.shares, labels) if asked.shares else [1.0] * len(labels)


def _settings(
    run: Run, asked: WritingRequest, told: dict[str, Any], codes: Sequence[str]
) -> dict[str, Any]:
    """What is public: settings of the run and of the writing."""
    return {
        "method": told.get("method"),
        "model": Path(str(told.get("model"))).name,
        "model_digest": digest_of_folder(run.files.model),
        "labels": asked.labels if codes else "none",
        "classes": list(codes),
        **({"shares": asked.shares} if asked.shares else {}),
        **({} if asked.labels_epsilon is None else {"labels_epsilon": asked.labels_epsilon}),
        "texts": asked.texts,
        **asdict(asked.sampling),
        "shortest": asked.kept.shortest,
        "longest": asked.kept.longest,
        "duplicates": asked.kept.duplicates,
        "classifier": Path(asked.kept.classifier).name if asked.kept.classifier else None,
        "batch": asked.batch,
        "field": "text",
    }


def _statement(asked: WritingRequest, stated: Guarantee, settings: dict[str, Any]) -> Statement:
    counted = "" if asked.labels_epsilon is None else ", with label counts that were noised"
    return Statement(
        mechanism=PRIVATE_TRAINING,
        how=f"written by a model that was trained on the records by the method "
        f"{settings['method']}{counted}",
        guarantee=stated,
        replacement=None,
        settings=settings,
    )
