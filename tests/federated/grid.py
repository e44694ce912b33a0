"""A grid in this process: every message goes to a client app at once, by way of its bytes."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from flwr.app import Context, Error, Message, RecordDict
from flwr.serverapp import Grid
from flwr.supercore.task_identity import TaskIdentity

from sfumato.federation.flower import client_app

Meddle = Callable[[int, list[Message]], list[Message]]


class InProcess(Grid):  # type: ignore[misc]  # flwr is not typed here
    """Nodes are numbers with a configuration each; ``meddle`` may change what comes back."""

    def __init__(
        self,
        nodes: Mapping[int, Mapping[str, Any]],
        run_config: Mapping[str, Any],
        meddle: Meddle | None = None,
    ) -> None:
        self.nodes, self.run_config, self.meddle = nodes, dict(run_config), meddle
        TaskIdentity.run_id = TaskIdentity.task_id = TaskIdentity.node_id = 1
        self.calls = 0
        self.sent: list[Message] = []

    def get_node_ids(self) -> Iterable[int]:
        return list(self.nodes)

    def send_and_receive(
        self, messages: Iterable[Message], *, timeout: float | None = None
    ) -> Iterable[Message]:
        del timeout
        assert [id(one) for one in messages] == [id(one) for one in messages]  # as a real one does
        sent = list(messages)
        replies = [self._answer(one) for one in sent]
        if sent:
            self.calls += 1
        self.sent += sent
        return self.meddle(self.calls, replies) if self.meddle else replies

    def _answer(self, message: Message) -> Message:
        node = message.metadata.dst_node_id
        context = Context(1, node, dict(self.nodes[node]), RecordDict(), self.run_config)
        try:
            reply = client_app(message, context)
        except Exception as error:
            reply = Message(Error(code=0, reason=str(error)), reply_to=message)
        # The SuperLink knows who a reply is from.
        reply.metadata.__dict__["_src_node_id"] = node
        return reply

    def set_run(self, run: Any) -> None:
        raise NotImplementedError

    @property
    def run(self) -> Any:
        raise NotImplementedError

    def create_message(self, *_: Any, **__: Any) -> Message:
        raise NotImplementedError

    def push_messages(self, messages: Iterable[Message]) -> Iterable[str]:
        raise NotImplementedError

    def pull_messages(self, message_ids: Iterable[str]) -> Iterable[Message]:
        raise NotImplementedError
