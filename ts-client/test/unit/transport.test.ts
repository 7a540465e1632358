import assert from "node:assert/strict"
import { spawnSync } from "node:child_process"
import { getEventListeners } from "node:events"
import { chmod, writeFile } from "node:fs/promises"
import { createServer, type Socket } from "node:net"
import { join } from "node:path"
import { test } from "node:test"
import {
  ClosedError,
  ConnectError,
  MemorySystem,
  ProtocolError,
  RpcClient,
  RpcError,
  SOCKET_PATH_BYTES_MAX,
  TimeoutError,
} from "forgetd"
import { fakeDaemon, temporaryDirectory } from "./fake-daemon.js"

/** No repetitions, so that one failure is one answer. */
const once = { retry: false } as const

test("[TS-01] a call is one JSON-RPC request on a kept connection and gives its result", async (t) => {
  const daemon = await fakeDaemon(t, (call) => call.result({ echo: call.params }))
  const client = new RpcClient(daemon.socketPath)
  t.after(() => client.close())

  for (let index = 0; index < 5; index += 1) {
    const answer = await client.call("memory.get", { id: "커피 ☕ -v1761955200000" })
    assert.deepEqual(answer, { echo: { id: "커피 ☕ -v1761955200000" } })
  }

  assert.equal(daemon.connections(), 1)
  assert.equal(daemon.calls[0]?.headers["content-type"], "application/json")
  assert.equal(new Set(daemon.calls.map((call) => call.id)).size, 5)
})

test("[TS-01] concurrent calls each get their own answer", async (t) => {
  const daemon = await fakeDaemon(t, (call) => setImmediate(() => call.result(call.params["n"])))
  const client = new RpcClient(daemon.socketPath)
  t.after(() => client.close())

  const numbers = Array.from({ length: 100 }, (_, index) => index)
  const answers = await Promise.all(numbers.map((n) => client.call("memory.get", { n })))

  assert.deepEqual(answers, numbers)
  assert.ok(daemon.connections() <= 16)
})

test("[TS-02] no socket, a stale socket, a plain file and a forbidden one are told apart", async (t) => {
  const directory = await temporaryDirectory(t)
  const failure = async (path: string): Promise<ConnectError> => {
    const client = new RpcClient(path, once)
    const error: unknown = await client.call("memory.get").catch((reason: unknown) => reason)
    assert.ok(error instanceof ConnectError)
    assert.equal(error.sent, false)
    assert.equal(error.socketPath, path)
    return error
  }

  const missing = await failure(join(directory, "none.sock"))
  assert.equal(missing.code, "ENOENT")
  assert.match(missing.message, /no socket at .*: is the daemon running\? start: forgetd serve/)

  const stalePath = join(directory, "stale.sock")
  leaveStaleSocket(stalePath)
  const stale = await failure(stalePath)
  assert.equal(stale.code, "ECONNREFUSED")
  assert.match(stale.message, /stale socket/)

  const filePath = join(directory, "file.sock")
  await writeFile(filePath, "")
  assert.ok(["ECONNREFUSED", "ENOTSOCK"].includes((await failure(filePath)).code))
})

test("[TS-02] a socket that may not be opened says so", async (t) => {
  const asRoot = process.getuid?.() === 0
  const daemon = await fakeDaemon(t, (call) => call.result(null))
  await chmod(daemon.socketPath, 0)
  const client = new RpcClient(daemon.socketPath, once)
  t.after(() => client.close())
  if (asRoot) process.seteuid?.(65_534)
  t.after(() => void (asRoot && process.seteuid?.(0)))

  const error: unknown = await client.call("memory.get").catch((reason: unknown) => reason)
  if (asRoot) process.seteuid?.(0)

  assert.ok(error instanceof ConnectError)
  assert.equal(error.code, "EACCES")
  assert.match(error.message, /permission denied/)
})

