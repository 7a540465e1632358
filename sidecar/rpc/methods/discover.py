"""rpc.discover: the protocol about itself."""

from typing import Annotated, Any, Final

import msgspec
from msgspec import Meta

from sidecar.rpc import openrpc
from sidecar.rpc.context import Context
from sidecar.rpc.method import Methods, NoParams

methods: Final = Methods()

OpenRpcDocument = Annotated[
    dict[str, Any], Meta(extra_json_schema={"required": ["openrpc", "info", "methods"]})
]


@methods.add(
    "rpc.discover",
    params=NoParams,
    result=OpenRpcDocument,
)
async def discover(context: Context, params: NoParams) -> msgspec.Raw:
    """This protocol as an OpenRPC document: methods, types, errors, examples."""
    return openrpc.document()
