/** The contract's examples as calls of the client. */
import { format } from "prettier"

const STYLE = { parser: "typescript", semi: false, printWidth: 96 }
const RESULT_LINES_MAX = 12

/** The call of an example, as TypeScript. */
export async function exampleCall(method, client) {
  const given = new Map(
    [...method.example.params].map(([name, value]) => [method.nameOf(name), value]),
  )
  const places = new Set(client.parameters.map(({ name }) => name))
  // What has a place of its own is no field of another: feedback's signal is no AbortSignal.
  const rest = [...given].filter(([name]) => !places.has(name))
  const values = client.parameters.map((parameter) =>
    given.has(parameter.name) ? given.get(parameter.name) : fieldsOf(parameter, rest),
  )
  const last = values.findLastIndex((value) => value !== undefined)
  const needed = client.signature.split(/[(,]/).filter((part) => /^ ?\w+: /.test(part)).length
  const count = Math.max(last + 1, Math.min(needed, client.parameters.length))
  const shown = client.parameters
    .slice(0, count)
    .map(({ name }, index) => values[index] ?? method.example.defaults.get(name))
  const call = `memory.${client.name}(${shown.map((value) => JSON.stringify(value)).join(", ")})`
  const code = client.iterates
    ? `for await (const page of ${call}) {\n  console.log(page)\n}`
    : `await ${call}`
  return (await format(code, STYLE)).trim()
}

/** The result of an example, or undefined where it is long: its type says more. */
export async function exampleResult(method) {
  const text = await format(JSON.stringify(method.example.result), { ...STYLE, parser: "json" })
  return text.trim().split("\n").length > RESULT_LINES_MAX ? undefined : text.trim()
}

/** What an object in the parameter's place takes of what was given. */
function fieldsOf({ fields }, given) {
  const taken = given.filter(([name]) => fields.has(name))
  return taken.length === 0 ? undefined : Object.fromEntries(taken)
}
