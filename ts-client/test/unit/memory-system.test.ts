import assert from "node:assert/strict"
import { execFile } from "node:child_process"
import { createServer } from "node:http"
import { homedir } from "node:os"
import { join } from "node:path"
import { test, type TestContext } from "node:test"
import { promisify } from "node:util"
import {
  ClosedError,
  ConnectError,
  MemorySystem,
  resolveSocketPath,
  RpcError,
  type MemorySystemOptions,
  type SweepOptions,
} from "forgetd"
import { fakeDaemon, OPEN_REPORT, temporaryDirectory } from "./fake-daemon.js"

test("[TS-14] the constructor touches nothing and the first call opens with its options", async (t) => {
  const daemon = await fakeDaemon(t, (call) => call.result(null))
  const system = new MemorySystem({
    socketPath: daemon.socketPath,
    namespace: "me",
    forgetThresholdCount: 10,
    forgetThresholdTotal: 20,
    forgetThresholdDiskGB: 0.5,
    forgetEnabled: false,
  })
  t.after(() => system.close())
  assert.equal(daemon.connections(), 0)
  assert.equal(system.thresholdsDiffer, undefined)

  await Promise.all([system.get("a"), system.get("b"), system.get("c")])
  await system.get("d")

  assert.deepEqual(daemon.opened, [
    {
      namespace: "me",
      thresholds: {
        forgetThresholdCount: 10,
        forgetThresholdTotal: 20,
        forgetThresholdDiskGB: 0.5,
        forgetEnabled: false,
      },
    },
  ])
  assert.equal(daemon.calls.length, 4)
  assert.ok(daemon.calls.every((call) => call.params["namespace"] === "me"))
  assert.deepEqual(system.thresholdsDiffer, {})
})

test("[TS-14] options that were not given are not sent", async (t) => {
  const daemon = await fakeDaemon(t, (call) => call.result(null))
  const system = await MemorySystem.open({
    socketPath: daemon.socketPath,
    forgetThresholdCount: undefined,
  })
  t.after(() => system.close())

  assert.deepEqual(daemon.opened, [{ namespace: "default", thresholds: {} }])
})

test("[TS-14] open rejects without a daemon, and a failed opening is tried again", async (t) => {
  const socketPath = join(await temporaryDirectory(t), "s.sock")
  await assert.rejects(MemorySystem.open({ socketPath, retry: false }), ConnectError)

  const system = new MemorySystem({ socketPath, retry: false })
  t.after(() => system.close())
  await assert.rejects(system.get("a"), ConnectError)
  const daemon = await fakeDaemon(t, (call) => call.result(null), socketPath)
  assert.equal(await system.get("a"), null)
  assert.equal(daemon.opened.length, 1)
})

test("[TS-14] one caller's abort does not fail the opening that others wait for", async (t) => {
  const daemon = await fakeDaemon(t, (call) => call.result(null))
  const system = new MemorySystem({ socketPath: daemon.socketPath })
  t.after(() => system.close())
  const controller = new AbortController()

  const aborted = system.get("a", { signal: controller.signal })
  const other = system.get("b")
  controller.abort()

  await assert.rejects(aborted, { name: "AbortError" })
  assert.equal(await other, null)
})

test("[TS-14] a misspelt option is refused by name", () => {
  const options = { forgetTresholdCount: 5 } as MemorySystemOptions
  assert.throws(() => new MemorySystem(options), /has no option forgetTresholdCount: it has forget/)
})

