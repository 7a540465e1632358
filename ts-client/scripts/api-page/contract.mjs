/** The contract, protocol/openrpc.json, as the page needs it. */
import { readFile } from "node:fs/promises"

const DOCUMENT = new URL("../../../protocol/openrpc.json", import.meta.url)

/** A system has one namespace, which its constructor takes. */
const GIVEN_ONCE = new Set(["namespace"])

/** Another name of a parameter on the wire; the client has one name for it. */
const SYNONYMS = new Set(["successorId"])

/** What the client calls a parameter where that is not its name on the wire. */
const RENAMED = { "memory.import": { memories: "records" } }

export async function readContract() {
  const document = JSON.parse(await readFile(DOCUMENT, "utf8"))
  // What the main socket does not serve is for the command.
  const served = document.methods.filter((method) => method["x-admin"] !== true)
  const common = commonErrors(served)
  return {
    schemas: document.components.schemas,
    errors: document.components.errors,
    common,
    methods: served.map((method) => ({
      wire: method.name,
      summary: method.summary,
      group: method.tags[0].name,
      writes: method["x-writes"],
      deadlineSeconds: method["x-deadlineSeconds"],
      params: method.params.filter(({ name }) => !GIVEN_ONCE.has(name) && !SYNONYMS.has(name)),
      result: method.result.schema,
      errors: method.errors.map(symbolOf).filter((symbol) => !common.includes(symbol)),
      example: exampleOf(method),
      nameOf: (param) => RENAMED[method.name]?.[param] ?? param,
    })),
  }
}

/** Where the client has a method: `memory.put` is the system's own `put`. */
export function pathOf(wire) {
  return wire.replace(/^memory\./, "").split(".")
}

/** A schema as a type is written. */
export function typeText(schema) {
  if (schema.$ref) return schema.$ref.split("/").at(-1)
  if (schema.enum) return schema.enum.map((value) => JSON.stringify(value)).join(" | ")
  const union = schema.anyOf ?? schema.oneOf
  if (union) return [...new Set(union.map(typeText))].join(" | ")
  if (schema.type === "array") {
    const items = typeText(schema.items ?? {})
    return items.includes(" | ") ? `(${items})[]` : `${items}[]`
  }
  if (schema.type === "integer") return "number"
  if (schema.type !== "object") return schema.type ?? "unknown"
  const { additionalProperties: values } = schema
  return values && values !== true ? `Record<string, ${typeText(values)}>` : "object"
}

function commonErrors(methods) {
  const all = methods.map((method) => method.errors.map(symbolOf))
  return all[0].filter((symbol) => all.every((symbols) => symbols.includes(symbol)))
}

function exampleOf({ params, examples: [example] }) {
  const defaults = params
    .filter(({ schema }) => schema.default !== undefined && schema.default !== null)
    .map(({ name, schema }) => [name, schema.default])
  return {
    params: new Map(example.params.map(({ name, value }) => [name, value])),
    defaults: new Map(defaults),
    result: example.result.value,
  }
}

function symbolOf({ $ref }) {
  return $ref.split("/").at(-1)
}
