"""A whole training run from what a user asked for: corpus, model, plan, folder.

``train_model`` makes records and a plan, trains, and leaves a run folder behind; with the same
request it goes on where a killed run stopped.

Care
    What the folder says of the run is public: settings, versions, the plan with the number of
    units, a digest of the vocabulary (which is public), and when the corpus was last changed, so
    that a run is not resumed on another one. Of a method that is not ours it names the classes,
    with a slow, salted digest of their code. A digest of the corpus would let its finder test
    guesses, and is not made.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any, overload

from sfumato.core.checks import at_least, extra, one_of
from sfumato.core.display import as_html, as_lines, interval
from sfumato.core.errors import BadInput, CannotResume, InvalidArgument
from sfumato.core.json import read_object, write_number
from sfumato.core.randomness import Randomness
from sfumato.files.layout import Layout
from sfumato.files.source import Source
from sfumato.guarantees.guarantee import Guarantee
from sfumato.models.load import KINDS, LoadedModel, load_model
from sfumato.models.lora import Lora
from sfumato.models.save import save_model
from sfumato.models.tokenizer import Tokenizer, load_tokenizer
from sfumato.policies.parsing import combine_policies
from sfumato.policies.policy import Policy
from sfumato.results.measured import Measured
from sfumato.text.document import Document
from sfumato.training.folder import RunFolder, open_run
from sfumato.training.methods.base import (
    ADAPTER,
    ANNOUNCED_TO,
    INITIAL,
    Announce,
    Task,
    TrainingMethod,
    method_code,
    private_places,
    refuse_a_borrowed_name,
)
from sfumato.training.methods.private import Private
from sfumato.training.methods.promise import PolicyPromise
from sfumato.training.plan import TrainingPlan
from sfumato.training.records import LONG
from sfumato.training.settings import Course, Privacy

if TYPE_CHECKING:
    from sfumato.training.evaluation import Evaluation


@dataclass(frozen=True, kw_only=True)
class Request:
    """Model and training; ``tokenizer`` is a public one, or a folder that holds one.

    ``corpus`` says how the corpus is read and when it was changed, nothing about its text.
    """

    model: str
    privacy: Privacy
    method: TrainingMethod = field(default_factory=Private)
    protection: PolicyPromise | None = None
    course: Course = field(default_factory=Course)
    kind: str = "causal"
    classes: tuple[str, ...] = ()
    long: str = "split"
    lora_rank: int | None = None
    tokenizer: str | Tokenizer | None = None
    settings: dict[str, object] = field(default_factory=dict)
    corpus: dict[str, Any] = field(default_factory=dict)
    seed: int | None = None

    def __post_init__(self) -> None:
        one_of("kind", self.kind, KINDS)
        one_of("long", self.long, LONG)
        if self.lora_rank is not None:
            at_least("lora_rank", self.lora_rank, 1)
        refuse_a_borrowed_name(self.method)
        self.method.check(self)

    def randomness(self) -> Randomness:
        """Secure, unless a seed was given."""
        return Randomness.secure() if self.seed is None else Randomness.reproducible(self.seed)

    def load(self, randomness: Randomness) -> LoadedModel:
        """The model before training, with low-rank factors if they are asked for."""
        model = load_model(
            self.model,
            randomness=randomness.stream(INITIAL),
            kind=self.kind,
            classes=self.classes,
            tokenizer=self._tokenizer(),
            settings=self.settings,
        )
        if self.lora_rank is None:
            return model
        adapted: Any = Lora(rank=self.lora_rank).attach(model.network, randomness.stream(ADAPTER))
        return LoadedModel(adapted, model.tokenizer, model.context, model.classes)

    def _tokenizer(self) -> Tokenizer | None:
        if isinstance(self.tokenizer, str):
            return load_tokenizer(Path(self.tokenizer))
        return self.tokenizer

    @property
    def cut_long(self) -> str:
        """What becomes of long documents; a classifier reads one row, so it can only cut."""
        return "truncate" if self.kind == "classifier" else self.long

    def task(self, model: LoadedModel, documents: Sequence[Document]) -> Task:
        """What the method is given."""
        return Task(
            documents=documents,
            model=model,
            privacy=self.privacy,
            course=self.course,
            kind=self.kind,
            long=self.cut_long,
            protection=self.protection,
        )

    def promised(self, guarantee: Guarantee) -> Guarantee:
        """The guarantee of a plan, as one about the method and its policy."""
        return self.method.promise(guarantee, self.protection)

    def public(self, model: LoadedModel, plan: TrainingPlan) -> dict[str, Any]:
        """What the run folder may show, and what must be the same on resuming."""
        return {
            "model": self.model,
            "kind": self.kind,
            "classes": list(self.classes),
            "long": self.cut_long,
            "lora_rank": self.lora_rank,
            "tokenizer": model.tokenizer.name,
            "vocabulary": _digest(model.tokenizer),
            "model_settings": {key: str(value) for key, value in self.settings.items()},
            "epsilon": write_number(self.privacy.epsilon),
            "corpus": self.corpus,
            "plan": plan.as_dict(),
            "course": dict(self.course.as_dict()),
            # With a seed nothing is for release anyway; going on with another would be no run.
            "seed": self.seed,
            **({"record": self.privacy.record} if self.privacy.record else {}),
            "method": self.method.name,
            "policy": None if self.protection is None else self.protection.policy.name,
        } | self.method.as_dict(self.privacy, self.course)


@dataclass(frozen=True, eq=False)
class Run:
    """A finished training run: what is proven about its model, and what one does with it.

    ``folder`` is where it lies, ``files`` what is in it;
    ``measured`` is what was measured at its end, if it was trained in this process.
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
        """Where it lies."""
        return self.files.path

    @property
    def plan(self) -> TrainingPlan:
        """The plan of a run of this process; of others the folder holds what was planned."""
        if self.planned is None:
            raise InvalidArgument(
                f"the run in {self.folder} was opened, not trained, in this process; its plan "
                "is in files.settings()['plan']"
            )
        return self.planned

    @property
    def kind(self) -> str:
        """``causal`` or ``classifier``."""
        return str(self.files.settings().get("kind", "causal"))

    @property
    def model(self) -> LoadedModel:
        """The trained model, read from the folder if it was not trained in this process."""
        if self.loaded is None:
            extra("torch", needed_for="opening a model", extra="train")
            # No weight is drawn in loading a finished model, so nothing depends on this stream.
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
        label_field: str | None = None,
        format: str | None = None,  # noqa: A002  # as the option is called
        encoding: str = "utf-8",
    ) -> Evaluation:
        """Perplexity and top-1 accuracy, with intervals over documents; of a classifier accuracy.

        With a ``policy`` also on the tokens that it selects, and on all others; ``settings`` are
        those of policies, by ``POLICY.KEY``. On private text the figures are a release of their
        own, which the guarantee does not cover.
        """
        from sfumato.training.evaluation import evaluate_model

        chosen = named_policy(policy, exclude, settings)
        if self.kind == "classifier" and chosen is not None:
            raise InvalidArgument("a policy selects tokens to predict; a classifier predicts none")
        if self.kind == "classifier" and label_field is None:
            raise InvalidArgument(
                "a classifier needs `label_field=NAME`, the field that holds the label"
            )
        if self.kind != "classifier" and label_field is not None:
            raise InvalidArgument(
                f"`label_field={label_field!r}` is for classifiers; this run trained none"
            )
        layout = Layout(field=field, encoding=encoding, label_field=label_field)
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
        """Texts that go on from a prompt; of one text ``str`` is the text itself.

        At most so many ``tokens`` each, drawn among the ``top`` likeliest if that is given.
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
    """What a model said, the prompt included."""

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


def train_model(
    request: Request,
    documents: Sequence[Document],
    folder: RunFolder,
    *,
    resume: bool = False,
    announce: Announce | None = None,
) -> Run:
    """Train as requested and leave a run folder behind.

    ``announce`` is told plan and material before the first step, and may return a function that is
    told about every step.
    """
    announce = announce or ANNOUNCED_TO.get()
    folder.refuse(resume=resume)
    code = _same_code(request.method, folder)
    randomness = request.randomness()
    model = request.load(randomness)
    prepared = request.method.prepare(request.task(model, documents))
    plan = prepared.plan
    promised = request.promised(plan.guarantee())
    settings = request.public(model, plan) | code | private_places(prepared.material)
    folder.begin(settings, resume=resume)
    if folder.finished:
        trained = load_model(str(folder.model), randomness=randomness, kind=request.kind)
        stated = _stamp(promised, randomness)
        return Run(folder, stated, plan, already_finished=True, loaded=trained)
    watch = announce(plan, prepared.material) if announce else None
    proven = prepared.fit(randomness, folder, watch)
    guarantee = request.promised(proven)
    if not folder.model.is_dir():
        save_model(model, folder.model)
    folder.add_results(_compute_spending(plan))
    beside = plan.as_in_the_paper()
    # From here on the run counts as finished.
    folder.write_guarantee(
        guarantee,
        {"plan": plan.as_dict(), "epsilon_planned": write_number(request.privacy.epsilon)}
        | ({"as_in_the_paper": beside} if beside else {}),
    )
    folder.clear()
    return Run(folder, guarantee, plan, loaded=model)


def _same_code(method: TrainingMethod, folder: RunFolder) -> dict[str, Any]:
    """What a run's settings say of the code of its method; another one does not go on."""
    begun = folder.settings() if folder.config.is_file() else {}
    if begun.get("method", method.name) != method.name:
        return method_code(method)  # which is refused for its name
    kept = begun.get("method_code")
    try:
        asked = method_code(method, kept["salt"] if isinstance(kept, dict) else None)
    except (KeyError, ValueError, TypeError):
        asked = method_code(method)  # a record that was damaged is like none
    told = asked.get("method_code")
    if told is None or not begun:
        return asked
    if told["digest"] is None:
        raise CannotResume(
            f"the source of the method {method.name} cannot be read, so nobody can tell whether "
            f"it is the one that began the run in {folder.path}; choose another folder, and keep "
            "the class in a file to go on with such runs"
        )
    if told != kept:
        raise CannotResume(
            f"{folder.path} holds a run with another code of the method {method.name} "
            f"({', '.join(told['classes'])}); resume with the code that began it, or choose "
            "another folder"
        )
    return asked


