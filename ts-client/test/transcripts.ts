/**
 * Carries out the transcripts of protocol/conformance/ against a daemon. The format is described
 * in its README.md; the Python tests read the same files with a reader of their own.
 */
import assert from "node:assert/strict"
import { readFileSync } from "node:fs"
import { request } from "node:http"
import { join } from "node:path"
import { PROTOCOL } from "./judge.js"

/** In this order: the last section of the last file stops the daemon. */
export const FILES = ["specification", "limits", "errors", "methods"] as const
const START_MS = 1_767_225_600_000
const REST = "..."

type Fields = Readonly<Record<string, unknown>>
type Variables = Map<string, unknown>

interface Line {
  readonly send?: unknown
  readonly text?: unknown
  readonly headers?: Readonly<Record<string, string>>
  readonly status?: number
  readonly expect?: unknown
  readonly save?: Readonly<Record<string, string>>
}

/** Lines that stand on nothing but each other. */
export interface Section {
  readonly file: (typeof FILES)[number]
  readonly title: string
  readonly lines: Line[]
}

/** What was sent and what came back, for whoever watches. */
export type Seen = (sent: string, received: string) => void

/** Every section of every file, in the order in which they are carried out. */
export function sections(): Section[] {
  const found: Section[] = []
  for (const file of FILES) {
    const text = readFileSync(join(PROTOCOL, "conformance", `${file}.jsonl`), "utf8")
    for (const line of text.trimEnd().split("\n")) {
      const parsed = JSON.parse(line) as Line & { section?: string }
      if (parsed.section !== undefined) found.push({ file, title: parsed.section, lines: [] })
      else found.at(-1)?.lines.push(parsed)
    }
  }
  return found
}

/** Sends each line and compares; rejects with an AssertionError where a reply does not fit. */
export async function carryOut(
  section: Section,
  socketPath: string,
  namespace: string,
  seen: Seen,
): Promise<void> {
  const known: Variables = new Map([["NAMESPACE", namespace]])
  const hold = { jsonrpc: "2.0", id: 0, method: "system.clock", params: { now: START_MS } }
  await post(socketPath, JSON.stringify(hold), {})
  for (const [index, line] of section.lines.entries()) {
    const where = `${section.file}, ${section.title}, line ${index + 1}`
    const body =
      line.text === undefined
        ? JSON.stringify(filled(line.send, known))
        : String(filled(line.text, known))
    const { status, text } = await post(socketPath, body, line.headers ?? {})
    seen(body, text)
    assert.equal(status, line.status ?? (line.expect === undefined ? 204 : 200), where)
    const reply: unknown = text === "" ? null : JSON.parse(text)
    compare(filled(line.expect ?? null, known), reply, where)
    for (const [name, path] of Object.entries(line.save ?? {})) {
      known.set(name, foundAt(reply, path))
    }
  }
}

function post(
  socketPath: string,
  body: string,
  headers: Readonly<Record<string, string>>,
): Promise<{ status: number; text: string }> {
  return new Promise((resolve, reject) => {
    const named = { "content-type": "application/json", ...headers }
    const call = request({ socketPath, path: "/rpc", method: "POST", agent: false, headers: named })
    call.on("error", reject)
    call.on("response", (response) => {
      const chunks: Buffer[] = []
      response.on("data", (chunk: Buffer) => chunks.push(chunk))
      response.on("error", reject)
      response.on("end", () => {
        resolve({ status: response.statusCode ?? 0, text: Buffer.concat(chunks).toString("utf8") })
      })
    })
    call.end(body)
  })
}

/** The value with its variables and its abbreviations written out. */
export function filled(value: unknown, known: Variables): unknown {
  if (typeof value === "string") {
    return value.replace(/\$\{(\w+)\}/g, (_, name: string) => {
      assert.ok(known.has(name), `nothing was saved as ${name}`)
      return String(known.get(name))
    })
  }
  if (Array.isArray(value)) return value.map((inner: unknown) => filled(inner, known))
  if (!isFields(value)) return value
  if ("$repeat" in value) return repeated(filled(value["$repeat"], known), Number(value["times"]))
  if ("$nest" in value) return nested(Number(value["$nest"]))
  return Object.fromEntries(
    Object.entries(value).map(([name, inner]) => [name, filled(inner, known)]),
  )
}

function repeated(value: unknown, times: number): unknown {
  if (typeof value === "string") return value.repeat(times)
  assert.ok(Array.isArray(value), "only a text or an array is repeated")
  return Array.from({ length: times }, () => value as unknown[]).flat()
}

function nested(levels: number): unknown {
  return levels === 0 ? 0 : [nested(levels - 1)]
}

const TYPES: Readonly<Record<string, (value: unknown) => boolean>> = {
  "<any>": () => true,
  "<string>": (value) => typeof value === "string",
  "<boolean>": (value) => typeof value === "boolean",
  "<number>": (value) => typeof value === "number",
  "<integer>": (value) => Number.isInteger(value),
  "<array>": (value) => Array.isArray(value),
  "<object>": (value) => isFields(value),
}

/** Throws an AssertionError unless the pattern covers what was found. */
export function compare(expected: unknown, found: unknown, where: string): void {
  const shown = `${where}: ${JSON.stringify(found)?.slice(0, 500)}`
  if (typeof expected === "string" && expected in TYPES) {
    assert.ok(TYPES[expected]?.(found), `${shown} is no ${expected}`)
  } else if (Array.isArray(expected)) {
    assert.ok(Array.isArray(found), `${shown} is no array`)
    const open = expected.at(-1) === REST
    const elements: unknown[] = open ? expected.slice(0, -1) : expected
    const fits = open ? found.length >= elements.length : found.length === elements.length
    assert.ok(fits, `${shown} has not ${elements.length} elements`)
    for (const [index, element] of elements.entries()) {
      compare(element, found[index], `${where}[${index}]`)
    }
  } else if (isFields(expected)) {
    assert.ok(isFields(found), `${shown} is no object`)
    const names = Object.keys(expected).filter((name) => name !== REST)
    for (const name of names) {
      assert.ok(name in found, `${shown} has no ${name}`)
      compare(expected[name], found[name], `${where}.${name}`)
    }
    const more = Object.keys(found).filter((name) => !names.includes(name))
    assert.ok(REST in expected || more.length === 0, `${shown} has ${more.join(", ")}, too`)
  } else if (typeof expected === "number" && typeof found === "number") {
    const scale = Math.max(Math.abs(expected), Math.abs(found))
    assert.ok(Math.abs(expected - found) <= 1e-9 * scale, `${shown} is not ${expected}`)
  } else {
    assert.equal(found, expected, `${shown} is not ${String(expected)}`)
  }
}

/** The value at a path as `$.result.results[0].id`. */
function foundAt(reply: unknown, path: string): unknown {
  let value = reply
  for (const [, name, index] of path.matchAll(/\.(\w+)|\[(\d+)\]/g)) {
    value = (value as Record<string, unknown>)[name ?? index ?? ""]
  }
  return value
}

function isFields(value: unknown): value is Fields {
  return typeof value === "object" && value !== null && !Array.isArray(value)
}
