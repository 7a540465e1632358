import { existsSync, readFileSync } from "node:fs"
import { join } from "node:path"
import type { TestContext } from "node:test"
import type { SpawnOptions } from "forgetd"
import { lives } from "../processes.js"
import { temporaryDirectory } from "./fake-daemon.js"

/** What a spawned stand-in answers to every call: how it was started. */
export interface Born {
  readonly pid: number
  readonly argv: readonly string[]
  readonly env: Readonly<Record<string, string>>
}

/** Answers calls on the socket that it is told, and ends by itself after 30 seconds. */
const SERVE = `
const { mkdirSync, rmSync } = require("node:fs")
const { dirname } = require("node:path")
const argv = process.argv.slice(1)
const path = argv[argv.indexOf("--socket") + 1]
mkdirSync(dirname(path), { mode: 0o700, recursive: true })
const born = { pid: process.pid, argv, env: process.env }
rmSync(path, { force: true }) // as a real one does with what a killed one left
let ready = 0
const server = require("node:http").createServer((request, response) => {
  if (request.url === "/readyz") {
    response.writeHead((ready += 1) > 2 ? 200 : 503).end()
    return
  }
  if (request.method === "GET") {
    response.end("no stream of events")
    return
  }
  let body = ""
  request.on("data", (chunk) => (body += chunk))
  request.on("end", () => {
    const { id } = JSON.parse(body)
    response.writeHead(200, { "content-type": "application/json" })
    response.end(JSON.stringify({ jsonrpc: "2.0", id, result: born }))
  })
}).listen(path)
setTimeout(() => process.exit(), 30_000).unref()
`

/** A place for a spawned stand-in, and the way to start one there. */
export interface Place {
  readonly directory: string
  readonly socketPath: string
  /** The option `spawn`, with `first` run before the stand-in serves; without: it only runs. */
  command(first?: string, serves?: boolean): SpawnOptions
  /** The pids of all that were started, in order. */
  started(): readonly number[]
}

/** Whatever was started there is killed after the test. */
export async function place(context: TestContext): Promise<Place> {
  const directory = await temporaryDirectory(context)
  const pids = join(directory, "pids")
  const started = (): readonly number[] =>
    existsSync(pids) ? readFileSync(pids, "utf8").trim().split("\n").map(Number) : []
  context.after(() => {
    for (const pid of started()) killIfThere(pid)
  })
  const note = `require("node:fs").appendFileSync(${JSON.stringify(pids)}, process.pid + "\\n")\n`
  return {
    directory,
    socketPath: join(directory, "run", "d.sock"),
    command: (first = "", serves = true) => ({
      command: [process.execPath, "-e", `${note}${first}\n${serves ? SERVE : ""}`, "--"],
    }),
    started,
  }
}

function killIfThere(pid: number): void {
  if (lives(pid)) process.kill(pid, "SIGKILL")
}
