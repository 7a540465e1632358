import assert from "node:assert/strict"
import { test } from "node:test"
import { Judge, readDocument } from "../judge.js"
import { carryOut, compare, filled, FILES, sections } from "../transcripts.js"
import { fileDaemon } from "./daemon.js"

const daemon = await fileDaemon()
const judge = new Judge(readDocument())
const all = sections()

/** The row of testing.md that each file proves. */
const ROWS = {
  specification: "[PROT-10] the specification's example",
  limits: "[PROT-11] the limit",
  errors: "[PROT-12] the error",
  methods: "[PROT-13] the happy path, which is the example of [PROT-06]",
} as const

for (const [number, section] of all.entries()) {
  test(`${ROWS[section.file]}: ${section.title}`, async () => {
    assert.ok(section.lines.length > 0)
    const faults: string[] = []
    await carryOut(section, daemon.socketPath, `section-${number}`, (sent, received) => {
      faults.push(...unfit(sent, received))
    })
    assert.deepEqual(faults, [])
  })
}

/** What is wrong with an exchange; nothing where one of both is no JSON. */
function unfit(sent: string, received: string): string[] {
  try {
    return judge.unfit(JSON.parse(sent), JSON.parse(received))
  } catch (error) {
    if (error instanceof SyntaxError) return []
    throw error
  }
}

test("[PROT-10] no file is left out, and no example of the specification", () => {
  assert.deepEqual([...new Set(all.map((section) => section.file))], [...FILES])
  assert.equal(all.filter((section) => section.file === "specification").length, 15)
})

test("[PROT-06] a pattern covers what it says and nothing else", () => {
  const cases: readonly (readonly [unknown, unknown, boolean])[] = [
    [{ a: 1 }, { a: 1, b: 2 }, false],
    [{ a: 1, "...": true }, { a: 1, b: 2 }, true],
    [{ a: 1, "...": true }, { b: 2 }, false],
    [[1, "..."], [1, 2, 3], true],
    [[1], [1, 2], false],
    ["<any>", null, true],
    ["<string>", 5, false],
    ["<integer>", 5.5, false],
    ["<number>", true, false],
    [0.1, 0.1 * (1 + 1e-12), true],
    [0.1, 0.11, false],
    [null, 0, false],
    [1, true, false],
    [{ $repeat: ["<array>"], times: 2 }, [[], [1]], true],
    [{ $nest: 3 }, [[[0]]], true],
  ]
  for (const [pattern, value, fits] of cases) {
    const comparing = (): void => compare(filled(pattern, new Map()), value, "here")
    if (fits) comparing()
    else assert.throws(comparing, assert.AssertionError, JSON.stringify([pattern, value]))
  }
})
