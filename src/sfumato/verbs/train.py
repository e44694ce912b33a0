"""``sfumato.train``: a model with a proven guarantee, or without one for comparison."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, ParamSpec, TypeVar

from sfumato.catalog import find
from sfumato.core.checks import extra, pairs
from sfumato.core.errors import BadInput, InvalidArgument, MalformedRecord
from sfumato.core.progress import progress
from sfumato.training.processes.launch import started_together
from sfumato.training.processes.team import current_team

if TYPE_CHECKING:
    from sfumato.files.source import Source
    from sfumato.models.private_tokenizer import PrivateTokenizer
    from sfumato.models.tokenizer import Tokenizer
    from sfumato.policies.policy import Policy
    from sfumato.text.document import Document
    from sfumato.training.methods.base import TrainingMethod
    from sfumato.training.run import Run

P = ParamSpec("P")
R = TypeVar("R")


def in_team(work: Callable[P, R]) -> Callable[P, R]:
    """Let processes that were started together do this work together, and fail together."""

    @wraps(work)
    def done(*args: P.args, **kwargs: P.kwargs) -> R:
        extra("torch", needed_for="training", extra="train")
        if not (started_together() or "torch.distributed" in sys.modules):
            return work(*args, **kwargs)
        from sfumato.training.processes.group import joined
        from sfumato.training.processes.meetings import failing_together

        with joined() as team, failing_together(team):
            return work(*args, **kwargs)

    return done


@in_team
def train(
    corpus: str | Path,
    folder: str | Path,
    *,
    method: str | TrainingMethod = "private",
    epsilon: float | None = None,
    policy: str | Sequence[str] | Policy | None = None,
    exclude: Sequence[str] = (),
    policy_key: str | Path | None = None,
    gold: str | Path | None = None,
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
    objective: str | None = None,
    settings: Mapping[str, object] | None = None,
    lora_rank: int | None = None,
    trainable: str | None = None,
    pooling: str | None = None,
    tokenizer: str | Path | Tokenizer | PrivateTokenizer | None = None,
    tokenizer_corpus: str | Path | None = None,
    tokenizer_epsilon: float | None = None,
    tokenizer_words: int | None = None,
    tokenizer_size: int | None = None,
    classes: Sequence[str | int] = (),
    class_separator: str = "",
    tags: Sequence[str] = (),
    class_weights: Sequence[float] | str = (),
    group_weights: Mapping[str, float] | str | None = None,
    control_codes: bool = False,
    learning_rate: float = 1e-3,
    optimizer: str = "adam",
    schedule: str = "constant",
    public_epochs: float | None = None,
    public_learning_rate: float | None = None,
    public_batch_size: int | None = None,
    lead: float | None = None,
    fill: str | None = None,
    fill_patterns: Sequence[str] | None = None,
    fill_epsilon: float | None = None,
    state: str | None = None,
    state_clip_norm: float | None = None,
    field: str = "text",
    author_field: str | None = None,
    label_field: str | None = None,
    span_field: str | None = None,
    group_field: str | None = None,
    format: str | None = None,
    encoding: str = "utf-8",
    header: bool = True,
    long: str = "split",
    valid: str | Path | None = None,
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
) -> Run:
    """Train a model on private text with a guarantee for every record of it.

    ``folder`` then holds the model in Hugging Face's format, the guarantee, the settings and a
    ledger of all steps. A run that was stopped, or killed, goes on with ``resume=True`` under the
    same guarantee. ``method`` is a name of the catalog's ``methods``, or a method that is made
    already; ``public_epochs`` to ``state_clip_norm`` are settings of single methods. ``settings``
    are those of a built-in model by their names, those of the method by ``METHOD.KEY`` and those of
    policies by ``POLICY.KEY``.

    ``objective`` is what a language model has to predict: ``causal`` (every next token), ``prefix``
    (the rest of a text), ``spans`` (hidden ones, as T5) or ``masked`` (single tokens, as BERT); by
    default what is usual for the model.

    With ``tokenizer_epsilon`` a private tokenizer is learned from the training text first, of at
    most ``tokenizer_size`` tokens, to which every unit gives at most ``tokenizer_words`` words. The
    guarantee is for tokenizer and model together.

    With ``fill="surrogates"`` made-up values stand in the public text of selective training;
    ``fill_patterns`` say what they look like, if that is public, and ``fill_epsilon`` learns it
    from the private text first, with this part of ``epsilon``. The guarantee is for both together.

    ``trainable`` is ``all``, ``head``, ``last:K`` (layers, and the head), ``bias``, ``lora`` or
    ``adapter:SIZE``; all other weights stay as they are. ``pooling`` is what a classifier's new
    head reads of a text: ``first``, ``last`` or ``mean``; by default what the encoder's folder
    says, else what is usual for the network. ``class_weights`` are numbers, one for each class, by
    which a record's loss is multiplied before its gradient is clipped. ``group_weights`` are
    numbers by group, the value of ``group_field``: a record counts by that of its group over the
    largest one, after clipping, so that a small group may count more. With a ``class_separator``
    such as "/" the classes are paths in a public tree (``health/flu``): their loss is the mean over
    its levels, and every level is measured. With ``tags`` a tagger is trained, which finds spans of
    these types; examples of them are in the ``span_field`` of JSON lines, which is "spans" unless
    it is called otherwise, or in CoNLL. With ``control_codes`` the ``classes`` are not told apart
    but written for: a language model is trained on documents that begin with the code of their
    label, and ``sfumato.write_corpus`` lets it write texts for each. Without a ``header`` the
    columns of a table are called 1, 2, …

    To save memory, ``recompute`` computes ``blocks`` of a transformer again, or ``all`` of the
    backward pass, and ``precision="bf16"`` has frozen weights and products in bfloat16; ``device``
    is where torch computes.

    With a ``budget`` (a file, or ``postgresql://…``) the whole run is charged to an ``account``
    of it, ``corpus:ID``, before any noise is drawn, and refused if too little is left. Its key is
    in the file ``budget_key`` or in the environment variable SFUMATO_BUDGET_KEY.

    Processes that torchrun has started train together, each on its part of the units. All of them
    read the corpus; the first one has the folder, and measures.
    """
    from sfumato.accounting.budget.payment import corpus_payment
    from sfumato.files.dialect import Dialect
    from sfumato.files.layout import Layout
    from sfumato.files.source import Source
    from sfumato.training.control_codes import check_codes, with_codes
    from sfumato.training.execution import train_model as run_training
    from sfumato.training.folder import RunFolder
    from sfumato.training.methods.promise import PolicyPromise
    from sfumato.training.objectives import kind_to_train
    from sfumato.training.request import Request
    from sfumato.training.run import named_policy
    from sfumato.training.settings import Training

    names, types = tuple(str(one) for one in classes), tuple(tags)
    refuse_half_a_request(unit, author_field, names, label_field)
    spans = choose_span_field(types, names, span_field)
    refuse_half_a_group(group_field, group_weights)
    codes = names if control_codes else ()
    if control_codes:
        check_codes(codes)
        names = ()
    of_model, of_method, of_policies = _split_settings(pairs("settings", settings), method)
    flat = {
        "public_epochs": public_epochs,
        "public_learning_rate": public_learning_rate,
        "public_batch_size": public_batch_size,
        "lead": lead,
        "fill": fill,
        "fill_patterns": None if fill_patterns is None else tuple(fill_patterns),
        "fill_epsilon": fill_epsilon,
        "state": state,
        "state_clip_norm": state_clip_norm,
    }
    of_method |= {key: value for key, value in flat.items() if value is not None}
    chosen = Training(
        method=method,
        method_settings=of_method,
        epsilon=epsilon,
        delta=delta,
        unit=unit,
        record=record,
        epochs=epochs,
        batch_size=batch_size if isinstance(batch_size, int) else tuple(batch_size),
        noise_schedule=tuple(noise_schedule),
        clip_norm=clip_norm,
        clipping=clipping,
        sampling=sampling,
        accountant=accountant,
        learning_rate=learning_rate,
        optimizer=optimizer,
        schedule=schedule,
        class_weights=class_weights if isinstance(class_weights, str) else tuple(class_weights),
        group_weights=group_weights or {},
        objective=objective,
        tokenizer_epsilon=tokenizer_epsilon,
        tokenizer_words=tokenizer_words,
        tokenizer_size=tokenizer_size,
        tokens_at_once=tokens_at_once,
        recompute=recompute,
        precision=precision,
        device=device,
        checkpoint_every=checkpoint_every,
    )
    privacy, course = chosen.privacy(), chosen.course()
    found = named_policy(policy, exclude, of_policies)
    protection = PolicyPromise.of(found, key=policy_key, gold=gold)
    payment = corpus_payment(budget, account, budget_key)
    into = RunFolder(Path(folder))
    if not current_team().rank:  # the others need no folder
        into.refuse(resume=resume)
    layout = Layout(
        field=field,
        encoding=encoding,
        author_field=author_field,
        # A language model has no label that a group could stand beside.
        label_field=label_field or group_field,
        group_field=group_field if label_field else None,
        span_field=spans,
        dialect=Dialect(header=header),
    )
    source = Source.of(str(corpus), layout, file_format=format)
    # Whatever is wrong with the other files is said before hours of training, not after.
    # What is measured on needs no group.
    labeled = replace(source, layout=replace(layout, label_field=label_field, group_field=None))
    checked = [] if valid is None else valid_documents(str(valid), labeled, format, names)
    refuse_other_types(checked, types)
    documents = _read_grouped(source) if group_field and not label_field else read_source(source)
    chosen_tokenizer = choose_tokenizer(tokenizer, tokenizer_corpus, source, documents)
    if codes:
        documents, checked = with_codes(documents, codes), with_codes(checked, codes)
    request = Request(
        model=str(model),
        privacy=privacy,
        method=chosen.built_method(),
        protection=protection,
        course=course,
        kind=kind_to_train(str(model), objective, names, types),
        objective=objective,
        classes=names or types,
        class_separator=class_separator,
        control_codes=codes,
        long=long,
        lora_rank=lora_rank,
        trainable=trainable,
        pooling=pooling,
        tokenizer=chosen_tokenizer,
        vocabulary=chosen.vocabulary(),
        settings=of_model,
        corpus=source.settings() | source.claims(),
        seed=seed,
    )
    done = run_training(request, documents, into, resume=resume, payment=payment)
    return _measure(done, checked) if checked and not current_team().rank else done


def refuse_half_a_request(
    unit: str, author_field: str | None, classes: Sequence[str], label_field: str | None
) -> None:
    """Refuse a setting that means nothing without another one."""
    if unit == "author" and author_field is None:
        raise InvalidArgument(
            "`unit='author'` needs `author_field=NAME`, the field that names them"
        )
    if classes and label_field is None:
        raise InvalidArgument(
            "`classes=...` needs `label_field=NAME`, the field that holds the label"
        )
    if not classes and label_field is not None:
        raise InvalidArgument(
            f"`label_field={label_field!r}` needs `classes=...`, the labels to tell apart; they "
            "are public, so they are not taken from the data"
        )


def choose_span_field(
    tags: Sequence[str], classes: Sequence[str], span_field: str | None
) -> str | None:
    """The field that holds the spans of a tagger; None for other models."""
    from sfumato.files.layout import SPANS

    if tags and classes:
        raise InvalidArgument(
            "`tags=...` is for a tagger, and `classes=...` for a classifier or for control codes; "
            "give one of them"
        )
    if not tags and span_field is not None:
        raise InvalidArgument(
            f"`span_field={span_field!r}` needs `tags=...`, the types to find; they are public, "
            "so they are not taken from the data"
        )
    return (span_field or SPANS) if tags else None


def refuse_other_types(documents: Sequence[Document], tags: Sequence[str]) -> None:
    """Refuse documents to measure on that have spans of other types."""
    for number, document in enumerate(documents if tags else (), start=1):
        if any(span.label not in tags for span in document.spans):
            raise BadInput(f"document {number} of `valid=...` has a span of none of the tags")


def refuse_half_a_group(
    group_field: str | None, group_weights: Mapping[str, float] | str | None
) -> None:
    """Refuse a field of groups that nothing is done with, and weights of groups without one."""
    if group_field is not None and not group_weights:
        raise InvalidArgument(
            f"`group_field={group_field!r}` needs `group_weights=...`, what each group counts; "
            "they are public, so they are not taken from the data"
        )
    if group_field is None and group_weights:
        raise InvalidArgument(
            "`group_weights=...` needs `group_field=NAME`, the field that holds the group"
        )


def _split_settings(
    settings: Mapping[str, object], method: str | TrainingMethod
) -> tuple[dict[str, object], dict[str, object], dict[str, object]]:
    """Settings of the model, of the method and of policies."""
    # A class in somebody's file is known by its own names, too.
    kind = find("methods", method).load() if isinstance(method, str) else type(method)
    names = (method, kind.name, kind.__name__)
    of_model: dict[str, object] = {}
    of_method: dict[str, object] = {}
    of_policies: dict[str, object] = {}
    for key, value in settings.items():
        owner, _, own = key.rpartition(".")
        if owner in names:
            of_method[own] = value
        else:
            (of_policies if owner else of_model)[key] = value
    return of_model, of_method, of_policies


def _read_grouped(source: Source) -> list[Document]:
    """Documents of a language model, whose groups stand where labels do; errors name the group."""
    try:
        return read_source(source)
    except MalformedRecord as error:
        said = str(error).replace("`label_field=NAME`", "`group_field=NAME`")
        raise MalformedRecord(said) from None


def read_source(source: Source) -> list[Document]:
    """All documents of a file, with a bar."""
    with progress("reading", source.size) as advance, source.opened() as (chunks, place):
        documents = []
        for chunk in chunks:
            documents += chunk.documents()
            advance(place())
    return documents


def valid_documents(
    path: str, private: Source, file_format: str | None, classes: Sequence[str]
) -> list[Document]:
    """What is measured on at the end; not the private corpus, for the figures are written down."""
    from sfumato.files.source import Source

    layout = replace(private.layout, author_field=None, group_field=None)
    source = Source.of(path, layout, file_format=file_format)
    paths = [one.path for one in (source, private) if one.path is not None and one.path.exists()]
    if len(paths) == 2 and paths[0].samefile(paths[1]):
        raise InvalidArgument(
            f"`valid={path!r}` is the private corpus itself, and what is measured is written to "
            "the folder of the run; `sfumato.evaluate(RUN, ...)` shows it to you alone"
        )
    documents = read_source(source)
    if not any(document.text for document in documents):
        raise BadInput(f"`valid={path!r}` holds no text")
    for number, document in enumerate(documents, start=1):
        if classes and (not document.labels or document.labels[0] not in classes):
            raise BadInput(f"document {number} of `valid={path!r}` has none of the classes")
    return documents


def choose_tokenizer(
    given: str | Path | Tokenizer | PrivateTokenizer | None,
    public: str | Path | None,
    private: Source,
    documents: list[Document],
) -> str | Tokenizer | PrivateTokenizer | None:
    """A tokenizer, its folder, or one learned from public text, if any of it is asked for."""
    from sfumato.files.source import Source
    from sfumato.models.bpe import refuse_same_file, train_on_public

    if public is None:
        return str(given) if isinstance(given, Path) else given
    if given is not None:
        raise InvalidArgument("give `tokenizer=FOLDER` or `tokenizer_corpus=FILE`, not both")
    layout = replace(
        private.layout, author_field=None, label_field=None, group_field=None, span_field=None
    )
    source = Source.of(str(public), layout)
    if source.path is not None and private.path is not None:
        refuse_same_file(source.path, private.path)
    return train_on_public(source.documents(), private=documents)


def _measure(run: Run, documents: list[Document]) -> Run:
    from sfumato.core.randomness import Randomness
    from sfumato.training.evaluation import measure_predictions

    found = measure_predictions(run.model, documents, Randomness.secure())
    run.files.add_results([one.as_dict() | {"corpus": "valid"} for one in found])
    return replace(run, measured=tuple(found))