def named_policy(
    policy: str | Sequence[str] | Policy | None,
    exclude: Sequence[str] = (),
    settings: Mapping[str, object] | None = None,
) -> Policy | None:
    """The policy that was asked for, if one was; settings need policies by their names."""
    if (not policy or isinstance(policy, Policy)) and (exclude or settings):
        raise InvalidArgument(
            "settings of a policy, and what it leaves out, speak of a policy by its name; give "
            "`policy=NAME`, too"
        )
    if policy is None or isinstance(policy, Policy):
        return policy
    names = [policy] if isinstance(policy, str) else list(policy)
    return combine_policies(names, list(exclude), settings or {}) if names else None


def _compute_spending(plan: TrainingPlan) -> list[dict[str, Any]]:
    """The cost of a run as rows; nothing in them depends on the text."""
    values: dict[str, float | str] = {"steps": plan.steps, "epsilon": write_number(plan.epsilon())}
    if plan.private:
        values["delta"] = plan.delta
    return [
        {"metric": metric, "value": value, "low": None, "high": None, "n": plan.units}
        for metric, value in values.items()
    ]


def _stamp(guarantee: Guarantee, randomness: Randomness) -> Guarantee:
    return guarantee if randomness.for_release else guarantee.reproducible()


def _digest(tokenizer: Tokenizer) -> str:
    """Tells vocabularies apart: the same numbers of other tokens would be another text."""
    vocabulary = sorted(tokenizer.backend.get_vocab().items())
    return sha256(json.dumps(vocabulary).encode()).hexdigest()[:16]
