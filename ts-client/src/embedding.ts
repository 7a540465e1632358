/**
 * A vector as the wire carries it: base64 of little-endian float32, which is what the daemon
 * stores. Numbers are rounded to float32. Throws TypeError for an entry that is not a finite
 * number, or too large for a float32.
 */
export function encodeEmbedding(vector: Float32Array | readonly number[], path: string): string {
  const bytes = Buffer.alloc(vector.length * Float32Array.BYTES_PER_ELEMENT)
  for (let index = 0; index < vector.length; index += 1) {
    const entry = vector[index]
    if (typeof entry !== "number" || !Number.isFinite(Math.fround(entry))) {
      throw new TypeError(`${path}[${index}] is ${String(entry)}: give a finite float32 number`)
    }
    bytes.writeFloatLE(entry, index * Float32Array.BYTES_PER_ELEMENT)
  }
  return bytes.toString("base64")
}

/** `fields` with its embedding in wire form; a string is base64 already and passes. */
export function withWireEmbedding<T extends object>(
  fields: T & { readonly embedding?: Float32Array | readonly number[] | string | null | undefined },
  path: string,
): T {
  const { embedding } = fields
  if (embedding === undefined || embedding === null || typeof embedding === "string") return fields
  return { ...fields, embedding: encodeEmbedding(embedding, `${path}.embedding`) }
}
