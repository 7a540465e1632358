/**
 * Writes docs/typescript.md from protocol/openrpc.json and the client's source: `npm run
 * generate`. With --check it writes nothing and fails where the page is not what would be written.
 * It fails, too, where the client lacks a method or a parameter of the contract, and where an
 * example does not compile.
 */
import { readFile, writeFile } from "node:fs/promises"
import { ClientSource, faultsOf } from "./api-page/client.mjs"
import { pathOf, readContract, typeText } from "./api-page/contract.mjs"
import { exampleCall, exampleResult } from "./api-page/examples.mjs"
import { fence, list, table } from "./api-page/markdown.mjs"

const TARGET = new URL("../../docs/typescript.md", import.meta.url)

const HEAD = `# The TypeScript client, method by method

Generated from the contract and the client's source by \`npm run generate\` in ts-client/. How to
begin, events, export and errors in prose: [the package's README](../ts-client/README.md). The same
methods as the wire has them: [methods.md](methods.md).
`

/** Of the system itself and its groups, what is no method of the daemon's. */
const HELPERS = [
  ["connect"],
  ["events"],
  ["listAll"],
  ["runs", "allDecisions"],
  ["call"],
  ["close"],
]

const OPTIONS = [
  "MemorySystemOptions",
  "RetryOptions",
  "SpawnOptions",
  "CallOptions",
  "EventsOptions",
]

/** What an iterator yields beside the contract's types. */
const OWN_TYPES = ["EventReset"]

/** Of JavaScript's own Error. */
const OF_EVERY_ERROR = new Set(["name", "message", "stack", "cause"])

const contract = await readContract()
const client = new ClientSource()

/** What each method of the contract is in the client. Throws where it is nothing. */
function inClient(method) {
  const found = client.method(pathOf(method.wire))
  if (found === undefined) throw new Error(`MemorySystem has no method for ${method.wire}`)
  const taken = new Set(found.parameters.flatMap(({ name, fields }) => [name, ...fields]))
  for (const { name } of method.params) {
    if (taken.has(method.nameOf(name)) || (found.iterates && name === "cursor")) continue
    throw new Error(`${found.name} of the client does not take ${name} of ${method.wire}`)
  }
  return found
}

async function methodText(method, found, example) {
  const result = await exampleResult(method)
  const taken = method.params.filter(({ name }) => !(found.iterates && name === "cursor"))
  const rows = taken.map(({ name, required, schema, description }) => [
    `\`${method.nameOf(name)}\`${required ? "" : "?"}`,
    `\`${typeText(schema)}\``,
    schema.default === undefined || schema.default === null ? "" : `\`${schema.default}\``,
    description ?? contract.schemas[typeText(schema)]?.description ?? "",
  ])
  const how = method.writes ? "Writes" : "Reads"
  const errors = method.errors.map((symbol) => `\`${symbol}\``).join(", ")
  return [
    `### ${found.name}`,
    fence("ts", found.signature),
    found.doc,
    rows.length > 0 && table(["parameter", "type", "default", ""], rows),
    `${how}; \`${method.wire}\` on the wire; the daemon answers within ${method.deadlineSeconds} s.` +
      ` ${errors === "" ? "No errors but those of every call." : `Errors: ${errors}.`}`,
    fence("ts", example),
    result && fence("json", result),
  ]
}

/** The ways to a system, and what it shows besides its methods. */
function systemText() {
  const shown = ["namespace", "socketPath", "thresholdsDiffer"].map((name) => client.member(name))
  return [
    client.doc("MemorySystem"),
    ...client.makers().flatMap(({ signature, doc }) => [fence("ts", signature), doc]),
    table(["property", "type", ""], rowsOf(shown)),
  ]
}

function optionsText(name) {
  return [
    `### ${name}`,
    client.doc(name),
    table(["name", "type", ""], rowsOf(client.members(name))),
  ]
}

function rowsOf(symbols) {
  return symbols
    .map((symbol) => client.property(symbol))
    .map(({ name, optional, type, doc }) => [
      `\`${name}\`${optional ? "?" : ""}`,
      `\`${type}\``,
      doc,
    ])
}

function errorText(name) {
  const rows = rowsOf(client.members(name).filter((symbol) => !OF_EVERY_ERROR.has(symbol.name)))
  return [`### ${name}`, client.doc(name), rows.length > 0 && table(["field", "type", ""], rows)]
}

function schemaText([name, { description, properties = {}, required = [] }]) {
  const rows = Object.entries(properties).map(([field, schema]) => [
    `\`${field}\`${required.includes(field) ? "" : "?"}`,
    `\`${typeText(schema)}\``,
    schema.description ?? contract.schemas[typeText(schema)]?.description ?? "",
  ])
  return [`### ${name}`, description, rows.length > 0 && table(["field", "type", ""], rows)]
}

function aliasesText() {
  const rows = [...client.exported.keys()]
    .map((name) => [name, client.alias(name)])
    .filter(([, text]) => text !== undefined)
    .map(([name, text]) => [`\`${name}\``, `\`${text}\``, client.doc(name)])
  return table(["name", "stands for", ""], rows)
}

async function page() {
  const found = contract.methods.map((method) => ({ method, found: inClient(method) }))
  const shown = await Promise.all(
    found.map(async (one) => ({ ...one, example: await exampleCall(one.method, one.found) })),
  )
  const faults = faultsOf(shown.map(({ example }) => example))
  if (faults.length > 0) throw new Error(`examples do not compile:\n${faults.join("\n")}`)
  const methods = await Promise.all(
    shown.map(({ method, found: one, example }) => methodText(method, one, example)),
  )
  const errors = [...client.exported.keys()].filter((name) => name.endsWith("Error"))
  const helpers = HELPERS.map((path) => client.method(path)).map((helper) => [
    `### ${helper.name}`,
    fence("ts", helper.signature),
    helper.doc,
  ])
  const parts = [
    HEAD,
    "## A system",
    ...systemText(),
    "## Options",
    ...OPTIONS.flatMap(optionsText),
    "## Methods",
    `Of \`memory\`, a \`MemorySystem\`. Each may reject with ${list(contract.common)}, and as its ` +
      "options say. [errors.md](errors.md) says what each means and what to do.",
    ...methods.flat(),
    "## More of the client's own",
    ...helpers.flat(),
    ...OWN_TYPES.flatMap(optionsText),
    "## Errors",
    ...errors.flatMap(errorText),
    ...optionsText("RpcErrorData"),
    "## What is taken and answered",
    ...Object.entries(contract.schemas).flatMap(schemaText),
    "## Names of types",
    aliasesText(),
  ]
  return `${parts.filter(Boolean).join("\n\n")}\n`.replace(/\n{3,}/g, "\n\n")
}

const text = await page()
if (process.argv.includes("--check")) {
  const current = await readFile(TARGET, "utf8").catch(() => "")
  if (current !== text) {
    console.error("docs/typescript.md is not current: run cd ts-client && npm run generate")
    process.exitCode = 1
  }
} else {
  await writeFile(TARGET, text)
}
