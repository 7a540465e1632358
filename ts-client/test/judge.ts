import { readFileSync } from "node:fs"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { Ajv, type ErrorObject, type ValidateFunction } from "ajv"

export const REPOSITORY = fileURLToPath(new URL("../../../", import.meta.url))
export const PROTOCOL = join(REPOSITORY, "protocol")

type Fields = Readonly<Record<string, unknown>>

interface Described {
  readonly name: string
  readonly params: readonly { name: string; required: boolean; schema: object }[]
  readonly result: { schema: object }
  readonly errors: readonly { $ref: string }[]
}

export interface OpenRpc {
  readonly methods: readonly Described[]
  readonly components: {
    readonly schemas: Readonly<Record<string, object>>
    readonly errors: Readonly<Record<string, { code: number; data: { retryable: boolean } }>>
  }
}

/** The committed document. */
export function readDocument(): OpenRpc {
  return JSON.parse(readFileSync(join(PROTOCOL, "openrpc.json"), "utf8")) as OpenRpc
}

/** Of parameters with members that the daemon judges one by one, and of those left out here. */
const LENIENT = ["partial", "skipBad"] as const

/** Judges calls and replies by openrpc.json, so that neither side can drift from it. */
export class Judge {
  readonly #methods: ReadonlyMap<string, Described>
  readonly #errors: OpenRpc["components"]["errors"]
  readonly #ajv = new Ajv({ strict: false, allErrors: true })
  readonly #compiled = new Map<string, ValidateFunction>()

  constructor(document: OpenRpc) {
    this.#methods = new Map(document.methods.map((method) => [method.name, method]))
    this.#errors = document.components.errors
    const schemas = closed({ components: { schemas: document.components.schemas } })
    this.#ajv.addSchema({ $id: "openrpc", ...(schemas as object) })
  }

  /** Every way in which a call and its reply break the contract. Batches are taken apart. */
  unfit(request: unknown, reply: unknown): string[] {
    if (Array.isArray(request) && Array.isArray(reply)) {
      const replies = new Map((reply as Fields[]).map((one) => [one["id"], one]))
      return request.flatMap((one: unknown) =>
        isFields(one) && "id" in one ? this.unfit(one, replies.get(one["id"])) : [],
      )
    }
    if (!isFields(request) || !isFields(reply)) return []
    const method = this.#methods.get(String(request["method"]))
    if (method === undefined) {
      return "result" in reply ? [`${String(request["method"])} is no method of openrpc.json`] : []
    }
    const faults = isFields(reply["error"])
      ? this.#unfitError(method, reply["error"])
      : this.#unfitResult(method, request["params"] ?? {}, reply["result"])
    return faults.map((fault) => `${method.name}: ${fault}`)
  }

  #unfitResult(method: Described, given: unknown, result: unknown): string[] {
    const params = Array.isArray(given)
      ? Object.fromEntries(given.map((value: unknown, at) => [method.params[at]?.name, value]))
      : (given as Fields)
    const lenient = LENIENT.some((name) => params[name] === true)
    const schema = {
      type: "object",
      properties: Object.fromEntries(method.params.map((param) => [param.name, param.schema])),
      required: method.params.filter((param) => param.required).map((param) => param.name),
      additionalProperties: false,
    }
    const taken = lenient ? [] : this.#faults(`${method.name} params`, schema, params)
    return [
      ...taken.map((fault) => `took parameters that the contract refuses: ${fault}`),
      ...this.#faults(`${method.name} result`, method.result.schema, result),
    ]
  }

  #unfitError(method: Described, error: Fields): string[] {
    const data = isFields(error["data"]) ? error["data"] : {}
    const symbol = String(data["symbol"])
    const known = this.#errors[symbol]
    const shown = JSON.stringify(error)
    if (known === undefined || typeof error["message"] !== "string") {
      return [`${shown} is no error of the contract`]
    }
    if (error["code"] !== known.code || data["retryable"] !== known.data.retryable) {
      return [`${symbol} has another code or retryable in the contract: ${shown}`]
    }
    if (!method.errors.some((one) => one.$ref === `#/components/errors/${symbol}`)) {
      return [`${symbol} is not among the errors of the method: ${shown}`]
    }
    const lacking = ["field", "bound", "remedy"].filter((name) => !(name in data))
    if (symbol !== "invalid_params" || lacking.length === 0) return []
    return [`${shown} lacks ${lacking.join(", ")}`]
  }

  #faults(name: string, schema: object, value: unknown): string[] {
    let validate = this.#compiled.get(name)
    if (validate === undefined) {
      validate = this.#ajv.compile(pointed(schema) as object)
      this.#compiled.set(name, validate)
    }
    return validate(value) ? [] : (validate.errors ?? []).map((error) => told(name, error))
  }
}

function told(name: string, error: ErrorObject): string {
  return `${name}${error.instancePath}: ${error.message} ${JSON.stringify(error.params)}`
}

/** The schema with its references into the document. */
function pointed(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(pointed)
  if (!isFields(value)) return value
  const reference = value["$ref"]
  if (typeof reference === "string") return { $ref: `openrpc${reference}` }
  return Object.fromEntries(Object.entries(value).map(([name, inner]) => [name, pointed(inner)]))
}

/** The schemas without room for fields that are not declared, which clients must ignore. */
function closed(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(closed)
  if (!isFields(value)) return value
  const inside = Object.fromEntries(
    Object.entries(value).map(([name, inner]) => [name, closed(inner)]),
  )
  const declared = inside["type"] === "object" && isFields(inside["properties"])
  return declared ? { additionalProperties: false, ...inside } : inside
}

function isFields(value: unknown): value is Fields {
  return typeof value === "object" && value !== null && !Array.isArray(value)
}
