"""What a job tells of itself: its settings, and the content of the file beside its output."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sfumato.mechanisms.pseudonym import VAULT_LEAK
from sfumato.releases.sidefile import side_file

if TYPE_CHECKING:
    from sfumato.releases.authors import Till
    from sfumato.releases.input import Input
    from sfumato.releases.job import Job
    from sfumato.releases.privatizer import Privatizer
    from sfumato.releases.tally import Tally


def summarize(
    job: Job, privatizer: Privatizer, tally: Tally, input_: Input, till: Till | None = None
) -> dict[str, Any]:
    """What the side file of a finished job says."""
    source = job.source
    leaks = [VAULT_LEAK] if job.vault is not None else []
    if till is not None:
        leaks.append(till.leak)
    summary = side_file(
        privatizer,
        tally,
        has_fields=source.format.has_fields,
        layout=source.layout,
        leaks=leaks,
    )
    return (
        summary
        | {
            "settings": job_settings(job, privatizer),
            "identity": public_code(privatizer),
            "input": input_.mark(),
        }
        | ({} if till is None else {"budget": till.told(tally.by_payment)})
    )


def job_settings(job: Job, privatizer: Privatizer) -> dict[str, Any]:
    """The settings of a job, as far as they are public."""
    undone = {} if job.vault is None else {"vault": True}
    return privatizer.public_settings() | job.source.settings() | undone


def public_code(privatizer: Privatizer) -> str | None:
    """What a side file may tell of the identity: nothing if any of it is private."""
    return None if privatizer.identity is None else privatizer.identity.public_code


def shares_of(tally: Tally) -> dict[str, Any]:
    """For the eyes of whoever runs it: a side file has them only where the policy is public."""
    return {"shares": {name: one.share for name, one in tally.columns.undecided.items()}}
