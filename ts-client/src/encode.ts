/** Strict JSON: what `JSON.stringify` would change in silence is refused here, by its path. */

/** Deepest nesting that the daemon reads; the object around the parameters is the first level. */
const JSON_DEPTH_MAX = 64

/**
 * Checks that `value` is plain JSON data and survives the way to the daemon unchanged.
 *
 * Throws TypeError, naming the path, for NaN and infinities (they would become null), lone
 * surrogates (U+FFFD), undefined in arrays (null), functions, symbols, bigints, and objects that
 * are neither plain nor have `toJSON` (a Map would become `{}`); RangeError for nesting deeper
 * than 64, which a cycle is, too. Undefined members of objects are allowed: they are left out.
 */
export function checkJson(value: unknown, path = "params", depth = 1): void {
  switch (typeof value) {
    case "string":
      return checkString(value, path)
    case "number":
      if (Number.isFinite(value)) return
      throw new TypeError(`${path} is ${value}: give a finite number or null`)
    case "boolean":
      return
    case "object":
      if (value !== null) checkObject(value, path, depth + 1)
      return
    default:
      throw new TypeError(`${path} is ${describe(value)}: it has no JSON form`)
  }
}

function checkString(value: string, path: string): void {
  if (value.isWellFormed()) return
  throw new TypeError(`${path} holds half a surrogate pair: it is not valid Unicode text`)
}

function checkObject(value: object, path: string, depth: number): void {
  if (depth > JSON_DEPTH_MAX) {
    const start = path.slice(0, 80)
    throw new RangeError(`${start}… is nested deeper than ${JSON_DEPTH_MAX} levels, or loops`)
  }
  if (Array.isArray(value)) {
    for (let index = 0; index < value.length; index += 1) {
      checkJson(value[index], `${path}[${index}]`, depth)
    }
    return
  }
  if (hasToJson(value)) return checkConverted(value, path, depth)
  if (!isPlain(value)) {
    throw new TypeError(`${path} is ${describe(value)}: give a plain object, an array or a string`)
  }
  for (const [name, member] of Object.entries(value)) {
    checkString(name, `a name in ${path}`)
    if (member !== undefined) checkJson(member, `${path}.${name}`, depth)
  }
}

/** What `toJSON` makes of it counts; null of a non-null (an invalid Date) is a loss. */
function checkConverted(value: { toJSON(): unknown }, path: string, depth: number): void {
  const converted = value.toJSON()
  if (converted === null) throw new TypeError(`${path} is ${describe(value)} with no JSON form`)
  checkJson(converted, path, depth)
}

function hasToJson(value: object): value is { toJSON(): unknown } {
  return "toJSON" in value && typeof value.toJSON === "function"
}

function isPlain(value: object): boolean {
  const prototype: unknown = Object.getPrototypeOf(value)
  // A plain object of another realm has a prototype without a prototype of its own.
  return prototype === null || Object.getPrototypeOf(prototype) === null
}

function describe(value: unknown): string {
  if (typeof value === "object" && value !== null) {
    const maker: unknown = value.constructor
    return typeof maker === "function" && maker.name !== "" ? `a ${maker.name}` : "an object"
  }
  return value === undefined ? "undefined" : `a ${typeof value}`
}
