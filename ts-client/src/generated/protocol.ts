/** The protocol's types, generated from protocol/openrpc.json by `npm run generate`. Not for hands. */
import type { JsonObject } from "../json.js"

/** The parameters and the result of every method. */
export interface Methods {
  /** Store one memory. */
  "memory.put": {
    params: MemoryPutParams
    result: Memory
  }
  /** Store many memories at once: all or none of them, or with `partial` the good ones. */
  "memory.putMany": {
    params: MemoryPutManyParams
    result: PutManyReport
  }
  /** One memory, or null where it is unknown or forgotten. Reading is not using. */
  "memory.get": {
    params: MemoryGetParams
    result: Memory | null
  }
  /** Many memories in the order of their ids, null where `memory.get` would say null. */
  "memory.getMany": {
    params: MemoryGetManyParams
    result: (Memory | null)[]
  }
  /** A page of memories; tier `forgotten` lists what may be restored. */
  "memory.list": {
    params: MemoryListParams
    result: MemoryList
  }
  /** Change the fields named in `patch`, only at revision `ifRevision` where given. */
  "memory.update": {
    params: MemoryUpdateParams
    result: Memory
  }
  /** Find memories by text, by vector, or by both; the first ones count as used. */
  "memory.recall": {
    params: MemoryRecallParams
    result: RecallReport
  }
  /** Say that memories were used just now: durable, unlike the touches of a recall. */
  "memory.touch": {
    params: MemoryTouchParams
    result: TouchReport
  }
  /** Say that memory `by` took the place of memory `id`. */
  "memory.supersede": {
    params: MemorySupersedeParams
    result: Memory
  }
  /** Protect a memory from forgetting and spilling, or stop doing so. */
  "memory.pin": {
    params: MemoryPinParams
    result: Memory
  }
  /** Protect a memory from forgetting until a time; null ends the hold. */
  "memory.hold": {
    params: MemoryHoldParams
    result: Memory
  }
  /** Per policy, why a memory is or is not a candidate for forgetting. */
  "memory.explain": {
    params: MemoryExplainParams
    result: Explanation
  }
  /** Say how useful a memory was; a regret may be about one that is forgotten. */
  "memory.feedback": {
    params: MemoryFeedbackParams
    result: Memory
  }
  /** Stop believing a memory, in any tier: set aside, superseded, or held wrong. */
  "memory.invalidate": {
    params: MemoryInvalidateParams
    result: Memory
  }
  /** A page of whole memories, with all that makes up their state; reading is not using. */
  "memory.export": {
    params: MemoryExportParams
    result: ExportPage
  }
  /** Take over memories of another system, or take back those of an export exactly. */
  "memory.import": {
    params: MemoryImportParams
    result: ImportReport
  }
  /** Spill, then forget, down to the low watermarks; with `dryRun` only the plan of it. */
  forgetSweep: {
    params: ForgetSweepParams
    result: SweepReport
  }
  /** Spill hot memories to cold, down to `target` or the low watermark; forget none. */
  coldSpill: {
    params: ColdSpillParams
    result: SweepReport
  }
  /** Move memories to forgotten on the host's word; `memory.restore` brings them back. */
  "memory.forget": {
    params: MemoryForgetParams
    result: ForgetReport
  }
  /** Bring forgotten memories back: by ids to hot, by run or reason to where they were. */
  "memory.restore": {
    params: MemoryRestoreParams
    result: RestoreReport
  }
  /** The settings in force with their origin, what is crossed, what is paused. */
  "thresholds.get": {
    params: ThresholdsGetParams
    result: ThresholdsReport
  }
  /** Change settings of a namespace; null gives a setting its default back. */
  "thresholds.set": {
    params: ThresholdsSetParams
    result: ThresholdsReport
  }
  /** Let automatic runs go on after a brake, an undo or a jump of the clock. */
  "thresholds.resume": {
    params: ThresholdsResumeParams
    result: ThresholdsReport
  }
  /** Decide on every memory: keep, fade or prune; with `dryRun` only the plan of it. */
  "forgetting.runCycle": {
    params: ForgettingRunCycleParams
    result: ForgettingReport
  }
  /** Archive what was of no use for long; unless `dryRun` is false only the plan of it. */
  "lifecycle.forget": {
    params: LifecycleForgetParams
    result: ForgetSummary
  }
  /** How many memories of every tier are not believed, by reason and by status. */
  "lifecycle.invalidationsByReason": {
    params: LifecycleInvalidationsByReasonParams
    result: ReasonCounts
  }
  /** The memories that forgetting archived, newest first, from every tier. */
  "lifecycle.listArchived": {
    params: LifecycleListArchivedParams
    result: ArchivedPage
  }
  /** What to look at: regrets, pairs kept apart, broken chains, unscored memories. */
  "review.flagged": {
    params: ReviewFlaggedParams
    result: ReviewPage
  }
  /** The items that name one memory, with the memories that these are about, whole. */
  "review.open": {
    params: ReviewOpenParams
    result: ReviewDetail
  }
  /** Take items off the review until something new happens to them; memories stay. */
  "review.clear": {
    params: ReviewClearParams
    result: ReviewCleared
  }
  /** Keep a text until somebody accepts it as a memory, rejects it, or it is too old. */
  "proposals.submit": {
    params: ProposalsSubmitParams
    result: Proposal
  }
  /** The proposals of a namespace, the oldest first; what was decided long ago is dropped. */
  "proposals.list": {
    params: ProposalsListParams
    result: ProposalPage
  }
  /** Make a proposal a memory with its id, in the place of what it supersedes. */
  "proposals.accept": {
    params: ProposalsAcceptParams
    result: Memory
  }
  /** Turn a proposal down; it stays in the list with the reason for a while. */
  "proposals.reject": {
    params: ProposalsRejectParams
    result: Proposal
  }
  /** Reject what is too old and accept what is sure enough; by default only say which. */
  "proposals.gc": {
    params: ProposalsGcParams
    result: ProposalsGcReport
  }
  /** Tell what automatic runs would do in the days to come; nothing changes. */
  simulate: {
    params: SimulateParams
    result: SimulationReport
  }
  /** Estimate anew what another estimator judged; unless `dryRun` is false only count it. */
  "estimate.refresh": {
    params: EstimateRefreshParams
    result: EstimateReport
  }
  /** The runs of a namespace, newest first. */
  "runs.list": {
    params: RunsListParams
    result: RunPage
  }
  /** One run with the report it ended with. */
  "runs.get": {
    params: RunsGetParams
    result: RunDetail
  }
  /** The decisions of a run or of a plan, a page at a time. */
  "runs.decisions": {
    params: RunsDecisionsParams
    result: DecisionPage
  }
  /** Bring everything a run moved back to where it was; automatic runs then pause. */
  "runs.undo": {
    params: RunsUndoParams
    result: RestoreReport
  }
  /** Show what would be destroyed for good, and give a token for doing exactly that. */
  "gc.plan": {
    params: GcPlanParams
    result: GcPlanReport
  }
  /** Destroy what a plan lists, where it is still as it was planned; no way leads back. */
  "gc.execute": {
    params: GcExecuteParams
    result: GcReport
  }
  /** Look in every table, and in the bytes of every file, whether anything is left. */
  "gc.verify": {
    params: GcVerifyParams
    result: GcVerification
  }
  /** A page of events after the one numbered `since`, in order. */
  "events.list": {
    params: EventsListParams
    result: EventPage
  }
  /** Open a namespace, or make it with `thresholds`; later ones are only compared. */
  "namespaces.open": {
    params: NamespacesOpenParams
    result: OpenReport
  }
  /** Every namespace there is, open or not, with its memories by tier. */
  "namespaces.list": {
    params: NamespacesListParams
    result: NamespaceList
  }
  /** This protocol as an OpenRPC document: methods, types, errors, examples. */
  "rpc.discover": {
    params: RpcDiscoverParams
    result: JsonObject
  }
  /** The daemon, and one namespace or with `all` every one: counts, pauses, alarms. */
  "system.status": {
    params: SystemStatusParams
    result: SystemStatus
  }
  /** Every bound of the daemon by name; the unit is the name's last word. */
  "system.limits": {
    params: SystemLimitsParams
    result: {
      [k: string]: number
    }
  }
  /** The daemon's time; `now` holds it there, if serve allowed that. */
  "system.clock": {
    params: SystemClockParams
    result: ClockReport
  }
  /** Finish the calls in flight, stop runs between transactions, and end. */
  "system.stop": {
    params: SystemStopParams
    result: StopReport
  }
}
/** Parameters of memory.put. */
export interface MemoryPutParams {
  /** 1 to 256 bytes of any Unicode text without NUL. Default: a ULID. */
  id?: string
  /** What kind of memory it is; procedural ones decay half as fast. */
  memoryType?: "episodic" | "procedural" | "semantic"
  /** Text, not blank, at most 1 MiB. A new memory needs it. */
  content?: string
  /** 0 to 1; null lets the daemon estimate it. */
  importance?: number | null
  /** When it was made, in ms, from 2000 on and at most a day ahead. Default: now. */
  createdAt?: number
  /** When its content or belief last changed, in ms. */
  updatedAt?: number
  /** When it was last used, in ms. */
  lastRecalledAt?: number | null
  /** Not true before this time, in ms. */
  validFrom?: number | null
  /** From then on out of recall, in ms. */
  expiresAt?: number | null
  /** Not forgotten before this time, in ms. */
  heldUntil?: number | null
  /** How often it was recalled or touched. */
  recallCount?: number
  /** How often it was of use. */
  useCount?: number
  /** How often its use was regretted. */
  regretCount?: number
  /** How often a procedure succeeded. */
  successCount?: number
  /** How often a procedure failed. */
  failureCount?: number
  /** The host's own measure of its use. */
  usefulnessScore?: number
  /** When it was last of use, in ms. */
  lastUsefulAt?: number | null
  /** The id of the memory that took its place. */
  supersededBy?: string | null
  /** Another name of supersededBy. */
  successorId?: string | null
  /** The id or ids of the memories whose place it takes. */
  supersedes?: string | string[]
  /** True: never spilled and never forgotten by a run. */
  pinned?: boolean
  /** True: never forgotten by a run. */
  evergreen?: boolean
  /** Path of a file below the namespace's media folder. */
  mediaRef?: string | null
  /** At most 4096 numbers, or base64 of little-endian float32. Stored as float32. */
  embedding?: number[] | string | null
  /** The model that made the vector. */
  embeddingModel?: string | null
  /** The host's own object, at most 64 KiB, opaque to the daemon. */
  metadata?: JsonObject
  /** What to do where the id exists: refuse, replace the memory, or leave it as it is. Default "error". */
  ifExists?: "error" | "replace" | "skip"
  /** True: also where a memory with this id was destroyed. Default false. */
  revive?: boolean
  /** A name of the caller's own for this one call, at most 256 bytes. Sent again with it within 24 hours, the call is not carried out again: its first reply is answered. */
  idempotencyKey?: string
  /** The wall around one system's memories; letters, digits, dot, dash and underscore, at most 64. Default "default". */
  namespace?: string
}
/** One memory as it is answered. `importance` is what is shown: base times fade factor. */
export interface Memory {
  /** 1 to 256 bytes of any Unicode text without NUL. */
  id: string
  /** What kind of memory it is; procedural ones decay half as fast. */
  memoryType: "episodic" | "procedural" | "semantic"
  /** Text, not blank, at most 1 MiB. */
  content: string
  /** What is shown and may be written back, 0 to 1: the base times the fade factor. */
  importance: number
  /** The importance before fading; null where it is estimated. */
  importanceBase: number | null
  /** Whether the host gave the importance or it was estimated from the text. */
  importanceSource: "estimated" | "host"
  /** What fading left of the importance, 0 to 1. */
  fadeFactor: number
  /** When it was made, in ms. */
  createdAt: number
  /** When its content or belief last changed, in ms. */
  updatedAt: number
  /** When it was last used, in ms. */
  lastRecalledAt: number | null
  /** Not true before this time, in ms. */
  validFrom: number | null
  /** From then on out of recall, in ms. */
  expiresAt: number | null
  /** Not forgotten before this time, in ms. */
  heldUntil: number | null
  /** How often it was recalled or touched. */
  recallCount: number
  /** How often it was of use. */
  useCount: number
  /** How often its use was regretted. */
  regretCount: number
  /** How often a procedure succeeded. */
  successCount: number
  /** How often a procedure failed. */
  failureCount: number
  /** The host's own measure of its use. */
  usefulnessScore: number
  /** When it was last of use, in ms. */
  lastUsefulAt: number | null
  /** The id of the memory that took its place. */
  supersededBy: string | null
  /** The ids of the memories whose place it took. */
  supersedes: string[]
  /** True: never spilled and never forgotten by a run. */
  pinned: boolean
  /** True: never forgotten by a run. */
  evergreen: boolean
  /** Path of a file below the namespace's media folder. */
  mediaRef: string | null
  /** The model that made the vector. */
  embeddingModel: string | null
  /** How many numbers the vector has; null without one. */
  embeddingDimensions: number | null
  /** The host's own object, at most 64 KiB, opaque to the daemon. */
  metadata: JsonObject
  /** Unknown fields of an imported record, as they came. */
  extra: JsonObject
  /** What is believed of it. */
  status: "active" | "archived" | "invalidated" | "superseded"
  /** Why it has this status. */
  statusReason: string | null
  /** Since when it has this status, in ms. */
  statusAt: number | null
  /** Where the memory lives. */
  tier: "cold" | "forgotten" | "hot"
  /** Rises with every change of content or belief. */
  revision: number
  /** How well the memory is held now, 0.01 to 1; null where it cannot be scored. */
  strength: number | null
  /** When it was forgotten, in ms. */
  forgottenAt: number | null
  /** When it was last brought back, in ms. */
  restoredAt: number | null
  /** What the memory adds to live bytes: row, vector, share of the index. */
  bytes: number
  /** The stored float32 numbers. Only where asked for by includeEmbedding, and where there are any. */
  embedding?: number[]
}
/** Parameters of memory.putMany. */
export interface MemoryPutManyParams {
  /** The memories, each as memory.put takes it. */
  memories: MemoryInput[]
  /** What to do where the id exists: refuse, replace the memory, or leave it as it is. Default "error". */
  ifExists?: "error" | "replace" | "skip"
  /** True: store the good ones and report the bad. False: all or nothing. Default false. */
  partial?: boolean
  /** True: also where a memory with this id was destroyed. Default false. */
  revive?: boolean
  /** A name of the caller's own for this one call, at most 256 bytes. Sent again with it within 24 hours, the call is not carried out again: its first reply is answered. */
  idempotencyKey?: string
  /** The wall around one system's memories; letters, digits, dot, dash and underscore, at most 64. Default "default". */
  namespace?: string
}
/**
 * What a caller may write of a memory. Absent fields take the defaults of the record.
 *
 * `embedding` is a list of numbers, or base64 of little-endian float32.
 * `successorId` is another name of `supersededBy`; `supersedes` names one id or several.
 */
