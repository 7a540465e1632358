/**
 * Writes src/generated/protocol.ts from protocol/openrpc.json: `npm run generate`. With --check
 * it writes nothing and fails where the file is not what would be written.
 */
import { readFile, writeFile } from "node:fs/promises"
import { compile } from "json-schema-to-typescript"
import { format } from "prettier"

const DOCUMENT = new URL("../../protocol/openrpc.json", import.meta.url)
const TARGET = new URL("../src/generated/protocol.ts", import.meta.url)
const STYLE = new URL("../.prettierrc.json", import.meta.url)

const BANNER = `/**
 * The protocol's types, generated from protocol/openrpc.json by \`npm run generate\`. Not for hands.
 */
import type { JsonObject } from "../json.js"
`

const document = JSON.parse(await readFile(DOCUMENT, "utf8"))
const schemas = document.components.schemas

/** `memory.putMany` becomes `MemoryPutMany`. */
function typeName(method) {
  return method.name.replace(/(^|\.)(\w)/g, (_, dot, letter) => letter.toUpperCase())
}

/** What a method takes, as one object. */
function paramsSchema(method) {
  const named = method.params.map((param) => [
    param.name,
    // The compiler follows a reference only where it stands alone.
    "$ref" in param.schema ? param.schema : described(param),
  ])
  return {
    description: `Parameters of ${method.name}.`,
    type: "object",
    properties: Object.fromEntries(named),
    required: method.params.filter((param) => param.required).map((param) => param.name),
    additionalProperties: false,
  }
}

/** Every method with both of its sides, so that a name tells the types. */
function methodsSchema() {
  const properties = document.methods.map((method) => [
    method.name,
    {
      description: method.summary,
      type: "object",
      properties: {
        params: { $ref: `#/definitions/${typeName(method)}Params` },
        result: method.result.schema,
      },
      required: ["params", "result"],
    },
  ])
  const names = document.methods.map((method) => method.name)
  return {
    description: "The parameters and the result of every method.",
    type: "object",
    properties: Object.fromEntries(properties),
    required: names,
  }
}

/** References lead to `definitions`; an object without declared members is any JSON object. */
function adapted(value) {
  if (Array.isArray(value)) return value.map(adapted)
  if (typeof value !== "object" || value === null) return value
  if (typeof value.$ref === "string") {
    return { $ref: value.$ref.replace("#/components/schemas/", "#/definitions/") }
  }
  const open = value.type === "object" && !value.properties && !value.additionalProperties
  const changed = Object.fromEntries(
    Object.entries(value)
      .filter(([name]) => name !== "default")
      .map(([name, inner]) => [name, adapted(inner)]),
  )
  return open ? { ...changed, tsType: "JsonObject" } : changed
}

/** What a field means and what it is when left out, in one line. */
function described(param) {
  const { default: value } = param.schema
  const shown = value === undefined || value === null ? "" : ` Default ${JSON.stringify(value)}.`
  return { ...param.schema, description: param.description + shown }
}

/** Comments without the compiler's notes on where it found the schema, and short where they may. */
function tidied(text) {
  return text
    .replace(
      / \* *\n \* This interface was referenced by [^*]*\n \* via the `definition` "\w+"\.\n/g,
      "",
    )
    .replace(/ \* *\n \* @(max|min)Items \d+\n/g, "")
    .replace(/\/\*\*\n *\* ([^\n]*)\n *\*\//g, "/** $1 */")
}

async function generated() {
  const params = document.methods.map((method) => [
    `${typeName(method)}Params`,
    paramsSchema(method),
  ])
  const definitions = adapted({ ...schemas, ...Object.fromEntries(params) })
  const root = { ...adapted(methodsSchema()), title: "Methods", definitions }
  const text = await compile(root, "Methods", {
    additionalProperties: false,
    bannerComment: BANNER,
    format: false,
    ignoreMinAndMaxItems: true,
    unreachableDefinitions: true,
  })
  const style = JSON.parse(await readFile(STYLE, "utf8"))
  return await format(tidied(text), { ...style, parser: "typescript" })
}

const text = await generated()
if (process.argv.includes("--check")) {
  const current = await readFile(TARGET, "utf8").catch(() => "")
  if (current !== text) {
    console.error("src/generated/protocol.ts is not current: run npm run generate")
    process.exitCode = 1
  }
} else {
  await writeFile(TARGET, text)
}
