"""What must stand at the top of a page that is not for everyone."""

from __future__ import annotations

from sfumato.reports.parts import Notice

PRIVATE_TEXT = Notice(
    kind="private",
    title="This page contains private text.",
    text="Documents are shown as they were before they were privatized. Do not pass it on.",
)
MEASURED_ON_PRIVATE_TEXT = Notice(
    kind="plain",
    title="For the owner of the data.",
    text="These figures were measured on private text, and no guarantee covers them. Groups go by "
    "the names that they have in the data, and the study is shown as it was written, with the "
    "patterns and paths in it.",
)
NOT_FOR_RELEASE = Notice(
    kind="missing",
    title="Not for release.",
    text="What this page describes must not be given away; the guarantee says why.",
)
