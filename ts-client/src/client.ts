import { setMaxListeners } from "node:events"
import { checkJson } from "./encode.js"
import { ClosedError, TimeoutError } from "./errors.js"
import { followEvents } from "./event-stream.js"
import type { EventItem } from "./events.js"
import type { EventsOptions } from "./options.js"
import { abortable, pause } from "./pause.js"
import { parseReply } from "./reply.js"
import { repeatable, resolveRetry, withKey, type RetryOptions, type RetryPolicy } from "./retry.js"
import { SpawningTransport, Spawner } from "./spawn.js"
import type { SpawnOptions } from "./spawn-options.js"
import { Transport } from "./transport.js"

/** A little more than the daemon's own deadlines, so that its typed answer comes first. */
const TIMEOUT_CALL_MS = 65_000
const TIMEOUT_RUN_MS = 610_000

/** The largest body the daemon reads. */
const BODY_BYTES_MAX = 33_554_432
const REPLY_BYTES_MAX_DEFAULT = 268_435_456

/** setTimeout fires at once for anything longer. */
const TIMER_MS_MAX = 2_147_483_647

/** Methods on many memories, which the daemon gives minutes. */
const RUNS: ReadonlySet<string> = new Set([
  "memory.putMany",
  "forgetSweep",
  "coldSpill",
  "forgetting.runCycle",
  "simulate",
  "lifecycle.forget",
  "estimate.refresh",
  "gc.execute",
  "gc.verify",
  "memory.restore",
  "memory.forget",
  "memory.import",
  "runs.undo",
])

/** What any call takes. */
export interface CallOptions {
  /** Aborts the call, which then rejects with the signal's reason. */
  readonly signal?: AbortSignal | undefined
  /** Milliseconds for the whole call, repetitions included. Replaces the client's. */
  readonly timeoutMs?: number | undefined
  /**
   * The key under which the daemon carries a write out only once, for 24 hours. Default: a new one
   * for each write. False: none, and the write is sent once, whatever fails.
   */
  readonly idempotencyKey?: string | false | undefined
}

export interface ClientOptions {
  /**
   * Milliseconds for every call. Default: 65,000, and 610,000 for the methods that store or
   * move many memories (both a little above the daemon's deadlines).
   */
  readonly timeoutMs?: number | undefined
  /** How calls are repeated after a broken connection or a retryable error; false: never. */
  readonly retry?: RetryOptions | false | undefined
  /** Longest answer accepted, in bytes. Default 256 MiB. */
  readonly maxReplyBytes?: number | undefined
  /** How to start a daemon when a call finds none. Default: none is started. */
  readonly spawn?: SpawnOptions | undefined
}

/** A method's parameters by their wire names. */
export type Params = Readonly<Record<string, unknown>>

/**
 * JSON-RPC calls over the daemon's socket. Connects when first called; holds no process open
 * while no call is under way.
 */
export class RpcClient {
  readonly #socketPath: string
  readonly #transport: Pick<Transport, "post" | "close">
  readonly #spawner: Spawner | undefined
  readonly #timeoutMs: number | undefined
  readonly #retry: RetryPolicy
  readonly #underWay = new Set<AbortController>()
  #closed = false
  #lastId = 0

  constructor(socketPath: string, options: ClientOptions = {}) {
    this.#socketPath = socketPath
    this.#timeoutMs = checkMilliseconds(options.timeoutMs)
    this.#retry = resolveRetry(options.retry)
    const transport = new Transport(socketPath, options.maxReplyBytes ?? REPLY_BYTES_MAX_DEFAULT)
    this.#spawner = options.spawn && new Spawner(socketPath, options.spawn)
    this.#transport = this.#spawner ? new SpawningTransport(transport, this.#spawner) : transport
  }

  get closed(): boolean {
    return this.#closed
  }