test("[TS-03] a timed-out call rejects with TimeoutError and the client goes on", async (t) => {
  const daemon = await fakeDaemon(t, (call, index) => index > 0 && call.result("late"))
  const client = new RpcClient(daemon.socketPath, once)
  t.after(() => client.close())

  const error: unknown = await client
    .call("memory.put", {}, { timeoutMs: 30 })
    .catch((reason: unknown) => reason)
  assert.ok(error instanceof TimeoutError)
  assert.equal(error.timeoutMs, 30)
  assert.equal(error.method, "memory.put")

  assert.equal(await client.call("memory.get"), "late")
})

test("[TS-03] the deadline covers an answer that stops half-way", async (t) => {
  const daemon = await fakeDaemon(t, (call) => {
    call.response.writeHead(200, { "content-type": "application/json", "content-length": "100" })
    call.response.write('{"jsonrpc":"2.0",')
  })
  const client = new RpcClient(daemon.socketPath, { ...once, timeoutMs: 50 })
  t.after(() => client.close())

  await assert.rejects(client.call("memory.get"), TimeoutError)
})

test("[TS-03] the deadline covers repetitions and waiting for the first opening", async (t) => {
  const directory = await temporaryDirectory(t)
  const retry = { attempts: 1_000, firstDelayMs: 20, maxDelayMs: 20 }
  const system = new MemorySystem({ socketPath: join(directory, "none.sock"), retry })
  t.after(() => system.close())

  await assert.rejects(system.get("a", { timeoutMs: 60 }), TimeoutError)
})

test(
  "[TS-03] the deadline covers waiting for a connection while all are busy",
  { timeout: 20_000 },
  async (t) => {
    const daemon = await fakeDaemon(t, () => undefined)
    const client = new RpcClient(daemon.socketPath, once)
    const busy = Array.from({ length: 16 }, () => client.call("memory.get"))
    const ended = Promise.allSettled(busy)

    await assert.rejects(client.call("memory.get", {}, { timeoutMs: 30 }), TimeoutError)

    client.close()
    const reasons = (await ended).map((end) => end.status === "rejected" && end.reason)
    assert.ok(reasons.every((reason) => reason instanceof ClosedError))
  },
)

test("[TS-03] a timeoutMs that no timer can keep is refused", async () => {
  assert.throws(() => new RpcClient("/tmp/x.sock", { timeoutMs: 0 }), RangeError)
  const client = new RpcClient("/tmp/x.sock")
  await assert.rejects(client.call("memory.get", {}, { timeoutMs: Number.NaN }), RangeError)
  await assert.rejects(client.call("memory.get", {}, { timeoutMs: 2 ** 31 }), RangeError)
})

test("[TS-04] an aborted call rejects with the signal's reason, before and while it runs", async (t) => {
  const controller = new AbortController()
  const daemon = await fakeDaemon(t, () => controller.abort(new Error("changed my mind")))
  const client = new RpcClient(daemon.socketPath)
  t.after(() => client.close())
  const { signal } = controller

  await assert.rejects(client.call("memory.get", {}, { signal }), /changed my mind/)
  await assert.rejects(client.call("memory.get", {}, { signal }), /changed my mind/)
  assert.equal(daemon.calls.length, 1)

  const plain = new AbortController()
  const quiet = await fakeDaemon(t, () => plain.abort("a reason that is no error"))
  const other = new RpcClient(quiet.socketPath)
  t.after(() => other.close())
  const aborted = other.call("memory.get", {}, { signal: plain.signal })
  assert.equal(await aborted.catch((reason: unknown) => reason), "a reason that is no error")
  const timeout = AbortSignal.timeout(20)
  await assert.rejects(other.call("memory.get", {}, { signal: timeout }), { name: "TimeoutError" })
})

test("[TS-04] many calls share one signal without a warning and leave nothing on it", async (t) => {
  const daemon = await fakeDaemon(t, (call) => call.result(null))
  const client = new RpcClient(daemon.socketPath)
  t.after(() => client.close())
  const { signal } = new AbortController()
  const warnings: Error[] = []
  const note = (warning: Error): number => warnings.push(warning)
  process.on("warning", note)
  t.after(() => process.off("warning", note))

  await Promise.all(Array.from({ length: 30 }, () => client.call("memory.get", {}, { signal })))

  assert.deepEqual(warnings, [])
  assert.equal(getEventListeners(signal, "abort").length, 0)
})

