/// <reference lib="esnext.disposable" preserve="true" />
import { RpcClient, type CallOptions, type Params } from "./client.js"
import { withWireEmbedding } from "./embedding.js"
import { eventsOf, type Events } from "./events.js"
import { GcGroup } from "./gc.js"
import {
  EstimateGroup,
  ForgettingGroup,
  NamespacesGroup,
  RpcGroup,
  RunsGroup,
  SystemGroup,
  ThresholdsGroup,
  refuseNoPlan,
  withoutNull,
} from "./groups.js"
import { LifecycleGroup } from "./lifecycle.js"
import {
  openThresholds,
  splitOptions,
  type ExplainOptions,
  type ExportOptions,
  type ForgetOptions,
  type GetOptions,
  type ImportOptions,
  type ListAllOptions,
  type ListOptions,
  type MemorySystemOptions,
  type PutManyOptions,
  type PutOptions,
  type RecallOptions,
  type RestoreSelector,
  type SimulateOptions,
  type SpillOptions,
  type SweepOptions,
  type UpdateOptions,
} from "./options.js"
import { pages, wholePages } from "./pages.js"
import { ProposalsGroup } from "./proposals.js"
import { ReviewGroup } from "./review.js"
import { resolveSocketPath } from "./socket-path.js"
import type {
  Explanation,
  OpenReport,
  OpenThresholds,
  SimulationReport,
  SweepReport,
} from "./reports.js"
import type {
  ExportedMemory,
  ExportPage,
  FeedbackSignal,
  ForgetReport,
  ImportReport,
  InvalidationReason,
  Memory,
  MemoryFields,
  MemoryInput,
  MemoryList,
  PutManyReport,
  RecallReport,
  RestoreReport,
  TouchReport,
} from "./types.js"

/** Methods about the daemon as a whole: they need no open namespace. */
const DAEMON_METHODS = /^(system|namespaces|rpc)\./

/**
 * One namespace of the daemon. Every method rejects as `RpcClient.call` says: RpcError,
 * ConnectError, TimeoutError, ClosedError, ProtocolError, SpawnError, TypeError, RangeError, or the
 * reason of the signal given.
 */
export class MemorySystem implements AsyncDisposable {
  /** The wall around its memories. */
  readonly namespace: string
  /** The daemon's socket, as an absolute path. */
  readonly socketPath: string
  readonly thresholds: ThresholdsGroup
  readonly runs: RunsGroup
  readonly forgetting: ForgettingGroup
  readonly lifecycle: LifecycleGroup
  readonly estimate: EstimateGroup
  readonly gc: GcGroup
  readonly review: ReviewGroup
  readonly proposals: ProposalsGroup
  readonly namespaces: NamespacesGroup
  readonly system: SystemGroup
  readonly rpc: RpcGroup
  readonly events: Events
  readonly #client: RpcClient
  readonly #openThresholds: OpenThresholds
  #opening: Promise<OpenReport> | undefined
  #opened: OpenReport | undefined;

  /** Closes as `close` does: `await using memory = …`. */
  declare [Symbol.asyncDispose]: () => Promise<void>

  /** Checks the options and touches nothing; the first call connects and opens the namespace. */
  constructor(options: MemorySystemOptions = {}) {
    const call = this.call.bind(this)
    this.#openThresholds = openThresholds(options)
    this.namespace = options.namespace ?? "default"
    this.socketPath = resolveSocketPath(options.socketPath)
    this.#client = new RpcClient(this.socketPath, options)
    this.thresholds = new ThresholdsGroup(call)
    this.runs = new RunsGroup(call)
    this.forgetting = new ForgettingGroup(call)
    this.lifecycle = new LifecycleGroup(call)
    this.estimate = new EstimateGroup(call)
    this.gc = new GcGroup(call)
    this.review = new ReviewGroup(call)
    this.proposals = new ProposalsGroup(call)
    this.namespaces = new NamespacesGroup(call)
    this.system = new SystemGroup(call)
    this.rpc = new RpcGroup(call)
    this.events = eventsOf(call, (events, before) =>
      this.#client.follow(this.namespace, events, before),
    )
  }

  /** A system whose daemon was reached and whose namespace is open. */
  static async open(
    options: MemorySystemOptions = {},
    call: CallOptions = {},
  ): Promise<MemorySystem> {
    const system = new MemorySystem(options)
    try {
      await system.connect(call)
    } catch (error) {
      await system.close()
      throw error
    }
    return system
  }

