import type { ScoreParts } from "./reports.js"
import type { Memory, MemoryType, Status } from "./types.js"

/**
 * Strength and sweep score, the same numbers as the daemon computes, so that a host can show and
 * order memories without asking. Both are run against `protocol/vectors/strength.jsonl`.
 *
 *     days      = max(0, now - (lastRecalledAt ?? createdAt)) / one day
 *     value     = importance, 0 where superseded
 *     decay     = DECAY_PER_DAY[type] * (1 - 0.85 * value)
 *     retention = fadeFactor * exp(-decay * days) * min(2, 1 + 0.2 * recallCount) * outcomes
 *     strength  = value * retention, held between 0.01 and 1
 *
 * `outcomes` is 1, except for a procedural memory that was tried: min(1, 0.5 + the upper Wilson
 * bound of its success rate).
 */

/** What the formulas read of a memory; a `Memory` has all of it. */
export type ScoredFields = Pick<
  Memory,
  | "memoryType"
  | "importanceBase"
  | "fadeFactor"
  | "createdAt"
  | "lastRecalledAt"
  | "recallCount"
  | "successCount"
  | "failureCount"
  | "status"
>

/** The factors of a score with what they make. */
export interface StrengthParts {
  readonly value: number
  readonly retention: number
  readonly recallRecency: number
  readonly strength: number
}

/** Exponents of the sweep score: value^alpha * retention^gamma * recallRecency^rho. */
export interface PolicyExponents {
  readonly alpha: number
  readonly gamma: number
  readonly rho: number
}

export interface SweepScore {
  /** Lower goes first. */
  readonly score: number
  readonly parts: ScoreParts
}

export const POLICIES = {
  balanced: { alpha: 1, gamma: 0.01, rho: 0 },
  classic: { alpha: 1, gamma: 1, rho: 1 },
} as const satisfies Readonly<Record<string, PolicyExponents>>

/** Share of strength that an unimportant memory loses a day, to the base e. */
export const DECAY_PER_DAY: Readonly<Record<MemoryType, number>> = {
  semantic: 0.08,
  episodic: 0.08,
  procedural: 0.04,
}

const STATUSES: ReadonlySet<Status> = new Set(["active", "superseded", "archived", "invalidated"])
const DAY_MS = 86_400_000
const TIME_MIN_MS = 946_684_800_000
const DECAY_SHIELD = 0.85
const RECALL_GAIN = 0.2
const RECALL_GAIN_MAX = 2
const STRENGTH_MIN = 0.01
const STRENGTH_MAX = 1
const OUTCOME_BASE = 0.5
const RECENCY_DAYS = 30
const WILSON_Z = 1.959963984540054

/**
 * How well a memory is held at `now` (ms), from 0.01 to 1. Null where a value is impossible
 * (importance or fade factor outside 0 to 1, a negative count, a time before 2000 or more than a
 * day after `now`): such a memory is unscored, and unknown means keep.
 */
export function strengthOf(memory: ScoredFields, now: number): number | null {
  return strengthParts(memory, now)?.strength ?? null
}

/** The factors behind `strengthOf`; null where the memory is unscored. */
export function strengthParts(memory: ScoredFields, now: number): StrengthParts | null {
  const { importanceBase, lastRecalledAt, createdAt, fadeFactor, recallCount } = memory
  if (importanceBase === null || !isScored(memory, importanceBase, now)) return null
  const value = memory.status === "superseded" ? 0 : importanceBase
  // The daemon stores "never recalled" as 0, so 0 reads as never here, too.
  const days = Math.max(0, now - (lastRecalledAt || createdAt)) / DAY_MS
  const decay = DECAY_PER_DAY[memory.memoryType] * (1 - DECAY_SHIELD * value)
  const retention =
    Math.exp(-decay * days) *
    fadeFactor *
    Math.min(RECALL_GAIN_MAX, 1 + RECALL_GAIN * recallCount) *
    outcomeFactor(memory)
  return {
    value,
    retention,
    recallRecency: 1 / (1 + days / RECENCY_DAYS),
    strength: Math.min(STRENGTH_MAX, Math.max(STRENGTH_MIN, value * retention)),
  }
}

/**
 * The order in which memories of one class go under a policy, with its factors; null where
 * unscored. `status` counts as it is stored: the daemon alone knows whether a superseded memory's
 * successor is still there.
 */
export function sweepScore(
  memory: ScoredFields,
  now: number,
  policy: PolicyExponents = POLICIES.balanced,
): SweepScore | null {
  const parts = strengthParts(memory, now)
  if (parts === null) return null
  const { value, retention, recallRecency } = parts
  const statusFactor = memory.status === "active" ? 2 : 1
  const score =
    statusFactor * value ** policy.alpha * retention ** policy.gamma * recallRecency ** policy.rho
  return { score, parts: { value, retention, recallRecency, statusFactor } }
}

function isScored(memory: ScoredFields, importance: number, now: number): boolean {
  const { lastRecalledAt } = memory
  return (
    isShare(importance) &&
    isShare(memory.fadeFactor) &&
    isPast(memory.createdAt, now) &&
    (!lastRecalledAt || isPast(lastRecalledAt, now)) &&
    memory.recallCount >= 0 &&
    memory.successCount >= 0 &&
    memory.failureCount >= 0 &&
    Object.hasOwn(DECAY_PER_DAY, memory.memoryType) &&
    STATUSES.has(memory.status)
  )
}

function isShare(value: number): boolean {
  return value >= 0 && value <= 1
}

/** A clock that is a day behind is no reason to call a time impossible. */
function isPast(time: number, now: number): boolean {
  return time >= TIME_MIN_MS && time <= now + DAY_MS
}

/** Never lowered by a success: the upper bound of the rate, at 95 %. */
function outcomeFactor(memory: ScoredFields): number {
  const { memoryType, successCount, failureCount } = memory
  const tries = successCount + failureCount
  if (memoryType !== "procedural" || tries === 0) return 1
  const square = WILSON_Z * WILSON_Z
  const spread = WILSON_Z * Math.sqrt(successCount * (failureCount / tries) + square / 4)
  const upper = (successCount + square / 2 + spread) / (tries + square)
  return Math.min(1, OUTCOME_BASE + upper)
}