test("[TS-05] an answer cut before its end is a ConnectError that may have been carried out", async (t) => {
  const daemon = await fakeDaemon(t, (call) => {
    call.response.writeHead(200, { "content-type": "application/json", "content-length": "100" })
    call.response.write('{"jsonrpc":"2.0",', () => call.cut())
  })
  const client = new RpcClient(daemon.socketPath, once)
  t.after(() => client.close())

  const error: unknown = await client.call("memory.put").catch((reason: unknown) => reason)
  assert.ok(error instanceof ConnectError)
  assert.equal(error.code, "ECONNRESET")
  assert.equal(error.sent, true)
})

test("[TS-05] an answer longer than the bound is refused without being kept", async (t) => {
  const daemon = await fakeDaemon(t, (call) => {
    call.response.writeHead(200, { "content-type": "application/json" })
    const chunk = Buffer.alloc(65_536, " ")
    const more = (): void => void (call.response.destroyed || call.response.write(chunk, more))
    more()
  })
  const client = new RpcClient(daemon.socketPath, { ...once, maxReplyBytes: 1_000_000 })
  t.after(() => client.close())

  await assert.rejects(client.call("memory.get"), (error) => {
    assert.ok(error instanceof ProtocolError)
    assert.match(error.message, /longer than 1000000 bytes/)
    return true
  })
})

const malformed: readonly (readonly [string, string | Buffer, number?])[] = [
  ["text", "Internal Server Error", 500],
  ["nothing", ""],
  ["an array", "[]"],
  ["a bare value", "null"],
  ["no version", '{"id":1,"result":null}'],
  ["neither result nor error", '{"jsonrpc":"2.0","id":1}'],
  ["result and error", '{"jsonrpc":"2.0","id":1,"result":1,"error":{"code":1,"message":""}}'],
  ["another call's id", '{"jsonrpc":"2.0","id":999,"result":1}'],
  ["an id of another type", '{"jsonrpc":"2.0","id":"1","result":1}'],
  ["a null id with a result", '{"jsonrpc":"2.0","id":null,"result":1}'],
  ["another call's error", '{"jsonrpc":"2.0","id":999,"error":{"code":1,"message":"m"}}'],
  ["an error that is text", '{"jsonrpc":"2.0","id":1,"error":"no"}'],
  ["an error without a code", '{"jsonrpc":"2.0","id":1,"error":{"message":"no"}}'],
  ["a result with a failing status", '{"jsonrpc":"2.0","id":1,"result":1}', 503],
  ["a cut object", '{"jsonrpc":"2.0","id":1,"result":'],
  ["a byte order mark", "\ufeff" + '{"jsonrpc":"2.0","id":1,"result":1}'],
  ["broken UTF-8", Buffer.from([0x22, 0xff, 0x22])],
]

for (const [name, body, status] of malformed) {
  test(`[TS-06] an answer with ${name} is a ProtocolError`, async (t) => {
    const daemon = await fakeDaemon(t, (call) => call.raw(body, status))
    const client = new RpcClient(daemon.socketPath)
    t.after(() => client.close())

    await assert.rejects(client.call("memory.get"), ProtocolError)
    assert.equal(daemon.calls.length, 1, "it is not repeated")
  })
}

test("[TS-06] another protocol version is refused by name", async (t) => {
  const daemon = await fakeDaemon(t, (call) => call.raw("{}", 200, { "forgetd-protocol": "2" }))
  const client = new RpcClient(daemon.socketPath)
  t.after(() => client.close())

  await assert.rejects(client.call("memory.get"), /speaks protocol 2, this client 1/)
})

