"""The contract in protocol/ is that of the daemon: complete, described, current, and watched."""

import copy
import json
import re
import subprocess
import sys
import tomllib
from typing import Any

import pytest

from protocol import generate
from protocol.descriptions import Descriptions
from protocol.events_table import events_table
from protocol.examples import read_examples
from protocol.openrpc_document import openrpc_document
from sidecar import PROTOCOL_VERSION
from sidecar.errors import walk
from sidecar.rpc.methods import METHODS
from tests.contract_judge import DOCUMENT, Judge
from tests.sources import ROOT
from tests.wire import served

DOCUMENTED: dict[str, Any] = json.loads(DOCUMENT.read_text("utf-8"))


@pytest.mark.gate("PROT-01")
def test_the_generated_files_are_current() -> None:
    stale = [f"protocol/{name}" for name in generate.stale()]
    assert stale == [], f"run: {generate.COMMAND}"


@pytest.mark.gate("PROT-01")
def test_a_stale_file_is_named_with_the_command(monkeypatch: pytest.MonkeyPatch) -> None:
    told: list[str] = []
    monkeypatch.setitem(generate.FILES, "errors.json", lambda: "other")
    monkeypatch.setattr(generate, "print", told.append, raising=False)
    monkeypatch.setattr(sys, "argv", ["generate", "--check"])
    assert generate.main() == 1
    assert told == ["protocol/errors.json is not current: run python -m protocol.generate"]


@pytest.mark.gate("PROT-02")
def test_the_document_describes_every_method_on_both_sides() -> None:
    assert [method["name"] for method in DOCUMENTED["methods"]] == list(METHODS)
    for described in DOCUMENTED["methods"]:
        method = METHODS[described["name"]]
        assert described["summary"] == method.summary
        assert described["params"][-1]["name"] == "namespace"
        assert described["result"]["schema"], method.name
        by_position = [param["name"] for param in described["params"][: len(method.positional)]]
        assert by_position == list(method.positional)
        symbols = [reference["$ref"].rpartition("/")[2] for reference in described["errors"]]
        assert symbols[: len(method.errors)] == [error.symbol for error in method.errors]
        assert len(symbols) == len(set(symbols))
        assert set(symbols) <= set(DOCUMENTED["components"]["errors"])


@pytest.mark.gate("PROT-03")
def test_a_result_always_has_the_fields_that_have_a_default() -> None:
    schemas = DOCUMENTED["components"]["schemas"]
    assert "outcome" in schemas["Decision"]["required"]
    assert "stateHash" in schemas["NamespaceStatus"]["required"]
    assert "embedding" not in schemas["Memory"]["required"]
    assert "content" not in schemas["MemoryInput"].get("required", [])
    assert schemas["MemoryInput"]["additionalProperties"] is False
    assert "additionalProperties" not in schemas["Memory"]


@pytest.mark.gate("PROT-04")
def test_every_parameter_and_field_is_described_and_nothing_else_is() -> None:
    words = Descriptions()
    openrpc_document([*METHODS.values()], {}, words)
    events_table(words)
    assert words.missing == [], "describe it in protocol/descriptions.toml"
    assert words.unused == [], "nothing has this name: take it out of protocol/descriptions.toml"


@pytest.mark.gate("PROT-05")
@pytest.mark.parametrize("name", list(METHODS))
def test_every_method_has_examples_that_fit_its_types(name: str) -> None:
    files = read_examples()
    assert name in files, f"write protocol/examples/{name}.json, see protocol/README.md"
    assert files[name].examples
    judge = Judge(DOCUMENTED)
    for example in files[name].examples:
        request = {"jsonrpc": "2.0", "id": 1, "method": name, "params": example.params}
        reply = {"jsonrpc": "2.0", "id": 1, "result": example.result}
        assert list(judge.unfit(request, reply)) == []


@pytest.mark.gate("PROT-05")
def test_no_example_is_of_a_method_that_is_not_there() -> None:
    assert set(read_examples()) <= set(METHODS)


@pytest.mark.gate("PROT-07")
def test_the_table_of_errors_is_the_tree() -> None:
    table = json.loads((ROOT / "protocol" / "errors.json").read_text("utf-8"))
    assert table == [
        {
            "code": error.code,
            "symbol": error.symbol,
            "message": error.default_message,
            "retryable": error.retryable,
            "exitCode": error.exit_code,
        }
        for error in walk()
    ]


@pytest.mark.gate("PROT-09")
async def test_rpc_discover_answers_the_document() -> None:
    async with served() as daemon:
        for _ in range(2):
            assert (await daemon.call("rpc.discover"))["result"] == DOCUMENTED