  /**
   * The result of `method`; its type is the caller's word. Reads are repeated as `retry` says,
   * and so are writes, under one idempotency key: the daemon carries them out once. A write without
   * a key is sent once, because a lost answer does not tell whether it was carried out. What
   * `before` does comes first, within the same deadline; its failure is the call's.
   *
   * Rejects with TypeError or RangeError (nothing sent), RpcError, ConnectError, TimeoutError,
   * ClosedError, ProtocolError, SpawnError, or the signal's reason.
   */
  async call<T>(
    method: string,
    params: Params = {},
    options: CallOptions = {},
    before?: () => Promise<unknown>,
  ): Promise<T> {
    const id = ++this.#lastId
    const keyed = withKey(method, params, options.idempotencyKey)
    const body = encodeCall(id, method, keyed)
    const timeoutMs =
      checkMilliseconds(options.timeoutMs) ?? this.#timeoutMs ?? defaultTimeoutMs(method)
    return await this.#withDeadline(method, timeoutMs, options.signal, async (signal) => {
      if (before !== undefined) await abortable(before(), signal)
      return await this.#repeat(method, keyed, signal, async () => {
        const reply = await this.#transport.post(body, signal)
        return parseReply(method, id, reply) as T
      })
    })
  }

  /**
   * The events of a namespace, as `Events` says. What `before` does comes first; its failure is
   * the stream's. RangeError for a `since` that is no event's number.
   */
  follow(
    namespace: string,
    options: EventsOptions = {},
    before?: () => Promise<unknown>,
  ): AsyncGenerator<EventItem, void, undefined> {
    checkSince(options.since)
    const controller = new AbortController()
    const events = this.#follow(namespace, options, before, controller)
    const leave = events.return.bind(events)
    // A return waits for the next() under way, which may be long in coming.
    events.return = (value) => {
      controller.abort()
      return leave(value)
    }
    return events
  }

  /** Calls under way reject with ClosedError, so do later ones; streams end. May be repeated. */
  close(): void {
    this.#closed = true
    for (const controller of this.#underWay) controller.abort(new ClosedError())
    this.#transport.close()
  }

  /** Runs `work` with one signal that the deadline, the caller and `close` all abort. */
  async #withDeadline<T>(
    method: string,
    timeoutMs: number,
    callerSignal: AbortSignal | undefined,
    work: (signal: AbortSignal) => Promise<T>,
  ): Promise<T> {
    if (this.#closed) throw new ClosedError()
    callerSignal?.throwIfAborted()
    const controller = new AbortController()
    const forward = (): void => controller.abort(callerSignal?.reason)
    const timer = setTimeout(() => controller.abort(new TimeoutError(method, timeoutMs)), timeoutMs)
    if (callerSignal !== undefined) {
      // Many calls may share one signal: eleven listeners are no leak here.
      setMaxListeners(0, callerSignal)
      callerSignal.addEventListener("abort", forward, { once: true })
    }
    this.#underWay.add(controller)
    try {
      return await work(controller.signal)
    } finally {
      this.#underWay.delete(controller)
      callerSignal?.removeEventListener("abort", forward)
      clearTimeout(timer)
    }
  }

  async *#follow(
    namespace: string,
    { since, kinds, signal }: EventsOptions,
    before: (() => Promise<unknown>) | undefined,
    controller: AbortController,
  ): AsyncGenerator<EventItem, void, undefined> {
    if (this.#closed) throw new ClosedError()
    if (signal?.aborted === true) return
    const forward = (): void => controller.abort()
    if (signal !== undefined) {
      setMaxListeners(0, signal)
      signal.addEventListener("abort", forward, { once: true })
    }
    this.#underWay.add(controller)
    const following = {
      socketPath: this.#socketPath,
      namespace,
      since,
      kinds: kinds === undefined ? undefined : new Set(kinds),
      attempts: this.#retry.attempts,
      ensure: (signal: AbortSignal) => this.#spawner?.ensure(signal),
    }
    try {
      if (before !== undefined) await abortable(before(), controller.signal)
      yield* followEvents(following, controller.signal)
    } catch (error) {
      if (!controller.signal.aborted) throw error
    } finally {
      this.#underWay.delete(controller)
      signal?.removeEventListener("abort", forward)
    }
  }

  async #repeat<T>(
    method: string,
    params: Params,
    signal: AbortSignal,
    attempt: () => Promise<T>,
  ): Promise<T> {
    for (let tried = 1; ; tried += 1) {
      try {
        return await attempt()
      } catch (error) {
        if (tried >= this.#retry.attempts || !repeatable(method, params, error)) throw error
        await pause(this.#retry.delayMs(tried), signal)
      }
    }
  }
}

function encodeCall(id: number, method: string, params: Params): string {
  checkJson(params)
  const body = JSON.stringify({ jsonrpc: "2.0", id, method, params })
  const bytes = Buffer.byteLength(body)
  if (bytes > BODY_BYTES_MAX) {
    throw new RangeError(
      `${method}: the call has ${bytes} bytes, the daemon reads ${BODY_BYTES_MAX}: split it`,
    )
  }
  return body
}

function defaultTimeoutMs(method: string): number {
  return RUNS.has(method) ? TIMEOUT_RUN_MS : TIMEOUT_CALL_MS
}

function checkSince(since: number | undefined): void {
  if (since === undefined || (Number.isSafeInteger(since) && since >= 0)) return
  throw new RangeError(`since is ${since}: give an event's number, 0 for all, or leave it out`)
}

function checkMilliseconds(timeoutMs: number | undefined): number | undefined {
  if (timeoutMs === undefined || (timeoutMs > 0 && timeoutMs <= TIMER_MS_MAX)) return timeoutMs
  throw new RangeError(`timeoutMs is ${timeoutMs}: give more than 0 and at most ${TIMER_MS_MAX}`)
}
