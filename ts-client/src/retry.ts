import { randomUUID } from "node:crypto"
import { ConnectError, RpcError } from "./errors.js"

export interface RetryOptions {
  /** How often a call is tried in all. Default 3. */
  readonly attempts?: number | undefined
  /** Milliseconds before the second try, doubled for each further one. Default 50. */
  readonly firstDelayMs?: number | undefined
  /** No wait is longer, in milliseconds. Default 1,000. */
  readonly maxDelayMs?: number | undefined
}

export interface RetryPolicy {
  readonly attempts: number
  /** Milliseconds to wait after `tried` tries. */
  delayMs(tried: number): number
}

/** Bounded exponential back-off with jitter, so that clients of one daemon do not march in step. */
export function resolveRetry(options: RetryOptions | false = {}): RetryPolicy {
  if (options === false) return { attempts: 1, delayMs: () => 0 }
  const attempts = options.attempts ?? 3
  const firstDelayMs = options.firstDelayMs ?? 50
  const maxDelayMs = options.maxDelayMs ?? 1_000
  if (!Number.isInteger(attempts) || attempts < 1) {
    throw new RangeError(`retry.attempts is ${attempts}: give an integer of at least 1`)
  }
  if (!(firstDelayMs >= 0) || !(maxDelayMs >= firstDelayMs)) {
    throw new RangeError("retry needs 0 <= firstDelayMs <= maxDelayMs")
  }
  return {
    attempts,
    delayMs: (tried) =>
      Math.min(maxDelayMs, firstDelayMs * 2 ** (tried - 1)) * (0.5 + Math.random() / 2),
  }
}

/** `namespaces.open` changes nothing when it is repeated, so it is safe as a read is. */
const READS: ReadonlySet<string> = new Set([
  "memory.get",
  "memory.getMany",
  "memory.list",
  "memory.recall",
  "memory.explain",
  "simulate",
  "thresholds.get",
  "review.flagged",
  "review.open",
  "proposals.list",
  "runs.list",
  "runs.get",
  "runs.decisions",
  "memory.export",
  "events.list",
  "rpc.discover",
  "namespaces.open",
  "namespaces.list",
  "system.status",
  "system.limits",
])

/** Writes that the daemon carries out once for each idempotency key. */
const KEYED: ReadonlySet<string> = new Set([
  "memory.put",
  "memory.putMany",
  "memory.import",
  "memory.update",
  "memory.touch",
  "memory.supersede",
  "memory.feedback",
  "memory.invalidate",
  "memory.pin",
  "memory.hold",
  "memory.forget",
  "memory.restore",
  "forgetSweep",
  "coldSpill",
  "forgetting.runCycle",
  "lifecycle.forget",
  "estimate.refresh",
  "review.clear",
  "proposals.submit",
  "proposals.accept",
  "proposals.reject",
  "proposals.gc",
  "thresholds.set",
  "thresholds.resume",
  "runs.undo",
])

/** The parameters with an idempotency key: the one given, or for a write a new one. */
export function withKey(
  method: string,
  params: Readonly<Record<string, unknown>>,
  key: string | false | undefined,
): Readonly<Record<string, unknown>> {
  if (key === false || "idempotencyKey" in params) return params
  if (key === undefined && !KEYED.has(method)) return params
  return { ...params, idempotencyKey: key ?? randomUUID() }
}

/** Failures of a connection that may be gone a moment later. */
export const PASSING: ReadonlySet<string> = new Set([
  "ENOENT",
  "ECONNREFUSED",
  "ECONNRESET",
  "EPIPE",
  "EAGAIN",
])

/** Whether the failed call may be made again without a second effect. */
export function repeatable(
  method: string,
  params: Readonly<Record<string, unknown>>,
  error: unknown,
): boolean {
  if (!READS.has(method) && !(KEYED.has(method) && "idempotencyKey" in params)) return false
  const touches = method === "memory.recall" && params["touch"] !== "none"
  if (error instanceof ConnectError) return PASSING.has(error.code) && !(touches && error.sent)
  if (error instanceof RpcError) {
    return error.retryable && !(touches && error.symbol === "deadline_exceeded")
  }
  return false
}
