import { Agent, request, type ClientRequest, type IncomingMessage } from "node:http"
import { ConnectError, ForgetdError, ProtocolError } from "./errors.js"

/** Below the daemon's own keep-alive time, so that we never write to a connection it is closing. */
const IDLE_CONNECTION_MS = 30_000

/** More calls at once wait here: beyond this they are not served faster. */
const CONNECTIONS_MAX = 16

const PROTOCOL_VERSION = "1"

/** An answer as it came: any status, the body decoded as strict UTF-8. */
export interface Reply {
  readonly status: number
  readonly body: string
}

/** Sends bodies as `POST /rpc` over a Unix socket, on connections that are kept alive. */
export class Transport {
  readonly #socketPath: string
  readonly #replyBytesMax: number
  readonly #agent = new Agent({
    keepAlive: true,
    maxSockets: CONNECTIONS_MAX,
    maxFreeSockets: CONNECTIONS_MAX,
    timeout: IDLE_CONNECTION_MS,
  })

  constructor(socketPath: string, replyBytesMax: number) {
    this.#socketPath = socketPath
    this.#replyBytesMax = replyBytesMax
  }

  /**
   * The daemon's answer to one body. Rejects with the signal's reason when it is aborted (the
   * connection is dropped), ConnectError when there is no connection or it breaks, ProtocolError
   * when the answer is too long, not UTF-8, or of another protocol version.
   */
  post(body: string, signal: AbortSignal): Promise<Reply> {
    return new Promise((resolve, reject) => {
      if (signal.aborted) {
        reject(signal.reason as Error)
        return
      }
      const call = request({
        socketPath: this.#socketPath,
        agent: this.#agent,
        method: "POST",
        path: "/rpc",
        headers: {
          host: "forgetd",
          "content-type": "application/json",
          "content-length": Buffer.byteLength(body),
        },
      })
      const wasSent = watchConnection(call)
      const abort = (): void => {
        // A call that still waits for a connection would report its end only when it gets one.
        reject(signal.reason as Error)
        call.destroy(signal.reason as Error)
      }
      signal.addEventListener("abort", abort, { once: true })
      const fail = (error: Error): void => {
        signal.removeEventListener("abort", abort)
        if (!signal.aborted) reject(asConnectError(error, this.#socketPath, wasSent()))
      }
      call.on("error", fail)
      call.on("response", (response) => {
        readReply(response, this.#replyBytesMax).then(
          (reply) => {
            signal.removeEventListener("abort", abort)
            resolve(reply)
          },
          (error: Error) => {
            call.destroy()
            fail(error)
          },
        )
      })
      call.end(body)
    })
  }

  /** Drops all connections, idle or not. */
  close(): void {
    this.#agent.destroy()
  }
}

/** Answers whether the call was on a connection, so that its bytes may have arrived. */
export function watchConnection(call: ClientRequest): () => boolean {
  let sent = false
  call.once("socket", (socket) => {
    if (!socket.connecting) sent = true
    else socket.once("connect", () => (sent = true))
  })
  return () => sent
}

/** Throws ProtocolError where the daemon speaks another version of the protocol. */
export function checkVersion(response: IncomingMessage): void {
  const version = response.headers["forgetd-protocol"]
  if (version !== undefined && version !== PROTOCOL_VERSION) {
    throw new ProtocolError(
      `the daemon speaks protocol ${String(version)}, this client ${PROTOCOL_VERSION}: ` +
        "install the client of the daemon's version",
    )
  }
}

/** The whole answer. ProtocolError when it is too long, not UTF-8, or of another version. */
export async function readReply(response: IncomingMessage, bytesMax: number): Promise<Reply> {
  checkVersion(response)
  const chunks: Buffer[] = []
  let bytes = 0
  for await (const chunk of response as AsyncIterable<Buffer>) {
    bytes += chunk.length
    if (bytes > bytesMax) {
      throw new ProtocolError(
        `the answer is longer than ${bytesMax} bytes: ask for less at once, or raise maxReplyBytes`,
      )
    }
    chunks.push(chunk)
  }
  return { status: response.statusCode ?? 0, body: decodeUtf8(Buffer.concat(chunks, bytes)) }
}

function decodeUtf8(bytes: Buffer): string {
  try {
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes)
  } catch (cause) {
    throw new ProtocolError("the answer is not valid UTF-8", { cause })
  }
}

/** What a failed connection is told as; errors of this package stay as they are. */
export function asConnectError(error: Error, socketPath: string, sent: boolean): Error {
  if (error instanceof ForgetdError) return error
  const code = "code" in error && typeof error.code === "string" ? error.code : "ECONNRESET"
  if (code.startsWith("HPE_")) {
    return new ProtocolError(`what listens at ${socketPath} does not speak HTTP`, { cause: error })
  }
  return new ConnectError(code, explain(code, error, socketPath), socketPath, sent, error)
}

function explain(code: string, error: Error, path: string): string {
  switch (code) {
    case "ENOENT":
      return `no socket at ${path}: is the daemon running? start: forgetd serve`
    case "ECONNREFUSED":
      return `stale socket at ${path}: no daemon listens on it; start: forgetd serve`
    case "EACCES":
    case "EPERM":
      return `permission denied for ${path}: run as the user whose daemon it is, or start your own`
    case "ENOTSOCK":
      return `${path} is not a socket: point socketPath or FORGETD_SOCKET to the daemon's`
    case "ECONNRESET":
    case "EPIPE":
      return `the connection to ${path} broke before the answer was complete`
    default:
      return `cannot talk to the daemon at ${path}: ${error.message}`
  }
}
