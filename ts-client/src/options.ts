import type { CallOptions, ClientOptions } from "./client.js"
import type { JsonObject } from "./json.js"
import type { OpenThresholds, ProposalStatus, ReviewReason, ThresholdChanges } from "./reports.js"
import type { IfExists, ImportFormat, MemoryType, Status, Tier } from "./types.js"

/** What a `MemorySystem` is made with. All are optional. */
export interface MemorySystemOptions extends OpenThresholds, ClientOptions {
  /** The wall around this system's memories. Default `default`. */
  readonly namespace?: string | undefined
  /** The daemon's socket. Default: as the daemon chooses it, see `resolveSocketPath`. */
  readonly socketPath?: string | undefined
}

const THRESHOLD_NAMES = [
  "forgetThresholdCount",
  "forgetThresholdTotal",
  "forgetThresholdDiskGB",
  "forgetEnabled",
] as const satisfies readonly (keyof OpenThresholds)[]

const OPTION_NAMES: ReadonlySet<string> = new Set([
  ...THRESHOLD_NAMES,
  "namespace",
  "socketPath",
  "timeoutMs",
  "retry",
  "maxReplyBytes",
  "spawn",
] satisfies readonly (keyof MemorySystemOptions)[])

/**
 * The threshold options that were given, for `namespaces.open`. Throws TypeError for an option
 * with an unknown name, which a program without types would otherwise lose in silence.
 */
export function openThresholds(options: MemorySystemOptions): OpenThresholds {
  for (const name of Object.keys(options)) {
    if (OPTION_NAMES.has(name)) continue
    throw new TypeError(
      `MemorySystem has no option ${name}: it has ${[...OPTION_NAMES].join(", ")}; ` +
        "thresholds.set changes the others",
    )
  }
  return Object.fromEntries(
    THRESHOLD_NAMES.filter((name) => options[name] !== undefined).map((name) => [
      name,
      options[name],
    ]),
  )
}

export interface PutOptions extends CallOptions {
  /** What to do when the id exists. Default `error`. */
  readonly ifExists?: IfExists | undefined
  /** True: also where a memory with this id was destroyed for good. Default false. */
  readonly revive?: boolean | undefined
}

export interface PutManyOptions extends PutOptions {
  /** True: store the good ones and report the bad. Default false: all or nothing. */
  readonly partial?: boolean | undefined
}

export interface ImportOptions extends CallOptions {
  /** `forgetd` for lines of an export, taken back exactly. Default `foreign`: of any shape. */
  readonly format?: ImportFormat | undefined
  /** Default `skip`. */
  readonly ifExists?: IfExists | undefined
  /** Where the records come from, kept for the reader. */
  readonly source?: string | undefined
  /** True: report bad records and go on. Default false. */
  readonly skipBad?: boolean | undefined
  /** True: also where a memory with this id was destroyed for good. Default false. */
  readonly revive?: boolean | undefined
}

export interface ExportOptions extends CallOptions {
  /** Default: all. */
  readonly tiers?: readonly Tier[] | undefined
  /** Memories a page, at most 10,000; a page has at most 4 MB. Default 1,000. */
  readonly limit?: number | undefined
}

/** What to follow, and from where. */
export interface EventsOptions {
  /** Go on after the event with this number; 0: all there are. Default: only new ones. */
  readonly since?: number | undefined
  /** Only events of these kinds. A reset comes always. Default: all. */
  readonly kinds?: readonly string[] | undefined
  /** Aborts, and so ends, the stream. */
  readonly signal?: AbortSignal | undefined
}

export interface EventListOptions extends CallOptions {
  /** Only events with a greater number. Default 0. */
  readonly since?: number | undefined
  /** At most 1,000. Default 100. */
  readonly limit?: number | undefined
  /** Default: all. */
  readonly kinds?: readonly string[] | undefined
}

export interface GetOptions extends CallOptions {
  readonly includeEmbedding?: boolean | undefined
}

