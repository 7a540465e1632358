import type { CallOptions, Params } from "./client.js"
import type { JsonObject } from "./json.js"
import {
  splitOptions,
  type CycleOptions,
  type DecisionsSelector,
  type PageOptions,
  type RefreshOptions,
  type StatusOptions,
} from "./options.js"
import { pages } from "./pages.js"
import type {
  ClockReport,
  Decision,
  DecisionPage,
  EstimateReport,
  ForgettingReport,
  NamespaceListing,
  OpenReport,
  OpenThresholds,
  RunDetail,
  RunList,
  SystemStatus,
  ThresholdChanges,
  ThresholdsReport,
} from "./reports.js"
import type { RestoreReport } from "./types.js"

/** Makes one call in the namespace of the system that the group belongs to. */
export type Caller = <T>(method: string, params?: Params, options?: CallOptions) => Promise<T>

/** The settings of forgetting in this namespace. */
export class ThresholdsGroup {
  readonly #call: Caller

  constructor(call: Caller) {
    this.#call = call
  }

  /** The settings in force, and what stops automatic runs. */
  get(options?: CallOptions): Promise<ThresholdsReport> {
    return this.#call("thresholds.get", {}, options)
  }

  /** Changes the settings named; null takes the default back. A config file wins over these. */
  set(thresholds: ThresholdChanges, options?: CallOptions): Promise<ThresholdsReport> {
    return this.#call("thresholds.set", { thresholds }, options)
  }

  /** Lets automatic runs go on after an undo, a brake or a clock alarm. */
  resume(options?: CallOptions): Promise<ThresholdsReport> {
    return this.#call("thresholds.resume", {}, options)
  }
}

/** The cycle of keeping, fading and pruning. */
export class ForgettingGroup {
  readonly #call: Caller

  constructor(call: Caller) {
    this.#call = call
  }

  /**
   * Decides on every memory: keep, fade, or prune. With `dryRun` nothing changes and the report is
   * the plan; its `planId` given here carries out exactly that. TypeError for a `planId` that is
   * present and no text.
   */
  async runCycle(options: CycleOptions = {}): Promise<ForgettingReport> {
    const { params, call } = splitOptions(options)
    refuseNoPlan(params)
    return await this.#call("forgetting.runCycle", params, call)
  }
}

/** The importance that is estimated from the text. */
export class EstimateGroup {
  readonly #call: Caller

  constructor(call: Caller) {
    this.#call = call
  }

  /**
   * Estimates anew what an older estimator judged; unless `dryRun` is false it is only counted.
   * What a host said of importance stays. There is no undo.
   */
  async refresh(options: RefreshOptions = {}): Promise<EstimateReport> {
    const { params, call } = splitOptions(options)
    return await this.#call("estimate.refresh", params, call)
  }
}

/** What was meant to apply a plan must not become a run without one. */
export function refuseNoPlan(params: Params): void {
  if ("planId" in params && typeof params["planId"] !== "string") {
    throw new TypeError(`planId is ${String(params["planId"])}: give a dry run's, or leave it out`)
  }
}

/** The runs of this namespace, newest first. */
export class RunsGroup {
  readonly #call: Caller

  constructor(call: Caller) {
    this.#call = call
  }

  list(options: PageOptions = {}): Promise<RunList> {
    const { params, call } = splitOptions(options)
    return this.#call("runs.list", withoutNull(params), call)
  }

  /** One run with its report as it was answered. RpcError `run_unknown` if there is none. */
  get(runId: string, options?: CallOptions): Promise<RunDetail> {
    return this.#call("runs.get", { runId }, options)
  }

  /** One page of the decisions of a run or of a plan. */
  decisions(selector: DecisionsSelector, options: PageOptions = {}): Promise<DecisionPage> {
    const { params, call } = splitOptions(options)
    return this.#call("runs.decisions", { ...selector, ...withoutNull(params) }, call)
  }

  /** All decisions of a run or of a plan, fetched page by page. */
  allDecisions(
    selector: DecisionsSelector,
    options: Omit<PageOptions, "cursor"> = {},
  ): AsyncGenerator<Decision, void, undefined> {
    return pages(async (cursor) => {
      const page = await this.decisions(selector, { ...options, cursor })
      return { items: page.decisions, cursor: page.cursor }
    })
  }

  /** Brings back what the run moved. Automatic runs pause until `thresholds.resume()`. */
  undo(runId: string, options?: CallOptions): Promise<RestoreReport> {
    return this.#call("runs.undo", { runId }, options)
  }
}

/** The daemon's namespaces. */
export class NamespacesGroup {
  readonly #call: Caller

  constructor(call: Caller) {
    this.#call = call
  }

  /** Creates the namespace if there is none. Thresholds apply only then, else are compared. */
  open(
    namespace: string,
    thresholds: OpenThresholds = {},
    options?: CallOptions,
  ): Promise<OpenReport> {
    return this.#call("namespaces.open", { namespace, thresholds }, options)
  }

  async list(options?: CallOptions): Promise<NamespaceListing[]> {
    const answer = await this.#call<{ namespaces: NamespaceListing[] }>(
      "namespaces.list",
      {},
      options,
    )
    return answer.namespaces
  }
}

/** The daemon itself. */
export class SystemGroup {
  readonly #call: Caller

  constructor(call: Caller) {
    this.#call = call
  }

  /** The daemon's state and that of this namespace, or of all. Opens nothing. */
  status(options: StatusOptions = {}): Promise<SystemStatus> {
    const { params, call } = splitOptions(options)
    return this.#call("system.status", params, call)
  }

  /** Every bound that the daemon enforces, by name. */
  limits(options?: CallOptions): Promise<Record<string, number>> {
    return this.#call("system.limits", {}, options)
  }

  /** The daemon's time; sets it to `now` where `serve --allow-injected-clock` runs. */
  clock(now?: number, options?: CallOptions): Promise<ClockReport> {
    return this.#call("system.clock", { now }, options)
  }

  /** Asks the daemon to finish its calls and stop. */
  stop(options?: CallOptions): Promise<{ stopping: true }> {
    return this.#call("system.stop", {}, options)
  }
}

/** The protocol. */
export class RpcGroup {
  readonly #call: Caller

  constructor(call: Caller) {
    this.#call = call
  }

  /** The contract that the daemon keeps, as an OpenRPC document. */
  discover(options?: CallOptions): Promise<JsonObject> {
    return this.#call("rpc.discover", {}, options)
  }
}

/** A page's null cursor means "no more"; a call's absent one means "from the start". */
export function withoutNull<T extends { readonly cursor?: string | null | undefined }>(
  params: T,
): Params {
  return { ...params, cursor: params.cursor ?? undefined }
}
