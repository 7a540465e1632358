import type { EventPage, LoggedEvent } from "./generated/protocol.js"
import type { Caller } from "./groups.js"
import { splitOptions, type EventListOptions, type EventsOptions } from "./options.js"

export type { EventPage, LoggedEvent } from "./generated/protocol.js"

/**
 * Says that no way leads from the place asked for: events were folded away, or the store is
 * another one. What was built from earlier events counts no more: read the state anew. The
 * stream goes on with event `oldest`.
 */
export interface EventReset {
  readonly kind: "reset"
  /** The number before `oldest`. */
  readonly seq: number
  readonly oldest: number
  readonly latest: number
}

/** What a stream of events yields; `isReset` tells which. */
export type EventItem = LoggedEvent | EventReset

export function isReset(item: EventItem): item is EventReset {
  return "oldest" in item
}

/** The events of a namespace: `memory.events()` follows them, `memory.events.list()` reads a page. */
export interface Events {
  /**
   * Every event after number `since`, in order, without gap or double, and on for ever; without
   * `since` every new one from the first `next()` on. A daemon that goes away is waited for, and
   * the stream goes on where it stood. It reads only as fast as the events are taken.
   *
   * Ends when the signal is aborted, the system is closed, or the loop over it is left. Rejects as
   * a read does where no daemon answers at first or it refuses, and with ClosedError where the
   * system was closed before.
   */
  (options?: EventsOptions): AsyncGenerator<EventItem, void, undefined>

  /** A page of events after number `since`, in order. */
  list(options?: EventListOptions): Promise<EventPage>
}

/** The events of the namespace in which `call` makes its calls and that `follow` follows. */
export function eventsOf(
  call: Caller,
  follow: (
    options: EventsOptions,
    before: () => Promise<unknown>,
  ) => AsyncGenerator<EventItem, void, undefined>,
): Events {
  const list = (options: EventListOptions = {}): Promise<EventPage> => {
    const { params, call: callOptions } = splitOptions(options)
    return call("events.list", params, callOptions)
  }
  // The stream has no kinds: the daemon refuses a misspelt one here, which would match nothing.
  const check = ({ kinds }: EventsOptions): Promise<unknown> =>
    list({ since: Number.MAX_SAFE_INTEGER, limit: 1, kinds })
  return Object.assign((options: EventsOptions = {}) => follow(options, () => check(options)), {
    list,
  })
}
