"""Bodies that a daemon must survive: valid calls of every method, spoiled in every way.

The same seed gives the same bodies, as far as they hold no ids that the daemon made up.
"""

import json
import random
import re
from collections.abc import Callable
from typing import Any, Final

from sidecar.rpc.methods import METHODS
from tests.sources import ROOT

EXAMPLES: Final = ROOT / "protocol" / "examples"
NAMESPACES: Final = ("default", "a", "b", "agent-1")
LEARNED_KEPT: Final = 8
# What answers hold that later calls may name.
_LEARNED: Final = re.compile(rb'"(runId|planId|cursor)":"([^"\\]{1,300})"')

NUMBERS: Final = (
    0, 1, -1, 2, 0.5, 1.5, -0.0, 100, 101, 1_000, 1_001, 4_096, 946_684_800_000, 1_767_225_600,
    1_780_000_000_000, 4_102_444_800_000, 2**31, 2**53 - 1, 2**53, -(2**53), 2**63, 2**64,
    10**40, 1e-320, 1e308, -1e308, float("nan"), float("inf"), float("-inf"),
)  # fmt: skip
TEXTS: Final = (
    "", " ", "\n", "\0", "a\0b", "tea", "cat", "default", "오늘 커피를 마셨다", "커피", "😀👩‍👩‍👧",
    "é", "\u200b", "\u202e", "\ufeff", "\uffff", "\ud800", "a\udfffb", "\x7f\x1b[31m", "x" * 300,
    "가" * 100, "../../etc/passwd", "/", "..", ".", "a/../b", "'; DROP TABLE memories; --",
    '" OR 1=1', "NEAR(a b)", "a AND (b", "*", "%", "_", "null", "true", "1e999", "AAAAAAAA",
    "AAAA", "====", "hot", "cold", "forgotten", "replace", "skip", "deep", "all", "strict",
    "classic", "$.id", "__proto__", "[" * 50,
)  # fmt: skip
NAMES: Final = ("id", "ids", "content", "metadata", "namespace", "extra", "x", "", "\0", "커피")
RAW: Final = (
    b"", b" ", b"null", b"true", b"0", b'""', b"[]", b"{}", b"[[]]", b"[1,2]", b"{", b"]", b"\0",
    b"\xff\xfe", b"\xef\xbb\xbf{}", b"{}{}", b"NaN", b"-", b"1e999", b'{"a":1,"a":2}', b'"\\ud800"',
    b'{"jsonrpc":"2.0","method":"memory.list","id":1}x', b"[" * 100_000, b'{"a":' * 5_000,
    b"9" * 5_000, b'"' + b"\\u0000" * 1_000 + b'"',
)  # fmt: skip


def valid_calls() -> dict[str, list[dict[str, Any]]]:
    """The parameters of every example of the contract, by method. Every method has some."""
    found: dict[str, list[dict[str, Any]]] = {}
    for name in METHODS:
        example = json.loads((EXAMPLES / f"{name}.json").read_text("utf-8"))
        found[name] = [one.get("params", {}) for one in example["examples"]]
        for before in example.get("before", []):
            found.setdefault(before["method"], []).append(before.get("params", {}))
    return found