export interface MemoryInput {
  /** 1 to 256 bytes of any Unicode text without NUL. Default: a ULID. */
  id?: string
  /** What kind of memory it is; procedural ones decay half as fast. */
  memoryType?: "episodic" | "procedural" | "semantic"
  /** Text, not blank, at most 1 MiB. A new memory needs it. */
  content?: string
  /** 0 to 1; null lets the daemon estimate it. */
  importance?: number | null
  /** When it was made, in ms, from 2000 on and at most a day ahead. Default: now. */
  createdAt?: number
  /** When its content or belief last changed, in ms. */
  updatedAt?: number
  /** When it was last used, in ms. */
  lastRecalledAt?: number | null
  /** Not true before this time, in ms. */
  validFrom?: number | null
  /** From then on out of recall, in ms. */
  expiresAt?: number | null
  /** Not forgotten before this time, in ms. */
  heldUntil?: number | null
  /** How often it was recalled or touched. */
  recallCount?: number
  /** How often it was of use. */
  useCount?: number
  /** How often its use was regretted. */
  regretCount?: number
  /** How often a procedure succeeded. */
  successCount?: number
  /** How often a procedure failed. */
  failureCount?: number
  /** The host's own measure of its use. */
  usefulnessScore?: number
  /** When it was last of use, in ms. */
  lastUsefulAt?: number | null
  /** The id of the memory that took its place. */
  supersededBy?: string | null
  /** Another name of supersededBy. */
  successorId?: string | null
  /** The id or ids of the memories whose place it takes. */
  supersedes?: string | string[]
  /** True: never spilled and never forgotten by a run. */
  pinned?: boolean
  /** True: never forgotten by a run. */
  evergreen?: boolean
  /** Path of a file below the namespace's media folder. */
  mediaRef?: string | null
  /** At most 4096 numbers, or base64 of little-endian float32. Stored as float32. */
  embedding?: number[] | string | null
  /** The model that made the vector. */
  embeddingModel?: string | null
  /** The host's own object, at most 64 KiB, opaque to the daemon. */
  metadata?: JsonObject
}
/** The answer of putMany, in the order of the call. */
export interface PutManyReport {
  /** What happened to each, in the order of the call. */
  results: PutManyItem[]
  /** Memories that are new. */
  created: number
  /** Memories that were there and were replaced. */
  replaced: number
  /** Memories that were there and stayed. */
  skipped: number
  /** Memories that could not be stored. */
  failed: number
}
/** One member of a putMany: its id and what happened; `error` only in a partial call. */
export interface PutManyItem {
  /** The id of the memory; null where it failed before it had one. */
  id: string | null
  /** What happened. */
  result: "created" | "failed" | "replaced" | "skipped"
  /** Why it failed, as a JSON-RPC error object; null where it did not. */
  error: JsonObject | null
}
/** Parameters of memory.get. */
export interface MemoryGetParams {
  /** The id of the memory. */
  id: string
  /** True: with the stored vector, where there is one. Default false. */
  includeEmbedding?: boolean
  /** The wall around one system's memories; letters, digits, dot, dash and underscore, at most 64. Default "default". */
  namespace?: string
}
/** Parameters of memory.getMany. */
export interface MemoryGetManyParams {
  /** Ids of memories. */
  ids: string[]
  /** True: with the stored vector, where there is one. Default false. */
  includeEmbedding?: boolean
  /** The wall around one system's memories; letters, digits, dot, dash and underscore, at most 64. Default "default". */
  namespace?: string
}
/** Parameters of memory.list. */
export interface MemoryListParams {
  /** Only memories of this tier. Absent: hot and cold; forgotten lists what may be restored. */
  tier?: ("cold" | "forgotten" | "hot") | null
  /** Only memories of this status. */
  status?: ("active" | "archived" | "invalidated" | "superseded") | null
  /** Only memories of this type. */
  memoryType?: ("episodic" | "procedural" | "semantic") | null
  /** The cursor of the page before; absent or null: from the start. */
  cursor?: string | null
  /** Longest page. Default 100. */
  limit?: number
  /** The wall around one system's memories; letters, digits, dot, dash and underscore, at most 64. Default "default". */
  namespace?: string
}
/** One page of memories; `cursor` is null on the last page. */
export interface MemoryList {
  /** The page. */
  memories: Memory[]
  /** Where the next page starts; null on the last page. */
  cursor: string | null
}
/** Parameters of memory.update. */
export interface MemoryUpdateParams {
  /** The id of the memory. */
  id: string
  patch: MemoryInput
  /** Refuse unless the memory still has this revision. */
  ifRevision?: number | null
  /** A name of the caller's own for this one call, at most 256 bytes. Sent again with it within 24 hours, the call is not carried out again: its first reply is answered. */
  idempotencyKey?: string
  /** The wall around one system's memories; letters, digits, dot, dash and underscore, at most 64. Default "default". */
  namespace?: string
}
/** Parameters of memory.recall. */
export interface MemoryRecallParams {
  /** The words to look for, in any script. */
  query?: string | null
  /** The vector to be near to: numbers, or base64 of little-endian float32. */
  embedding?: number[] | string | null
  /** The model that made the vector. */
  embeddingModel?: string | null
  /** Most results. Default 20. */
  topK?: number
  /** hot looks at hot memories only, deep at cold ones too, auto goes deep when hot has too few answers. Default "auto". */
  depth?: "auto" | "deep" | "hot"
  /** Only memories of these types. */
  memoryTypes?: ("episodic" | "procedural" | "semantic")[] | null
  /** True: archived memories too. Default false. */
  includeArchived?: boolean
  /** Only memories at least this strong. */
  minStrength?: number | null
  /** Which results count as used: the first three, all, or none. Default "top". */
  touch?: "all" | "none" | "top"
  /** The wall around one system's memories; letters, digits, dot, dash and underscore, at most 64. Default "default". */
  namespace?: string
}
/** The answer of memory.recall, best first. `coldScanned` counts the cold ones looked at. */
export interface RecallReport {
  /** Best first. */
  results: RecalledMemory[]
  /** How far the search went. */
  depth: "deep" | "hot"
  /** Cold memories that were looked at. */
  coldScanned: number
}
/** One result of a recall: the memory, its fused rank score and where each part stood. */
export interface RecalledMemory {
  memory: Memory
  /** Fused from the ranks by text and by vector; higher is better. */
  score: number
  /** BM25 of the words; null where they were not found. */
  textScore: number | null
  /** Cosine to the vector; null without one. */
  vectorScore: number | null
}
/** Parameters of memory.touch. */
export interface MemoryTouchParams {
  /** Ids of memories. */
  ids: string[]
  /** A name of the caller's own for this one call, at most 256 bytes. Sent again with it within 24 hours, the call is not carried out again: its first reply is answered. */
  idempotencyKey?: string
  /** The wall around one system's memories; letters, digits, dot, dash and underscore, at most 64. Default "default". */
  namespace?: string
}
/** The answer of memory.touch: how many were touched, and the ids that nobody has. */
export interface TouchReport {
  /** Memories that now count as used. */
  touched: number
  /** Ids that nobody has, or that are forgotten. */
  unknown: string[]
}
/** Parameters of memory.supersede. */
export interface MemorySupersedeParams {
  /** The id of the memory. */
  id: string
  /** The id of the memory that takes its place. */
  by: string
  /** A name of the caller's own for this one call, at most 256 bytes. Sent again with it within 24 hours, the call is not carried out again: its first reply is answered. */
  idempotencyKey?: string
  /** The wall around one system's memories; letters, digits, dot, dash and underscore, at most 64. Default "default". */
  namespace?: string
}
/** Parameters of memory.pin. */
export interface MemoryPinParams {
  /** The id of the memory. */
  id: string
  /** True: never spilled and never forgotten by a run. Default true. */
  pinned?: boolean
  /** A name of the caller's own for this one call, at most 256 bytes. Sent again with it within 24 hours, the call is not carried out again: its first reply is answered. */
  idempotencyKey?: string
  /** The wall around one system's memories; letters, digits, dot, dash and underscore, at most 64. Default "default". */
  namespace?: string
}
/** Parameters of memory.hold. */
export interface MemoryHoldParams {
  /** The id of the memory. */
  id: string
  /** Held until this time, in ms; null ends the hold. */
  until: number | null
  /** A name of the caller's own for this one call, at most 256 bytes. Sent again with it within 24 hours, the call is not carried out again: its first reply is answered. */
  idempotencyKey?: string
  /** The wall around one system's memories; letters, digits, dot, dash and underscore, at most 64. Default "default". */
  namespace?: string
}
/** Parameters of memory.explain. */
export interface MemoryExplainParams {
  /** The id of the memory. */
  id: string
  /** One policy of a sweep, or `cycle`, or `lifecycle`, instead of all. */
  policy?: string | null
  /** The wall around one system's memories; letters, digits, dot, dash and underscore, at most 64. Default "default". */
  namespace?: string
}
/**
 * The answer of memory.explain. What was not asked for is empty or null.
 *
 * `crossings` begin with the threshold that is nearest to the memory's strength.
 */
