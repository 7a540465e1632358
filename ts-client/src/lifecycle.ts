import type { CallOptions } from "./client.js"
import { refuseNoPlan, withoutNull, type Caller } from "./groups.js"
import { splitOptions, type LifecycleOptions, type PageOptions } from "./options.js"
import { pages } from "./pages.js"
import type { ArchivedMemory, ArchivedPage, ForgetSummary, ReasonCounts } from "./reports.js"

/** Setting aside what was of no use, and what is known of the memories set aside. */
export class LifecycleGroup {
  readonly #call: Caller

  constructor(call: Caller) {
    this.#call = call
  }

  /**
   * Archives what was low in usefulness, stale, and neither popular nor evergreen. Unless `dryRun`
   * is false nothing changes and the summary is the plan; its `planId` given here, with `dryRun`
   * false, carries out exactly that. RpcError `forgetting_disabled` where the operator does not
   * allow it; TypeError for a `planId` that is present and no text.
   */
  async forget(options: LifecycleOptions = {}): Promise<ForgetSummary> {
    const { params, call } = splitOptions(options)
    refuseNoPlan(params)
    return await this.#call("lifecycle.forget", params, call)
  }

  /** How many memories are not believed, by reason and by status. */
  invalidationsByReason(options?: CallOptions): Promise<ReasonCounts> {
    return this.#call("lifecycle.invalidationsByReason", {}, options)
  }

  /** One page of the memories that forgetting archived, newest first. */
  listArchived(options: PageOptions = {}): Promise<ArchivedPage> {
    const { params, call } = splitOptions(options)
    return this.#call("lifecycle.listArchived", withoutNull(params), call)
  }

  /** All memories that forgetting archived, fetched page by page. */
  allArchived(
    options: Omit<PageOptions, "cursor"> = {},
  ): AsyncGenerator<ArchivedMemory, void, undefined> {
    return pages(async (cursor) => {
      const page = await this.listArchived({ ...options, cursor })
      return { items: page.memories, cursor: page.cursor }
    })
  }
}
