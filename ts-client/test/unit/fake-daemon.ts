import { mkdtemp, rm } from "node:fs/promises"
import { createServer, type IncomingMessage, type ServerResponse } from "node:http"
import { tmpdir } from "node:os"
import { join } from "node:path"
import type { TestContext } from "node:test"

/** One call as it arrived, with the means to answer it in any way, right or wrong. */
export interface ReceivedCall {
  readonly id: number
  readonly method: string
  /** But the idempotency key, which is `key`. */
  readonly params: Record<string, unknown>
  readonly key: unknown
  readonly headers: IncomingMessage["headers"]
  readonly response: ServerResponse
  /** Answers rightly. */
  result(value: unknown): void
  /** Answers with a JSON-RPC error. */
  error(code: number, data?: Record<string, unknown>, id?: number | null): void
  /** Answers with any text as the whole body. */
  raw(body: string | Buffer, status?: number, headers?: Record<string, string>): void
  /** Cuts the connection. */
  cut(): void
}

export interface FakeDaemon {
  readonly socketPath: string
  /** All calls so far but `namespaces.open`, which is answered by itself. */
  readonly calls: ReceivedCall[]
  /** Thresholds of each `namespaces.open` so far. */
  readonly opened: Record<string, unknown>[]
  /** Connections made so far. */
  readonly connections: () => number
  readonly stop: () => Promise<void>
}

export const OPEN_REPORT = {
  namespace: "default",
  created: true,
  thresholds: {},
  thresholdsDiffer: {},
}

export async function temporaryDirectory(context: TestContext): Promise<string> {
  const directory = await mkdtemp(join(tmpdir(), "forgetd-ts-"))
  context.after(() => rm(directory, { recursive: true, force: true }))
  return directory
}

/** A tiny HTTP server on a Unix socket that answers calls as `answer` says. Ends with the test. */
export async function fakeDaemon(
  context: TestContext,
  answer: (call: ReceivedCall, index: number) => void,
  socketPath?: string,
): Promise<FakeDaemon> {
  const path = socketPath ?? join(await temporaryDirectory(context), "s.sock")
  const calls: ReceivedCall[] = []
  const opened: Record<string, unknown>[] = []
  let connections = 0
  const server = createServer((request, response) => {
    void readCall(request, response).then((call) => {
      if (call.method === "namespaces.open") {
        opened.push(call.params)
        call.result(OPEN_REPORT)
        return
      }
      calls.push(call)
      answer(call, calls.length - 1)
    })
  })
  server.on("connection", () => (connections += 1))
  await new Promise<void>((resolve) => server.listen(path, resolve))
  const stop = (): Promise<void> =>
    new Promise((resolve) => {
      server.close(() => resolve())
      server.closeAllConnections()
    })
  context.after(stop)
  return { socketPath: path, calls, opened, connections: () => connections, stop }
}

async function readCall(request: IncomingMessage, response: ServerResponse): Promise<ReceivedCall> {
  const chunks: Buffer[] = []
  for await (const chunk of request as AsyncIterable<Buffer>) chunks.push(chunk)
  const body = JSON.parse(Buffer.concat(chunks).toString("utf8")) as ReceivedCall
  const { id, method } = body
  const { idempotencyKey: key, ...params } = body.params
  const raw: ReceivedCall["raw"] = (body, status = 200, headers = {}) => {
    response.writeHead(status, {
      "content-type": "application/json",
      "forgetd-protocol": "1",
      ...headers,
    })
    response.end(body)
  }
  return {
    id,
    method,
    params,
    key,
    headers: request.headers,
    response,
    raw,
    result: (value) => raw(JSON.stringify({ jsonrpc: "2.0", id, result: value })),
    error: (code, data = {}, errorId = id) =>
      raw(JSON.stringify({ jsonrpc: "2.0", id: errorId, error: { code, message: "no", data } })),
    cut: () => response.socket?.destroy(),
  }
}
