"""A finished training run: what is proven about its model, and what one can do with the model."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, overload

from sfumato.core.checks import at_least, extra
from sfumato.core.display import as_html, as_lines, interval
from sfumato.core.errors import BadInput, InvalidArgument
from sfumato.core.json import read_object
from sfumato.core.randomness import Randomness
from sfumato.files.dialect import Dialect
from sfumato.files.layout import SPANS, Layout
from sfumato.files.source import Source
from sfumato.guarantees.guarantee import Guarantee
from sfumato.models.kinds import TAGGER
from sfumato.models.load import LoadedModel, load_model
from sfumato.policies.parsing import combine_policies
from sfumato.policies.policy import Policy
from sfumato.results.measured import Measured
from sfumato.training.folder import RunFolder, open_run
from sfumato.training.plan import TrainingPlan

if TYPE_CHECKING:
    from sfumato.training.evaluation import Evaluation


@dataclass(frozen=True, eq=False)
class Run:
    """A finished training run: what is proven about its model, and what can be done with it.

    ``folder`` is its path, ``files`` the files in it. ``measured`` is what was measured at its end,
    if it was trained in this process.
    """

    files: RunFolder
    guarantee: Guarantee
    planned: TrainingPlan | None = None
    measured: tuple[Measured, ...] = ()
    already_finished: bool = False
    loaded: LoadedModel | None = field(default=None, repr=False)

    @classmethod
    def open(cls, path: str | Path) -> Run:
        """The run in a folder, if it is finished."""
        files = open_run(Path(path))
        try:
            content = read_object(files.guarantee, "what a run guarantees")
            stated = Guarantee.from_dict(content["guarantee"])
        except (KeyError, TypeError, AttributeError, InvalidArgument):
            raise BadInput(f"{files.guarantee} holds no guarantee that can be read") from None
        return cls(files, stated)

    @property
    def folder(self) -> Path:
        """The path of its folder."""
        return self.files.path

    @property
    def plan(self) -> TrainingPlan:
        """The plan, if the run was trained in this process; otherwise see the folder's settings."""
        if self.planned is None:
            raise InvalidArgument(
                f"the run in {self.folder} was opened, not trained, in this process; its plan "
                "is in files.settings()['plan']"
            )
        return self.planned

    @property
    def parts(self) -> dict[str, Any]:
        """The levels of a private tokenizer, or of forms, and of the model; empty without such."""
        found = read_object(self.files.guarantee, "what a run guarantees").get("parts")
        return found if isinstance(found, dict) else {}

    @property
    def epsilon_by_group(self) -> dict[str, float]:
        """The level of a record of each group, if groups were weighed (``training.groups``)."""
        found = read_object(self.files.guarantee, "what a run guarantees").get("epsilon_by_group")
        return found if isinstance(found, dict) else {}

    @property
    def kind(self) -> str:
        """That of its model (``models.kinds``)."""
        return str(self.files.settings().get("kind", "causal"))

    @property
    def model(self) -> LoadedModel:
        """The trained model, read from the folder if it was not trained in this process."""
        if self.loaded is None:
            extra("torch", needed_for="opening a model", extra="train")
            # Loading a finished model draws no weights, so nothing depends on this stream.
            source = Randomness.secure()
            found = load_model(str(self.files.model), randomness=source, kind=self.kind)
            object.__setattr__(self, "loaded", found)
            return found
        return self.loaded

    def evaluate(  # noqa: PLR0913  # flat keywords, those of the command
        self,
        corpus: str | Path,
        *,
        policy: str | Sequence[str] | Policy | None = None,
        exclude: Sequence[str] = (),
        settings: Mapping[str, object] | None = None,
        field: str = "text",
        author_field: str | None = None,
        label_field: str | None = None,
        group_field: str | None = None,
        span_field: str | None = None,
        format: str | None = None,  # noqa: A002  # as the option is called
        encoding: str = "utf-8",
        header: bool = True,
    ) -> Evaluation:
        """Perplexity and top-1 accuracy with intervals over documents.

        For a classifier accuracy, Matthews correlation and F1, also of every group of documents
        with the same ``group_field``; with an ``author_field`` the documents of an author count as
        one in the intervals. For a tagger precision, recall and F1 of the spans in ``span_field``,
        which is "spans" unless it is called otherwise. With a ``policy``, also separately for the
        tokens that it selects and for the others; ``settings`` are those of policies, as
        ``POLICY.KEY``. Without a ``header`` columns are called 1, 2, … On private text the figures
        are a further release, which the guarantee does not cover.
        """
        from sfumato.training.evaluation import evaluate_model

        chosen = named_policy(policy, exclude, settings)
        if self.kind in ("classifier", TAGGER) and chosen is not None:
            raise InvalidArgument(
                f"a policy selects tokens to predict; a {self.kind} predicts none"
            )
        if self.kind != TAGGER and span_field is not None:
            raise InvalidArgument(
                f"`span_field={span_field!r}` is for taggers; this run trained none"
            )
        if self.kind == "classifier" and label_field is None:
            raise InvalidArgument(
                "a classifier needs `label_field=NAME`, the field that holds the label"
            )
        if self.kind != "classifier" and label_field is not None:
            raise InvalidArgument(
                f"`label_field={label_field!r}` is for classifiers; this run trained none"
            )
        for name, given in (("author_field", author_field), ("group_field", group_field)):
            of_tagger = self.kind == TAGGER and name == "author_field"
            if given is not None and self.kind != "classifier" and not of_tagger:
                raise InvalidArgument(
                    f"`{name}={given!r}` is for classifiers; this run trained none"
                )
        layout = Layout(
            field=field,
            encoding=encoding,
            author_field=author_field,
            label_field=label_field,
            group_field=group_field,
            span_field=(span_field or SPANS) if self.kind == TAGGER else None,
            dialect=Dialect(header=header),
        )
        documents = list(Source.of(str(corpus), layout, file_format=format).documents())
        return evaluate_model(self.model, documents, chosen)

    def generate(  # flat keywords, those of the command
        self,
        prompt: str = "",
        *,
        tokens: int = 50,
        temperature: float = 1.0,
        top: int | None = None,
        samples: int = 1,
        seed: int | None = None,
    ) -> TrainingTexts:
        """Texts that continue a prompt; ``str`` of the result is the text itself if there is one.

        Each has at most ``tokens`` tokens, drawn from the ``top`` most likely ones if that is
        given.
        """
        from sfumato.models.generate import TokenSampling, continue_text

        sampling = TokenSampling(tokens=tokens, temperature=temperature, top=top)
        source = Randomness.secure() if seed is None else Randomness.reproducible(seed)
        return TrainingTexts(
            prompt,
            tuple(
                continue_text(self.model, prompt, sampling, source.stream(place + 1))
                for place in range(at_least("samples", samples, 1))
            ),
        )

    def __fspath__(self) -> str:
        return str(self.folder)

    def __repr__(self) -> str:
        return as_lines(f"Run in {self.folder}", self._facts())

    def _repr_html_(self) -> str:
        return as_html(f"Run in {self.folder}", ["", ""], self._facts())

    def _facts(self) -> list[tuple[str, str]]:
        shown = [(one.metric, interval(one.value, one.low, one.high)) for one in self.measured]
        return [("guarantee", self.guarantee.sentence()), *shown]