export interface Explanation {
  /** The id of the memory. */
  id: string
  /** Milliseconds since the Unix epoch at which this was computed. */
  now: number
  /** Where the memory lives. */
  tier: "cold" | "forgotten" | "hot"
  /** Whether the host gave the importance or it was estimated. */
  importanceSource: string
  /** The importance estimated from the text; it counts where the host sent none. */
  estimate: number
  /** The estimator that made the estimate. */
  estimatorVersion: string
  /** What made the estimate; null where another estimator did, or the text is damaged. */
  estimateParts: EstimateExplanation | null
  /** How each policy of a sweep sees the memory. */
  policies: PolicyExplanation[]
  /** When it comes below each threshold, never used again; the nearest to its strength first. */
  crossings: CrossingReport[]
  /** What a cycle that ran now would do with it; null where a policy was named. */
  cycle: CycleExplanation | null
  /** What active forgetting would do with it now; null where a policy was named. */
  lifecycle: LifecycleExplanation | null
}
/**
 * Why a text is estimated as it is: 0.1 + `value` + `standing`, to four decimals.
 *
 * `words` counts the different words by kind, `sentences` the sentences by kind.
 */
export interface EstimateExplanation {
  /** What the words give for the length of the text. */
  value: number
  /** What is given for lasting facts, however short they are said. */
  standing: number
  /** How many words the text has, repeated ones too; by their root the sum is divided. */
  length: number
  /** The different words by kind: content, name, number, time, chat, function, health and others. */
  words: {
    [k: string]: number
  }
  /** Sentences by kind: plain, first (person), addressed (only to the other), question. */
  sentences: {
    [k: string]: number
  }
}
/** How one policy sees one memory. `rank` 1 is the first to go; null where unscored. */
export interface PolicyExplanation {
  /** The name of a policy: balanced or classic. */
  policy: string
  /** The policy's exponents and estimator, by name. */
  policyVersion: string
  /** The stage that would take it. */
  stage: number
  /** Whether a run would take it, if there were pressure. */
  candidate: boolean
  /** Why it is a candidate, or why not. */
  why: string
  /** The sweep score: lower goes first; null where unscored. */
  score: number | null
  /** How well the memory is held now, 0.01 to 1; null where it cannot be scored. */
  strength: number | null
  /** The factors of the score; null where unscored. */
  parts: ScoreParts | null
  /** What keeps it from being forgotten. */
  protections: string[]
  /** 1 is the first to go; null where unscored. */
  rank: number | null
  /** How many memories are ranked. */
  of: number
}
/** The factors of a sweep score (null where the memory is unscored). */
export interface ScoreParts {
  /** The importance that counts. */
  value: number | null
  /** What age left, raised by recalls. */
  retention: number | null
  /** 1 for just used, falling with age. */
  recallRecency: number | null
  /** 2 for active memories, else 1. */
  statusFactor: number
}
/**
 * When a memory that is never used again comes below one threshold; null is never.
 *
 * A time that is past says since when. `bound` is a strength, null where time is what is over.
 */
export interface CrossingReport {
  /** `weak` and `expiry` are a sweep's, `fade` and `prune` a cycle's. */
  threshold: "expiry" | "fade" | "prune" | "weak"
  /** The strength that is crossed; null for the expiry. */
  bound: number | null
  /** When its strength falls below the bound, or fell, in ms; null for never. */
  crossedAt: number | null
  /** From then on a run may act on it, in ms; null: never, or not while `why` holds. */
  actsAt: number | null
  /** What the time depends on, or what has no end. */
  why: string
}
/**
 * What a cycle that ran now would do with one memory.
 *
 * A kept one with a reason would have faded or gone, and `skipped` says what stopped it. Score
 * and importances are null where the memory is unscored; thresholds are those of its type.
 * `enabled` says whether the timer runs cycles. `survivor` is the memory that stands for a
 * duplicate; where `duplicatesSearched` is false, it was not looked for one.
 */
export interface CycleExplanation {
  /** Whether the timer runs cycles; a call runs one at any time. */
  enabled: boolean
  /** The policy's exponents and estimator, by name. */
  policyVersion: string
  /** What it would do. */
  action: "fade" | "keep" | "prune"
  /** Why it goes or fades, or would have; null where it is simply kept. */
  reason: string | null
  /** What stopped the action. */
  skipped: string | null
  /** The same as one sentence. */
  why: string
  /** The strength; null where unscored. */
  score: number | null
  /** The strength below which its type is pruned. */
  pruneThreshold: number
  /** The strength below which its type fades. */
  fadeThreshold: number
  /** What `memory.get` shows; null where unscored. */
  oldImportance: number | null
  /** What `memory.get` would show then; null where unscored. */
  newImportance: number | null
  /** The memory that says the same and stays; null where it is no duplicate. */
  survivor: string | null
  /** False where there are too many memories to look for duplicates for the sake of one. */
  duplicatesSearched: boolean
}
/**
 * What active forgetting that ran now would do with one memory.
 *
 * `candidate`: it is low, stale and unloved; `skipped` is what keeps it all the same. `enabled`
 * says whether the config file allows a real run.
 */
export interface LifecycleExplanation {
  /** Whether the config file allows a real run. */
  enabled: boolean
  /** The policy's exponents and estimator, by name. */
  policyVersion: string
  /** What it would do. */
  action: "archive" | "keep"
  /** Whether it is low, stale and unloved. */
  candidate: boolean
  /** What keeps a candidate. */
  skipped: string | null
  /** The same as one sentence. */
  why: string
  /** What hosts said of it a use; null where that is impossible. */
  usefulness: number | null
  /** How often it was used. */
  useCount: number
  /** Days since it was made, or last of use. */
  ageDays: number
}
/** Parameters of memory.feedback. */
export interface MemoryFeedbackParams {
  /** The id of the memory. */
  id: string
  /** What the memory was like: how useful when it was shown, whether a procedure worked, or that its absence was regretted. */
  signal: "failure" | "harmful" | "regret" | "shown" | "success" | "unhelpful" | "useful"
  /** A name of the caller's own for this one call, at most 256 bytes. Sent again with it within 24 hours, the call is not carried out again: its first reply is answered. */
  idempotencyKey?: string
  /** The wall around one system's memories; letters, digits, dot, dash and underscore, at most 64. Default "default". */
  namespace?: string
}
/** Parameters of memory.invalidate. */
export interface MemoryInvalidateParams {
  /** The id of the memory. */
  id: string
  /** Why: incorrect and conflicted make it invalidated, superseded makes it superseded, the others archived. */
  reason:
    | "conflicted"
    | "duplicate"
    | "expired"
    | "forgotten"
    | "incorrect"
    | "manual"
    | "obsolete"
    | "superseded"
  /** A name of the caller's own for this one call, at most 256 bytes. Sent again with it within 24 hours, the call is not carried out again: its first reply is answered. */
  idempotencyKey?: string
  /** The wall around one system's memories; letters, digits, dot, dash and underscore, at most 64. Default "default". */
  namespace?: string
}
/** Parameters of memory.export. */
export interface MemoryExportParams {
  /** The tiers to give away; absent: all. */
  tiers?: ("cold" | "forgotten" | "hot")[] | null
  /** The cursor of the page before; absent or null: from the start. */
  cursor?: string | null
  /** Longest page. Default 1000. */
  limit?: number
  /** The wall around one system's memories; letters, digits, dot, dash and underscore, at most 64. Default "default". */
  namespace?: string
}
/**
 * One page of an export; `cursor` is null on the last page.
 *
 * A memory that changed since it was given comes again: the later one counts. `stateHash`, on
 * the last page, is the state hash of a namespace that holds just what was exported; it is null
 * where that cannot be said: a memory is damaged, or left the exported tiers meanwhile.
 * `damaged` names memories of this page that cannot be read and are left out. `again` counts
 * the last lines of this page that may repeat an earlier one.
 */
export interface ExportPage {
  /** The page, one memory a line. */
  lines: ExportedMemory[]
  /** How many of the last lines may repeat an earlier one: the later one counts. */
  again: number
  /** Where the next page starts; null on the last page. */
  cursor: string | null
  /** On the last page the state hash of a namespace that holds just what was exported; else, or where that cannot be said, null. */
  stateHash: string | null
  /** Ids of this page that cannot be read and are left out. */
  damaged: string[]
}
/**
 * One memory with every field that makes up its state: a line of an export.
 *
 * Taken back by `memory.import` with `format: "forgetd"`, exactly as it is. `importanceBase` is
 * the host's value or the estimate, as `importanceSource` says; `embedding` is base64 of
 * little-endian float32. Whoever makes such a line may write null for `estimate` and
 * `estimator` (the text is estimated anew) and for `contentHash` (nothing is compared).
 */
