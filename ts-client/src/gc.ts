import type { Caller } from "./groups.js"
import { splitOptions, type GcPlanOptions, type GcVerifyOptions } from "./options.js"
import type { GcPlanReport, GcReport, GcVerification } from "./reports.js"
import type { CallOptions } from "./client.js"

/**
 * Destroying memories for good. The daemon serves it on its admin socket (the socket's path with
 * `-admin` before `.sock`), which a system of its own has to be opened on; elsewhere every call
 * rejects with RpcError `permission_denied`.
 */
export class GcGroup {
  readonly #call: Caller

  constructor(call: Caller) {
    this.#call = call
  }

  /** What would be destroyed, and a token for doing exactly that, once, within 15 minutes. */
  plan(options: GcPlanOptions = {}): Promise<GcPlanReport> {
    const { params, call } = splitOptions(options)
    return this.#call("gc.plan", params, call)
  }

  /** Destroys what a plan lists, where it is still as it was planned. No way leads back. */
  execute(token: string, options?: CallOptions): Promise<GcReport> {
    return this.#call("gc.execute", { token }, options)
  }

  /** Looks in every table and every file whether anything is left of ids and texts. */
  verify(options: GcVerifyOptions): Promise<GcVerification> {
    const { params, call } = splitOptions(options)
    return this.#call("gc.verify", params, call)
  }
}