test("[TS-15] each method is one call by its wire name with its parameters", async (t) => {
  const daemon = await fakeDaemon(t, (call) => call.result({ memories: [], namespaces: [] }))
  const memory = new MemorySystem({ socketPath: daemon.socketPath, namespace: "n" })
  t.after(() => memory.close())
  const signal = AbortSignal.timeout(60_000)
  const call = { signal, timeoutMs: 5_000 }
  const n = { namespace: "n" }

  const expected: readonly (readonly [Promise<unknown>, string, Record<string, unknown>])[] = [
    [
      memory.put({ content: "c", id: "a" }, { ifExists: "skip", ...call }),
      "memory.put",
      { ...n, content: "c", id: "a", ifExists: "skip" },
    ],
    [
      memory.putMany([{ content: "c" }], { partial: true, ...call }),
      "memory.putMany",
      { ...n, memories: [{ content: "c" }], partial: true },
    ],
    [
      memory.import([{ text: "x" }], { skipBad: true, source: "mine" }),
      "memory.import",
      { ...n, memories: [{ text: "x" }], skipBad: true, source: "mine" },
    ],
    [memory.get("a", call), "memory.get", { ...n, id: "a" }],
    [
      memory.getMany(["a"], { includeEmbedding: true }),
      "memory.getMany",
      { ...n, ids: ["a"], includeEmbedding: true },
    ],
    [
      memory.list({ tier: "cold", cursor: null, limit: 5, ...call }),
      "memory.list",
      { ...n, tier: "cold", limit: 5 },
    ],
    [
      memory.update("a", { pinned: true }, { ifRevision: 3 }),
      "memory.update",
      { ...n, id: "a", patch: { pinned: true }, ifRevision: 3 },
    ],
    [memory.recall("커피", call), "memory.recall", { ...n, query: "커피" }],
    [
      memory.recall({ query: "q", topK: 3, touch: "none" }),
      "memory.recall",
      { ...n, query: "q", topK: 3, touch: "none" },
    ],
    [memory.touch(["a"], call), "memory.touch", { ...n, ids: ["a"] }],
    [memory.supersede("a", "b", call), "memory.supersede", { ...n, id: "a", by: "b" }],
    [memory.pin("a"), "memory.pin", { ...n, id: "a", pinned: true }],
    [memory.hold("a", null), "memory.hold", { ...n, id: "a", until: null }],
    [memory.forget(["a"], { reason: "r" }), "memory.forget", { ...n, ids: ["a"], reason: "r" }],
    [memory.restore({ runId: "r" }, call), "memory.restore", { ...n, runId: "r" }],
    [
      memory.explain("a", { policy: "classic" }),
      "memory.explain",
      { ...n, id: "a", policy: "classic" },
    ],
    [memory.forgetSweep({ dryRun: true, ...call }), "forgetSweep", { ...n, dryRun: true }],
    [memory.coldSpill({ target: 9 }), "coldSpill", { ...n, target: 9 }],
    [memory.simulate({ days: 9, ...call }), "simulate", { ...n, days: 9 }],
    [
      memory.forgetting.runCycle({ dryRun: true, ...call }),
      "forgetting.runCycle",
      { ...n, dryRun: true },
    ],
    [
      memory.lifecycle.forget({ minAgeDays: 30, ...call }),
      "lifecycle.forget",
      { ...n, minAgeDays: 30 },
    ],
    [memory.estimate.refresh(call), "estimate.refresh", n],
    [memory.estimate.refresh({ dryRun: false }), "estimate.refresh", { ...n, dryRun: false }],
    [memory.lifecycle.invalidationsByReason(call), "lifecycle.invalidationsByReason", n],
    [
      memory.lifecycle.listArchived({ limit: 3, cursor: null }),
      "lifecycle.listArchived",
      { ...n, limit: 3 },
    ],
    [
      memory.gc.plan({ ids: ["a"], olderThanDays: 0, ...call }),
      "gc.plan",
      { ...n, ids: ["a"], olderThanDays: 0 },
    ],
    [memory.gc.execute("t", call), "gc.execute", { ...n, token: "t" }],
    [memory.gc.verify({ texts: ["x"] }), "gc.verify", { ...n, texts: ["x"] }],
    [memory.rpc.discover(call), "rpc.discover", n],
    [memory.thresholds.get(call), "thresholds.get", n],
    [
      memory.thresholds.set({ lowWatermark: 0.8, forgetEnabled: null }),
      "thresholds.set",
      { ...n, thresholds: { lowWatermark: 0.8, forgetEnabled: null } },
    ],
    [memory.thresholds.resume(), "thresholds.resume", n],
    [
      memory.review.flagged({ reason: "regret", cursor: null, ...call }),
      "review.flagged",
      { ...n, reason: "regret" },
    ],
    [memory.review.open("a", { threshold: 2 }), "review.open", { ...n, id: "a", threshold: 2 }],
    [memory.review.clear({ ids: ["a"] }), "review.clear", { ...n, ids: ["a"] }],
    [
      memory.proposals.submit({ content: "a", proposedConfidence: 0.5, supersedes: "b", ...call }),
      "proposals.submit",
      { ...n, content: "a", proposedConfidence: 0.5, supersedes: "b" },
    ],
    [
      memory.proposals.list({ status: "pending", cursor: null }),
      "proposals.list",
      { ...n, status: "pending" },
    ],
    [memory.proposals.accept("a", call), "proposals.accept", { ...n, id: "a" }],
    [
      memory.proposals.reject("a", { reason: "no" }),
      "proposals.reject",
      { ...n, id: "a", reason: "no" },
    ],
    [memory.proposals.gc({ dryRun: false }), "proposals.gc", { ...n, dryRun: false }],
    [memory.runs.list({ limit: 2 }), "runs.list", { ...n, limit: 2 }],
    [memory.runs.get("r"), "runs.get", { ...n, runId: "r" }],
    [
      memory.runs.decisions({ planId: "p" }, { cursor: "c" }),
      "runs.decisions",
      { ...n, planId: "p", cursor: "c" },
    ],
    [memory.runs.undo("r", call), "runs.undo", { ...n, runId: "r" }],
    [memory.namespaces.list(call), "namespaces.list", {}],
    [memory.system.status({ all: true }), "system.status", { ...n, all: true }],
    [memory.system.limits(), "system.limits", n],
    [memory.system.clock(1_761_955_200_000), "system.clock", { ...n, now: 1_761_955_200_000 }],
    [memory.system.stop(), "system.stop", n],
    [memory.call("rpc.other", { namespace: "o", x: 1 }), "rpc.other", { namespace: "o", x: 1 }],
  ]
  await Promise.all(expected.map(([answer]) => answer))

  for (const [, method, params] of expected) {
    const found = daemon.calls.some(
      (sent) =>
        sent.method === method &&
        JSON.stringify(sorted(sent.params)) === JSON.stringify(sorted(params)),
    )
    assert.ok(found, `${method} ${JSON.stringify(params)}`)
  }
  assert.equal(daemon.calls.length, expected.length)
  assert.equal(daemon.opened.length, 1)
})