@dataclass(frozen=True)
class TrainingTexts(Sequence[str]):
    """Texts generated by a model, including the prompt."""

    prompt: str
    texts: tuple[str, ...]

    @overload
    def __getitem__(self, place: int) -> str: ...
    @overload
    def __getitem__(self, place: slice) -> tuple[str, ...]: ...
    def __getitem__(self, place: int | slice) -> str | tuple[str, ...]:
        return self.texts[place]

    def __len__(self) -> int:
        return len(self.texts)

    def __str__(self) -> str:
        return "\n\n".join(self.texts)

    def _repr_html_(self) -> str:
        return as_html(f"After {self.prompt!r}", ["text"], [[text] for text in self.texts])


def named_policy(
    policy: str | Sequence[str] | Policy | None,
    exclude: Sequence[str] = (),
    settings: Mapping[str, object] | None = None,
) -> Policy | None:
    """The policy that was given or named, or None; settings require policies given by name."""
    if (not policy or isinstance(policy, Policy)) and (exclude or settings):
        raise InvalidArgument(
            "settings of a policy, and what it leaves out, need a policy given by its name; give "
            "`policy=NAME`, too"
        )
    if policy is None or isinstance(policy, Policy):
        return policy
    names = [policy] if isinstance(policy, str) else list(policy)
    return combine_policies(names, list(exclude), settings or {}) if names else None
