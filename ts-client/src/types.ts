/**
 * What the daemon takes and answers, under the names of this package; the protocol's own names
 * are in generated/protocol.ts. Times are integer milliseconds since the Unix epoch; `bytes` are
 * bytes; shares, strengths and importances are numbers from 0 to 1.
 */

import type * as protocol from "./generated/protocol.js"
import type { Given } from "./given.js"

export type { JsonObject, JsonValue } from "./json.js"
export type {
  ExportedMemory,
  ExportPage,
  ForgetReport,
  ForgetResult,
  ImportFault,
  ImportReport,
  Memory,
  MemoryList,
  Methods,
  PutManyItem,
  PutManyReport,
  RecalledMemory,
  RecallReport,
  RestoreReport,
  RestoreResult,
  TouchReport,
} from "./generated/protocol.js"

/** Where a memory lives. Forgotten ones are out of every count and recall, and restorable. */
export type Tier = protocol.Memory["tier"]
/** What is believed of a memory. */
export type Status = protocol.Memory["status"]
export type MemoryType = protocol.Memory["memoryType"]
/** What a put does when the id exists. */
export type IfExists = NonNullable<protocol.MemoryPutParams["ifExists"]>
/** Records of another system, or lines of an export. */
export type ImportFormat = NonNullable<protocol.MemoryImportParams["format"]>
/** What a memory was like. `regret`: it was wanted after it had been dropped. */
export type FeedbackSignal = protocol.MemoryFeedbackParams["signal"]
/** Why a memory is no longer believed. */
export type InvalidationReason = protocol.MemoryInvalidateParams["reason"]
/** What became of a memory that was to be forgotten. */
export type ForgetOutcome = protocol.ForgetResult["result"]
/** What became of a memory that was to be restored. */
export type RestoreOutcome = protocol.RestoreResult["result"]

/** What a caller may give in another form than the wire has. */
interface Loose {
  /** The id or ids of the memories whose place it takes. */
  readonly supersedes?: string | readonly string[] | undefined
  /** Numbers, or base64 of little-endian float32. Stored and answered as float32. */
  readonly embedding?: Float32Array | readonly number[] | string | null | undefined
  /** Up to 64 KiB of JSON, opaque to the daemon. */
  readonly metadata?: Readonly<Record<string, unknown>> | undefined
}

/** What may be written of a memory. Absent fields take the daemon's defaults. */
export interface MemoryFields
  extends Given<Omit<protocol.MemoryInput, "id" | "successorId" | keyof Loose>>, Loose {}

/** A new memory. Without an id the daemon makes one. */
export interface MemoryInput extends MemoryFields {
  /** 1 to 256 bytes of any Unicode text without NUL. */
  readonly id?: string | undefined
  readonly content: string
}
