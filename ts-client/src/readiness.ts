import { request } from "node:http"
import { ConnectError } from "./errors.js"
import { asConnectError } from "./transport.js"

/** `absent`: nobody listens. `starting`: a daemon that recovers, or one that ends. */
export type Readiness = "absent" | "starting" | "ready"

/** Nobody listens at the path, and a daemon may be started there. */
export function isAbsent(error: unknown): boolean {
  return error instanceof ConnectError && (error.code === "ENOENT" || error.code === "ECONNREFUSED")
}

/**
 * What `GET /readyz` says. Rejects with the signal's reason, and with ConnectError or
 * ProtocolError where something else than a daemon's absence is in the way.
 */
export function readinessOf(socketPath: string, signal: AbortSignal): Promise<Readiness> {
  return new Promise((resolve, reject) => {
    const call = request({
      socketPath,
      path: "/readyz",
      agent: false,
      headers: { host: "forgetd" },
      signal,
    })
    call.on("response", (response) => {
      response.on("error", () => undefined)
      response.resume()
      resolve(response.statusCode === 200 ? "ready" : "starting")
    })
    call.on("error", (error) => {
      const failure = asConnectError(error, socketPath, false)
      if (signal.aborted) reject(signal.reason as Error)
      else if (isAbsent(failure)) resolve("absent")
      // A daemon that ends, or is killed, cuts the connections it had.
      else if (failure instanceof ConnectError && BROKEN.has(failure.code)) resolve("starting")
      else reject(failure)
    })
    call.end()
  })
}

const BROKEN: ReadonlySet<string> = new Set(["ECONNRESET", "EPIPE", "EAGAIN"])
