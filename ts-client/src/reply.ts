import { ProtocolError, RpcError, type RpcErrorData } from "./errors.js"
import type { Reply } from "./transport.js"

type Fields = Readonly<Record<string, unknown>>

/**
 * The result in the answer to call `id`. Throws RpcError when the daemon answered with an error,
 * ProtocolError when the answer is not JSON-RPC 2.0 or not the answer to this call.
 */
export function parseReply(method: string, id: number, reply: Reply): unknown {
  const answer = parseObject(method, reply)
  if (answer["jsonrpc"] !== "2.0" || "result" in answer === "error" in answer) {
    throw malformed(method, reply, "it is not a JSON-RPC 2.0 response")
  }
  if ("error" in answer) throw parseError(method, id, answer, reply)
  if (reply.status !== 200) throw malformed(method, reply, "a result needs status 200")
  if (answer["id"] !== id) throw malformed(method, reply, `its id is not ${id}`)
  return answer["result"]
}

/** An error may have a null id: the daemon refused the body before it read one. */
function parseError(method: string, id: number, answer: Fields, reply: Reply): Error {
  const error = answer["error"]
  if (answer["id"] !== id && answer["id"] !== null) {
    return malformed(method, reply, `its id is not ${id}`)
  }
  if (!isObject(error)) return malformed(method, reply, "its error is not an object")
  const { code, message, data } = error
  if (typeof code !== "number" || !Number.isInteger(code) || typeof message !== "string") {
    return malformed(method, reply, "its error has no integer code or no message")
  }
  return new RpcError(method, code, message, isObject(data) ? (data as RpcErrorData) : {})
}

function parseObject(method: string, reply: Reply): Fields {
  let value: unknown
  try {
    value = JSON.parse(reply.body)
  } catch {
    throw malformed(method, reply, "it is not JSON")
  }
  if (isObject(value)) return value
  throw malformed(method, reply, "it is not a JSON object")
}

function isObject(value: unknown): value is Fields {
  return typeof value === "object" && value !== null && !Array.isArray(value)
}

/** Says what is wrong without the content: an answer may hold someone's memories. */
function malformed(method: string, reply: Reply, why: string): ProtocolError {
  return new ProtocolError(
    `${method}: the answer (status ${reply.status}, ${reply.body.length} characters) ` +
      `cannot be used: ${why}`,
  )
}
