"""``sfumato.train_tokenizer``: a tokenizer learned from private text, with a guarantee."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from sfumato.core.checks import extra
from sfumato.core.errors import BadInput, InvalidArgument, StorageFailed
from sfumato.verbs.inputs import draws_from, read_documents

if TYPE_CHECKING:
    from sfumato.histograms.thresholds import Noise
    from sfumato.histograms.words import Budget
    from sfumato.models.private_tokenizer import PrivateTokenizer


def train_tokenizer(
    corpus: str | Path,
    folder: str | Path,
    *,
    epsilon: float,
    delta: float | str = "auto",
    kind: str = "bpe",
    size: int = 8192,
    words_per_document: int = 60,
    weights: str = "plain",
    unit: str = "example",
    record: str = "",
    public_words: str | Path | None = None,
    field: str = "text",
    author_field: str | None = None,
    format: str | None = None,
    encoding: str = "utf-8",
    header: bool = True,
    seed: int | None = None,
    budget: str | Path | None = None,
    account: str | None = None,
    budget_key: str | Path | None = None,
) -> PrivateTokenizer:
    """Learn a tokenizer from private text, with a guarantee for every document or author.

    Each of them gives at most ``words_per_document`` different words, drawn from its own; words
    that too few of them give are dropped. ``weights`` is ``plain``, or ``by-length`` to let those
    who give few words count for more. ``public_words`` is a file with one public word a line: only
    these are counted then, and none is dropped for being rare. ``folder`` then holds the tokenizer
    in Hugging Face's format and the guarantee; training takes it as a tokenizer.

    A call draws once. If it is refused afterwards, because too few words came through, or killed,
    ``FOLDER.spent.json`` says what is spent, and another call for the same folder is refused: the
    levels of several draws add up.

    With a ``budget`` (a file, or ``postgresql://…``) the draw is charged to an ``account``
    of it, ``corpus:ID``, before any noise is drawn, and refused if too little is left. Its key is
    in the file ``budget_key`` or in the environment variable SFUMATO_BUDGET_KEY.
    """
    extra("tokenizers", needed_for="a tokenizer", extra="train")
    from sfumato.accounting.budget.payment import corpus_payment
    from sfumato.histograms.payment import HistogramBill
    from sfumato.models.bpe import refuse_private_words
    from sfumato.models.draws import DrawNote
    from sfumato.models.learned import find_kind
    from sfumato.models.private_tokenizer import (
        SCOPE,
        check_size,
        forget_draw,
        learn_privately,
        refuse_folder,
        save_private,
    )

    learned = find_kind(kind)
    check_size(learned, size)
    into = Path(folder)
    refuse_folder(into)
    if not into.absolute().parent.is_dir():
        raise StorageFailed(f"cannot write {into}: there is no folder {into.parent}")
    payment = corpus_payment(budget, account, budget_key)
    settled = choose_budget(epsilon, delta, words_per_document, weights, unit, record, author_field)
    listed = None if public_words is None else _read_words(Path(public_words), Path(corpus))
    documents = read_documents(
        corpus, field=field, author_field=author_field, format=format, encoding=encoding,
        header=header,
    )  # fmt: skip
    if listed is not None:
        refuse_private_words(listed, documents)
    note, randomness = (
        DrawNote(into, settled.as_dict() | {"kind": kind, "size": size}),
        draws_from(seed),
    )
    bill = HistogramBill.of(payment, documents, settled, randomness, SCOPE, into)

    def before(noise: Noise) -> None:
        bill.pay(noise)  # first: what is refused is not drawn, and the place stays free
        note.write(noise)

    made = learn_privately(
        documents, learned, size, settled, randomness, public_words=listed, before=before
    )
    saved = save_private(made, into)
    forget_draw(into)
    bill.settle()
    return saved


def choose_budget(
    epsilon: float,
    delta: float | str,
    words: int,
    weights: str,
    unit: str,
    record: str,
    author_field: str | None,
) -> Budget:
    """Everything that decides the privacy of a histogram."""
    from sfumato.guarantees.record import check_record
    from sfumato.histograms.thresholds import Contribution
    from sfumato.histograms.words import Budget

    if unit == "author" and author_field is None:
        raise InvalidArgument(
            "`unit='author'` needs `author_field=NAME`, the field that names them"
        )
    check_record(record, unit)
    contribution = Contribution(words=words, weights=weights)
    return Budget(epsilon=epsilon, delta=delta, contribution=contribution, unit=unit, record=record)


def _read_words(path: Path, private: Path) -> list[str]:
    """The words of a public list, which is not the private file itself."""
    from sfumato.models.bpe import WHY_LISTED

    if path.exists() and private.exists() and path.samefile(private):
        raise InvalidArgument(f"{path} is the private corpus itself; {WHY_LISTED}")
    try:
        lines = path.read_text("utf-8").splitlines()
    except OSError as error:
        raise StorageFailed(f"cannot read {path}: {error.strerror or 'reading failed'}") from None
    except UnicodeDecodeError:
        raise BadInput(f"{path} is not in utf-8") from None
    words = [line.strip() for line in lines if line.strip()]
    for number, word in enumerate(words, start=1):
        # Rows of a table or of JSON are a copy of some text, and all of its words would count.
        if len(word.split()) > 1:
            raise BadInput(
                f"entry {number} of {path} is more than a word; give one public word a line"
            )
    return words
