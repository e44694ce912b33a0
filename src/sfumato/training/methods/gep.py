"""Gradient embedding perturbation: few coordinates in a public basis, and a short residual.

Before each step, gradients of public text give a basis of a few directions (``anchors``). A private
record's gradient is split into its coordinates there and what is left; both are clipped and get
noise (``clipping.embedded``). If public and private text pull the model alike, most of a gradient
has the noise of a few numbers.

Guarantee
    (epsilon, delta)-DP of all iterates together for every unit, as ``training.plan`` proves it for
    DP-SGD: a step is the same Gaussian release, with the same multiplier.

Why it holds
    ``clipping.embedded`` proves it for one step and any basis; the basis of a step is a function of
    public text and of weights that were released before (``anchors``).

Care
    The guarantee does not cover the public text: the model shows it. A basis that fits badly costs
    utility, never privacy. Each step takes ``anchors`` more passes, of one public record each, and
    forms the gradients of private records; it is for small models, or few trained weights.

Reference
    Yu, Zhang, Chen and Liu 2021, "Do not let privacy overbill utility: gradient embedding
    perturbation for private learning".
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, ClassVar

from sfumato.core.checks import at_least, positive
from sfumato.core.errors import InvalidArgument
from sfumato.core.settings import FileToRead, shown_settings
from sfumato.training.methods.base import Prepared, Task
from sfumato.training.methods.private import Private

if TYPE_CHECKING:
    from sfumato.core.randomness import Randomness
    from sfumato.training.methods.anchors import AnchorSteps
    from sfumato.training.request import Request
    from sfumato.training.settings import Course, Privacy

# Numbers of a basis: 512 MB.
MOST = 2**27


@dataclass(frozen=True)
class Gep(Private):
    """DP-SGD in a basis of public gradients.

    ``public`` is a file of public text, and ``public_field`` the column that holds it; a text file
    has a document a line. The basis has ``dimensions`` directions, from the gradients of
    ``anchors`` public documents, others in each step. Coordinates are clipped to the clipping norm,
    what is left to ``residual`` times that norm. ``sigma`` takes the place of a level, as in
    DP-SGD.
    """

    name: ClassVar[str] = "gep"
    weighs_groups: ClassVar[bool] = False  # both parts of a sum would have to be weighed alike

    public: FileToRead = field(default="", repr=False)
    public_field: str = "text"
    dimensions: int = 16
    anchors: int = 32
    residual: float = 0.4

    def __post_init__(self) -> None:
        super().__post_init__()
        at_least("dimensions", self.dimensions, 1)
        at_least("anchors", self.anchors, self.dimensions)
        positive("residual", self.residual)

    def check(self, request: Request) -> None:
        """Refuse a request without public text, other clipping, and a correction for noise."""
        super().check(request)
        if not self.public:
            raise InvalidArgument(
                "the method gep takes its basis from public text: name a file of it, in the "
                "setting public"
            )
        if request.privacy.clipping.kind != "fixed":
            raise InvalidArgument(
                "the method gep clips two parts of a gradient, each to a fixed norm; leave "
                "`clipping=...` out"
            )
        if request.course.optimizer == "adam-bc":
            raise InvalidArgument(
                "`optimizer='adam-bc'` subtracts the same noise from every weight, but within the "
                "basis there is another than outside; take 'adam' or 'sgd'"
            )

    def prepare(self, task: Task) -> Prepared:
        """All documents, one stream, as for DP-SGD; public ones for the basis."""
        from sfumato.training.clipping.embedded import EmbeddedRelease
        from sfumato.training.methods.anchors import AnchorSteps, label_in_turn, read_public

        network = task.model.network
        weights = sum(one.numel() for one in network.parameters() if one.requires_grad)
        if weights * self.dimensions > MOST:
            raise InvalidArgument(
                f"dimensions={self.dimensions}: a basis for {weights:,} trained weights does not "
                "fit into memory; take fewer, or train fewer weights with `trainable=...`"
            )
        norm = task.privacy.clipping.norm
        release = EmbeddedRelease(norm, self.residual * norm)
        documents = read_public(self.public, self.public_field, task.documents)
        if task.kind == "classifier":
            documents = label_in_turn(documents, task.model.classes)
        alone = replace(task, documents=documents, privacy=replace(task.privacy, unit="example"))
        records = alone.records()

        def steps(randomness: Randomness) -> AnchorSteps:
            counts = (self.dimensions, self.anchors)
            return AnchorSteps(task.model, records, release, counts, randomness)

        return self.planned(task, between=steps, release=release)

    def as_dict(self, privacy: Privacy, course: Course) -> dict[str, object]:  # noqa: ARG002
        """There is no public step; where the public text is on the disk is not told."""
        return {"public": None, "method_settings": shown_settings(self)}