test("[TS-06] a server that does not speak HTTP is a ProtocolError", async (t) => {
  const socketPath = join(await temporaryDirectory(t), "s.sock")
  const sockets: Socket[] = []
  const server = createServer((socket) => {
    sockets.push(socket)
    socket.on("error", () => undefined).once("data", () => socket.write("220 mail ready\r\n"))
  })
  await new Promise<void>((resolve) => server.listen(socketPath, resolve))
  t.after(() => {
    for (const socket of sockets) socket.destroy()
    server.close()
  })

  await assert.rejects(new RpcClient(socketPath).call("memory.get"), ProtocolError)
})

test("[TS-07] a daemon's error keeps its code, symbol, data and whether to retry", async (t) => {
  const data = {
    symbol: "invalid_params",
    retryable: false,
    field: "$.importance",
    bound: "0 to 1",
    remedy: "give 0.7",
  }
  const daemon = await fakeDaemon(t, (call) => call.error(-32_602, data))
  const client = new RpcClient(daemon.socketPath)
  t.after(() => client.close())

  const error: unknown = await client.call("memory.put").catch((reason: unknown) => reason)
  assert.ok(error instanceof RpcError)
  assert.equal(error.name, "RpcError")
  assert.equal(error.code, -32_602)
  assert.equal(error.symbol, "invalid_params")
  assert.equal(error.method, "memory.put")
  assert.equal(error.retryable, false)
  assert.deepEqual(error.data, data)
  assert.match(error.message, /memory\.put: no \(give 0\.7\)/)
})

test("[TS-07] an error for a body that was not read has a null id and any status", async (t) => {
  const body = { jsonrpc: "2.0", id: null, error: { code: -32_700, message: "Parse error" } }
  const daemon = await fakeDaemon(t, (call) => call.raw(JSON.stringify(body), 400))
  const client = new RpcClient(daemon.socketPath)
  t.after(() => client.close())

  await assert.rejects(client.call("memory.get"), { code: -32_700, symbol: "unknown", data: {} })
})

test("[TS-08] a call under way and later ones reject with ClosedError after close", async (t) => {
  const daemon = await fakeDaemon(t, () => client.close())
  const client = new RpcClient(daemon.socketPath)
  assert.equal(client.closed, false)

  await assert.rejects(client.call("memory.get"), ClosedError)
  await assert.rejects(client.call("memory.get"), ClosedError)
  client.close()
  assert.equal(client.closed, true)
  assert.equal(daemon.calls.length, 1)
})

test("[TS-08] close ends the wait between repetitions", async (t) => {
  const daemon = await fakeDaemon(t, (call) => {
    call.error(-32_000, { symbol: "overloaded", retryable: true })
    setImmediate(() => client.close())
  })
  const client = new RpcClient(daemon.socketPath, {
    retry: { firstDelayMs: 60_000, maxDelayMs: 60_000 },
  })

  await assert.rejects(client.call("memory.get"), ClosedError)
})

test("[TS-09] a socket path over the system's bound is refused before connecting", () => {
  const longest = "/" + "s".repeat(SOCKET_PATH_BYTES_MAX - 1)
  assert.equal(new MemorySystem({ socketPath: longest }).socketPath, longest)
  // As many characters as there may be bytes, but one more byte.
  const long = "/" + "s".repeat(SOCKET_PATH_BYTES_MAX - 2) + "é"

  assert.throws(
    () => new MemorySystem({ socketPath: long }),
    (error) => {
      assert.ok(error instanceof ConnectError)
      assert.equal(error.code, "ENAMETOOLONG")
      const most = SOCKET_PATH_BYTES_MAX
      const said = `has ${most + 1} bytes, at most ${most} are possible: choose a shorter one`
      assert.ok(error.message.includes(said), error.message)
      return true
    },
  )
})

/** A socket file that nobody listens on any more, as a killed daemon leaves it. */
function leaveStaleSocket(path: string): void {
  const script = `
    const die = () => process.kill(process.pid, "SIGKILL")
    require("node:net").createServer().listen(${JSON.stringify(path)}, die)`
  const { signal } = spawnSync(process.execPath, ["-e", script])
  assert.equal(signal, "SIGKILL")
}
