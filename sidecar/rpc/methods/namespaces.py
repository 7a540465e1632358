"""namespaces.*: one wall for each memory system."""

from typing import Any, Final

import msgspec
from msgspec import Struct

from sidecar.errors import DiskFull, NamespaceConflict, NamespacesExhausted, ReadOnly
from sidecar.reports import NamespaceListing, OpenReport
from sidecar.rpc.context import Context
from sidecar.rpc.method import Methods, NoParams
from sidecar.rpc.params import Params
from sidecar.thresholds import parse_thresholds

methods: Final = Methods()


class OpenParams(Params, kw_only=True):
    """The settings that a new namespace begins with."""

    thresholds: dict[str, Any] = msgspec.field(default_factory=dict[str, Any])


class NamespaceList(Struct, rename="camel", kw_only=True):
    """Every namespace of the state directory, by name."""

    namespaces: list[NamespaceListing]


@methods.add(
    "namespaces.open",
    params=OpenParams,
    result=OpenReport,
    writes=True,
    errors=(NamespaceConflict, NamespacesExhausted, ReadOnly, DiskFull),
)
async def open_(context: Context, params: OpenParams) -> OpenReport:
    """Open a namespace, or make it with `thresholds`; later ones are only compared."""
    values = parse_thresholds(params.thresholds)
    async with context.opening:  # else two clients could both be told that they made it
        existing = await context.existing(params.namespace)
        namespace = existing or await context.writable(params.namespace)
        return await namespace.apply_open_options(thresholds=values, created=existing is None)


@methods.add(
    "namespaces.list",
    params=NoParams,
    result=NamespaceList,
)
async def list_(context: Context, params: NoParams) -> NamespaceList:
    """Every namespace there is, open or not, with its memories by tier."""
    return NamespaceList(namespaces=context.registry.names())
