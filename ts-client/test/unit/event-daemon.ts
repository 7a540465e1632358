import { createServer, type ServerResponse } from "node:http"
import { join } from "node:path"
import type { TestContext } from "node:test"
import { OPEN_REPORT, temporaryDirectory } from "./fake-daemon.js"

/** One subscriber as it came, with the means to send it anything. */
export interface Subscriber {
  /** The `Last-Event-ID` it came with. */
  readonly place: string | undefined
  readonly namespace: string | null
  readonly response: ServerResponse
  /** Begins the stream, with the frame that only has an id unless that is null. */
  begin(id?: number | null): void
  /** Sends events by their numbers. */
  events(...numbers: number[]): void
  refuse(status: number, symbol: string, retryable: boolean): void
  cut(): void
}

export interface EventDaemon {
  readonly socketPath: string
  readonly subscribers: Subscriber[]
  /** Parameters of each `events.list` so far. */
  readonly listed: Record<string, unknown>[]
}

export function event(seq: number, kind = "memory.touched"): Record<string, unknown> {
  return { seq, at: 1_767_225_600_000, runId: null, kind, memoryId: `커피-${seq}`, payload: {} }
}

/** An event as the stream has it. */
export function frame(seq: number, kind?: string): string {
  const told = event(seq, kind)
  return `id: ${seq}\nevent: ${String(told["kind"])}\ndata: ${JSON.stringify(told)}\n\n`
}

/** A server on a Unix socket that serves streams as `serve` says. Ends with the test. */
export async function eventDaemon(
  context: TestContext,
  serve: (subscriber: Subscriber, index: number) => void,
): Promise<EventDaemon> {
  const socketPath = join(await temporaryDirectory(context), "s.sock")
  const subscribers: Subscriber[] = []
  const listed: Record<string, unknown>[] = []
  const server = createServer((request, response) => {
    if (request.method === "GET") {
      const headers = request.headers as Record<string, string | undefined>
      subscribers.push(subscriber(request.url ?? "", headers["last-event-id"], response))
      serve(subscribers.at(-1) as Subscriber, subscribers.length - 1)
      return
    }
    let body = ""
    request.setEncoding("utf8").on("data", (text: string) => (body += text))
    request.on("end", () => {
      const { id, method, params } = JSON.parse(body) as Record<string, unknown>
      if (method === "events.list") listed.push(params as Record<string, unknown>)
      const result = method === "namespaces.open" ? OPEN_REPORT : PAGE
      response.setHeader("content-type", "application/json")
      response.end(JSON.stringify({ jsonrpc: "2.0", id, result }))
    })
  })
  await new Promise<void>((resolve) => server.listen(socketPath, resolve))
  context.after(() => {
    server.close()
    server.closeAllConnections()
  })
  return { socketPath, subscribers, listed }
}

const PAGE = { events: [], latest: 0, oldest: 1 }

function subscriber(url: string, place: string | undefined, response: ServerResponse): Subscriber {
  return {
    place,
    namespace: new URL(url, "http://localhost").searchParams.get("namespace"),
    response,
    begin(id = Number(place ?? 0)) {
      response.writeHead(200, { "content-type": "text/event-stream; charset=utf-8" })
      response.flushHeaders()
      if (id !== null) response.write(`id: ${id}\n\n`)
    },
    events: (...numbers) => void response.write(numbers.map((seq) => frame(seq)).join("")),
    refuse(status, symbol, retryable) {
      const error = { code: -32_000, message: "no", data: { symbol, retryable } }
      response.writeHead(status, { "content-type": "application/json" })
      response.end(JSON.stringify({ jsonrpc: "2.0", id: null, error }))
    },
    cut: () => response.socket?.destroy(),
  }
}
