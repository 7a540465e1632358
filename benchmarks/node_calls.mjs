// get, put and putMany as a TypeScript host calls them: `node node_calls.mjs SOCKET CALLS MANY`.
// Prints the median of each in milliseconds as JSON. The namespace has some memories already.
import { MemorySystem } from "../ts-client/dist/index.js"

const [socketPath, calls, many] = [process.argv[2], Number(process.argv[3]), Number(process.argv[4])]
const memory = new MemorySystem({ socketPath, namespace: "node" })
const text = "the harbour master keeps a ledger of every ship that came in by night and paid no toll"

function median(times) {
  return times.sort((a, b) => a - b)[Math.floor(times.length / 2)]
}

async function timed(count, work) {
  const times = []
  for (let index = 0; index < count; index += 1) {
    const started = performance.now()
    await work(index)
    times.push(performance.now() - started)
  }
  return median(times)
}

// Deterministic, so that every run sends the same vectors.
let state = 42
function vector() {
  return Float32Array.from({ length: 384 }, () => {
    state = (state * 1103515245 + 12345) % 2147483648
    return state / 1073741824 - 1
  })
}

function memories(round, embedded) {
  return Array.from({ length: 1000 }, (_, index) => ({
    id: `${embedded ? "vector" : "text"}-${round}-${index}`,
    content: `${text}, entry ${round * 1000 + index}`,
    importance: 0.5,
    ...(embedded ? { embedding: vector(), embeddingModel: "m" } : {}),
  }))
}

await timed(100, (index) => memory.put({ id: `warm-${index}`, content: text }))
const results = {
  put: await timed(calls, (index) => memory.put({ id: `single-${index}`, content: text, importance: 0.7 })),
  get: await timed(calls, (index) => memory.get(`single-${(index * 7) % calls}`)),
  health: await timed(calls, () => memory.system.clock()),
}
for (const embedded of [false, true]) {
  const batches = Array.from({ length: many }, (_, round) => memories(round, embedded))
  results[embedded ? "putManyVectors" : "putManyText"] = await timed(many, (round) =>
    memory.putMany(batches[round]),
  )
}
await memory.close()
console.log(JSON.stringify(results))