export interface ListAllOptions extends CallOptions {
  /** `forgotten` lists what may be restored. */
  readonly tier?: Tier | undefined
  readonly status?: Status | undefined
  readonly memoryType?: MemoryType | undefined
  /** Memories a page, at most 1,000. Default 100. */
  readonly limit?: number | undefined
}

export interface ListOptions extends ListAllOptions {
  /** Of the page before. */
  readonly cursor?: string | null | undefined
}

export interface UpdateOptions extends CallOptions {
  /** Refuse (`revision_conflict`) unless the memory still has this revision. */
  readonly ifRevision?: number | undefined
}

/** A question by text, by vector, or both. */
export interface RecallOptions extends CallOptions {
  readonly query?: string | undefined
  readonly embedding?: Float32Array | readonly number[] | string | undefined
  readonly embeddingModel?: string | undefined
  /** Default 20. */
  readonly topK?: number | undefined
  /** `auto` searches cold memories when the hot ones have too few answers. Default `auto`. */
  readonly depth?: "auto" | "hot" | "deep" | undefined
  readonly memoryTypes?: readonly MemoryType[] | undefined
  readonly includeArchived?: boolean | undefined
  readonly minStrength?: number | undefined
  /** Which results count as used. `top`: the first three. Default `top`. */
  readonly touch?: "top" | "all" | "none" | undefined
}

export interface ForgetOptions extends CallOptions {
  /** Default `called`. */
  readonly reason?: string | undefined
}

/** What to restore: exactly one of these. */
export type RestoreSelector =
  { readonly ids: readonly string[] } | { readonly runId: string } | { readonly reason: string }

export interface ExplainOptions extends CallOptions {
  /** One policy of a sweep, or `cycle`. Default: all of them. */
  readonly policy?: string | undefined
}

export interface SweepOptions extends CallOptions {
  /** True: plan only, nothing moves. Default false. */
  readonly dryRun?: boolean | undefined
  /** Carry out exactly this plan of a dry run. Leave it out to sweep without one. */
  readonly planId?: string
  /** `strict` goes on to stronger memories until the number is reached. Default `normal`. */
  readonly mode?: "normal" | "strict" | undefined
  readonly policy?: string | undefined
  readonly brakeShare?: number | undefined
  /** Plan as of this time; for dry runs only. */
  readonly now?: number | undefined
  /** Decisions in the report. Default 100. */
  readonly decisionsLimit?: number | undefined
}

export interface CycleOptions extends CallOptions {
  readonly dryRun?: boolean | undefined
  /** Carry out exactly the plan of a dry run. */
  readonly planId?: string | undefined
  /** Plan as of this time, in ms; only with dryRun. */
  readonly now?: number | undefined
  /** Decisions in the report. Default 1,000. */
  readonly decisionsLimit?: number | undefined
}

export interface SimulateOptions extends CallOptions {
  /** Default 30. */
  readonly days?: number | undefined
  /** Memories that arrive a day. Default: as many as of late. */
  readonly arrivalsPerDay?: number | undefined
  readonly policy?: string | undefined
  /** Settings that count as set just now. */
  readonly thresholds?: ThresholdChanges | undefined
}

/** Numbers left out are those of the daemon's config file. */
export interface RefreshOptions extends CallOptions {
  /** False: write the new estimates. Default true: only count, nothing changes. */
  readonly dryRun?: boolean | undefined
}

export interface LifecycleOptions extends CallOptions {
  /** False: archive. Default true: plan only, nothing changes. */
  readonly dryRun?: boolean | undefined
  /** Carry out exactly this plan of a dry run; with `dryRun` false. */
  readonly planId?: string
  /** Low: at most this usefulness a use. */
  readonly usefulnessFloor?: number | undefined
  /** Stale: made, and last of use, longer ago than so many days. */
  readonly minAgeDays?: number | undefined
  /** What was used so often stays. */
  readonly protectUseCount?: number | undefined
  /** Unless its usefulness a use is at most this. */
  readonly harmfulFloor?: number | undefined
  /** Plan as of this time, in ms; for dry runs only. */
  readonly now?: number | undefined
  /** Candidates in the summary. Default 100. */
  readonly candidatesLimit?: number | undefined
  /** Although the config file does not allow it; on the admin socket only. */
  readonly force?: boolean | undefined
}

