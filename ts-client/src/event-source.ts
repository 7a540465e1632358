import { request, type IncomingMessage } from "node:http"
import { ConnectError, ProtocolError } from "./errors.js"
import { FrameParser, type Frame } from "./event-frames.js"
import { parseReply } from "./reply.js"
import { asConnectError, checkVersion, readReply, watchConnection } from "./transport.js"

/** How errors name what was asked. */
const METHOD = "GET /events"

/** The longest refusal that is read. */
const REFUSAL_BYTES_MAX = 1_048_576

/** Where to read events, and what to go on after. */
export interface EventSource {
  readonly socketPath: string
  readonly namespace: string
  /** The last number that was had; undefined: only what is new. */
  readonly place: number | undefined
  /** A daemon that sends nothing for so long is gone, or hangs. */
  readonly silentMs: number
}

/**
 * The frames of one connection, until the daemon ends it. Reads only as fast as they are taken:
 * what is not taken waits with the daemon.
 *
 * Throws the signal's reason when it is aborted, RpcError when the daemon refuses, ConnectError
 * when there is no connection, it breaks, or it falls silent, else ProtocolError.
 */
export async function* readFrames(
  source: EventSource,
  signal: AbortSignal,
): AsyncGenerator<Frame, void, undefined> {
  signal.throwIfAborted()
  const cut = new AbortController()
  const forward = (): void => cut.abort(signal.reason)
  const watch = (): NodeJS.Timeout => setTimeout(() => cut.abort(silence(source)), source.silentMs)
  signal.addEventListener("abort", forward, { once: true })
  let timer = watch()
  try {
    const parser = new FrameParser()
    for await (const chunk of await connect(source, cut.signal)) {
      // While the frames are being taken the silence is ours.
      clearTimeout(timer)
      yield* parser.push(chunk)
      timer = watch()
    }
  } catch (error) {
    if (cut.signal.aborted) throw cut.signal.reason
    throw asConnectError(error as Error, source.socketPath, true)
  } finally {
    clearTimeout(timer)
    signal.removeEventListener("abort", forward)
    cut.abort()
  }
}

/** The stream's bytes once the daemon has accepted. The connection lives until the signal. */
function connect(source: EventSource, signal: AbortSignal): Promise<AsyncIterable<Uint8Array>> {
  return new Promise((resolve, reject) => {
    const call = request({
      socketPath: source.socketPath,
      // A connection of its own: a stream takes none away from the calls.
      agent: false,
      path: `/events?${new URLSearchParams({ namespace: source.namespace })}`,
      headers: {
        host: "forgetd",
        accept: "text/event-stream",
        ...(source.place === undefined ? {} : { "last-event-id": source.place }),
      },
      signal,
    })
    const wasSent = watchConnection(call)
    call.on("error", (error) => reject(asConnectError(error, source.socketPath, wasSent())))
    call.on("response", (response) => {
      // It may break while nobody reads; who reads on is told.
      response.on("error", () => undefined)
      accept(response).then(resolve, reject)
    })
    call.end()
  })
}

async function accept(response: IncomingMessage): Promise<AsyncIterable<Uint8Array>> {
  checkVersion(response)
  if (response.statusCode !== 200) {
    parseReply(METHOD, 0, await readReply(response, REFUSAL_BYTES_MAX))
  }
  if (response.headers["content-type"]?.startsWith("text/event-stream") === true) return response
  throw new ProtocolError(`${METHOD}: the answer is no event stream`)
}

function silence({ socketPath, silentMs }: EventSource): ConnectError {
  const message = `the event stream of ${socketPath} was silent for ${silentMs} ms`
  return new ConnectError("ETIMEDOUT", message, socketPath, true)
}
