"""What the attack needs, said before anything is loaded."""

from __future__ import annotations

from collections.abc import Sequence

from sfumato.attacks.attack import Inputs
from sfumato.attacks.membership.signals import OUTSIDE, SHADOWS, SIGNALS
from sfumato.attacks.model_target import is_model, is_run, not_a_model
from sfumato.core.errors import MissingInput

SECRETS = "secrets"


def missing(inputs: Inputs, asked: Sequence[str], *, shadows: int) -> str | None:
    """A sentence about what is lacking, and how to make it; None if nothing is."""
    return (
        not_a_model(inputs.target)
        or _missing_texts(inputs, asked)
        or _missing_models(inputs, asked, shadows)
    )


def refused(asked: Sequence[str], notes: Sequence[str]) -> MissingInput:
    """For signals that find no evidence; ``notes`` may say why."""
    if notes:
        return MissingInput(f"membership: {'; '.join(notes)}")
    named = ", ".join(asked) or "any signal"
    return MissingInput(
        f"membership: there is nothing to compute {named} from; give members and others, or "
        "canaries for 'secrets', and references or shadows for the signals that need them"
    )


_NO_TEXTS = (
    "--members is a file of texts the model was trained on, --others one of the same kind that it "
    "was not: split the corpus before training, 'sfumato train MEMBERS -o RUN'"
)
_NO_CANARIES = (
    "secrets need the list of planted canaries: 'sfumato data canaries CORPUS -o PLANTED' writes "
    "it, 'sfumato train PLANTED -o RUN' trains on them; then --canaries PLANTED.canaries.json"
)


def _missing_texts(inputs: Inputs, asked: Sequence[str]) -> str | None:
    given = {"--members": inputs.members, "--others": inputs.others}
    lacking = [option for option, path in given.items() if path is None]
    scored = [name for name in asked if name != SECRETS]
    if len(lacking) == 1:
        return f"it lacks {lacking[0]}; {_NO_TEXTS}"
    if SECRETS in asked and inputs.canaries is None:
        return _NO_CANARIES
    if lacking and scored:
        return f"{', '.join(scored)}: --members and --others are missing; {_NO_TEXTS}"
    if lacking and inputs.canaries is None:
        return f"it lacks --members and --others, or --canaries for secrets alone; {_NO_TEXTS}"
    return None


def _missing_models(inputs: Inputs, asked: Sequence[str], shadows: int) -> str | None:
    for path in inputs.references:
        if not is_model(path):
            return (
                f"the reference {path} is neither the folder of a run nor of a model; train one "
                "on other text: 'sfumato train OTHER-TEXT --epsilon inf -o RUN'"
            )
    if shadows and not is_run(inputs.target):
        return (
            f"shadows={shadows} are trained as the target was, but {inputs.target} is not the "
            "folder of a run and does not say how; attack a run, or give --reference models"
        )
    if shadows and inputs.cache is None:
        return (
            f"shadows={shadows} are models to be trained and kept: name a folder with --cache "
            "FOLDER, as private as the texts"
        )
    needs = {SIGNALS[name].needs: name for name in asked if name in SIGNALS}
    if OUTSIDE in needs and not inputs.references and not shadows:
        return (
            f"{needs[OUTSIDE]} needs models trained without the members: --reference RUN, once "
            "for each ('sfumato train OTHER-TEXT --epsilon inf -o RUN'), or --set shadows=8"
        )
    if SHADOWS in needs and not shadows:
        return f"{needs[SHADOWS]} needs shadow models: --set shadows=8, on the folder of a run"
    return None