/** What to destroy: by age, and by ids or by run; or with `all` the namespace itself. */
export interface GcPlanOptions extends CallOptions {
  /** At least so many days have passed since they were forgotten. Default 14. */
  readonly olderThanDays?: number | undefined
  readonly ids?: readonly string[] | undefined
  readonly runId?: string | undefined
  /** What a host wrote in their place: one id, or one for each. */
  readonly replacedBy?: string | Readonly<Record<string, string>> | undefined
  readonly all?: boolean | undefined
}

/** What nothing should be left of. */
export interface GcVerifyOptions extends CallOptions {
  readonly ids?: readonly string[] | undefined
  readonly texts?: readonly string[] | undefined
}

export interface SpillOptions extends CallOptions {
  readonly dryRun?: boolean | undefined
  /** Hot memories to go down to. Default: the low watermark. */
  readonly target?: number | undefined
}

/** Which regrets are enough to be looked at. */
export interface ReviewScope extends CallOptions {
  /** So many regrets, 1 to 100. Default 5. */
  readonly threshold?: number | undefined
  /** Within so many days. Default 90. */
  readonly windowDays?: number | undefined
}

export interface ReviewOptions extends ReviewScope {
  readonly reason?: ReviewReason | undefined
  /** At most 1,000. Default 100. */
  readonly limit?: number | undefined
  readonly cursor?: string | null | undefined
}

/** The items to take off: those of some memories, those of a reason, or both at once. */
export interface ClearOptions extends ReviewScope {
  /** Memories whose items are taken off, at most 1,000. Needed where there is no reason. */
  readonly ids?: readonly string[] | undefined
  /** Only items of this reason; without ids, all of them. */
  readonly reason?: ReviewReason | undefined
}

export interface SubmitOptions extends CallOptions {
  readonly content: string
  /** How sure its source is, 0 to 1. */
  readonly proposedConfidence: number
  /** The id that the memory will have. Default: the daemon makes one. */
  readonly id?: string | undefined
  /** Default `semantic`. */
  readonly memoryType?: MemoryType | undefined
  readonly metadata?: JsonObject | undefined
  /** The memory that it would take the place of. */
  readonly supersedes?: string | undefined
}

export interface ProposalsOptions extends CallOptions {
  /** Default: all. */
  readonly status?: ProposalStatus | undefined
  /** At most 1,000. Default 100. */
  readonly limit?: number | undefined
  readonly cursor?: string | null | undefined
}

export interface RejectOptions extends CallOptions {
  readonly reason?: string | undefined
}

export interface ProposalsGcOptions extends CallOptions {
  /** False: do it. Default true. */
  readonly dryRun?: boolean | undefined
  /** Reject what is as old as this, in days. Default 30. */
  readonly proposalExpiryDays?: number | undefined
  /** Accept what is as sure as this. Default 1.1, which nothing is. */
  readonly proposalAutoAcceptConfidence?: number | undefined
}

export interface PageOptions extends CallOptions {
  readonly limit?: number | undefined
  readonly cursor?: string | null | undefined
}

/** The decisions of a run that happened, or of a plan. */
export type DecisionsSelector = { readonly runId: string } | { readonly planId: string }

export interface StatusOptions extends CallOptions {
  /** All namespaces instead of this one. */
  readonly all?: boolean | undefined
}

/** Parts the wire's parameters of a method from what steers the call. */
export function splitOptions<T extends CallOptions>(
  options: T,
): { params: Omit<T, keyof CallOptions>; call: CallOptions } {
  const { signal, timeoutMs, idempotencyKey, ...params } = options
  return { params, call: { signal, timeoutMs, idempotencyKey } }
}