export interface ExportedMemory {
  /** 1 to 256 bytes of any Unicode text without NUL. */
  id: string
  /** What kind of memory it is; procedural ones decay half as fast. */
  memoryType: "episodic" | "procedural" | "semantic"
  /** Text, not blank, at most 1 MiB. */
  content: string
  /** The host's importance or the estimate, as importanceSource says. */
  importanceBase: number | null
  /** Whether the host gave the importance or it was estimated from the text. */
  importanceSource: "estimated" | "host"
  /** What fading left of the importance, 0 to 1. */
  fadeFactor: number
  /** The importance estimated from the text; null lets it be estimated anew. */
  estimate: number | null
  /** The estimator's version; null with the estimate. */
  estimator: string | null
  /** When it was made, in ms. */
  createdAt: number
  /** When its content or belief last changed, in ms. */
  updatedAt: number
  /** When it was last used, in ms. */
  lastRecalledAt: number | null
  /** Not true before this time, in ms. */
  validFrom: number | null
  /** From then on out of recall, in ms. */
  expiresAt: number | null
  /** Not forgotten before this time, in ms. */
  heldUntil: number | null
  /** How often it was recalled or touched. */
  recallCount: number
  /** How often it was of use. */
  useCount: number
  /** How often its use was regretted. */
  regretCount: number
  /** How often a procedure succeeded. */
  successCount: number
  /** How often a procedure failed. */
  failureCount: number
  /** The host's own measure of its use. */
  usefulnessScore: number
  /** When it was last of use, in ms. */
  lastUsefulAt: number | null
  /** The id of the memory that took its place. */
  supersededBy: string | null
  /** True: never spilled and never forgotten by a run. */
  pinned: boolean
  /** True: never forgotten by a run. */
  evergreen: boolean
  /** Path of a file below the namespace's media folder. */
  mediaRef: string | null
  /** The model that made the vector. */
  embeddingModel: string | null
  /** Base64 of little-endian float32; null without one. */
  embedding: string | null
  /** The host's own object, at most 64 KiB, opaque to the daemon. */
  metadata: JsonObject
  /** Unknown fields of an imported record, as they came. */
  extra: JsonObject
  /** What is believed of it. */
  status: "active" | "archived" | "invalidated" | "superseded"
  /** Why it has this status. */
  statusReason: string | null
  /** Since when it has this status, in ms. */
  statusAt: number | null
  /** Where the memory lives. */
  tier: "cold" | "forgotten" | "hot"
  /** Where it was before it was forgotten. */
  tierLeft: ("cold" | "forgotten" | "hot") | null
  /** Why a run moved it last. */
  movedReason: string | null
  /** Rises with every change of content or belief. */
  revision: number
  /** When it was forgotten, in ms. */
  forgottenAt: number | null
  /** When it was last brought back, in ms. */
  restoredAt: number | null
  /** SHA-256 of the payload, in hexadecimals; null in a line made by hand. */
  contentHash: string | null
  /** When fading last lowered the importance, in ms. */
  fadedAt: number | null
}
/** Parameters of memory.import. */
export interface MemoryImportParams {
  /** Records of another system. Unknown fields are kept in extra; impossible values leave the memory unscored. */
  memories: JsonObject[]
  /** foreign for records of any shape, forgetd for the lines of an export, which are taken back exactly. Default "foreign". */
  format?: "foreign" | "forgetd"
  /** What to do where an id exists. Default "skip". */
  ifExists?: "error" | "replace" | "skip"
  /** Where the records come from. */
  source?: string | null
  /** True: report the records that cannot be stored and go on. False: refuse them all. Default false. */
  skipBad?: boolean
  /** True: also where a memory with this id was destroyed. Default false. */
  revive?: boolean
  /** A name of the caller's own for this one call, at most 256 bytes. Sent again with it within 24 hours, the call is not carried out again: its first reply is answered. */
  idempotencyKey?: string
  /** The wall around one system's memories; letters, digits, dot, dash and underscore, at most 64. Default "default". */
  namespace?: string
}
/** The answer of memory.import. */
export interface ImportReport {
  /** Memories that are new. */
  created: number
  /** Records whose id was there. */
  skipped: number
  /** Memories that were there and were replaced. */
  replaced: number
  /** Records that could not be stored. */
  failed: number
  /** The records that could not be stored. */
  errors: ImportFault[]
}
/** One member of an import that could not be stored: its position, field and reason. */
export interface ImportFault {
  /** Position in the call, from 0. */
  index: number
  /** JSON path of the field in the record; null where it is the record. */
  field: string | null
  /** What is wrong, in words that may change. */
  message: string
}
/** Parameters of forgetSweep. */
export interface ForgetSweepParams {
  /** True: only the plan, nothing moves. Default false. */
  dryRun?: boolean
  /** Carry out exactly the plan of this dry run. */
  planId?: string | null
  /** strict goes on to stronger memories until the number is reached; protections hold. Default "normal". */
  mode?: "normal" | "strict"
  /** The policy that orders the candidates. Default: balanced. */
  policy?: string | null
  /** The most of what was live that may be forgotten in 24 hours, by all runs together. Default: the namespace's. */
  brakeShare?: number | null
  /** Plan as of this time, in ms; only with dryRun, and such a plan can only be read. */
  now?: number | null
  /** Most decisions in the report; runs.decisions has the rest. Default 100. */
  decisionsLimit?: number
  /** A name of the caller's own for this one call, at most 256 bytes. Sent again with it within 24 hours, the call is not carried out again: its first reply is answered. */
  idempotencyKey?: string
  /** The wall around one system's memories; letters, digits, dot, dash and underscore, at most 64. Default "default". */
  namespace?: string
}
/** The answer of forgetSweep and coldSpill, the same for a dry run and a real one. */
export interface SweepReport {
  /** The wall around one system's memories; letters, digits, dot, dash and underscore, at most 64. */
  namespace: string
  /** The run; null for a dry run. */
  runId: string | null
  /** Give it to forgetSweep to carry out exactly this plan; null where there is none to carry out. */
  planId: string | null
  /** True: only the plan, nothing moves. */
  dryRun: boolean
  /** Who wanted it: call or automatic. */
  trigger: string
  /** Milliseconds since the Unix epoch at which this was computed. */
  now: number
  /** The name of a policy: balanced or classic. */
  policy: string
  /** The policy's exponents and estimator, by name. */
  policyVersion: string
  /** normal or strict. */
  mode: string
  before: TierCounts
  after: TierCounts
  thresholds: Thresholds
  /** What each stage did. */
  stages: StageReport[]
  /** The first of them, in the order of the plan. */
  decisions: Decision[]
  /** True: runs.decisions has more. */
  decisionsTruncated: boolean
  /** How many of each outcome. */
  counts: {
    [k: string]: number
  }
  /** Memories that this run leaves where they are, those that it skipped too. */
  kept: number
  /** The first memories that were planned and not moved. */
  skipped: Skipped[]
  /** All memories that were planned and not moved. */
  skippedCount: number
  /** Memories under pressure that a protection kept, by kind. */
  protected: {
    [k: string]: number
  }
  /** Memories with a value that cannot be: never forgotten. */
  unscored: number
  /** The first unscored memories. */
  unscoredIds: string[]
  /** How far it is still over the low watermark when candidates ran out; else null. */
  shortfall: Shortfall | null
  /** The limit on mass loss; null where stage 2 did not plan. */
  brake: BrakeReport | null
  /** Live bytes that the decisions free, as planned. */
  bytesPlanned: number
  /** How much smaller the files became, as measured. */
  bytesReclaimed: number
  /** The files that went with forgotten memories; null for a dry run. */
  media: MediaReport | null
  /** What kept the files from becoming smaller; else null. */
  spaceNote: string | null
  /** How long the call took, in milliseconds. */
  durationMs: number
}
/** Memories by tier and bytes by kind at one instant. */
export interface TierCounts {
  /** Memories that recall looks at first. */
  hot: number
  /** Memories in the archive. */
  cold: number
  /** Memories out of every count and recall, restorable. */
  forgotten: number
  /** Hot and cold memories. */
  total: number
  /** What forgetting can free: rows, vectors, index shares, owned media. */
  liveBytes: number
  /** What it cannot: write log, free pages, dead records, events, forgotten memories. */
  overheadBytes: number
}
/** Every option with its default. Gigabytes are 10^9 bytes; shares are of one. */
export interface Thresholds {
  /** Stage 1: spill when there are more hot memories. */
  forgetThresholdCount: number
  /** Stage 2: forget when there are more hot and cold memories. */
  forgetThresholdTotal: number
  /** Stage 2: forget above so many live gigabytes (10^9 bytes). */
  forgetThresholdDiskGB: number
  /** False: nothing moves by itself and real sweeps are refused. */
  forgetEnabled: boolean
  /** A stage works down to this share of its threshold. */
  lowWatermark: number
  /** Only memories weaker than this are forgotten. */
  weakStrength: number
  /** Active memories used more recently are not forgotten. */
  minIdleDays: number
  /** Younger memories are not forgotten. */
  newbornDays: number
  /** Memories restored more recently are not forgotten. */
  restoreGraceDays: number
  /** False: only superseded, archived and expired memories are forgotten. */
  forgetActive: boolean
  /** At most this share of what was live may be forgotten in 24 hours. */
  brakeShare: number
  /** How long automatic forgetting waits after a threshold was lowered. */
  loweringDelayMinutes: number
  /** Clean-up is suggested when forgotten memories take more gigabytes. */
  forgottenWarnGB: number
  /** Older events are folded together and can no longer be followed one by one. */
  eventRetentionDays: number
}
/** One stage of a sweep. `crossed` names the thresholds: count, total, disk. */
export interface StageReport {
  /** 1 spills to the archive, 2 forgets. */
  stage: number
  /** The thresholds that were crossed: count, total, disk. */
  crossed: string[]
  /** Memories that the plan takes. */
  selected: number
  /** Memories that were moved. */
  moved: number
  /** Left as they were. */
  skipped: number
}
/**
 * What a run does, or did, with one memory. `outcome` is null until it was tried.
 *
 * Only a kept memory of a cycle's plan has no reason; its `outcome` says what stopped one.
 */