  /** Opens the namespace unless that was done, and says how it was found. */
  async connect(options?: CallOptions): Promise<OpenReport> {
    this.#opened ??= await this.namespaces.open(this.namespace, this.#openThresholds, options)
    return this.#opened
  }

  /**
   * The options given to this client that are not in force, because the namespace existed with
   * others, each with the value that is: `thresholds.set` changes them. Undefined until the
   * first call has opened the namespace.
   */
  get thresholdsDiffer(): Readonly<OpenReport["thresholdsDiffer"]> | undefined {
    return this.#opened?.thresholdsDiffer
  }

  /** Stores a new memory. RpcError `memory_exists` if its id is taken, unless `ifExists` says. */
  async put(memory: MemoryInput, options: PutOptions = {}): Promise<Memory> {
    const { params, call } = splitOptions(options)
    return await this.call(
      "memory.put",
      { ...withWireEmbedding(memory, "memory"), ...params },
      call,
    )
  }

  /** Stores up to 10,000 memories, all or nothing unless `partial`. */
  async putMany(
    memories: readonly MemoryInput[],
    options: PutManyOptions = {},
  ): Promise<PutManyReport> {
    const { params, call } = splitOptions(options)
    const wire = memories.map((memory, index) => withWireEmbedding(memory, `memories[${index}]`))
    return await this.call("memory.putMany", { memories: wire, ...params }, call)
  }

  /**
   * Stores records of another system: unknown keys are kept in `extra`, and values that `put`
   * refuses leave the memory unscored, so that it is never forgotten for them. With `format`
   * `forgetd` it takes lines of an export back exactly as they are.
   */
  import(
    records: readonly (ExportedMemory | Readonly<Record<string, unknown>>)[],
    options: ImportOptions = {},
  ): Promise<ImportReport> {
    const { params, call } = splitOptions(options)
    return this.call("memory.import", { memories: records, ...params }, call)
  }

  /**
   * Whole memories, page by page; `timeoutMs` is for each page. A memory that changes meanwhile
   * comes again in a later page: the later line counts. The last page has the `stateHash`; what
   * cannot be read is in `damaged`.
   */
  export(options: ExportOptions = {}): AsyncGenerator<ExportPage, void, undefined> {
    const { params, call } = splitOptions(options)
    return wholePages((cursor) =>
      this.call("memory.export", withoutNull({ ...params, cursor }), call),
    )
  }

  /** The hot or cold memory with this id, else null. Changes nothing. */
  get(id: string, options: GetOptions = {}): Promise<Memory | null> {
    const { params, call } = splitOptions(options)
    return this.call("memory.get", { id, ...params }, call)
  }

  /** As `get`, for many ids, in their order. */
  getMany(ids: readonly string[], options: GetOptions = {}): Promise<(Memory | null)[]> {
    const { params, call } = splitOptions(options)
    return this.call("memory.getMany", { ids, ...params }, call)
  }

  /** One page of memories. */
  list(options: ListOptions = {}): Promise<MemoryList> {
    const { params, call } = splitOptions(options)
    return this.call("memory.list", withoutNull(params), call)
  }

  /** All memories that `list` finds, fetched page by page; `timeoutMs` is for each page. */
  listAll(options: ListAllOptions = {}): AsyncGenerator<Memory, void, undefined> {
    return pages(async (cursor) => {
      const page = await this.list({ ...options, cursor })
      return { items: page.memories, cursor: page.cursor }
    })
  }

  /** Changes the fields in `patch`. */
  async update(id: string, patch: MemoryFields, options: UpdateOptions = {}): Promise<Memory> {
    const { params, call } = splitOptions(options)
    return await this.call(
      "memory.update",
      { id, patch: withWireEmbedding(patch, "patch"), ...params },
      call,
    )
  }

  /** Finds memories by text, by vector, or both, best first. A string is a `query`. */
  async recall(request: string | RecallOptions, options: CallOptions = {}): Promise<RecallReport> {
    const { params, call } = splitOptions(
      typeof request === "string" ? { query: request, ...options } : { ...request, ...options },
    )
    return await this.call("memory.recall", { ...withWireEmbedding(params, "recall") }, call)
  }

