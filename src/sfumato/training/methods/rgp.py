"""Reparametrized gradient perturbation: DP-SGD on thin carriers of large matrices.

Every linear layer's matrix W of p×d is seen through two carriers of rank r (``models.carriers``).
The gradients of a record at both carriers, r·(p + d) numbers in the place of p·d, are clipped and
get noise, and the update of W is rebuilt of them. Unlike the factors of LoRA, carriers move: over
many steps W may change in every direction.

Guarantee
    (epsilon, delta)-DP of all iterates together for every unit, as ``training.plan`` proves it for
    DP-SGD: the plan is the same, and so is the level of the same noise.

Why it holds
    The carriers of a step are a function of the weights that earlier steps have released, of the
    weights the model began with, and of random directions that were drawn without looking at the
    data. Given these, a record's gradient at *all* carriers, and at all other weights that are
    trained, is a function of this record alone. It is one vector, clipped as a whole to norm C. So
    the sum over a batch moves by at most C with a record, and has noise of z·C in every coordinate:
    the Gaussian release of DP-SGD. Rebuilding the update of W, the optimizer, and the carriers of
    the next step are post-processing (``training.carried_steps``).

Care
    The noise of W's update lies in the same r·(p + d) directions as its signal, which is why there
    is less of it, and what neither carrier sees of a gradient is lost. Carriers show where the
    matrix has moved before, so the first steps, with random ones, learn little.
    What is not carried is trained as usual, and clipped together with the carriers: embeddings, the
    map to the scores of all tokens, recurrent layers, biases, normalization, matrices that several
    layers share, small matrices (with p·d ≤ r·(p + d) numbers), and a new head. ``rest="freeze"``
    leaves all of these as they are, but for new weights; for a model that was trained before, whose
    embeddings would take most of the noise.

Reference
    Yu, Zhang, Chen, Yin and Liu 2021, "Large scale private learning via low-rank
    reparametrization" (algorithm 1).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from sfumato.core.checks import at_least, one_of
from sfumato.core.errors import InvalidArgument
from sfumato.core.settings import shown_settings
from sfumato.models.trainable import LORA
from sfumato.training.methods.base import ADAPTER, Prepared, Task
from sfumato.training.methods.private import Private

if TYPE_CHECKING:
    from sfumato.core.randomness import Randomness
    from sfumato.guarantees.guarantee import Guarantee
    from sfumato.models.carriers import Carried
    from sfumato.training.folder import RunFolder
    from sfumato.training.loop import WatchSteps
    from sfumato.training.request import Request
    from sfumato.training.settings import Course, Privacy

TRAIN, FREEZE = "train", "freeze"
# ``models.carriers`` has these, too, and needs torch.
SOURCES = ("update", "weight")


@dataclass(frozen=True)
class Rgp(Private):
    """DP-SGD through carriers of rank ``rank``.

    ``source`` is what carriers are computed from: the ``update`` of a matrix since training began,
    or the ``weight`` itself, as it is now. ``rest`` says what becomes of all weights without
    carriers: ``train`` or ``freeze``. ``sigma`` takes the place of a level, as in DP-SGD.
    """

    name: ClassVar[str] = "rgp"

    rank: int = 8
    source: str = "update"
    rest: str = TRAIN

    def __post_init__(self) -> None:
        super().__post_init__()
        at_least("rank", self.rank, 1)
        one_of("source", self.source, SOURCES)
        one_of("rest", self.rest, (FREEZE, TRAIN))

    def check(self, request: Request) -> None:
        """Refuse factors beside carriers, and a correction for noise that is not there."""
        super().check(request)
        if request.trained.part == LORA:
            raise InvalidArgument(
                "the method rgp trains whole matrices through carriers, and low-rank factors take "
                "their place; leave the factors out, or take the method private"
            )
        if request.course.optimizer == "adam-bc":
            raise InvalidArgument(
                "`optimizer='adam-bc'` subtracts the same noise from every weight, but what is "
                "rebuilt from carriers has another in each; take 'adam' or 'sgd'"
            )

    def prepare(self, task: Task) -> Prepared:
        """All documents, one stream, as for DP-SGD; the network with carriers from here on."""
        from sfumato.models.carriers import Carried
        from sfumato.training.carried_steps import CarriedWeights

        network, new = task.model.network, task.model.new
        carried = Carried.attach(network, self.rank, source=self.source, whole=new)
        if self.rest == FREEZE:
            _freeze_others(task, carried)
        prepared = self.planned(task, instead=CarriedWeights(network, carried))

        def fit(randomness: Randomness, folder: RunFolder, watch: WatchSteps | None) -> Guarantee:
            carried.draw(randomness.stream(ADAPTER))  # a resumed run restores those it had
            try:
                return prepared.fit(randomness, folder, watch)
            finally:
                carried.detach()

        return Prepared(prepared.plan, prepared.material, fit, in_teams=True)

    def as_dict(self, privacy: Privacy, course: Course) -> dict[str, object]:  # noqa: ARG002
        """There is no public step; rank, source and rest decide what is trained."""
        return {"public": None, "method_settings": shown_settings(self)}


def _freeze_others(task: Task, carried: Carried) -> None:
    kept = {one for _, carriers in carried.pairs() for one in carriers.parameters()}
    for name, one in task.model.network.named_parameters():
        if one not in kept and name not in task.model.new:
            one.requires_grad_(False)
