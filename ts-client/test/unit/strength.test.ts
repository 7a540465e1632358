import assert from "node:assert/strict"
import { readFileSync } from "node:fs"
import { test } from "node:test"
import {
  POLICIES,
  strengthOf,
  strengthParts,
  sweepScore,
  type MemoryType,
  type ScoredFields,
  type Status,
} from "forgetd"

const DAY_MS = 86_400_000
const NOW = 1_760_000_000_000

/** One line of the golden vectors; see the README beside them. */
interface Vector {
  readonly name: string
  readonly memory: {
    readonly importance: number | "NaN" | "Infinity" | "-Infinity"
    readonly fadeFactor: number | "NaN" | "Infinity" | "-Infinity"
    readonly createdAt: number
    readonly lastRecalledAt: number | null
    readonly recallCount: number
    readonly successCount: number
    readonly failureCount: number
    readonly memoryType: MemoryType
    readonly status: Status
  }
  readonly now: number
  readonly expected: {
    readonly unscored: boolean
    readonly strength: number | null
    readonly value: number | null
    readonly retention: number | null
    readonly recallRecency: number | null
    readonly sweepScore: Readonly<Record<keyof typeof POLICIES, number | null>>
  }
}

function readVectors(): Vector[] {
  const file = new URL("../../../../protocol/vectors/strength.jsonl", import.meta.url)
  const lines = readFileSync(file, "utf8").trimEnd().split("\n")
  return lines.map((line) => JSON.parse(line) as Vector)
}

/** An active semantic memory, made now and never used, with these fields instead. */
function memory(fields: Partial<ScoredFields> = {}): ScoredFields {
  return {
    memoryType: "semantic",
    importanceBase: 0.5,
    fadeFactor: 1,
    createdAt: NOW,
    lastRecalledAt: null,
    recallCount: 0,
    successCount: 0,
    failureCount: 0,
    status: "active",
    ...fields,
  }
}

function assertNear(actual: number | undefined, expected: number | null, what: string): void {
  assert.ok(actual !== undefined && expected !== null, what)
  const size = Math.max(Math.abs(actual), Math.abs(expected))
  assert.ok(Math.abs(actual - expected) <= 1e-12 * size, `${what}: ${actual}, not ${expected}`)
}

test("[TS-19] strength, factors and sweep scores agree with every golden vector", () => {
  const vectors = readVectors()
  assert.ok(vectors.length > 100)
  for (const { name, memory: given, now, expected } of vectors) {
    const { importance, fadeFactor, ...rest } = given
    const fields = { ...rest, importanceBase: Number(importance), fadeFactor: Number(fadeFactor) }
    const parts = strengthParts(fields, now)
    if (expected.unscored) {
      assert.equal(parts, null, name)
      assert.equal(strengthOf(fields, now), null, name)
      assert.equal(sweepScore(fields, now), null, name)
      continue
    }
    assertNear(parts?.strength, expected.strength, `${name} strength`)
    assertNear(parts?.value, expected.value, `${name} value`)
    assertNear(parts?.retention, expected.retention, `${name} retention`)
    assertNear(parts?.recallRecency, expected.recallRecency, `${name} recallRecency`)
    for (const policy of ["classic", "balanced"] as const) {
      const scored = sweepScore(fields, now, POLICIES[policy])
      assertNear(scored?.score, expected.sweepScore[policy], `${name} ${policy}`)
    }
  }
})

test("[TS-19] an unused semantic memory passes 0.05 after 50.1, 108.3 and 249.6 days", () => {
  for (const [importanceBase, days] of [
    [0.5, 50.1],
    [0.8, 108.3],
    [1, 249.6],
  ] as const) {
    const at = (age: number): number | null => strengthOf(memory({ importanceBase }), NOW + age)
    assert.ok((at((days - 0.1) * DAY_MS) ?? 0) > 0.05, `${importanceBase} before`)
    assert.ok((at((days + 0.1) * DAY_MS) ?? 1) < 0.05, `${importanceBase} after`)
  }
})

test("[TS-19] an impossible value leaves a memory unscored", () => {
  const impossible: readonly Partial<ScoredFields>[] = [
    { importanceBase: null },
    { importanceBase: Number.NaN },
    { importanceBase: 1.01 },
    { importanceBase: -0.01 },
    { fadeFactor: 2 },
    { createdAt: NOW / 1_000 },
    { createdAt: NOW + DAY_MS + 1 },
    { lastRecalledAt: NOW + DAY_MS + 1 },
    { recallCount: -1 },
    { successCount: -1 },
    { failureCount: Number.NaN },
    { memoryType: "toString" as MemoryType },
    { status: "unheard" as Status },
  ]
  for (const fields of impossible) {
    assert.equal(strengthOf(memory(fields), NOW), null, JSON.stringify(fields))
  }
  assert.equal(strengthOf(memory({ createdAt: NOW + DAY_MS }), NOW), 0.5)
})

test("[TS-19] active counts double, superseded counts nothing, and balanced is the default", () => {
  const active = sweepScore(memory(), NOW)
  assert.deepEqual(active, sweepScore(memory(), NOW, POLICIES.balanced))
  assert.equal(active?.score, 1)
  assert.equal(sweepScore(memory({ status: "archived" }), NOW)?.score, 0.5)
  assert.equal(sweepScore(memory({ status: "superseded" }), NOW)?.score, 0)
  const noValue = { alpha: 0, gamma: 1, rho: 0 }
  assert.equal(sweepScore(memory({ importanceBase: 0 }), NOW, noValue)?.score, 2)
})