export interface Decision {
  /** The id of the memory. */
  id: string
  /** What is done. */
  action: "archive" | "fade" | "forget" | "keep" | "prune" | "restore" | "revive" | "spill" | "thaw"
  /** Why this memory. */
  reason: string | null
  /** The tier before the move. */
  fromTier: "cold" | "forgotten" | "hot"
  /** The sweep score: lower goes first; null where unscored. */
  score: number | null
  /** How well the memory is held now, 0.01 to 1; null where it cannot be scored. */
  strength: number | null
  /** The factors of the score; null where unscored. */
  parts: ScoreParts | null
  /** What became of it; null until it was tried. */
  outcome: string | null
}
/** A memory that was planned and not moved, and why. */
export interface Skipped {
  /** The id of the memory. */
  id: string
  /** Why it was not moved. */
  why: string
}
/** How much is still over the low watermark when candidates ran out. */
export interface Shortfall {
  /** Memories too many. */
  memories: number
  /** Live bytes too many. */
  bytes: number
}
/** The limit on mass loss in a rolling day. `allowed` is null where the brake is off. */
export interface BrakeReport {
  /** The share in force. */
  share: number
  /** Memories that runs forgot in the last 24 hours. */
  forgottenInWindow: number
  /** Memories that may still be forgotten; null where the brake is off. */
  allowed: number | null
  /** True: it stopped this run. */
  engaged: boolean
}
/** The files that memories forgotten by a run were the last to name. `bytes` are those moved. */
export interface MediaReport {
  /** Files moved to the trash, from where a restore brings them back. */
  moved: number
  /** Files left where they are: no plain files of their own, or the folder is not at hand. */
  skipped: number
  /** Files that were not there. */
  missing: number
  /** Bytes of the files that moved. */
  bytes: number
}
/** Parameters of coldSpill. */
export interface ColdSpillParams {
  /** True: only the plan, nothing moves. Default false. */
  dryRun?: boolean
  /** Hot memories to go down to. Default: the low watermark. */
  target?: number | null
  /** A name of the caller's own for this one call, at most 256 bytes. Sent again with it within 24 hours, the call is not carried out again: its first reply is answered. */
  idempotencyKey?: string
  /** The wall around one system's memories; letters, digits, dot, dash and underscore, at most 64. Default "default". */
  namespace?: string
}
/** Parameters of memory.forget. */
export interface MemoryForgetParams {
  /** Ids of memories. */
  ids: string[]
  /** Why; memory.restore can bring them back by it. Default "called". */
  reason?: string
  /** A name of the caller's own for this one call, at most 256 bytes. Sent again with it within 24 hours, the call is not carried out again: its first reply is answered. */
  idempotencyKey?: string
  /** The wall around one system's memories; letters, digits, dot, dash and underscore, at most 64. Default "default". */
  namespace?: string
}
/** The answer of memory.forget. `runId` is null where nothing was there to forget. */
export interface ForgetReport {
  /** The run; null where nothing was there to forget. */
  runId: string | null
  /** Memories that were forgotten by this call. */
  forgotten: number
  /** What became of each id, in the order of the call. */
  results: ForgetResult[]
  media: MediaReport
}
/** What became of one id that was to be forgotten. */
export interface ForgetResult {
  /** The id of the memory. */
  id: string
  /** What became of it. */
  result: "already_forgotten" | "changed" | "corrupt" | "forgotten" | "protected" | "unknown"
}
/** Parameters of memory.restore. */
export interface MemoryRestoreParams {
  /** The memories to bring back. Exactly one of ids, runId and reason. */
  ids?: string[] | null
  /** Bring back what this run forgot. */
  runId?: string | null
  /** Bring back what was forgotten for this reason. */
  reason?: string | null
  /** A name of the caller's own for this one call, at most 256 bytes. Sent again with it within 24 hours, the call is not carried out again: its first reply is answered. */
  idempotencyKey?: string
  /** The wall around one system's memories; letters, digits, dot, dash and underscore, at most 64. Default "default". */
  namespace?: string
}
/** The answer of memory.restore and runs.undo. `counts` is derived from all results. */
export interface RestoreReport {
  /** The wall around one system's memories; letters, digits, dot, dash and underscore, at most 64. */
  namespace: string
  /** The run that brought them back; null where there was nothing to bring back. */
  runId: string | null
  /** What became of each memory. */
  results: RestoreResult[]
  /** True: the results are not all here; counts covers them all. */
  resultsTruncated: boolean
  /** How many of each outcome. */
  counts: {
    [k: string]: number
  }
  /** True: automatic runs stand still until thresholds.resume. */
  paused: boolean
  /** How long the call took, in milliseconds. */
  durationMs: number
}
/** What became of one id that was to be restored. */
export interface RestoreResult {
  /** The id of the memory. */
  id: string
  /** What became of it. */
  result:
    | "already_here"
    | "changed"
    | "conflict"
    | "destroyed"
    | "expired"
    | "invalidated"
    | "restored"
    | "superseded"
    | "unknown"
  /** Where it is now; null where it is nowhere. */
  tier: ("cold" | "forgotten" | "hot") | null
  /** Its file: here, returned from the trash, blocked by another one in its place, missing, or waiting for the media folder; null where it names none. */
  media: ("blocked" | "here" | "missing" | "returned" | "waiting") | null
}
/** Parameters of thresholds.get. */
export interface ThresholdsGetParams {
  /** The wall around one system's memories; letters, digits, dot, dash and underscore, at most 64. Default "default". */
  namespace?: string
}
/** The settings in force, the distance to each threshold, and what stops automatic runs. */
export interface ThresholdsReport {
  /** The wall around one system's memories; letters, digits, dot, dash and underscore, at most 64. */
  namespace: string
  thresholds: ThresholdOrigins
  /** The thresholds that are crossed now: count, total, disk. */
  crossed: string[]
  /** What holds automatic runs back. */
  paused: Pause[]
  /** Until when automatic forgetting waits after a lowering, in ms; null: it does not. */
  stageTwoNotBefore: number | null
}
/** Every option of forgetting with its value and origin. */
export interface ThresholdOrigins {
  forgetThresholdCount: ThresholdValue
  forgetThresholdTotal: ThresholdValue
  forgetThresholdDiskGB: ThresholdValue
  forgetEnabled: ThresholdValue
  lowWatermark: ThresholdValue
  weakStrength: ThresholdValue
  minIdleDays: ThresholdValue
  newbornDays: ThresholdValue
  restoreGraceDays: ThresholdValue
  forgetActive: ThresholdValue
  brakeShare: ThresholdValue
  loweringDelayMinutes: ThresholdValue
  forgottenWarnGB: ThresholdValue
  eventRetentionDays: ThresholdValue
}
/** One setting in force and where it comes from: default, open, set or config. */
export interface ThresholdValue {
  /** The value in force. */
  value: number | boolean
  /** Where the value comes from; a config file wins over the rest. */
  origin: "config" | "default" | "open" | "set"
}
/** Why automatic runs stand still, and until when (null: until thresholds.resume). */
export interface Pause {
  /** undo, clock, client_disabled or braked. */
  reason: string
  /** In ms; null: until thresholds.resume. */
  until: number | null
}
/** Parameters of thresholds.set. */
export interface ThresholdsSetParams {
  thresholds: ThresholdChanges
  /** A name of the caller's own for this one call, at most 256 bytes. Sent again with it within 24 hours, the call is not carried out again: its first reply is answered. */
  idempotencyKey?: string
  /** The wall around one system's memories; letters, digits, dot, dash and underscore, at most 64. Default "default". */
  namespace?: string
}
/** Options of forgetting to set; null takes the default back. */
export interface ThresholdChanges {
  /** Stage 1: spill when there are more hot memories. Default 10000. */
  forgetThresholdCount?: number | null
  /** Stage 2: forget when there are more hot and cold memories. Default 100000. */
  forgetThresholdTotal?: number | null
  /** Stage 2: forget above so many live gigabytes (10^9 bytes). Default 2.0. */
  forgetThresholdDiskGB?: number | null
  /** False: nothing moves by itself and real sweeps are refused. Default true. */
  forgetEnabled?: boolean | null
  /** A stage works down to this share of its threshold. Default 0.9. */
  lowWatermark?: number | null
  /** Only memories weaker than this are forgotten. Default 0.05. */
  weakStrength?: number | null
  /** Active memories used more recently are not forgotten. Default 7.0. */
  minIdleDays?: number | null
  /** Younger memories are not forgotten. Default 1.0. */
  newbornDays?: number | null
  /** Memories restored more recently are not forgotten. Default 30.0. */
  restoreGraceDays?: number | null
  /** False: only superseded, archived and expired memories are forgotten. Default true. */
  forgetActive?: boolean | null
  /** At most this share of what was live may be forgotten in 24 hours. Default 0.2. */
  brakeShare?: number | null
  /** How long automatic forgetting waits after a threshold was lowered. Default 60.0. */
  loweringDelayMinutes?: number | null
  /** Clean-up is suggested when forgotten memories take more gigabytes. Default 1.0. */
  forgottenWarnGB?: number | null
  /** Older events are folded together and can no longer be followed one by one. Default 90.0. */
  eventRetentionDays?: number | null
}
/** Parameters of thresholds.resume. */
export interface ThresholdsResumeParams {
  /** A name of the caller's own for this one call, at most 256 bytes. Sent again with it within 24 hours, the call is not carried out again: its first reply is answered. */
  idempotencyKey?: string
  /** The wall around one system's memories; letters, digits, dot, dash and underscore, at most 64. Default "default". */
  namespace?: string
}
/** Parameters of forgetting.runCycle. */
export interface ForgettingRunCycleParams {
  /** True: only the plan, nothing moves. Default false. */
  dryRun?: boolean
  /** Carry out exactly the plan of this dry run. */
  planId?: string | null
  /** Plan as of this time, in ms; only with dryRun, and such a plan can only be read. */
  now?: number | null
  /** Most decisions in the report; runs.decisions pages through all of a plan's. Default 1000. */
  decisionsLimit?: number
  /** A name of the caller's own for this one call, at most 256 bytes. Sent again with it within 24 hours, the call is not carried out again: its first reply is answered. */
  idempotencyKey?: string
  /** The wall around one system's memories; letters, digits, dot, dash and underscore, at most 64. Default "default". */
  namespace?: string
}
/**
 * The answer of forgetting.runCycle, the same for a dry run and a real one.
 *
 * Every counter is derived from the decisions on all `scanned` memories, of which `decisions`
 * shows the first: what goes, what fades, what stays under pressure, the rest; the weakest
 * first. In a real run `faded` and `pruned` count what was carried out, and `skippedRecords`
 * what was planned and was not. `weakest` and `nearest` are examples for a reader: the weakest
 * of those that stay, and the memories nearest to a threshold.
 */
export interface ForgettingReport {
  /** The wall around one system's memories; letters, digits, dot, dash and underscore, at most 64. */
  namespace: string
  /** The run; null for a dry run, and where nothing was to do. */
  runId: string | null
  /** Give it to forgetting.runCycle to carry out exactly this plan; null where there is none. */
  planId: string | null
  /** True: only the plan, nothing moves. */
  dryRun: boolean
  /** Who wanted it: call or automatic. */
  trigger: string
  /** Milliseconds since the Unix epoch at which this was computed. */
  now: number
  /** The formula that the plan is bound to. */
  policyVersion: string
  before: TierCounts
  after: TierCounts
  /** Memories that were decided on: all that are hot or cold. */
  scanned: number
  /** Memories that stay as they are. */
  kept: number
  /** Memories whose shown importance was lowered, or is to be. */
  faded: number
  /** Memories that were moved to forgotten, or are to be. */
  pruned: number
  /** Files that went to the trash with their memories. */
  mediaDeleted: number
  /** Memories close to others that say something else, kept for a person to look at. */
  duplicatesFlagged: number
  /** Memories that were planned and left as they are. */
  skippedRecords: number
  /** Files that could not follow their memories. */
  skippedMedia: number
  /** Decisions by memory type and action. */
  byType: {
    [k: string]: {
      [k: string]: number
    }
  }
  /** Decisions by reason and action; a kept one would have faded or gone for it. */
  byReason: {
    [k: string]: {
      [k: string]: number
    }
  }
  /** Memories that stay under pressure, by what stopped the action. */
  bySkipped: {
    [k: string]: number
  }
  /** The first memories whose supersession leads nowhere. */
  brokenChains: string[]
  /** All memories whose supersession leads nowhere. */
  brokenChainCount: number
  /** The limit on mass loss; null where there is no namespace. */
  brake: BrakeReport | null
  /** The first of them: what goes, what fades, what stays under pressure, the rest. */
  decisions: CycleDecision[]
  /** True: there are more. */
  decisionsTruncated: boolean
  /** The weakest memories that stay. */
  weakest: CycleDecision[]
  /** Memories nearest to a threshold. */
  nearest: CycleDecision[]
  /** How much smaller the files became, as measured. */
  bytesReclaimed: number
  /** Why no space was given back, where that was left out; else null. */
  spaceNote: string | null
  /** How long the call took, in milliseconds. */
  durationMs: number
}
/**
 * What a cycle does, or did, with one memory. Importances are as `memory.get` shows them.
 *
 * `reason` is null for a memory that is simply kept. A kept one with a reason would have faded
 * or gone, and `skipped` says what stopped it. `score` is the strength, null where unscored.
 * `executed` is true for a fade or a prune that was carried out, `mediaDeleted` where the
 * memory's file went to the trash with it.
 */
export interface CycleDecision {
  /** The id of the memory. */
  recordId: string
  /** The type of the memory. */
  memoryType: "episodic" | "procedural" | "semantic"
  /** keep, fade, or prune: move to forgotten. */
  action: "fade" | "keep" | "prune"
  /** superseded, likely_duplicate, low_performance or time_decay; null for what is simply kept. */
  reason: string | null
  /** The strength; null where unscored. */
  score: number | null
  /** True: its file went to the trash with it. */
  mediaDeleted: boolean
  /** What was shown before it; null where that is no number. */
  oldImportance: number | null
  /** What is shown after it. */
  newImportance: number | null
  /** True: the fade or prune was carried out. */
  executed: boolean
  /** What stopped the action that the reason asks for; else null. */
  skipped: string | null
}
/** Parameters of lifecycle.forget. */
export interface LifecycleForgetParams {
  /** True, as it is unless said otherwise: only the plan, nothing changes. Default true. */
  dryRun?: boolean
  /** Carry out exactly the plan of this dry run. */
  planId?: string | null
  /** Plan as of this time, in ms; only with dryRun, and such a plan can only be read. */
  now?: number | null
  /** Low: at most this usefulness a use. Default: the config file's. */
  usefulnessFloor?: number | null
  /** Stale: made, and last of use, longer ago than so many days. Default: the config file's. */
  minAgeDays?: number | null
  /** What was used so often is popular. Default: the config file's. */
  protectUseCount?: number | null
  /** Popularity yields at this usefulness a use or less. Default: the config file's. */
  harmfulFloor?: number | null
  /** Most candidates in the report; runs.decisions pages through all of a plan's. Default 100. */
  candidatesLimit?: number
  /** True: although forget_enabled is off in the config file; on the admin socket only. Default false. */
  force?: boolean
  /** A name of the caller's own for this one call, at most 256 bytes. Sent again with it within 24 hours, the call is not carried out again: its first reply is answered. */
  idempotencyKey?: string
  /** The wall around one system's memories; letters, digits, dot, dash and underscore, at most 64. Default "default". */
  namespace?: string
}
/**
 * The answer of lifecycle.forget, the same for a dry run and a real one.
 *
 * All counters are derived from the decisions on all `candidateCount` candidates, of which
 * `candidates` shows the first: the least useful first. `archived` are those that a real run set
 * aside, or that a dry run would; `skipped` those that a protection, the brake or a change since
 * planning keeps; `failed` those that a fault stopped. `forced` is true where the operator ran
 * it although `forget_enabled` is off.
 */
