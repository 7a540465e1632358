/** What the daemon answers about plans, runs, settings and itself. Units are as in types.ts. */

import type { JsonValue, RestoreReport, Tier } from "./types.js"

export interface TierCounts {
  hot: number
  cold: number
  forgotten: number
  /** Hot and cold. */
  total: number
  liveBytes: number
  overheadBytes: number
}

/** The factors of a sweep score. */
export interface ScoreParts {
  value: number | null
  retention: number | null
  recallRecency: number | null
  statusFactor: number
}

/** What a run does, or did, with one memory. */
export interface Decision {
  id: string
  action: "spill" | "forget" | "thaw" | "restore"
  reason: string
  fromTier: Tier
  /** Lower goes first; null where unscored. */
  score: number | null
  strength: number | null
  parts: ScoreParts | null
  /** Null until it was tried. */
  outcome: string | null
}

export interface StageReport {
  stage: number
  /** Which thresholds were crossed: `count`, `total`, `disk`. */
  crossed: string[]
  selected: number
  moved: number
  skipped: number
}

/** The answer of a sweep, the same for a dry run and a real one. */
export interface SweepReport {
  namespace: string
  runId: string | null
  /** Give it to `forgetSweep({ planId })` to carry out exactly this plan. */
  planId: string | null
  dryRun: boolean
  trigger: string
  now: number
  policy: string
  policyVersion: string
  mode: string
  before: TierCounts
  after: TierCounts
  thresholds: Record<string, JsonValue>
  stages: StageReport[]
  /** The first `decisionsLimit`; the rest by `runs.decisions`. */
  decisions: Decision[]
  decisionsTruncated: boolean
  counts: Record<string, number>
  kept: number
  skipped: { id: string; why: string }[]
  skippedCount: number
  /** Memories under pressure that a protection kept, by kind. */
  protected: Record<string, number>
  unscored: number
  unscoredIds: string[]
  /** How far the store is still above its low watermark when candidates ran out. */
  shortfall: { memories: number; bytes: number } | null
  brake: {
    share: number
    forgottenInWindow: number
    allowed: number | null
    engaged: boolean
  } | null
  bytesPlanned: number
  bytesReclaimed: number
  spaceNote: string | null
  durationMs: number
}

export interface RunSummary {
  runId: string
  kind: string
  trigger: string
  state: "running" | "finished" | "undone"
  plannedAt: number
  startedAt: number
  finishedAt: number | null
  policy: string | null
  policyVersion: string | null
  decisions: number
  moved: number
  skipped: number
  undoneBy: string | null
  undoes: string | null
}

export interface RunList {
  runs: RunSummary[]
  cursor: string | null
}

export interface RunDetail {
  run: RunSummary
  report: SweepReport | RestoreReport | null
}

export interface DecisionPage {
  decisions: Decision[]
  cursor: string | null
  total: number
}

export interface PolicyExplanation {
  policy: string
  policyVersion: string
  stage: number
  candidate: boolean
  why: string
  score: number | null
  strength: number | null
  parts: ScoreParts | null
  protections: string[]
  /** 1 goes first. */
  rank: number | null
  of: number
}

export interface Explanation {
  id: string
  now: number
  tier: Tier
  importanceSource: string
  estimatorVersion: string
  policies: PolicyExplanation[]
}

/** The options a client opens its namespace with. They apply when the namespace is created. */
export interface OpenThresholds {
  /** Stage 1: spill when there are more hot memories. Default 10,000. */
  readonly forgetThresholdCount?: number | undefined
  /** Stage 2: forget when there are more hot and cold memories. Default 100,000. */
  readonly forgetThresholdTotal?: number | undefined
  /** Stage 2: forget above so many live gigabytes (10^9 bytes). Default 2. */
  readonly forgetThresholdDiskGB?: number | undefined
  /** False: nothing moves by itself and real sweeps are refused. Default true. */
  readonly forgetEnabled?: boolean | undefined
}

/** Every option of forgetting in a namespace; null takes the default back. */
export interface ThresholdChanges {
  readonly forgetThresholdCount?: number | null | undefined
  readonly forgetThresholdTotal?: number | null | undefined
  readonly forgetThresholdDiskGB?: number | null | undefined
  readonly forgetEnabled?: boolean | null | undefined
  /** A stage works down to this share of its threshold. Default 0.9. */
  readonly lowWatermark?: number | null | undefined
  /** Only memories weaker than this are forgotten. Default 0.05. */
  readonly weakStrength?: number | null | undefined
  /** Active memories used more recently are not forgotten. Default 7. */
  readonly minIdleDays?: number | null | undefined
  /** Younger memories are not forgotten. Default 1. */
  readonly newbornDays?: number | null | undefined
  /** Memories restored more recently are not forgotten. Default 30. */
  readonly restoreGraceDays?: number | null | undefined
  /** False: only superseded, archived and expired memories are forgotten. Default true. */
  readonly forgetActive?: boolean | null | undefined
  /** At most this share may be forgotten in 24 hours. Default 0.2. */
  readonly brakeShare?: number | null | undefined
  /** How long automatic forgetting waits after a threshold was lowered. Default 60. */
  readonly loweringDelayMinutes?: number | null | undefined
  /** Size of the forgotten tier above which a clean-up is suggested. Default 1. */
  readonly forgottenWarnGB?: number | null | undefined
}

export type ThresholdName = keyof ThresholdChanges

export interface ThresholdValue {
  value: number | boolean
  origin: "default" | "open" | "set" | "config"
}

export interface ThresholdsReport {
  namespace: string
  thresholds: Record<ThresholdName, ThresholdValue>
  crossed: string[]
  /** Why automatic runs stand still, and until when (null: until `thresholds.resume()`). */
  paused: { reason: string; until: number | null }[]
  stageTwoNotBefore: number | null
}

export interface OpenReport {
  namespace: string
  created: boolean
  /** The options in force. */
  thresholds: Record<ThresholdName, number | boolean>
  /** Of the options given those that are not in force, with the value that is. */
  thresholdsDiffer: Partial<Record<ThresholdName, number | boolean>>
}

export interface NamespaceListing {
  namespace: string
  open: boolean
  hot: number
  cold: number
  forgotten: number
}

export interface NamespaceStatus {
  namespace: string
  counts: TierCounts
  thresholds: ThresholdsReport
  /** Why the namespace is read-only; null where it is not. */
  readOnly: string | null
  unscored: number
  corrupt: number
  unknownSegments: string[]
  running: string | null
  lastRun: RunSummary | null
  alarms: string[]
  stateHash: string | null
}

export interface SystemStatus {
  version: string
  protocolVersion: number
  pid: number
  uptimeSeconds: number
  now: number
  clockHeld: boolean
  namespaces: NamespaceStatus[]
}

export interface ClockReport {
  now: number
  held: boolean
  injectable: boolean
}
