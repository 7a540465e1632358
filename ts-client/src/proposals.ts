import type { CallOptions } from "./client.js"
import { withoutNull, type Caller } from "./groups.js"
import {
  splitOptions,
  type ProposalsGcOptions,
  type ProposalsOptions,
  type RejectOptions,
  type SubmitOptions,
} from "./options.js"
import { pages } from "./pages.js"
import type { Proposal, ProposalPage, ProposalsGcReport } from "./reports.js"
import type { Memory } from "./types.js"

/** Texts that wait to become memories. */
export class ProposalsGroup {
  readonly #call: Caller

  constructor(call: Caller) {
    this.#call = call
  }

  /** Keeps a text until it is decided. RpcError `proposal_exists` where its id is taken. */
  submit(options: SubmitOptions): Promise<Proposal> {
    const { params, call } = splitOptions(options)
    return this.#call("proposals.submit", params, call)
  }

  /** One page, the oldest first. */
  list(options: ProposalsOptions = {}): Promise<ProposalPage> {
    const { params, call } = splitOptions(options)
    return this.#call("proposals.list", withoutNull(params), call)
  }

  /** All of them, fetched page by page. */
  listAll(
    options: Omit<ProposalsOptions, "cursor"> = {},
  ): AsyncGenerator<Proposal, void, undefined> {
    return pages(async (cursor) => {
      const page = await this.list({ ...options, cursor })
      return { items: page.proposals, cursor: page.cursor }
    })
  }

  /**
   * Makes it a memory with its id. RpcError `proposal_changed` where what it supersedes has changed
   * since, `proposal_decided` where it was accepted or rejected already.
   */
  accept(id: string, options?: CallOptions): Promise<Memory> {
    return this.#call("proposals.accept", { id }, options)
  }

  /** Turns it down. */
  reject(id: string, options: RejectOptions = {}): Promise<Proposal> {
    const { params, call } = splitOptions(options)
    return this.#call("proposals.reject", { id, ...params }, call)
  }

  /** Decides by age and by confidence; unless `dryRun` is false, only says what it would do. */
  gc(options: ProposalsGcOptions = {}): Promise<ProposalsGcReport> {
    const { params, call } = splitOptions(options)
    return this.#call("proposals.gc", params, call)
  }
}
