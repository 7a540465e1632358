export { MemorySystem } from "./memory-system.js"
export { RpcClient } from "./client.js"
export type { CallOptions, ClientOptions, Params } from "./client.js"
export {
  ClosedError,
  ConnectError,
  ForgetdError,
  ProtocolError,
  RpcError,
  SpawnError,
  TimeoutError,
} from "./errors.js"
export type { RpcErrorData, SpawnFault } from "./errors.js"
export { isReset } from "./events.js"
export type { EventItem, EventPage, EventReset, Events, LoggedEvent } from "./events.js"
export type { GcGroup } from "./gc.js"
export type { LifecycleGroup } from "./lifecycle.js"
export type {
  EstimateGroup,
  NamespacesGroup,
  RpcGroup,
  ForgettingGroup,
  RunsGroup,
  SystemGroup,
  ThresholdsGroup,
} from "./groups.js"
export type { ProposalsGroup } from "./proposals.js"
export type { ReviewGroup } from "./review.js"
export { resolveSocketPath, SOCKET_PATH_BYTES_MAX } from "./socket-path.js"
export type { RetryOptions } from "./retry.js"
export type { SpawnOptions } from "./spawn-options.js"
export type * from "./options.js"
export type * from "./reports.js"
export type * from "./types.js"
export { DECAY_PER_DAY, POLICIES, strengthOf, strengthParts, sweepScore } from "./strength.js"
export type { PolicyExponents, ScoredFields, StrengthParts, SweepScore } from "./strength.js"
export { ESTIMATOR_VERSION, estimateOf, estimateParts } from "./estimate.js"
export type { EstimateParts, SentenceKind, WordKind } from "./estimate.js"