@pytest.mark.gate("PROT-09")
def test_the_document_is_read_when_it_is_asked_for_and_goes_with_the_package() -> None:
    program = (
        "import sidecar.rpc.methods\nfrom sidecar.rpc import openrpc\n"
        "print(openrpc.document.cache_info().currsize)"
    )
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", program],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.strip() == "0"
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
    included = settings["tool"]["hatch"]["build"]["targets"]["wheel"]["force-include"]
    assert included == {"protocol/openrpc.json": "sidecar/rpc/openrpc.json"}


@pytest.mark.gate("PROT-16")
def test_the_changelog_has_the_rule_and_the_version_in_force() -> None:
    text = (ROOT / "protocol" / "CHANGELOG.md").read_text("utf-8")
    assert re.search(r"^## What may change$", text, re.MULTILINE)
    assert re.search(rf"^## Protocol {PROTOCOL_VERSION}$", text, re.MULTILINE)


GET: dict[str, Any] = {"method": "memory.get", "params": {"id": "tea"}}
TEA: dict[str, Any] = read_examples()["memory.get"].examples[0].result


def without(value: dict[str, Any], name: str) -> dict[str, Any]:
    return {key: inner for key, inner in value.items() if key != name}


def refusal(symbol: str, **changed: Any) -> dict[str, Any]:
    error = copy.deepcopy(DOCUMENTED["components"]["errors"][symbol])
    error["data"] |= {"field": "$.id", "bound": "a bound", "remedy": "a remedy"}
    return {"error": error | changed}


@pytest.mark.gate("PROT-14")
@pytest.mark.parametrize(
    "request_,reply,told",
    [
        (GET, {"result": {**TEA, "mood": "green"}}, "'mood' was unexpected"),
        (GET, {"result": without(TEA, "tier")}, "'tier' is a required property"),
        (GET, {"result": {**TEA, "tier": "lukewarm"}}, "is not one of"),
        (GET, {"result": {**TEA, "pinned": 1}}, "is not of type 'boolean'"),
        (GET, {"result": [TEA]}, "result $"),
        ({**GET, "params": {"id": "tea", "colour": 1}}, {"result": None}, "refuses"),
        ({**GET, "params": {}}, {"result": None}, "'id' is a required property"),
        ({"method": "memory.guess"}, {"result": None}, "is no method of openrpc.json"),
        (GET, refusal("memory_not_found"), "is not among the errors of the method"),
        (GET, refusal("corrupt", code=7), "another code"),
        (GET, refusal("corrupt", data={"symbol": "rotten"}), "is no error of the contract"),
        (GET, refusal("corrupt", message=None), "is no error of the contract"),
        (GET, {"error": DOCUMENTED["components"]["errors"]["invalid_params"]}, "lacks field"),
    ],
)
def test_whatever_does_not_fit_is_told(request_: Any, reply: Any, told: str) -> None:
    faults = list(Judge(DOCUMENTED).unfit(request_, reply))
    assert faults
    assert all(told in fault for fault in faults), faults


@pytest.mark.gate("PROT-14")
def test_what_fits_is_left_alone_alone_and_in_a_batch() -> None:
    judge = Judge(DOCUMENTED)
    pairs = [(GET, {"result": TEA}), (GET, {"result": None}), (GET, refusal("corrupt"))]
    for request, reply in pairs:
        assert list(judge.unfit(request, reply)) == []
    requests = [{**request, "id": number} for number, (request, _) in enumerate(pairs)]
    replies = [{**reply, "id": number} for number, (_, reply) in enumerate(pairs)]
    assert list(judge.unfit(requests, replies[::-1])) == []
    assert list(judge.unfit(requests, [{"id": 0, "result": 5}]))


@pytest.mark.gate("PROT-14")
def test_a_test_whose_daemon_drifts_fails_though_it_asserts_nothing(
    pytester: pytest.Pytester,
) -> None:
    folder = pytester.mkdir("integration")
    (folder / "test_drift.py").write_text(
        "from tests.contract_judge import WATCH\n\n"
        "def test_drift():\n"
        '    WATCH.see(b\'{"id":1,"method":"memory.get","params":{"id":"a"}}\','
        ' b\'{"id":1,"result":7}\')\n'
    )
    result = pytester.runpytest_subprocess(
        "-p", "tests.contract_judge", "-p", "no:cacheprovider", f"--rootdir={pytester.path}"
    )
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["*memory.get: result*"])