test("[TS-15] a plan's id that is missing does not become a sweep without a plan", async (t) => {
  const daemon = await fakeDaemon(t, (call) => call.result({}))
  const system = new MemorySystem({ socketPath: daemon.socketPath })
  t.after(() => system.close())

  for (const planId of [null, undefined]) {
    const options = { planId } as unknown as SweepOptions
    await assert.rejects(system.forgetSweep(options), /planId is \w+: give a dry run's/)
    await assert.rejects(system.forgetting.runCycle(options), /planId is \w+: give a dry run's/)
    await assert.rejects(system.lifecycle.forget(options), /planId is \w+: give a dry run's/)
  }
  assert.equal(daemon.connections(), 0)
})

test("[TS-15] system calls work without opening a namespace", async (t) => {
  const daemon = await fakeDaemon(t, (call) => call.result({}))
  const system = new MemorySystem({ socketPath: daemon.socketPath })
  t.after(() => system.close())

  await system.system.status()
  await system.rpc.discover()

  assert.equal(daemon.opened.length, 0)
})

test("[TS-16] listAll and allDecisions fetch page after page, and only as far as read", async (t) => {
  const daemon = await fakeDaemon(t, (call) => {
    const page = Number(call.params["cursor"] ?? 0)
    const items = [{ id: `${page}a` }, { id: `${page}b` }]
    const cursor = page === 2 ? null : String(page + 1)
    call.result({ memories: items, decisions: items, cursor, total: 6 })
  })
  const system = new MemorySystem({ socketPath: daemon.socketPath })
  t.after(() => system.close())

  const all: string[] = []
  for await (const memory of system.listAll({ tier: "hot" })) all.push(memory.id)
  assert.deepEqual(all, ["0a", "0b", "1a", "1b", "2a", "2b"])
  assert.deepEqual(
    daemon.calls.map((call) => call.params["cursor"]),
    [undefined, "1", "2"],
  )

  const before = daemon.calls.length
  for await (const decision of system.runs.allDecisions({ runId: "r" })) {
    if (decision.id === "1a") break
  }
  assert.equal(daemon.calls.length, before + 2)
})

test("[TS-17] a system is closed once by close and by await using, and then refuses calls", async (t) => {
  const daemon = await fakeDaemon(t, (call) => call.result(null))
  const system = await MemorySystem.open({ socketPath: daemon.socketPath })

  assert.notEqual(Symbol.asyncDispose, undefined)
  await system[Symbol.asyncDispose]()
  await system.close()

  await assert.rejects(system.get("a"), ClosedError)
  await assert.rejects(system.system.status(), ClosedError)
})

test("[TS-17] an opening that the daemon refuses closes the system and tells why", async (t) => {
  const daemon = await fakeDaemon(t, (call) => call.result(null))
  const system = new MemorySystem({ socketPath: daemon.socketPath })
  t.after(() => system.close())
  assert.deepEqual(await system.connect(), OPEN_REPORT)
  assert.deepEqual(await system.connect(), OPEN_REPORT)
  assert.equal(daemon.opened.length, 1)

  const strict = await refusingDaemon(t)
  await assert.rejects(MemorySystem.open({ socketPath: strict, namespace: ".." }), RpcError)
})

test("[TS-17] an idle client that was not closed lets its process end", async (t) => {
  const daemon = await fakeDaemon(t, (call) => call.result(null))
  const program = `
    const { MemorySystem } = await import(${JSON.stringify(import.meta.resolve("forgetd"))})
    const memory = await MemorySystem.open({ socketPath: ${JSON.stringify(daemon.socketPath)} })
    await memory.get("a")
    console.log("done")`

  const { stdout } = await promisify(execFile)(
    process.execPath,
    ["--input-type=module", "--eval", program],
    { timeout: 20_000 },
  )

  assert.equal(stdout, "done\n")
})

test("[TS-18] the default socket is found as the daemon finds it", () => {
  const home = homedir()
  assert.equal(resolveSocketPath("/a/b.sock", { FORGETD_SOCKET: "/c.sock" }), "/a/b.sock")
  assert.equal(resolveSocketPath(undefined, { FORGETD_SOCKET: "/c.sock" }), "/c.sock")
  assert.equal(resolveSocketPath(undefined, { FORGETD_SOCKET: "~/c.sock" }), join(home, "c.sock"))
  assert.equal(
    resolveSocketPath(undefined, { FORGETD_SOCKET: "", XDG_RUNTIME_DIR: "/run/user/1" }),
    "/run/user/1/forgetd/forgetd.sock",
  )
  assert.equal(
    resolveSocketPath(undefined, { XDG_RUNTIME_DIR: "relative", FORGETD_STATE_DIR: "/s" }),
    "/s/run/forgetd.sock",
  )
  assert.equal(
    resolveSocketPath(undefined, { XDG_STATE_HOME: "/state" }),
    "/state/forgetd/run/forgetd.sock",
  )
  assert.equal(
    resolveSocketPath(undefined, {}),
    join(home, ".local", "state", "forgetd", "run", "forgetd.sock"),
  )
  assert.equal(resolveSocketPath("rel.sock", {}), join(process.cwd(), "rel.sock"))
  assert.throws(() => resolveSocketPath("", {}), TypeError)
  assert.throws(() => resolveSocketPath("/a\0b", {}), TypeError)
})

function sorted(params: Record<string, unknown>): unknown {
  return Object.entries(params).sort(([left], [right]) => (left < right ? -1 : 1))
}

/** The socket of a daemon that refuses every call, the opening too. */
async function refusingDaemon(context: TestContext): Promise<string> {
  const socketPath = join(await temporaryDirectory(context), "s.sock")
  const server = createServer((request, response) => {
    request.resume().on("end", () => {
      const error = { code: -32_602, message: "bad name", data: { symbol: "invalid_params" } }
      response.end(JSON.stringify({ jsonrpc: "2.0", id: null, error }))
    })
  })
  await new Promise<void>((resolve) => server.listen(socketPath, resolve))
  context.after(() => {
    server.close()
    server.closeAllConnections()
  })
  return socketPath
}
