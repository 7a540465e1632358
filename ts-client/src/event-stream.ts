import { ConnectError, ProtocolError, RpcError } from "./errors.js"
import type { Frame } from "./event-frames.js"
import { readFrames, type EventSource } from "./event-source.js"
import type { EventItem, EventReset, LoggedEvent } from "./events.js"
import { pause } from "./pause.js"
import { PASSING, resolveRetry } from "./retry.js"

/** The daemon gives a sign of life every 15 seconds. */
const SILENT_MS_MAX = 45_000

const RESET = "reset"

/** Between two connections, doubled up to the second. */
const RECONNECT = resolveRetry({ firstDelayMs: 100, maxDelayMs: 2_000 })

/** What to follow. */
export interface Following extends Pick<EventSource, "socketPath" | "namespace"> {
  /** Go on after this event; undefined: only what is new. */
  readonly since: number | undefined
  /** Only events of these kinds; undefined: of all. Resets come always. */
  readonly kinds: ReadonlySet<string> | undefined
  /** How often to try before the daemon has answered for the first time. */
  readonly attempts: number
  readonly silentMs?: number
  /** Comes before every connection: starts a daemon where that was asked for. */
  readonly ensure?: (signal: AbortSignal) => Promise<void> | undefined
}

/**
 * Events in order, without gap or double, until the signal is aborted, whose reason it throws.
 * A daemon that has answered once is waited for when it goes away; else as `readFrames`.
 */
export async function* followEvents(
  following: Following,
  signal: AbortSignal,
): AsyncGenerator<EventItem, void, undefined> {
  const { since, kinds, attempts, silentMs = SILENT_MS_MAX, ensure, ...where } = following
  let place = since
  let answered = false
  // Connections since the last frame.
  for (let tried = 1; ; tried += 1) {
    try {
      await ensure?.(signal)
      for await (const frame of readFrames({ ...where, place, silentMs }, signal)) {
        answered = true
        tried = 1
        const item = readItem(frame)
        if (frame.id === "") {
          // Told to those who follow, and in no log: the place stays where it is.
          if ("kind" in item && wanted(item, kinds)) yield item
          continue
        }
        // A frame with only an id says where the stream begins; a reset may lead back.
        const known = place !== undefined && item.seq <= place
        if (known && !("oldest" in item)) continue
        place = item.seq
        if (!("kind" in item) || !wanted(item, kinds)) continue
        signal.throwIfAborted()
        yield item
      }
    } catch (error) {
      if (signal.aborted || !mayComeBack(error) || (!answered && tried >= attempts)) throw error
    }
    await pause(RECONNECT.delayMs(tried), signal)
  }
}

function wanted(item: EventItem, kinds: ReadonlySet<string> | undefined): boolean {
  return kinds === undefined || "oldest" in item || kinds.has(item.kind)
}

function mayComeBack(error: unknown): boolean {
  if (error instanceof RpcError) return error.retryable
  return error instanceof ConnectError && (PASSING.has(error.code) || error.code === "ETIMEDOUT")
}

/** The event of a frame, or only its number. */
function readItem({ id, event, data }: Frame): EventItem | { readonly seq: number } {
  const seq = Number(id) // 0 where there is no id
  if (!/^\d*$/.test(id) || (id === "" && data === undefined) || !Number.isSafeInteger(seq)) {
    throw new ProtocolError("an event of the stream has no number as its id")
  }
  if (data === undefined) return { seq }
  const fields = parseObject(data)
  if (event === RESET) return readReset(seq, fields)
  if (fields["seq"] !== seq || fields["kind"] !== event) {
    throw new ProtocolError(`event ${seq} of the stream is not what its frame says`)
  }
  return fields as unknown as LoggedEvent
}

function readReset(seq: number, { oldest, latest }: Record<string, unknown>): EventReset {
  if (typeof oldest === "number" && typeof latest === "number") {
    return { kind: RESET, seq, oldest, latest }
  }
  throw new ProtocolError("a reset of the event stream does not say where it leads")
}

function parseObject(data: string): Record<string, unknown> {
  let value: unknown
  try {
    value = JSON.parse(data)
  } catch {
    value = undefined
  }
  if (typeof value === "object" && value !== null) return value as Record<string, unknown>
  throw new ProtocolError("the data of an event is not a JSON object")
}
