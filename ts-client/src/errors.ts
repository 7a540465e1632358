/**
 * What can go wrong with a call, one class a cause. All extend `ForgetdError`, so
 * `error instanceof ForgetdError` tells this package's errors from your own.
 *
 * Wrong arguments (NaN, a lone surrogate, a cycle) are `TypeError` and `RangeError`, thrown
 * before anything is sent. An aborted call rejects with its signal's reason.
 */

/** The `error.data` of a daemon's answer: what is needed to mend the call. */
export interface RpcErrorData {
  /** A stable name of the error, for example `memory_not_found`. */
  readonly symbol?: string
  /** Whether the same call may succeed later. */
  readonly retryable?: boolean
  /** JSON path of the parameter that was refused. */
  readonly field?: string
  /** The rule that the parameter broke. */
  readonly bound?: string
  /** What to do about it. */
  readonly remedy?: string
  /** Names the daemon's log line of an internal error. */
  readonly correlationId?: string
  readonly [name: string]: unknown
}

/** What all errors of this package extend. */
export abstract class ForgetdError extends Error {
  constructor(message: string, options?: ErrorOptions) {
    super(message, options)
    this.name = new.target.name
  }
}

/** The daemon understood the call and answered with an error. Nothing was stored by it. */
export class RpcError extends ForgetdError {
  /** The method that was called, by its wire name. */
  readonly method: string
  /** JSON-RPC code: negative for the protocol and the daemon, 1xx memory, 2xx plan and run. */
  readonly code: number
  /** The error's stable name, for example `memory_not_found`: decide by it. */
  readonly symbol: string
  /** What is needed to mend the call. */
  readonly data: RpcErrorData
  /** Whether the same call may succeed later. */
  readonly retryable: boolean

  constructor(method: string, code: number, message: string, data: RpcErrorData = {}) {
    super(`${method}: ${message}${data.remedy === undefined ? "" : ` (${data.remedy})`}`)
    this.method = method
    this.code = code
    this.data = data
    this.symbol = data.symbol ?? "unknown"
    this.retryable = data.retryable ?? false
  }
}

/** The daemon could not be reached, or the connection broke before the answer was complete. */
export class ConnectError extends ForgetdError {
  /** The system's name of the failure: `ENOENT`, `ECONNREFUSED`, `EACCES`, `ECONNRESET`, … */
  readonly code: string
  /** Where the daemon was looked for. */
  readonly socketPath: string
  /** False: the call surely did not reach the daemon. True: it may have been carried out. */
  readonly sent: boolean

  constructor(code: string, message: string, socketPath: string, sent: boolean, cause?: unknown) {
    super(message, cause === undefined ? undefined : { cause })
    this.code = code
    this.socketPath = socketPath
    this.sent = sent
  }
}

/** No answer within `timeoutMs`. The daemon may still carry the call out: read before repeating. */
export class TimeoutError extends ForgetdError {
  /** The method that was called, by its wire name. */
  readonly method: string
  /** The time it had, in milliseconds. */
  readonly timeoutMs: number

  constructor(method: string, timeoutMs: number) {
    super(`${method}: no answer within ${timeoutMs} ms; the daemon may still carry it out`)
    this.method = method
    this.timeoutMs = timeoutMs
  }
}

/** The client was closed before or during the call. */
export class ClosedError extends ForgetdError {
  constructor() {
    super("the client is closed")
  }
}

/** The answer is not what a forgetd daemon sends: something else listens on the socket. */
export class ProtocolError extends ForgetdError {}

/** Why no daemon could be started; see `SpawnError`. */
export type SpawnFault = "unsafe_directory" | "not_started" | "ended" | "not_ready"

/**
 * A client with the option `spawn` found no daemon and could not start one. By `reason`:
 * `unsafe_directory`, others could put a socket of theirs where the daemon's is, so it is not
 * even called; `not_started`, the command cannot be run; `ended`, the daemon ended before it was
 * ready; `not_ready`, it was not ready in time.
 */
export class SpawnError extends ForgetdError {
  /** What went wrong. */
  readonly reason: SpawnFault
  /** With which code the daemon ended; null where it did not, or by a signal. */
  readonly exitCode: number | null
  /** The last lines of the daemon's standard error. They hold no memories. */
  readonly stderr: string

  constructor(
    reason: SpawnFault,
    message: string,
    details: { exitCode?: number | null; stderr?: string; cause?: unknown } = {},
  ) {
    super(message, details.cause === undefined ? undefined : { cause: details.cause })
    this.reason = reason
    this.exitCode = details.exitCode ?? null
    this.stderr = details.stderr ?? ""
  }
}
