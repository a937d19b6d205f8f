"""Asks the host before each request to a model (`--request-permits`): a host that runs several processes keeps them to
one rate, and makes all of them wait when one was refused."""

from __future__ import annotations

from yume_shim.providers.wire.failures import failure_cancelled
from yume_shim.types.errors import Cancelled
from yume_shim.types.events import ResponseFailed
from yume_shim.types.host_reply import NO_LIMIT
from yume_shim.types.side_events import PermitAsked, QuestionWithdrawn

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from yume_shim.types.events import ModelEvent
    from yume_shim.types.models import Credential, ModelSpec, Request
    from yume_shim.types.ports import Cancel, HostChannel, Provider

    Make = Callable[[Credential], Provider]


def asking_first(make: Make, spec: ModelSpec, host: HostChannel, spent: Callable[[], float]) -> Make:
    """The same maker of providers, which ask first. `spent`: the cost of the process so far."""
    return lambda credential: PermitProvider(make(credential), spec, host, spent)


class PermitProvider:
    """Implements `types.ports.Provider` around another."""

    def __init__(self, provider: Provider, spec: ModelSpec, host: HostChannel, spent: Callable[[], float]) -> None:
        self._provider, self._endpoint, self._host, self._spent = provider, spec.endpoint.name, host, spent

    def stream(self, request: Request, cancel: Cancel) -> Iterator[ModelEvent]:
        """The events of one response, once the host has answered."""
        try:
            self._host.ask(
                lambda ask_id: PermitAsked(ask_id, self._endpoint, request.model.id, self._spent()),
                timeout_s=NO_LIMIT,
                cancel=cancel,
                withdraw=QuestionWithdrawn,
            )
        except Cancelled:
            yield ResponseFailed(failure_cancelled(self._endpoint))
            return
        yield from self._provider.stream(request, cancel)

    def close(self) -> None:
        """Close the connections."""
        self._provider.close()
