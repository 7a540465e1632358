import assert from "node:assert/strict"
import { spawnSync } from "node:child_process"
import { createRequire } from "node:module"
import { test } from "node:test"
import { fileURLToPath } from "node:url"
import { Ajv } from "ajv"
import { MemorySystem } from "forgetd"
import { Judge, readDocument } from "../judge.js"
import { watchTransport } from "../watch.js"
import { fakeDaemon } from "./fake-daemon.js"

const PACKAGE = fileURLToPath(new URL("../../../", import.meta.url))
const document = readDocument()

test("[PROT-02] the document is valid by OpenRPC's own schema", () => {
  const load = createRequire(import.meta.url)
  const { openrpcDocument } = load("@open-rpc/meta-schema") as { openrpcDocument: object }
  // Its schema of schemas is draft 7 under another name, which leads into the network.
  const text = JSON.stringify(openrpcDocument)
    .replaceAll("tools/#/definitions/JSONSchemaObject/properties/", "tools#/properties/")
    .replaceAll(
      /https:\/\/meta\.json-schema\.tools\/?#?/g,
      "http://json-schema.org/draft-07/schema#",
    )
  const ajv = new Ajv({ strict: false, allErrors: true, validateFormats: false })
  const validate = ajv.compile(JSON.parse(text) as object)
  assert.equal(validate(document), true, JSON.stringify(validate.errors?.slice(0, 5), null, 1))
  assert.equal(validate({ ...document, methods: [{ name: "nameless" }] }), false)
  assert.equal(validate({ ...document, openrpc: "0.9" }), false)
})

test("[PROT-15] the generated types and tables are those of the contract", () => {
  for (const name of ["generate", "estimate-table"]) {
    const script = fileURLToPath(new URL(`../../../scripts/${name}.mjs`, import.meta.url))
    const run = { cwd: PACKAGE, encoding: "utf8" } as const
    const done = spawnSync(process.execPath, [script, "--check"], run)
    assert.equal(done.status, 0, done.stderr)
  }
})

const GET = { method: "memory.get", params: { id: "tea" } }
const TEA = example("memory.get") as Record<string, unknown>

/** The result of the first example of a method. */
function example(name: string): unknown {
  const methods = document.methods as unknown as {
    name: string
    examples: { result: { value: unknown } }[]
  }[]
  return methods.find((method) => method.name === name)?.examples[0]?.result.value
}

function refusal(symbol: string, changed: object = {}): object {
  const known = document.components.errors[symbol]
  const data = { ...known?.data, field: "$.id", bound: "a bound", remedy: "a remedy" }
  return { error: { ...known, data, ...changed } }
}

test("[PROT-14] whatever does not fit the document is told, and what fits is left alone", () => {
  const judge = new Judge(document)
  const { tier: _, ...tierless } = TEA
  const unfit: readonly (readonly [object, object, RegExp])[] = [
    [GET, { result: { ...TEA, mood: "green" } }, /mood/],
    [GET, { result: tierless }, /tier/],
    [GET, { result: { ...TEA, tier: "lukewarm" } }, /one of/],
    [GET, { result: { ...TEA, pinned: 1 } }, /must be boolean/],
    [GET, { result: [TEA] }, /must be object/],
    [{ ...GET, params: { id: "tea", colour: 1 } }, { result: null }, /refuses.*colour/],
    [{ ...GET, params: {} }, { result: null }, /'id'/],
    [{ method: "memory.guess" }, { result: null }, /is no method/],
    [GET, refusal("memory_not_found"), /is not among the errors/],
    [GET, refusal("corrupt", { code: 7 }), /another code/],
    [GET, refusal("corrupt", { data: { symbol: "rotten" } }), /is no error of the contract/],
    [GET, { error: document.components.errors["invalid_params"] }, /lacks field/],
  ]
  for (const [request, reply, told] of unfit) {
    assert.match(judge.unfit(request, reply).join("\n"), told)
  }

  const fitting = [{ result: TEA }, { result: null }, refusal("corrupt")]
  for (const reply of fitting) assert.deepEqual(judge.unfit(GET, reply), [])
  const requests = fitting.map((_reply, id) => ({ ...GET, id }))
  const replies = fitting.map((reply, id) => ({ ...reply, id }))
  assert.deepEqual(judge.unfit(requests, replies.reverse()), [])
  assert.notDeepEqual(judge.unfit(requests, [{ id: 0, result: 5 }]), [])
})

test("[PROT-14] a client whose daemon drifts fails at once", async (t) => {
  await watchTransport()
  const daemon = await fakeDaemon(t, (call) => call.result({ id: call.params["id"] }))
  const memory = new MemorySystem({ socketPath: daemon.socketPath, retry: false })
  t.after(() => memory.close())
  await assert.rejects(memory.get("tea"), assert.AssertionError)
})
