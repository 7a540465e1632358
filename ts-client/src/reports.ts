/** What the daemon answers about plans, runs, settings and itself. Units are as in types.ts. */

import type * as protocol from "./generated/protocol.js"
import type { Given } from "./given.js"

export type {
  ArchivedMemory,
  ArchivedPage,
  BrakeReport,
  ClockReport,
  CrossingReport,
  Decision,
  DecisionPage,
  CycleDecision,
  CycleExplanation,
  EstimateExplanation,
  EstimateReport,
  Explanation,
  FirstCrossing,
  LifecycleExplanation,
  ForgetCandidate,
  ForgetSummary,
  ForgettingReport,
  GcPlanReport,
  GcReport,
  GcVerification,
  NamespaceListing,
  NamespaceStatus,
  OpenReport,
  Pause,
  PolicyExplanation,
  Proposal,
  ProposalFailure,
  ProposalPage,
  ProposalsGcReport,
  ReasonCounts,
  ReasonText,
  ReviewCleared,
  ReviewCounts,
  ReviewDetail,
  ReviewItem,
  ReviewPage,
  RunPage as RunList,
  RunSummary,
  ScoreParts,
  Shortfall,
  SimulatedCounts,
  SimulatedDay,
  SimulatedMoves,
  SimulationReport,
  Skipped,
  StageReport,
  SweepReport,
  SystemStatus,
  ThresholdsReport,
  ThresholdValue,
  TierCounts,
  Unavailable,
} from "./generated/protocol.js"

/** What was decided of a proposal. */
export type ProposalStatus = protocol.Proposal["status"]

/** Why something is to be looked at. */
export type ReviewReason = protocol.ReviewItem["reason"]

export interface RunDetail extends Omit<protocol.RunDetail, "report"> {
  /** As the call was answered, by the daemon of that time; null while it is running. */
  report:
    | protocol.SweepReport
    | protocol.ForgetReport
    | protocol.RestoreReport
    | protocol.ForgettingReport
    | protocol.ForgetSummary
    | protocol.GcReport
    | null
}

/** Every option of forgetting in a namespace; null takes the default back. */
export interface ThresholdChanges extends Given<protocol.ThresholdChanges> {}

export type ThresholdName = keyof protocol.ThresholdChanges

/** The options a client opens its namespace with. They apply when the namespace is created. */
export interface OpenThresholds {
  /** Stage 1: spill when there are more hot memories. Default 10,000. */
  readonly forgetThresholdCount?: number | undefined
  /** Stage 2: forget when there are more hot and cold memories. Default 100,000. */
  readonly forgetThresholdTotal?: number | undefined
  /** Stage 2: forget above so many live gigabytes (10^9 bytes). Default 2. */
  readonly forgetThresholdDiskGB?: number | undefined
  /** False: nothing moves by itself and real sweeps are refused. Default true. */
  readonly forgetEnabled?: boolean | undefined
}
