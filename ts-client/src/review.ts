import { withoutNull, type Caller } from "./groups.js"
import { splitOptions, type ClearOptions, type ReviewOptions, type ReviewScope } from "./options.js"
import { pages } from "./pages.js"
import type { ReviewCleared, ReviewDetail, ReviewItem, ReviewPage } from "./reports.js"

/** What a person should look at. Nothing here moves, changes or deletes a memory. */
export class ReviewGroup {
  readonly #call: Caller

  constructor(call: Caller) {
    this.#call = call
  }

  /** One page of what waits for a look, with how much there is of each reason. */
  flagged(options: ReviewOptions = {}): Promise<ReviewPage> {
    const { params, call } = splitOptions(options)
    return this.#call("review.flagged", withoutNull(params), call)
  }

  /** All of it, fetched page by page. */
  allFlagged(
    options: Omit<ReviewOptions, "cursor"> = {},
  ): AsyncGenerator<ReviewItem, void, undefined> {
    return pages(async (cursor) => {
      const page = await this.flagged({ ...options, cursor })
      return { items: page.items, cursor: page.cursor }
    })
  }

  /** The items that name a memory, and the memories in question, forgotten ones too. */
  open(id: string, options: ReviewScope = {}): Promise<ReviewDetail> {
    const { params, call } = splitOptions(options)
    return this.#call("review.open", { id, ...params }, call)
  }

  /** Takes items off until something new happens to them: by ids, by reason, or by both. */
  clear(options: ClearOptions): Promise<ReviewCleared> {
    const { params, call } = splitOptions(options)
    return this.#call("review.clear", params, call)
  }
}
