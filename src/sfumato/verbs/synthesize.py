"""``sfumato.synthesize``: a synthetic corpus with a guarantee."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from sfumato.verbs.inputs import draws_from

if TYPE_CHECKING:
    from sfumato.synthesis.corpus import SyntheticCorpus
    from sfumato.synthesis.generator import Generator

# Candidates for each text that comes out: enough to choose from, and few enough to get votes.
_PER_TEXT = 2
_TEXTS = 500
# What only private evolution takes, and its default.
_OF_VOTES = (
    ("generator", "pool"),
    ("rounds", 2),
    ("votes", 1),
    ("candidates", None),
    ("kept", 0.5),
    ("choice", "rank"),
    ("threshold", 0.0),
    ("encoder", ""),
)


def synthesize(
    source: str | Path,
    output: str | Path,
    *,
    method: str = "evolution",
    generator: str | Generator = "pool",
    epsilon: float,
    delta: float | str = "auto",
    texts: int | None = None,
    rounds: int = 2,
    votes: int = 1,
    candidates: int | None = None,
    kept: float = 0.5,
    choice: str = "rank",
    threshold: float = 0.0,
    unit: str = "record",
    labels: str = "equal",
    classes: Sequence[str | int] = (),
    encoder: str | Path = "",
    settings: Mapping[str, object] | None = None,
    control: str | Path | None = None,
    field: str = "text",
    author_field: str | None = None,
    label_field: str | None = None,
    format: str | None = None,
    encoding: str = "utf-8",
    header: bool = True,
    overwrite: bool = False,
    seed: int | None = None,
    budget: str | Path | None = None,
    account: str | None = None,
    budget_key: str | Path | None = None,
) -> SyntheticCorpus:
    """Make a synthetic corpus with a guarantee for every private record, by one of two methods.

    *evolution* (AUG-PE): private records choose texts by noisy votes. A ``generator``, which never
    sees a private record, makes candidates: a name of the catalog, ``file.py:Class`` or an object;
    ``settings`` are its own. In each of ``rounds`` every ``unit`` (record or author) gives
    ``votes`` votes to the candidates of its label that are nearest to its text by a public
    ``encoder`` (a folder; without one, by the embedded word vectors); the counts get Gaussian
    noise, and the candidates with most votes stay and are varied. ``epsilon`` and ``delta`` are
    those of all rounds together. ``candidates`` stand for election under each label: unless said
    otherwise twice as many as ``texts`` (500 by default), divided among the labels if the generator
    makes other texts for each; ``kept`` is the share of them that stays. By ``choice="rank"`` those
    with most votes are taken, by "resample" they are drawn in proportion to votes above
    ``threshold``, and may come twice.

    *prediction*: many prompts, one private record in each, agree on every token of a text, which is
    drawn at a temperature from what they say on average. ``settings`` are those of
    ``sfumato.synthesis.Prediction`` (``model``, a folder, at least), and there are as many
    ``texts`` as there are records for. What is about votes does not belong to it. (A third way, to
    train a model and let it write, is ``sfumato.train(..., control_codes=True)`` and then
    ``sfumato.write_corpus``.)

    ``classes`` are the labels, which are public. ``labels`` says how many texts each gets: equally
    many, as the "noised" votes say, or as there are records ("public": then how many records have
    which label is not protected).

    The output has JSON lines with a text and a label; OUT.guarantee.json beside it says what is
    guaranteed. ``control`` is a second file, made in the same way with votes that are noise alone:
    it holds nothing private, and tells what the votes are worth; by prediction, one by prompts that
    hold no record. With a ``seed`` the noise can be
    undone: the output is not for release.

    With a ``budget`` (a file, or ``postgresql://…``) the release is charged to an ``account``
    of it, ``corpus:ID``, before any noise is drawn, and refused if too little is left. Its key is
    in the file ``budget_key`` or in the environment variable SFUMATO_BUDGET_KEY.
    """
    from sfumato.accounting.budget.payment import corpus_payment
    from sfumato.core.checks import at_least, one_of
    from sfumato.core.errors import InvalidArgument
    from sfumato.core.settings import configure
    from sfumato.files.apart import refuse_private_text
    from sfumato.files.dialect import Dialect
    from sfumato.files.layout import Layout
    from sfumato.files.source import Source
    from sfumato.mechanisms.mechanism import ReadsPublicText
    from sfumato.synthesis.evolution import Breeding
    from sfumato.synthesis.generator import as_generator, build_generator, knows_labels
    from sfumato.synthesis.job import Synthesis
    from sfumato.synthesis.prediction.job import PredictionRequest
    from sfumato.synthesis.prediction.settings import Prediction
    from sfumato.synthesis.request import METHODS, PREDICTION, SynthesisRequest

    if method == "finetune":
        raise InvalidArgument(
            "to train a model and to let it write are two steps: "
            "`sfumato.train(CORPUS, RUN, control_codes=True)`, then "
            "`sfumato.write_corpus(RUN, OUT)`"
        )
    one_of("method", method, METHODS)
    names = tuple(str(one) for one in classes)
    _check_labels(label_field, names, unit, author_field)
    payment = corpus_payment(budget, account, budget_key)
    asked: SynthesisRequest
    if method == PREDICTION:
        _refuse_votes(generator, rounds, votes, candidates, kept, choice, threshold, str(encoder))
        asked = PredictionRequest(
            chosen=configure(Prediction, settings or {}),
            payment=payment,
            texts=texts,
            epsilon=epsilon,
            delta=delta,
            unit=unit,
            labels=labels,
            classes=names,
        )
    else:
        if not isinstance(generator, str) and settings:
            raise InvalidArgument("a generator that is an object has its settings already")
        made = (
            build_generator(generator, settings, encoder=str(encoder))
            if isinstance(generator, str)
            else as_generator(generator)
        )
        texts = _TEXTS if texts is None else texts
        if candidates is None:
            candidates = max(2, _PER_TEXT * at_least("texts", texts, 1))
            if knows_labels(made) and names:
                candidates = max(2, -(-candidates // len(names)))
        asked = Synthesis(
            generator=made,
            payment=payment,
            generator_name=_called(generator),
            breeding=Breeding(
                texts=texts,
                candidates=candidates,
                kept=kept,
                choice=choice,
                threshold=threshold,
            ),
            epsilon=epsilon,
            delta=delta,
            rounds=rounds,
            votes=votes,
            unit=unit,
            labels=labels,
            classes=names,
            encoder=str(encoder),
        )
    layout = Layout(
        field=field,
        encoding=encoding,
        author_field=author_field,
        label_field=label_field,
        dialect=Dialect(header=header),
    )
    private = Source.of(source, layout, file_format=format)
    reads = asked.reads
    if isinstance(reads, ReadsPublicText) and not private.is_stream:
        refuse_private_text(reads.public_sources(), private)
    documents = list(private.documents())
    return asked.run(
        documents,
        Path(output),
        randomness=draws_from(seed),
        control=None if control is None else Path(control),
        overwrite=overwrite,
    )


def _refuse_votes(*given: object) -> None:
    """Refuse what is about votes; what is as it would be by default was not said."""
    from sfumato.core.errors import InvalidArgument

    said = [name for (name, usual), one in zip(_OF_VOTES, given, strict=True) if one != usual]
    if said:
        raise InvalidArgument(
            f"`{said[0]}=...` is about votes, and private prediction has none; leave it out"
        )


def _called(generator: object) -> str:
    """What the side file calls a generator: a name, and no path of this machine."""
    if not isinstance(generator, str):
        return type(generator).__name__
    return generator.rpartition("/")[2]


def _check_labels(
    label_field: str | None, names: tuple[str, ...], unit: str, author_field: str | None
) -> None:
    from sfumato.core.errors import InvalidArgument

    if (label_field is None) != (not names):
        raise InvalidArgument(
            "labels are public: name both the field that holds them, `label_field=NAME`, and all "
            "that there can be, `classes=['0', '1']`"
        )
    if len(set(names)) < len(names):
        raise InvalidArgument("`classes=...` names a label twice")
    if unit == "author" and author_field is None:
        raise InvalidArgument(
            "the unit author needs `author_field=NAME`, the field that names them"
        )
