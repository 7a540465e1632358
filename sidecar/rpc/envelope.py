"""JSON-RPC 2.0: bodies in, bodies out. One bad call of a batch never spoils the others."""

from typing import Any, Final, cast

import msgspec

from sidecar.errors import ForgetdError, InvalidParams, InvalidRequest, TooLarge
from sidecar.limits import BATCH_CALLS_MAX
from sidecar.rpc.dispatch import Call, Dispatcher, Reply, internal_error, reply_with_error
from sidecar.rpc.json_scan import Fault, decode_strict, json_path
from sidecar.suggest import quoted, remedy_for

MEMBERS: Final = ("jsonrpc", "method", "params", "id")

_ENCODER: Final = msgspec.json.Encoder()


class Envelope:
    """Answers bodies. The calls of a batch are carried out in order, one after the other."""

    def __init__(self, dispatcher: Dispatcher) -> None:
        self._dispatcher = dispatcher

    async def answer(self, body: bytes) -> bytes | None:
        """The body of the reply; None where nothing is to be said (only notifications)."""
        try:
            value, faults = decode_strict(body)
            if isinstance(value, list):
                batch = _batch(cast(list[object], value))
                answers = [await self._one(m, faults.get(i)) for i, m in enumerate(batch)]
                replies = [reply for reply in answers if reply is not None]
                return b"[" + b",".join(map(encode_reply, replies)) + b"]" if replies else None
            reply = await self._one(value, faults.get(0))
            return None if reply is None else encode_reply(reply)
        except ForgetdError as error:
            return encode_reply(reply_with_error(error, None))

    async def _one(self, member: object, fault: Fault | None) -> Reply | None:
        call_id: object = None
        try:
            call_id = _id_of(member, fault)
            call = _valid_call(member, fault)
        except InvalidParams as error:
            return reply_with_error(error, call_id) if "id" in cast(Call, member) else None
        except InvalidRequest as error:
            return reply_with_error(error, call_id)
        return await self._dispatcher.dispatch(call)


def encode_reply(reply: Reply) -> bytes:
    """The reply as JSON; an internal error with the same id where it cannot be encoded."""
    try:
        return _ENCODER.encode(reply)
    except (TypeError, ValueError, OverflowError, RecursionError, msgspec.EncodeError) as error:
        mended = internal_error(error, "encoding a reply")
        return _ENCODER.encode(reply_with_error(mended, reply["id"]))


def _batch(members: list[object]) -> list[object]:
    if not members:
        raise InvalidRequest(
            detail="the batch is empty", bound="1 call or more", remedy="send a call, or nothing"
        )
    if len(members) > BATCH_CALLS_MAX:
        raise TooLarge(
            f"The batch has {len(members)} calls, at most {BATCH_CALLS_MAX} are accepted",
            field="$",
            bound=f"at most {BATCH_CALLS_MAX} calls a batch",
            remedy="send several batches, or use putMany and getMany",
        )
    return members


def _id_of(member: object, fault: Fault | None) -> object:
    """The id to answer under: null where there is none that may be told back."""
    if not isinstance(member, dict):
        return None
    given = cast(Call, member).get("id")
    told = isinstance(given, str | int | float) and not isinstance(given, bool)
    return given if told and not (fault and fault.path[:1] == ("id",)) else None


def _valid_call(member: object, fault: Fault | None) -> Call:
    """The member as a call. Raises InvalidRequest, or InvalidParams for a fault in `params`."""
    if not isinstance(member, dict):
        raise _invalid("$", "an object", "a call is not an object", "send a Request object")
    call = cast(Call, member)
    if fault is not None and fault.path[:1] != ("params",):
        raise _invalid(json_path(fault.path), fault.bound, fault.problem, fault.remedy)
    _check_members(call)
    if fault is not None:
        field = json_path(fault.path[1:])
        raise InvalidParams(
            f"{field} is {fault.problem}", field=field, bound=fault.bound, remedy=fault.remedy
        )
    return call


def _check_members(call: Call) -> None:
    if call.get("jsonrpc") != "2.0":
        raise _invalid("$.jsonrpc", 'the string "2.0"', "not JSON-RPC 2.0", 'add "jsonrpc": "2.0"')
    if not isinstance(call.get("method"), str):
        raise _invalid(
            "$.method", "a string", "the method has no name", 'name it, as in "system.status"'
        )
    if not isinstance(call.get("params", {}), dict | list):
        raise _invalid(
            "$.params",
            "an object or an array",
            "params is neither",
            "name the params; leave it out if empty",
        )
    call_id: Any = call.get("id")
    if isinstance(call_id, bool | dict | list):
        raise _invalid("$.id", "a string, a number or null", "the id is neither", "use a number")
    for name in call:
        if name not in MEMBERS:
            # A misspelt `params` would otherwise run the method with its defaults.
            raise _invalid(
                json_path((name,)),
                f"only {', '.join(MEMBERS)}",
                f"a call has no member {quoted(name)}",
                remedy_for(name, MEMBERS),
            )


def _invalid(field: str, bound: str, detail: str, remedy: str) -> InvalidRequest:
    return InvalidRequest(field=field, bound=bound, detail=detail, remedy=remedy)
