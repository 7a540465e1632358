"""events.*: what happened in a namespace, in order. GET /events streams the same."""

from typing import Annotated, Final

from msgspec import Meta

from sidecar.limits import INTEGER_MAX, LIST_LIMIT_DEFAULT, LIST_LIMIT_MAX
from sidecar.reports import EventPage
from sidecar.rpc.context import Context
from sidecar.rpc.method import Methods
from sidecar.rpc.params import Params

methods: Final = Methods()


class ListEventsParams(Params, kw_only=True):
    """After which event the page begins, how long it is, and of which kinds it is."""

    since: Annotated[int, Meta(ge=0, le=INTEGER_MAX)] = 0
    limit: Annotated[int, Meta(ge=1, le=LIST_LIMIT_MAX)] = LIST_LIMIT_DEFAULT
    kinds: list[str] | None = None


@methods.add(
    "events.list",
    params=ListEventsParams,
    result=EventPage,
)
async def list_(context: Context, params: ListEventsParams) -> EventPage:
    """A page of events after the one numbered `since`, in order."""
    namespace = await context.existing(params.namespace)
    if namespace is None:
        return EventPage(events=[], latest=0, oldest=1)
    return await namespace.list_events(since=params.since, limit=params.limit, kinds=params.kinds)
