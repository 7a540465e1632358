import { ProtocolError } from "./errors.js"

/** Far more than any event of the daemon has, far less than a process can hold. */
export const FRAME_BYTES_MAX = 4_194_304

const LINE_FEED = 10
const CARRIAGE_RETURN = 13

/** One frame of Server-Sent Events that has an id or data. */
export interface Frame {
  /** Empty where the frame has none: its event is in no log. */
  readonly id: string
  /** The event's name; empty where the frame has none. */
  readonly event: string
  /** Its data; undefined where the frame only has an id. */
  readonly data: string | undefined
}

/**
 * Reads Server-Sent Events piece by piece; pieces may end anywhere, within a letter too. Comments,
 * unknown fields and frames with neither id nor data are passed over. What follows the last blank line is no
 * frame yet: a frame that is cut off is never given.
 */
export class FrameParser {
  readonly #frameBytesMax: number
  readonly #decoder = new TextDecoder("utf-8", { fatal: true })
  /** The beginning of a line whose end has not come. */
  #pieces: Uint8Array[] = []
  #frameBytes = 0
  #afterReturn = false
  #id: string | undefined
  #event = ""
  #data: string[] = []

  constructor(frameBytesMax = FRAME_BYTES_MAX) {
    this.#frameBytesMax = frameBytesMax
  }

  /**
   * The frames that end in this piece, which are to be taken before the next one is pushed.
   * Throws ProtocolError for a frame over the bound and for what is not UTF-8.
   */
  *push(piece: Uint8Array): Generator<Frame, void, undefined> {
    let start = 0
    for (let index = 0; index < piece.length; index += 1) {
      const byte = piece[index]
      const endsPair = this.#afterReturn && byte === LINE_FEED
      this.#afterReturn = byte === CARRIAGE_RETURN
      if (endsPair) {
        start = index + 1
      } else if (byte === LINE_FEED || byte === CARRIAGE_RETURN) {
        this.#keep(piece.subarray(start, index))
        start = index + 1
        const frame = this.#endLine()
        if (frame !== undefined) yield frame
      }
    }
    this.#keep(piece.subarray(start))
  }

  #keep(bytes: Uint8Array): void {
    this.#frameBytes += bytes.length
    if (this.#frameBytes > this.#frameBytesMax) {
      throw new ProtocolError(`an event of the stream is longer than ${this.#frameBytesMax} bytes`)
    }
    if (bytes.length > 0) this.#pieces.push(bytes)
  }

  #endLine(): Frame | undefined {
    const line = this.#decode(Buffer.concat(this.#pieces))
    this.#pieces = []
    if (line === "") return this.#endFrame()
    const colon = line.indexOf(":")
    const name = colon < 0 ? line : line.slice(0, colon)
    const value = colon < 0 ? "" : line.slice(colon + 1).replace(/^ /, "")
    if (name === "id") this.#id = value
    else if (name === "event") this.#event = value
    else if (name === "data") this.#data.push(value)
    return undefined
  }

  #endFrame(): Frame | undefined {
    const data = this.#data.length === 0 ? undefined : this.#data.join("\n")
    const empty = this.#id === undefined && data === undefined
    const frame = empty ? undefined : { id: this.#id ?? "", event: this.#event, data }
    this.#frameBytes = 0
    this.#id = undefined
    this.#event = ""
    this.#data = []
    return frame
  }

  #decode(bytes: Uint8Array): string {
    try {
      return this.#decoder.decode(bytes)
    } catch (cause) {
      throw new ProtocolError("the event stream is not valid UTF-8", { cause })
    }
  }
}