export interface ForgetSummary {
  /** The wall around one system's memories; letters, digits, dot, dash and underscore, at most 64. */
  namespace: string
  /** The run; null for a dry run, and where nothing was to do. */
  runId: string | null
  /** Give it to lifecycle.forget to carry out exactly this plan; null where there is none. */
  planId: string | null
  /** True: only the plan, nothing moves. */
  dryRun: boolean
  /** Who wanted it: call or automatic. */
  trigger: string
  /** Milliseconds since the Unix epoch at which this was computed. */
  now: number
  /** The formula that the plan is bound to. */
  policyVersion: string
  /** Whether the config file allows a real run. */
  forgetEnabled: boolean
  /** True: an operator ran it although forget_enabled is off. */
  forced: boolean
  /** The bound that it went by: usefulness a use that counts as low. */
  usefulnessFloor: number
  /** The bound that it went by: days since it was made, and of use. */
  minAgeDays: number
  /** The bound that it went by: uses that make a memory popular. */
  protectUseCount: number
  /** The bound that it went by: usefulness a use at which popularity yields. */
  harmfulFloor: number
  /** Memories that were looked at: all that are hot or cold. */
  scanned: number
  /** Memories that were kept because a value of theirs is impossible. */
  unscored: number
  /** All memories that are low, stale and unloved. */
  candidateCount: number
  /** Memories that were archived, or are to be. */
  archived: number
  /** Candidates that a protection, the brake or a change since planning keeps. */
  skipped: number
  /** Candidates that a fault of the machine stopped. */
  failed: number
  /** Candidates that stay, by what keeps them. */
  bySkipped: {
    [k: string]: number
  }
  /** The limit on mass loss; null where there is no namespace. */
  brake: BrakeReport | null
  /** The first of them, the least useful first. */
  candidates: ForgetCandidate[]
  /** True: there are more. */
  candidatesTruncated: boolean
  /** How long the call took, in milliseconds. */
  durationMs: number
}
/**
 * A memory that is low, stale and unloved, and what becomes of it.
 *
 * `usefulness` is what hosts said of it a use; its age counts from `staleSince`. `skipped` says
 * what keeps it all the same; `executed` is true where it was archived.
 */
export interface ForgetCandidate {
  /** The id of the memory. */
  id: string
  /** The type of the memory. */
  memoryType: "episodic" | "procedural" | "semantic"
  /** Where it lies, and stays. */
  tier: "cold" | "forgotten" | "hot"
  /** What hosts said of it a use. */
  usefulness: number
  /** How often it was used. */
  useCount: number
  /** When it was made, or last of use, in ms: its age counts from then. */
  staleSince: number
  /** Days since it was made, or last of use. */
  ageDays: number
  /** True: it was archived. */
  executed: boolean
  /** What keeps it all the same; else null. */
  skipped: string | null
}
/** Parameters of lifecycle.invalidationsByReason. */
export interface LifecycleInvalidationsByReasonParams {
  /** The wall around one system's memories; letters, digits, dot, dash and underscore, at most 64. Default "default". */
  namespace?: string
}
/**
 * The answer of lifecycle.invalidationsByReason: memories of every tier that are not believed.
 *
 * `reasons` counts each reason, those of none as 0; a text that is none of them counts as
 * `manual`, and `texts` shows the most frequent of these as they are written. `statuses` counts
 * the same memories by what is believed of them.
 */
export interface ReasonCounts {
  /** The wall around one system's memories; letters, digits, dot, dash and underscore, at most 64. */
  namespace: string
  /** Memories of every tier that are not believed. */
  total: number
  /** Memories by reason; a host's own words count as manual. */
  reasons: {
    [k: string]: number
  }
  /** The same memories by what is believed of them. */
  statuses: {
    [k: string]: number
  }
  /** The most frequent of a host's own words, as they are written. */
  texts: ReasonText[]
  /** True: there are more different ones. */
  textsTruncated: boolean
}
/** A text of a host that is none of the reasons, and how many memories have it. */
export interface ReasonText {
  /** The reason as it is stored. */
  text: string
  /** Memories that have it. */
  count: number
}
/** Parameters of lifecycle.listArchived. */
export interface LifecycleListArchivedParams {
  /** Longest page. Default 100. */
  limit?: number
  /** The cursor of the page before; absent or null: from the start. */
  cursor?: string | null
  /** The wall around one system's memories; letters, digits, dot, dash and underscore, at most 64. Default "default". */
  namespace?: string
}
/** A page of archived memories, newest first. `cursor` is null on the last one. */
export interface ArchivedPage {
  /** Memories archived by forgetting, newest first. */
  memories: ArchivedMemory[]
  /** Where the next page starts; null on the last page. */
  cursor: string | null
}
/** A memory that was archived by forgetting. `runId` is the run that did it, if one did. */
export interface ArchivedMemory {
  /** The id of the memory. */
  id: string
  /** The type of the memory. */
  memoryType: "episodic" | "procedural" | "semantic"
  /** Where it lies. */
  tier: "cold" | "forgotten" | "hot"
  /** When it was archived, in ms. */
  archivedAt: number
  /** The reason as it is stored. */
  reason: string
  /** The run that archived it; null where a host did. */
  runId: string | null
  /** How often it was used. */
  useCount: number
  /** What hosts said of it in all. */
  usefulnessScore: number
  /** When it was last of use, in ms; null: never. */
  lastUsefulAt: number | null
  /** When it was made, in ms. */
  createdAt: number
}
/** Parameters of review.flagged. */
export interface ReviewFlaggedParams {
  /** So many regrets within the window are to be looked at. Default 5. */
  threshold?: number
  /** How many days the window goes back. Default 90. */
  windowDays?: number
  /** Only items of this reason. */
  reason?: ("brokenChain" | "guarded" | "regret" | "unscored") | null
  /** Longest page. Default 100. */
  limit?: number
  /** The cursor of the page before; absent or null: from the start. */
  cursor?: string | null
  /** The wall around one system's memories; letters, digits, dot, dash and underscore, at most 64. Default "default". */
  namespace?: string
}
/**
 * One page of items: regrets, pairs, broken chains, unscored ones; null on the last page.
 *
 * `counts` are those of the whole namespace with the same threshold and window.
 */
export interface ReviewPage {
  /** The wall around one system's memories; letters, digits, dot, dash and underscore, at most 64. */
  namespace: string
  /** The page: regrets, pairs, broken chains, unscored memories. */
  items: ReviewItem[]
  counts: ReviewCounts
  /** Where the next page starts; null on the last page. */
  cursor: string | null
}
/**
 * One thing to look at.
 *
 * `regret`: a memory that was missed; `regrets` says how often within the window. `guarded`: two
 * memories so near that a cycle would have pruned one, had they not differed; `why` says in what
 * (number, date, unit, negation, name, words). `brokenChain`: a memory replaced by one that is
 * not there (`why` is successor_missing) or by itself in the end (endless). `unscored`: a memory
 * with a value that cannot be; `why` names its field.
 *
 * `flaggedAt` (ms) is since when it is so, as far as that is known, and `ageDays` how long. At
 * `expiresAt` (ms) the item leaves by itself: for regrets when too few are left in the window, for
 * a pair when no cycle has found it for as long as the window; null: it stays until it is mended.
 */
export interface ReviewItem {
  /** regret: missed. guarded: near another and not the same. brokenChain: replaced by what is not there. unscored: a value cannot be. */
  reason: "brokenChain" | "guarded" | "regret" | "unscored"
  /** The memory. */
  memoryId: string
  /** The other one of a pair, or what replaced it and is not there; else null. */
  otherId: string | null
  /** What a pair differs in, how a chain is broken, which fields cannot be; null for regrets. */
  why: string | null
  /** Regrets within the window; null for other reasons. */
  regrets: number | null
  /** Since when it is so, in ms; null where that is not known. */
  flaggedAt: number | null
  /** For how many days it is so; null where that is not known. */
  ageDays: number | null
  /** When it leaves by itself, in ms; null: when it is mended. */
  expiresAt: number | null
}
/** How many items there are to look at, by reason. */
export interface ReviewCounts {
  /** Memories that were missed too often. */
  regret: number
  /** Pairs that the guard of duplicates kept apart in the last cycle. */
  guarded: number
  /** Memories replaced by what is not there, or by themselves in the end. */
  brokenChain: number
  /** Memories with a value that cannot be. */
  unscored: number
}
/** Parameters of review.open. */
export interface ReviewOpenParams {
  /** The id of the memory. */
  id: string
  /** So many regrets within the window are to be looked at. Default 5. */
  threshold?: number
  /** How many days the window goes back. Default 90. */
  windowDays?: number
  /** The wall around one system's memories; letters, digits, dot, dash and underscore, at most 64. Default "default". */
  namespace?: string
}
/**
 * One memory with every item that names it, and the memories that these name.
 *
 * The memory itself comes first. A forgotten one is shown too; one that cannot be read is left
 * out. An item that was cleared, or never was, is not among the items.
 */
export interface ReviewDetail {
  /** All that the memory is named in. */
  items: ReviewItem[]
  /** The memory, then the others of its items, whole. */
  memories: Memory[]
}
/** Parameters of review.clear. */
export interface ReviewClearParams {
  /** So many regrets within the window are to be looked at. Default 5. */
  threshold?: number
  /** How many days the window goes back. Default 90. */
  windowDays?: number
  /** Memories whose items are taken off, whichever place they have in them. */
  ids?: string[] | null
  /** Items of this reason; with ids, only of this reason. */
  reason?: ("brokenChain" | "guarded" | "regret" | "unscored") | null
  /** A name of the caller's own for this one call, at most 256 bytes. Sent again with it within 24 hours, the call is not carried out again: its first reply is answered. */
  idempotencyKey?: string
  /** The wall around one system's memories; letters, digits, dot, dash and underscore, at most 64. Default "default". */
  namespace?: string
}
/**
 * The answer of review.clear: how many items were taken off.
 *
 * `notFlagged` are ids of the call that no item named. `left` counts the items that one call was
 * too small for.
 */
export interface ReviewCleared {
  /** Items that were taken off. */
  cleared: number
  /** Ids that no item named. */
  notFlagged: string[]
  /** Items that one call was too small for. */
  left: number
}
/** Parameters of proposals.submit. */
export interface ProposalsSubmitParams {
  /** What is proposed. */
  content: string
  /** How sure the source is of it, 0 to 1. */
  proposedConfidence: number
  /** The id that the memory will have; absent: the daemon makes one. */
  id?: string | null
  /** The type that the memory will have. Default "semantic". */
  memoryType?: "episodic" | "procedural" | "semantic"
  /** The metadata that the memory will have. */
  metadata?: JsonObject
  /** The memory that it would take the place of. */
  supersedes?: string | null
  /** A name of the caller's own for this one call, at most 256 bytes. Sent again with it within 24 hours, the call is not carried out again: its first reply is answered. */
  idempotencyKey?: string
  /** The wall around one system's memories; letters, digits, dot, dash and underscore, at most 64. Default "default". */
  namespace?: string
}
/**
 * One proposal. Accepted, it is the memory of the same id, and has no text of its own.
 *
 * `obstacle` says why a pending one could not be accepted now: the memory that it supersedes has
 * `changed` since, or a memory with its id exists or was destroyed. `decidedReason` is `expired`
 * where proposals.gc rejected it for its age, `destroyed` where what it supersedes was destroyed,
 * `auto` where proposals.gc accepted it, else what the caller said.
 */
