import assert from "node:assert/strict"
import { readFileSync } from "node:fs"
import { test } from "node:test"
import { estimateOf, estimateParts, ESTIMATOR_VERSION, type EstimateParts } from "forgetd"

/** One line of the golden vectors; see the README beside them. */
interface Vector {
  readonly name: string
  readonly content: string
  readonly expected: EstimateParts
}

function readVectors(): Vector[] {
  const file = new URL("../../../../protocol/vectors/estimate.jsonl", import.meta.url)
  const lines = readFileSync(file, "utf8").trimEnd().split("\n")
  return lines.map((line) => JSON.parse(line) as Vector)
}

test("[TS-64] estimates and their parts are those of every golden vector, to the last bit", () => {
  const vectors = readVectors()
  assert.ok(vectors.length > 200)
  for (const { name, content, expected } of vectors) {
    assert.deepEqual(estimateParts(content), expected, name)
    assert.equal(estimateOf(content), expected.estimate, name)
  }
})

test("[TS-64] a text after the first 2,048 characters, lone surrogates too, is not read", () => {
  const long = "ferry ".repeat(400)
  assert.equal(estimateOf(`${long}\ud800 allergic`), estimateOf(long))
  assert.equal(estimateOf("\ud800\udc00\ud800"), estimateOf("\ud800\udc00"))
})

test("[TS-64] the version is the contract's", () => {
  const file = new URL("../../../../protocol/estimate.json", import.meta.url)
  const table = JSON.parse(readFileSync(file, "utf8")) as { readonly version: string }
  assert.equal(ESTIMATOR_VERSION, table.version)
})
