/**
 * What the daemon takes and answers. Times are integer milliseconds since the Unix epoch;
 * `bytes` are bytes; shares, strengths and importances are numbers from 0 to 1.
 */

export type JsonValue = string | number | boolean | null | JsonValue[] | JsonObject
export interface JsonObject {
  [name: string]: JsonValue
}

/** Where a memory lives. Forgotten ones are out of every count and recall, and restorable. */
export type Tier = "hot" | "cold" | "forgotten"
/** What is believed of a memory. */
export type Status = "active" | "superseded" | "archived" | "invalidated"
export type MemoryType = "semantic" | "episodic" | "procedural"
/** What a put does when the id exists. */
export type IfExists = "error" | "replace" | "skip"

/** What may be written of a memory. Absent fields take the daemon's defaults. */
export interface MemoryFields {
  readonly memoryType?: MemoryType | undefined
  /** Up to 1 MiB, not blank. */
  readonly content?: string | undefined
  /** 0 to 1; null lets the daemon estimate it. */
  readonly importance?: number | null | undefined
  readonly createdAt?: number | undefined
  readonly updatedAt?: number | undefined
  readonly lastRecalledAt?: number | null | undefined
  readonly validFrom?: number | null | undefined
  readonly expiresAt?: number | null | undefined
  readonly heldUntil?: number | null | undefined
  readonly recallCount?: number | undefined
  readonly useCount?: number | undefined
  readonly regretCount?: number | undefined
  readonly successCount?: number | undefined
  readonly failureCount?: number | undefined
  readonly usefulnessScore?: number | undefined
  readonly lastUsefulAt?: number | null | undefined
  /** The id of the memory that replaces this one. */
  readonly supersededBy?: string | null | undefined
  /** The id or ids that this one replaces. */
  readonly supersedes?: string | readonly string[] | undefined
  readonly pinned?: boolean | undefined
  readonly evergreen?: boolean | undefined
  readonly mediaRef?: string | null | undefined
  /** Numbers, or base64 of little-endian float32. Stored and answered as float32. */
  readonly embedding?: Float32Array | readonly number[] | string | null | undefined
  readonly embeddingModel?: string | null | undefined
  /** Up to 64 KiB of JSON, opaque to the daemon. */
  readonly metadata?: Readonly<Record<string, unknown>> | undefined
}

/** A new memory. Without an id the daemon makes one. */
export interface MemoryInput extends MemoryFields {
  /** 1 to 256 bytes of any Unicode text without NUL. */
  readonly id?: string | undefined
  readonly content: string
}

/** One memory as it is answered. */
export interface Memory {
  id: string
  memoryType: MemoryType
  content: string
  /** What is shown and may be written back: the base times the fade factor. */
  importance: number
  importanceBase: number | null
  importanceSource: "host" | "estimated"
  fadeFactor: number
  createdAt: number
  updatedAt: number
  lastRecalledAt: number | null
  validFrom: number | null
  expiresAt: number | null
  heldUntil: number | null
  recallCount: number
  useCount: number
  regretCount: number
  successCount: number
  failureCount: number
  usefulnessScore: number
  lastUsefulAt: number | null
  supersededBy: string | null
  supersedes: string[]
  pinned: boolean
  evergreen: boolean
  mediaRef: string | null
  embeddingModel: string | null
  embeddingDimensions: number | null
  metadata: JsonObject
  /** Unknown keys of an imported record, as they came. */
  extra: JsonObject
  status: Status
  statusReason: string | null
  statusAt: number | null
  tier: Tier
  /** Rises with every change of content or belief. */
  revision: number
  /** How well the memory is held now; null where it cannot be scored. */
  strength: number | null
  forgottenAt: number | null
  restoredAt: number | null
  bytes: number
  /** Only where asked for with `includeEmbedding`, and where there is one. */
  embedding?: number[] | null
}

export interface PutManyItem {
  id: string | null
  result: "created" | "replaced" | "skipped" | "failed"
  /** Why this one failed; only in a partial call. */
  error: JsonObject | null
}

export interface PutManyReport {
  results: PutManyItem[]
  created: number
  replaced: number
  skipped: number
  failed: number
}

export interface ImportReport {
  created: number
  skipped: number
  replaced: number
  failed: number
  errors: { index: number; field: string | null; message: string }[]
}

/** One page; `cursor` is null on the last. */
export interface MemoryList {
  memories: Memory[]
  cursor: string | null
}

export interface RecalledMemory {
  memory: Memory
  /** Fused rank score, higher is better. */
  score: number
  textScore: number | null
  vectorScore: number | null
}

export interface RecallReport {
  results: RecalledMemory[]
  /** How far the search went. */
  depth: "hot" | "deep"
  coldScanned: number
}

export interface TouchReport {
  touched: number
  unknown: string[]
}

export type ForgetOutcome = "forgotten" | "already_forgotten" | "unknown" | "protected" | "changed"

export interface ForgetReport {
  /** Null where nothing was there to forget. */
  runId: string | null
  forgotten: number
  results: { id: string; result: ForgetOutcome }[]
}

export type RestoreOutcome =
  | "restored"
  | "already_here"
  | "superseded"
  | "invalidated"
  | "expired"
  | "changed"
  | "conflict"
  | "destroyed"
  | "unknown"

/** The answer of restore and undo; `counts` covers all results, also those left out. */
export interface RestoreReport {
  namespace: string
  runId: string | null
  results: { id: string; result: RestoreOutcome; tier: Tier | null }[]
  resultsTruncated: boolean
  counts: Record<string, number>
  /** Automatic runs stand still until `thresholds.resume()`. */
  paused: boolean
  durationMs: number
}
