"""``sfumato.write_corpus``: a synthetic corpus by a model that was trained privately."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from sfumato.verbs.inputs import Placed, draws_from, path_of

if TYPE_CHECKING:
    from sfumato.synthesis.corpus import SyntheticCorpus
    from sfumato.text.document import Document


def write_corpus(
    run: Placed,
    output: str | Path,
    *,
    texts: int = 500,
    tokens: int = 64,
    temperature: float = 1.0,
    top: int | None = None,
    nucleus: float = 1.0,
    shares: Mapping[str, float] | None = None,
    labels_epsilon: float | None = None,
    originals: str | Path | None = None,
    shortest: int = 1,
    longest: int | None = None,
    duplicates: bool = False,
    classifier: str | Path = "",
    batch: int = 64,
    field: str = "text",
    author_field: str | None = None,
    label_field: str | None = None,
    format: str | None = None,
    encoding: str = "utf-8",
    header: bool = True,
    resume: bool = False,
    overwrite: bool = False,
    seed: int | None = None,
    budget: str | Path | None = None,
    account: str | None = None,
    budget_key: str | Path | None = None,
) -> SyntheticCorpus:
    """Let a finished run's model write a corpus, which has the guarantee of the training.

    A model that was trained with ``control_codes`` writes for each label: equally many ``texts``,
    as many as the public ``shares`` say (weights by label), or as noised counts of the
    ``originals`` say, which cost ``labels_epsilon`` more; for that alone the private corpus is
    read, with ``field``, ``label_field`` and so on. Without codes texts have no label.

    Tokens are drawn at ``temperature`` from the ``top`` likeliest, and of these from the fewest
    that have the probability ``nucleus`` together. Texts of ``shortest`` to ``longest`` words are
    kept, each once unless ``duplicates``, and if the folder of a public ``classifier`` is named,
    those whose label it confirms. None of this costs privacy.

    The output has JSON lines with a text and a label; OUT.guarantee.json beside it says what is
    guaranteed. A run that was stopped goes on with ``resume``. A ``seed`` makes it reproducible;
    the corpus is for release all the same, unless label counts were noised with it.

    To write costs nothing, so a ``budget`` pays for noised label counts alone: their level is
    charged to its ``account``, ``corpus:ID``, before they are drawn.
    """
    from sfumato.core.checks import extra
    from sfumato.core.errors import InvalidArgument

    extra("torch", needed_for="writing a corpus", extra="train")
    from sfumato.accounting.budget.payment import corpus_payment
    from sfumato.files.dialect import Dialect
    from sfumato.files.layout import Layout
    from sfumato.files.source import Source
    from sfumato.models.sampling import TextSampling
    from sfumato.synthesis.written.filters import TextFilter
    from sfumato.synthesis.written.job import WritingRequest, write_from_run
    from sfumato.training.run import Run

    if originals is not None and label_field is None:
        raise InvalidArgument(
            "labels are counted in the private corpus: name the field that holds them, "
            "`label_field=NAME`"
        )
    asked = WritingRequest(
        texts=texts,
        sampling=TextSampling(tokens=tokens, temperature=temperature, top=top, nucleus=nucleus),
        kept=TextFilter(
            shortest=shortest,
            longest=longest,
            duplicates=duplicates,
            classifier=str(classifier),
        ),
        shares={} if shares is None else {str(one): share for one, share in shares.items()},
        labels_epsilon=labels_epsilon,
        batch=batch,
        payment=corpus_payment(budget, account, budget_key),
    )

    def read() -> list[Document]:
        layout = Layout(
            field=field,
            encoding=encoding,
            author_field=author_field,
            label_field=label_field,
            dialect=Dialect(header=header),
        )
        return list(Source.of(str(originals), layout, file_format=format).documents())

    return write_from_run(
        Run.open(path_of(run)),
        asked,
        Path(output),
        originals=None if originals is None else read,
        randomness=draws_from(seed),
        resume=resume,
        overwrite=overwrite,
    )