export interface Proposal {
  /** The id that its memory has or would have. */
  id: string
  /** The type of its memory. */
  memoryType: "episodic" | "procedural" | "semantic"
  /** What is proposed; null where it is a memory, or what it superseded was destroyed. */
  content: string | null
  /** The metadata of its memory; empty once that is there. */
  metadata: JsonObject
  /** How sure its source is, 0 to 1. */
  proposedConfidence: number
  /** When it was submitted, in ms. */
  createdAt: number
  /** pending, accepted or rejected. */
  status: "accepted" | "pending" | "rejected"
  /** When it was accepted or rejected, in ms; null while it waits. */
  decidedAt: number | null
  /** Why: expired, destroyed, auto, or what the caller said; null without one. */
  decidedReason: string | null
  /** The memory that it takes the place of; null for none. */
  supersedes: string | null
  /** Why it could not be accepted now; null where it could, or is decided. */
  obstacle: ("changed" | "memory_destroyed" | "memory_exists") | null
}
/** Parameters of proposals.list. */
export interface ProposalsListParams {
  /** Only proposals of this status. */
  status?: ("accepted" | "pending" | "rejected") | null
  /** Longest page. Default 100. */
  limit?: number
  /** The cursor of the page before; absent or null: from the start. */
  cursor?: string | null
  /** The wall around one system's memories; letters, digits, dot, dash and underscore, at most 64. Default "default". */
  namespace?: string
}
/** One page of proposals, the oldest first; `cursor` is null on the last page. */
export interface ProposalPage {
  /** The page. */
  proposals: Proposal[]
  /** How many wait in the namespace. */
  pending: number
  /** Where the next page starts; null on the last page. */
  cursor: string | null
}
/** Parameters of proposals.accept. */
export interface ProposalsAcceptParams {
  /** The id of the proposal. */
  id: string
  /** A name of the caller's own for this one call, at most 256 bytes. Sent again with it within 24 hours, the call is not carried out again: its first reply is answered. */
  idempotencyKey?: string
  /** The wall around one system's memories; letters, digits, dot, dash and underscore, at most 64. Default "default". */
  namespace?: string
}
/** Parameters of proposals.reject. */
export interface ProposalsRejectParams {
  /** The id of the proposal. */
  id: string
  /** Why it is turned down; kept with the proposal. */
  reason?: string | null
  /** A name of the caller's own for this one call, at most 256 bytes. Sent again with it within 24 hours, the call is not carried out again: its first reply is answered. */
  idempotencyKey?: string
  /** The wall around one system's memories; letters, digits, dot, dash and underscore, at most 64. Default "default". */
  namespace?: string
}
/** Parameters of proposals.gc. */
export interface ProposalsGcParams {
  /** True: only say what would be decided. Default true. */
  dryRun?: boolean
  /** What is at least as old as this is rejected, and dropped where it was decided as long ago. Default 30. */
  proposalExpiryDays?: number
  /** What is at least as sure as this is accepted. Default: nothing. Default 1.1. */
  proposalAutoAcceptConfidence?: number
  /** A name of the caller's own for this one call, at most 256 bytes. Sent again with it within 24 hours, the call is not carried out again: its first reply is answered. */
  idempotencyKey?: string
  /** The wall around one system's memories; letters, digits, dot, dash and underscore, at most 64. Default "default". */
  namespace?: string
}
/**
 * The answer of proposals.gc: what was done, or would be.
 *
 * `expired` were rejected for their age, whatever their confidence; `failed` stay pending.
 * `dropped` counts proposals decided as long ago, of which the list keeps nothing any more.
 */
export interface ProposalsGcReport {
  /** Ids that were rejected for their age. */
  expired: string[]
  /** Ids that are memories now. */
  autoAccepted: string[]
  /** What was sure enough and stays pending, and why. */
  failed: ProposalFailure[]
  /** Decided proposals that left the list. */
  dropped: number
  /** True: only the plan, nothing moves. */
  dryRun: boolean
}
/** A proposal that was sure enough and could not be accepted by itself. */
export interface ProposalFailure {
  /** The proposal. */
  id: string
  /** What stands in its way. */
  why: "changed" | "memory_destroyed" | "memory_exists"
}
/** Parameters of simulate. */
export interface SimulateParams {
  /** How many days are simulated. Default 30. */
  days?: number
  /** Memories that arrive a day, spread over its hours. Absent: as many as of late. */
  arrivalsPerDay?: number | null
  /** The policy of the sweeps instead of the default one. */
  policy?: string | null
  thresholds?: ThresholdChanges
  /** The wall around one system's memories; letters, digits, dot, dash and underscore, at most 64. Default "default". */
  namespace?: string
}
/**
 * The answer of simulate.
 *
 * `arrivalsMeasured`: the call named no rate, and it is that of the memories that are here.
 * `arrivalKinds` is how many of the newest memories the arrivals are like. `paused` is what
 * holds automatic runs back when the simulation begins.
 */
export interface SimulationReport {
  /** The wall around one system's memories; letters, digits, dot, dash and underscore, at most 64. */
  namespace: string
  /** Milliseconds since the Unix epoch at which this was computed. */
  now: number
  /** How many days were simulated. */
  days: number
  /** Memories that arrive a day. */
  arrivalsPerDay: number
  /** True where the call named no rate: it is that of the memories that are here. */
  arrivalsMeasured: boolean
  /** How many of the newest hot memories the arrivals are like, one after the other. */
  arrivalKinds: number
  /** The policy of the sweeps. */
  policy: string
  /** The policy's exponents and estimator, by name. */
  policyVersion: string
  thresholds: Thresholds
  /** Whether the timer's cycles are simulated too; they look for no duplicates. */
  cycleEnabled: boolean
  /** What holds automatic runs back when the simulation begins. */
  paused: Pause[]
  before: SimulatedCounts
  /** When each threshold is crossed first; without those that are not. */
  firstCrossed: FirstCrossing[]
  totals: SimulatedMoves
  /** Every day in order. */
  perDay: SimulatedDay[]
  /** How long the call took, in milliseconds. */
  durationMs: number
}
/** Memories by tier and live bytes at one instant of a simulation. */
export interface SimulatedCounts {
  /** Memories in the hot tier. */
  hot: number
  /** Memories in the cold tier. */
  cold: number
  /** Memories in the forgotten tier. */
  forgotten: number
  /** Hot and cold memories. */
  total: number
  /** Bytes of hot and cold memories and of the files they own; those of cold ones are expected. */
  liveBytes: number
}
/** When a threshold is crossed first; day 0 is now. */
export interface FirstCrossing {
  /** Which one. */
  threshold: "count" | "disk" | "total"
  /** The day in which it is crossed; 0 is now. */
  day: number
  /** When it is crossed, in ms. */
  at: number
}
/**
 * How many memories arrived, and what became of memories.
 *
 * Sweeps spill and forget, cycles fade and prune; what is pruned is forgotten too.
 */
export interface SimulatedMoves {
  /** Memories that came. */
  arrived: number
  /** Memories that sweeps spilled to cold. */
  spilled: number
  /** Memories that sweeps forgot. */
  forgotten: number
  /** Memories that a cycle faded. */
  faded: number
  /** Memories that a cycle pruned: they are forgotten too. */
  pruned: number
}
/**
 * One day: what happened until `at` (ms), and what is there then.
 *
 * `crossed` names the thresholds that were crossed: count, total, disk. `braked`: the brake
 * stopped a run, or automatic forgetting waited for it. `pressure`: nothing more was weak enough.
 */
export interface SimulatedDay {
  /** Counted from 1. */
  day: number
  /** Its end, in ms. */
  at: number
  moved: SimulatedMoves
  after: SimulatedCounts
  /** The thresholds that were crossed at some time of it: count, total, disk. */
  crossed: string[]
  /** The brake stopped a run, or automatic forgetting waited for it. */
  braked: boolean
  /** A sweep found nothing more that is weak enough. */
  pressure: boolean
}
/** Parameters of estimate.refresh. */
export interface EstimateRefreshParams {
  /** True: nothing changes, it is only counted. Default true. */
  dryRun?: boolean
  /** A name of the caller's own for this one call, at most 256 bytes. Sent again with it within 24 hours, the call is not carried out again: its first reply is answered. */
  idempotencyKey?: string
  /** The wall around one system's memories; letters, digits, dot, dash and underscore, at most 64. Default "default". */
  namespace?: string
}
/** The answer of estimate.refresh: the memories that another estimator had judged. */
export interface EstimateReport {
  /** The wall around one system's memories; letters, digits, dot, dash and underscore, at most 64. */
  namespace: string
  /** True: nothing was written. */
  dryRun: boolean
  /** The estimator in force. */
  estimatorVersion: string
  /** Memories that have, or in a dry run would have, a new estimate. */
  refreshed: number
  /** Those without a host's importance that are worth more now. */
  raised: number
  /** Those without a host's importance that are worth less now. */
  lowered: number
  /** Memories whose text could not be read; they stay as they are. */
  damaged: number
  /** How long the call took, in milliseconds. */
  durationMs: number
}
/** Parameters of runs.list. */
export interface RunsListParams {
  /** Longest page. Default 20. */
  limit?: number
  /** The cursor of the page before; absent or null: from the start. */
  cursor?: string | null
  /** The wall around one system's memories; letters, digits, dot, dash and underscore, at most 64. Default "default". */
  namespace?: string
}
/** One page of runs, newest first; `cursor` is null on the last page. */
export interface RunPage {
  /** Newest first. */
  runs: RunSummary[]
  /** Where the next page starts; null on the last page. */
  cursor: string | null
}
/** One run of the ledger. */
export interface RunSummary {
  /** The id of the run. */
  runId: string
  /** sweep, spill, forget, restore or undo. */
  kind: string
  /** Who wanted it: call or automatic. */
  trigger: string
  /** How far it is. */
  state: "finished" | "running" | "undone"
  /** When it was planned, in ms. */
  plannedAt: number
  /** When its first move could begin, in ms. */
  startedAt: number
  /** When it ended, in ms; null while it is running. */
  finishedAt: number | null
  /** The policy; null where none chose. */
  policy: string | null
  /** The policy's version; null where none chose. */
  policyVersion: string | null
  /** How many decisions it has. */
  decisions: number
  /** Memories that were moved. */
  moved: number
  /** Memories that were planned and not moved. */
  skipped: number
  /** The run that undid this one. */
  undoneBy: string | null
  /** The run that this one undid. */
  undoes: string | null
}
/** Parameters of runs.get. */
export interface RunsGetParams {
  /** The id of the run. */
  runId: string
  /** The wall around one system's memories; letters, digits, dot, dash and underscore, at most 64. Default "default". */
  namespace?: string
}
/** One run and the report it ended with (null while it is running). */
export interface RunDetail {
  run: RunSummary
  /** As the call was answered: a SweepReport, ForgettingReport, ForgetReport, RestoreReport or GcReport of the version that ran it; null while it is running. */
  report: JsonObject | null
}
/** Parameters of runs.decisions. */
export interface RunsDecisionsParams {
  /** The run. Exactly one of runId and planId. */
  runId?: string | null
  /** The plan. Exactly one of runId and planId. */
  planId?: string | null
  /** The cursor of the page before; absent or null: from the start. */
  cursor?: string | null
  /** Longest page. Default 100. */
  limit?: number
  /** The wall around one system's memories; letters, digits, dot, dash and underscore, at most 64. Default "default". */
  namespace?: string
}
/** One page of a run's or a plan's decisions; `cursor` is null on the last page. */
export interface DecisionPage {
  /** The page, in the order of the plan. */
  decisions: Decision[]
  /** Where the next page starts; null on the last page. */
  cursor: string | null
  /** All decisions of the run or plan. */
  total: number
}
/** Parameters of runs.undo. */
export interface RunsUndoParams {
  /** The id of the run. */
  runId: string
  /** A name of the caller's own for this one call, at most 256 bytes. Sent again with it within 24 hours, the call is not carried out again: its first reply is answered. */
  idempotencyKey?: string
  /** The wall around one system's memories; letters, digits, dot, dash and underscore, at most 64. Default "default". */
  namespace?: string
}
/** Parameters of gc.plan. */
export interface GcPlanParams {
  /** At least so many days have passed since they were forgotten. Default 14. */
  olderThanDays?: number
  /** These memories. With olderThanDays 0 from any tier, else only those forgotten long enough ago. */
  ids?: string[] | null
  /** What this run forgot and nobody moved since. */
  runId?: string | null
  /** The id of the memory that a host wrote in their place, or one for each id: without it being live and stored they are refused. */
  replacedBy?:
    | string
    | {
        [k: string]: string
      }
    | null
  /** True: the namespace itself, with everything in it. Default false. */
  all?: boolean
  /** The wall around one system's memories; letters, digits, dot, dash and underscore, at most 64. Default "default". */
  namespace?: string
}
/** What would be destroyed. `token` carries it out, once; null where there is nothing to do. */
export interface GcPlanReport {
  /** The wall around one system's memories; letters, digits, dot, dash and underscore, at most 64. */
  namespace: string
  /** Give it to gc.execute to do exactly this, once; null where there is nothing to do. */
  token: string | null
  /** Until when the token can be used, in ms; null without one. */
  expiresAt: number | null
  /** True: the namespace itself. */
  wholeNamespace: boolean
  /** What their tombstones will say. */
  reason: "aged" | "erased" | "replaced" | "run" | "standing_order"
  /** The age that was asked for. */
  olderThanDays: number
  /** How many would be destroyed. */
  memories: number
  /** How many by tier. */
  tiers: {
    [k: string]: number
  }
  /** What they take in the database and in archive files. */
  bytes: number
  /** The same of the first of them. */
  oldest: number | null
  /** When the last of them was forgotten, or made where it is live, in ms; null for none. */
  newest: number | null
  /** Files that they name. */
  media: number
  /** The oldest of them. Their words are not shown. */
  sample: GcSample[]
  /** The first that are held, too young, or have no replacement, and why. */
  refused: GcRefusal[]
  /** All that were refused. */
  refusedCount: number
}
/** One memory of a plan. Its words are not shown: who reads a plan need not read them. */
export interface GcSample {
  /** The id of the memory. */
  id: string
  /** Where the memory lives. */
  tier: "cold" | "forgotten" | "hot"
  /** When it was forgotten, in ms; null where it is live. */
  forgottenAt: number | null
  /** When it was made, in ms. */
  createdAt: number
  /** What it takes. */
  bytes: number
}
/** A memory that was named, or is old enough, and is not destroyed, and why. */
export interface GcRefusal {
  /** The id of the memory. */
  id: string
  /** Why it is not destroyed. */
  why: "held" | "not_forgotten" | "replacement_missing" | "too_young"
}
/** Parameters of gc.execute. */
export interface GcExecuteParams {
  /** The token of the plan: for this namespace, for 15 minutes, for one use. */
  token: string
  /** The wall around one system's memories; letters, digits, dot, dash and underscore, at most 64. Default "default". */
  namespace?: string
}
/** What was destroyed. `runId` is null, and nothing verified, after deleting a namespace. */
export interface GcReport {
  /** The wall around one system's memories; letters, digits, dot, dash and underscore, at most 64. */
  namespace: string
  /** The run; null where the namespace is no more. */
  runId: string | null
  /** True: the namespace itself is gone. */
  wholeNamespace: boolean
  /** Memories that are gone for good. */
  destroyed: number
  /** The first that were planned and stayed, and why. */
  left: GcLeft[]
  /** All that stayed. */
  leftCount: number
  /** Files that nothing names any more, removed. */
  mediaRemoved: number
  /** Copies in the namespace's own backups folder that held one of them. */
  backupsRemoved: string[]
  /** How much smaller the files became, as measured. */
  bytesReclaimed: number
  /** What could not be done, and why. */
  notes: string[]
  /** What was looked at afterwards; null where the namespace is no more. */
  verification: GcVerification | null
  /** How long the call took, in milliseconds. */
  durationMs: number
}
/** A planned memory that stayed, and why. The id is null where the memory is gone. */
export interface GcLeft {
  /** The memory that stayed; null where it was gone before. */
  id: string | null
  /** Why it stayed. */
  why: "changed" | "disk_full" | "gone" | "held" | "unreadable"
}
/**
 * Whether anything is left, by decoding everything and by the raw bytes of every file.
 *
 * `texts` of `textsOf` contents, metadata and vectors were long enough, and few enough, to be
 * searched for. `shared` are memories that hold the same words of their own.
 */