  /** Counts the memories as used now. */
  touch(ids: readonly string[], options?: CallOptions): Promise<TouchReport> {
    return this.call("memory.touch", { ids }, options)
  }

  /** Says that memory `by` replaces memory `id`; answers the replaced one. */
  supersede(id: string, by: string, options?: CallOptions): Promise<Memory> {
    return this.call("memory.supersede", { id, by }, options)
  }

  /** Counts what a memory was good for, in any tier; its revision stays. */
  feedback(id: string, signal: FeedbackSignal, options?: CallOptions): Promise<Memory> {
    return this.call("memory.feedback", { id, signal }, options)
  }

  /** Ends the belief in a memory, in any tier; the reason becomes its `statusReason`. */
  invalidate(id: string, reason: InvalidationReason, options?: CallOptions): Promise<Memory> {
    return this.call("memory.invalidate", { id, reason }, options)
  }

  /** A pinned memory is neither spilled nor forgotten. */
  pin(id: string, pinned = true, options?: CallOptions): Promise<Memory> {
    return this.call("memory.pin", { id, pinned }, options)
  }

  /** A held memory is not forgotten before `until` (ms); null ends the hold. */
  hold(id: string, until: number | null, options?: CallOptions): Promise<Memory> {
    return this.call("memory.hold", { id, until }, options)
  }

  /** Moves the memories out of every count and recall; `restore` brings them back. */
  forget(ids: readonly string[], options: ForgetOptions = {}): Promise<ForgetReport> {
    const { params, call } = splitOptions(options)
    return this.call("memory.forget", { ids, ...params }, call)
  }

  /** Brings back forgotten memories by ids, by the run that forgot them, or by reason. */
  restore(selector: RestoreSelector, options?: CallOptions): Promise<RestoreReport> {
    return this.call("memory.restore", { ...selector }, options)
  }

  /** Why a memory would go, or stay, by each policy. */
  explain(id: string, options: ExplainOptions = {}): Promise<Explanation> {
    const { params, call } = splitOptions(options)
    return this.call("memory.explain", { id, ...params }, call)
  }

  /**
   * Spills and forgets down to the low watermarks where a threshold is crossed. With `dryRun`
   * nothing moves and the report is the plan; its `planId` given here carries out exactly that.
   * TypeError for a `planId` that is present and no text: what was meant to apply a plan must not
   * become a sweep without one.
   */
  async forgetSweep(options: SweepOptions = {}): Promise<SweepReport> {
    const { params, call } = splitOptions(options)
    refuseNoPlan(params)
    return await this.call("forgetSweep", params, call)
  }

  /** Spills hot memories to the archive, down to `target`; forgets none. */
  coldSpill(options: SpillOptions = {}): Promise<SweepReport> {
    const { params, call } = splitOptions(options)
    return this.call("coldSpill", params, call)
  }

  /**
   * What automatic runs would do in the days to come, day by day; nothing changes. Arrivals are
   * like the newest memories, and nothing is recalled.
   */
  simulate(options: SimulateOptions = {}): Promise<SimulationReport> {
    const { params, call } = splitOptions(options)
    return this.call("simulate", params, call)
  }

  /** Any method by its wire name, in this namespace unless `params` names another. */
  call<T>(method: string, params: Params = {}, options?: CallOptions): Promise<T> {
    const daemonWide = DAEMON_METHODS.test(method)
    const ready = daemonWide || this.#opened !== undefined ? undefined : () => this.#connectOnce()
    const named = method === "namespaces.list" ? params : { namespace: this.namespace, ...params }
    return this.#client.call(method, named, options, ready)
  }

  /** Drops the connections. Calls under way and later ones reject with ClosedError. */
  async close(): Promise<void> {
    this.#client.close()
  }

  /** First calls made at once share one opening; a failed one is tried again by the next. */
  #connectOnce(): Promise<OpenReport> {
    this.#opening ??= this.connect().finally(() => (this.#opening = undefined))
    return this.#opening
  }
}

// Node has had the symbol since 20.4; without it there is nothing to define.
if (Symbol.asyncDispose !== undefined) {
  Object.defineProperty(MemorySystem.prototype, Symbol.asyncDispose, {
    value: MemorySystem.prototype.close,
    writable: true,
    configurable: true,
  })
}