class Inputs:
    """An endless row of bodies. `learn` reads an answer for ids that later bodies may name."""

    def __init__(self, seed: str) -> None:
        self.random = random.Random(seed)
        self._calls = valid_calls()
        self._methods = [name for name in self._calls if name != "system.stop"]
        self._learned: dict[str, list[str]] = {"runId": [], "planId": [], "cursor": []}
        self._kinds: tuple[tuple[int, Callable[[], bytes]], ...] = (
            (20, lambda: _encoded(self._call())),
            (45, lambda: _encoded(self._spoiled_call())),
            (15, lambda: self._bitten(_encoded(self._call()))),
            (6, self._batch),
            (5, self._doubled),
            (5, self._noise),
            (2, self._deep),
            (2, lambda: self.random.choice(RAW)),
        )

    def next(self) -> bytes:
        """The next body."""
        kinds = self._kinds
        (make,) = self.random.choices([k[1] for k in kinds], [k[0] for k in kinds])
        return make()

    def learn(self, reply: bytes) -> None:
        """Remember the ids of an answer."""
        for name, value in _LEARNED.findall(reply[:100_000]):
            kept = self._learned[name.decode()]
            kept.append(value.decode(errors="replace"))
            del kept[:-LEARNED_KEPT]

    def _call(self) -> dict[str, Any]:
        method = self.random.choice(self._methods)
        params = json.loads(json.dumps(self.random.choice(self._calls[method])))
        for name, learned in self._learned.items():
            may_have = isinstance(params, dict) and (name in params or self.random.random() < 0.02)
            if may_have and learned and self.random.random() < 0.7:
                params[name] = self.random.choice(learned)
        if isinstance(params, dict) and self.random.random() < 0.3:
            params["namespace"] = self.random.choice(NAMESPACES)
        call: dict[str, Any] = {"jsonrpc": "2.0", "method": method, "params": params}
        if self.random.random() < 0.97:
            call["id"] = self.random.choice((1, 7, "x", None, 1.5, "커피"))
        return call

    def _spoiled_call(self) -> dict[str, Any]:
        call = self._call()
        # Mostly below the parameters: the envelope is small, what lies behind it is not.
        target = call["params"] if self.random.random() < 0.85 else call
        for _ in range(self.random.choice((1, 1, 1, 2, 4))):
            self._spoil(target)
        return call

    def _spoil(self, value: Any) -> None:
        """Change one place of an object or array, at any depth."""
        while True:
            inner = [each for each in _children(value) if isinstance(each, dict | list)]
            if not inner or self.random.random() < 0.5:
                break
            value = self.random.choice(inner)
        if isinstance(value, list):
            self._spoil_array(value)
        elif not value or self.random.random() < 0.15:
            value[self._name()] = self.odd()
        else:
            self._spoil_object(value)

    def _spoil_object(self, value: dict[str, Any]) -> None:
        name = self.random.choice(list(value))
        match self.random.randrange(6):
            case 0:
                del value[name]
            case 1:
                value[self._name()] = value.pop(name)
            case 2:
                value[name] = [value[name]] * self.random.choice((0, 1, 2, 40))
            case 3:
                value[name] = {name: value[name]}
            case _:
                value[name] = self.odd()

    def _spoil_array(self, value: list[Any]) -> None:
        match self.random.randrange(4):
            case 0:
                value.append(self.odd())
            case 1:
                value.clear()
            case 2 if value:
                value[self.random.randrange(len(value))] = self.odd()
            case _:
                value.extend(value[:1] * self.random.choice((1, 30)))

    def odd(self, depth: int = 0) -> Any:
        """A value that nobody expects."""
        draw = self.random.random()
        if draw < 0.35:
            return self.random.choice(NUMBERS)
        if draw < 0.75:
            return self.random.choice(TEXTS)
        if draw < 0.85 or depth > 3:
            return self.random.choice((None, True, False))
        if draw < 0.92:
            return [self.odd(depth + 1) for _ in range(self.random.randrange(4))]
        return {self._name(): self.odd(depth + 1) for _ in range(self.random.randrange(3))}

    def _name(self) -> str:
        """A parameter of some method, or no name at all."""
        if self.random.random() < 0.4:
            return self.random.choice(NAMES)
        params = self.random.choice(self._calls[self.random.choice(self._methods)])
        return self.random.choice([*params]) if params else "id"

    def _bitten(self, body: bytes) -> bytes:
        bytes_left = bytearray(body)
        for _ in range(self.random.choice((1, 1, 2, 5))):
            at = self.random.randrange(len(bytes_left) + 1)
            match self.random.randrange(4):
                case 0:
                    bytes_left[at : at + 1] = self.random.randbytes(1)
                case 1:
                    del bytes_left[at : at + self.random.choice((1, 1, 8))]
                case 2:
                    bytes_left[at:at] = self.random.choice(b'"\\{}[]:,0eE-\0\xff').to_bytes()
                case _:
                    del bytes_left[at:]
        return bytes(bytes_left)

    def _batch(self) -> bytes:
        count = self.random.choice((0, 1, 2, 3, 5, 8))
        if self.random.random() < 0.01:
            count = self.random.choice((100, 101))
        calls = [
            self._spoiled_call() if self.random.random() < 0.5 else self._call()
            for _ in range(count)
        ]
        for number, call in enumerate(calls):
            if "id" in call and self.random.random() < 0.97:
                call["id"] = number  # so that each reply can be told
        members = [_encoded(call) for call in calls]
        if members and self.random.random() < 0.3:
            odd = _encoded(self.odd())
            members[self.random.randrange(count)] = odd
        return b"[" + b",".join(members) + b"]"

    def _doubled(self) -> bytes:
        """A call one of whose members stands there twice."""
        body = _encoded(self._call())
        places = [found.start() for found in re.finditer(rb'"\w+":', body)]
        at = self.random.choice(places)
        name = body[at : body.index(b":", at) + 1]
        return body[:at] + name + _encoded(self.odd()) + b"," + body[at:]

    def _noise(self) -> bytes:
        return self.random.randbytes(self.random.choice((1, 4, 30, 200)))

    def _deep(self) -> bytes:
        call = self._call()
        value = self.odd()
        for _ in range(self.random.choice((50, 60, 61, 62, 63, 64, 65, 66, 200))):
            value = [value] if self.random.random() < 0.5 else {"a": value}
        target = call["params"] if isinstance(call["params"], dict) else call
        target[self.random.choice(("metadata", "content", "id", "params"))] = value
        return _encoded(call)


def _children(value: Any) -> list[Any]:
    return list(value.values()) if isinstance(value, dict) else list(value)


def _encoded(value: Any) -> bytes:
    """JSON, or what looks like it: NaN stands there as NaN, a lone surrogate as an escape."""
    return json.dumps(value, separators=(",", ":")).encode()