export interface GcVerification {
  /** True: nothing was found. */
  clean: boolean
  /** What is still there. */
  left: GcFinding[]
  /** Memories that say the same words themselves, and stay. */
  shared: string[]
  /** Texts that were searched for: of 32 bytes and more, as many as are kept in mind. */
  texts: number
  /** Texts that were long enough. */
  textsOf: number
  /** Files that were searched. */
  files: number
  /** How much was searched, decompressed parts too. */
  bytes: number
  /** Files that could not be searched, and backups beside the namespaces. */
  notReached: string[]
}
/** Something that is still there. `where` is a table, or a file of the namespace. */
export interface GcFinding {
  /** A table, or a file of the namespace. */
  where: string
  /** What was found. */
  what: string
}
/** Parameters of gc.verify. */
export interface GcVerifyParams {
  /** Ids that were destroyed. */
  ids?: string[] | null
  /** Words that should be gone; those under 32 bytes are not searched for. */
  texts?: string[] | null
  /** The wall around one system's memories; letters, digits, dot, dash and underscore, at most 64. Default "default". */
  namespace?: string
}
/** Parameters of events.list. */
export interface EventsListParams {
  /** Only events with a greater number; 0: from the oldest on. Default 0. */
  since?: number
  /** Most events. Default 100. */
  limit?: number
  /** Only events of these kinds; null: of all. */
  kinds?: string[] | null
  /** The wall around one system's memories; letters, digits, dot, dash and underscore, at most 64. Default "default". */
  namespace?: string
}
/**
 * Events in order.
 *
 * `latest` is the newest number that was given. `oldest` is the first one that was not folded:
 * what came before it is in the log no more.
 */
export interface EventPage {
  /** In the order of their numbers. */
  events: LoggedEvent[]
  /** The newest number that was given. A greater since is of another store. */
  latest: number
  /** The first number that was not folded: what came before it is in the log no more. */
  oldest: number
}
/** One event of the log; `payload` has what changed, or what its kind tells. */
export interface LoggedEvent {
  /** Its number: greater than that of all events before. */
  seq: number
  /** When it happened, in ms. */
  at: number
  /** The run that it is part of; null outside of runs. */
  runId: string | null
  /** One of events.json. */
  kind: string
  /** The memory that changed; null where the event is about the namespace. */
  memoryId: string | null
  /** What changed, or what the kind tells. */
  payload: JsonObject
}
/** Parameters of namespaces.open. */
export interface NamespacesOpenParams {
  thresholds?: ThresholdChanges
  /** A name of the caller's own for this one call, at most 256 bytes. Sent again with it within 24 hours, the call is not carried out again: its first reply is answered. */
  idempotencyKey?: string
  /** The wall around one system's memories; letters, digits, dot, dash and underscore, at most 64. Default "default". */
  namespace?: string
}
/** The answer of namespaces.open. */
export interface OpenReport {
  /** The wall around one system's memories; letters, digits, dot, dash and underscore, at most 64. */
  namespace: string
  /** True: it was made by this call. */
  created: boolean
  thresholds: Thresholds
  thresholdsDiffer: ThresholdDifferences
}
/** Options of forgetting with the values in force. */
export interface ThresholdDifferences {
  /** Stage 1: spill when there are more hot memories. */
  forgetThresholdCount?: number
  /** Stage 2: forget when there are more hot and cold memories. */
  forgetThresholdTotal?: number
  /** Stage 2: forget above so many live gigabytes (10^9 bytes). */
  forgetThresholdDiskGB?: number
  /** False: nothing moves by itself and real sweeps are refused. */
  forgetEnabled?: boolean
  /** A stage works down to this share of its threshold. */
  lowWatermark?: number
  /** Only memories weaker than this are forgotten. */
  weakStrength?: number
  /** Active memories used more recently are not forgotten. */
  minIdleDays?: number
  /** Younger memories are not forgotten. */
  newbornDays?: number
  /** Memories restored more recently are not forgotten. */
  restoreGraceDays?: number
  /** False: only superseded, archived and expired memories are forgotten. */
  forgetActive?: boolean
  /** At most this share of what was live may be forgotten in 24 hours. */
  brakeShare?: number
  /** How long automatic forgetting waits after a threshold was lowered. */
  loweringDelayMinutes?: number
  /** Clean-up is suggested when forgotten memories take more gigabytes. */
  forgottenWarnGB?: number
  /** Older events are folded together and can no longer be followed one by one. */
  eventRetentionDays?: number
}
/** Parameters of namespaces.list. */
export interface NamespacesListParams {
  /** The wall around one system's memories; letters, digits, dot, dash and underscore, at most 64. Default "default". */
  namespace?: string
}
/** Every namespace of the state directory, by name. */
export interface NamespaceList {
  /** By name. */
  namespaces: NamespaceListing[]
}
/** One namespace in a listing, with its memories by tier as last counted. */
export interface NamespaceListing {
  /** The wall around one system's memories; letters, digits, dot, dash and underscore, at most 64. */
  namespace: string
  /** Whether the daemon has it open. */
  open: boolean
  /** Hot memories, as last counted. */
  hot: number
  /** Memories in the archive, as last counted. */
  cold: number
  /** Forgotten memories, as last counted. */
  forgotten: number
}
/** Parameters of rpc.discover. */
export interface RpcDiscoverParams {
  /** The wall around one system's memories; letters, digits, dot, dash and underscore, at most 64. Default "default". */
  namespace?: string
}
/** Parameters of system.status. */
export interface SystemStatusParams {
  /** True: every namespace instead of one. Default false. */
  all?: boolean
  /** The wall around one system's memories; letters, digits, dot, dash and underscore, at most 64. Default "default". */
  namespace?: string
}
/** The daemon and the namespaces asked for; none where the namespace does not exist. */
export interface SystemStatus {
  /** The daemon's release. */
  version: string
  /** The integer of the header forgetd-protocol. */
  protocolVersion: number
  /** The process. */
  pid: number
  /** Since the start. */
  uptimeSeconds: number
  /** Milliseconds since the Unix epoch at which this was computed. */
  now: number
  /** True: a caller holds the clock. */
  clockHeld: boolean
  /** The namespaces asked for that could be read. */
  namespaces: NamespaceStatus[]
  /** The namespaces asked for that could not be opened. */
  unavailable: Unavailable[]
}
/** One namespace in a status answer. `alarms` are short sentences for an operator. */
export interface NamespaceStatus {
  /** The wall around one system's memories; letters, digits, dot, dash and underscore, at most 64. */
  namespace: string
  counts: TierCounts
  thresholds: ThresholdsReport
  /** Why the namespace takes no writes; null where it does. */
  readOnly: string | null
  /** Memories with a value that cannot be: never forgotten. */
  unscored: number
  /** Memories whose stored data does not match its hash. */
  corrupt: number
  /** Archive files that nobody knows. */
  unknownSegments: string[]
  /** The run that is going on; null without one. */
  running: string | null
  /** The newest run; null without one. */
  lastRun: RunSummary | null
  /** What an operator should know, in short sentences. */
  alarms: string[]
  review: ReviewCounts
  /** The hash over all memories, where it was asked for; else null. */
  stateHash: string | null
}
/** A namespace that cannot be opened now, and why. */
export interface Unavailable {
  /** The wall around one system's memories; letters, digits, dot, dash and underscore, at most 64. */
  namespace: string
  /** The error's stable name. */
  symbol: string
  /** What is wrong, in words that may change. */
  message: string
  /** What to do about it; null where it heals by itself. */
  remedy: string | null
}
/** Parameters of system.limits. */
export interface SystemLimitsParams {
  /** The wall around one system's memories; letters, digits, dot, dash and underscore, at most 64. Default "default". */
  namespace?: string
}
/** Parameters of system.clock. */
export interface SystemClockParams {
  /** Hold the clock at this time, in ms; only where serve --allow-injected-clock runs. */
  now?: number | null
  /** The wall around one system's memories; letters, digits, dot, dash and underscore, at most 64. Default "default". */
  namespace?: string
}
/** The daemon's time in milliseconds, whether a caller holds it, and whether one may. */
export interface ClockReport {
  /** The daemon's time, in ms. */
  now: number
  /** True: a caller holds it. */
  held: boolean
  /** Whether a caller may hold it. */
  injectable: boolean
}
/** Parameters of system.stop. */
export interface SystemStopParams {
  /** The wall around one system's memories; letters, digits, dot, dash and underscore, at most 64. Default "default". */
  namespace?: string
}
/** The daemon answers the calls it has, and ends. */
export interface StopReport {
  /** True: the daemon answers the calls it has, and ends. */
  stopping: boolean
}
