"""Every bound the daemon enforces, by name, with its unit last.

A bound that a user can meet is reported with its name's value in the error, so the number
stands here once and nowhere else.
"""

from typing import Final

# Numbers that survive a round trip through a JavaScript host.
INTEGER_MAX: Final = 2**53 - 1

# Time.
MILLISECONDS_PER_MINUTE: Final = 60_000
MILLISECONDS_PER_HOUR: Final = 3_600_000
MILLISECONDS_PER_DAY: Final = 86_400_000
TIME_MIN_MS: Final = 946_684_800_000  # 2000-01-01T00:00:00Z; smaller is usually epoch seconds
CLOCK_MAX_MS: Final = 2**48 - 1  # what the time in a made id can hold: the year 10889
FUTURE_TOLERANCE_MS: Final = MILLISECONDS_PER_DAY
CLOCK_BACK_TOLERANCE_MS: Final = MILLISECONDS_PER_MINUTE  # what a time service may set back

# One memory.
ID_BYTES_MAX: Final = 256
CONTENT_BYTES_MAX: Final = 1_048_576
METADATA_BYTES_MAX: Final = 65_536
EMBEDDING_DIMENSIONS_MAX: Final = 4_096
EMBEDDING_MODEL_BYTES_MAX: Final = 256
MEDIA_REF_BYTES_MAX: Final = 1_024
MEDIA_TRASH_NAME_BYTES_MAX: Final = 200  # of its name, in the trash; file systems take 255
ESTIMATE_CHARACTERS_MAX: Final = 2_048  # what an estimate reads of a text
REASON_BYTES_MAX: Final = 1_024
SUPERSEDES_IDS_MAX: Final = 1_000

# One call.
BODY_BYTES_MAX: Final = 33_554_432
BATCH_CALLS_MAX: Final = 100
JSON_DEPTH_MAX: Final = 64
PUT_MANY_MEMORIES_MAX: Final = 10_000
GET_MANY_IDS_MAX: Final = 10_000
LIST_LIMIT_MAX: Final = 1_000
LIST_LIMIT_DEFAULT: Final = 100
EXPORT_LIMIT_MAX: Final = 10_000
EXPORT_LIMIT_DEFAULT: Final = 1_000
EXPORT_PAGE_BYTES_MAX: Final = 4_000_000  # of the records in one reply, unless it is only one
RECALL_TOP_MAX: Final = 1_000
RECALL_TOP_DEFAULT: Final = 20
RECALL_QUERY_BYTES_MAX: Final = 65_536
RESTORE_IDS_MAX: Final = 100_000
REPORT_DECISIONS_DEFAULT: Final = 100
REPORT_DECISIONS_MAX: Final = 10_000
REPORT_NAMED_MAX: Final = 100  # ids named in a list of skipped, unscored or protected memories

# Idempotency keys.
IDEMPOTENCY_KEY_BYTES_MAX: Final = 256
IDEMPOTENCY_KEY_HOURS: Final = 24
IDEMPOTENCY_REPLIES_BYTES_MAX: Final = 268_435_456  # of one namespace; above it the oldest go
IDEMPOTENCY_KEYS_PER_DROP_MAX: Final = 250

# The socket.
SOCKET_PATH_BYTES_MAX: Final = 107
CONNECTIONS_MAX: Final = 1_024
CALLS_IN_FLIGHT_MAX: Final = 256
HEADER_DEADLINE_SECONDS: Final = 10.0
BODY_DEADLINE_SECONDS: Final = 30.0
KEEP_ALIVE_SECONDS: Final = 75.0
CALL_DEADLINE_SECONDS: Final = 60.0
RUN_DEADLINE_SECONDS: Final = 600.0
DRAIN_SECONDS: Final = 20.0
IDLE_EXIT_SECONDS_MAX: Final = 2_678_400.0  # 31 days

# Namespaces.
NAMESPACE_NAME_BYTES_MAX: Final = 64
NAMESPACES_OPEN_MAX: Final = 64
NAMESPACE_IDLE_SECONDS: Final = 600.0
WRITE_QUEUE_JOBS_MAX: Final = 1_024
WRITE_GROUP_JOBS_MAX: Final = 64

# Runs.
MOVES_PER_TRANSACTION_MAX: Final = 250
RUN_QUEUE_MAX: Final = 16
PLANS_KEPT_MAX: Final = 8
PLAN_LIFETIME_MS: Final = 15 * MILLISECONDS_PER_MINUTE
SWEEP_DEBOUNCE_SECONDS: Final = 0.25
SWEEP_TIMER_SECONDS: Final = 1_800.0
BACKOFF_FIRST_MS: Final = 30 * MILLISECONDS_PER_MINUTE
BACKOFF_MAX_MS: Final = MILLISECONDS_PER_DAY
BRAKE_WINDOW_MS: Final = MILLISECONDS_PER_DAY
BRAKE_MEMORIES_MIN: Final = 10  # the brake always lets this many go
BRAKE_STORE_MEMORIES_MIN: Final = 100  # below this many memories the brake is off
TOUCH_FLUSH_SECONDS: Final = 5.0
TOUCHES_PENDING_MAX: Final = 100_000
TOUCHED_BY_TOP: Final = 3
THAWS_PER_RECALL_MAX: Final = 3

# Duplicates.
DUPLICATE_BLOCK_MEMORIES: Final = 1_024  # compared with as many others at once
DUPLICATE_CHECKED_COUNT: Final = 4_096  # pairs whose cosine is computed exactly at once
DUPLICATE_SAMPLE_MEMORIES: Final = 1_024  # by which the directions of a store are found
DUPLICATE_PAIRS_COUNT_MAX: Final = 2_000_000  # of one model; with more, closeness says nothing
EXPLAIN_DUPLICATES_MEMORIES_MAX: Final = 10_000  # compared for one explanation; some 0.3 s
GUARD_TEXT_BYTES_MAX: Final = 4_096  # of longer texts every difference keeps both
# Destroying for good.
GC_OLDER_THAN_DAYS_DEFAULT: Final = 14
GC_DAYS_MAX: Final = 36_500
GC_IDS_MAX: Final = 100_000
GC_TOKEN_LIFETIME_MS: Final = 15 * MILLISECONDS_PER_MINUTE
GC_PLANS_KEPT_MAX: Final = 32
GC_SAMPLE_MEMORIES_MAX: Final = 20
GC_STANDING_ORDER_DAYS_MIN: Final = 7
GC_STANDING_ORDER_EVERY_SECONDS: Final = 86_400.0
GC_STANDING_ORDER_MEMORIES_MAX: Final = 100_000  # of one run; the next day goes on
VERIFY_TEXT_BYTES_MIN: Final = 32  # a shorter text may stand anywhere by chance
VERIFY_TEXTS_BYTES_MAX: Final = 16 * 1_048_576  # kept in memory, to be searched for
VERIFY_TEXTS_COUNT_MAX: Final = 1_000

# Review.
REVIEW_REGRETS_COUNT_DEFAULT: Final = 5  # so many in the window, and a memory is to be looked at
REVIEW_WINDOW_DAYS_DEFAULT: Final = 90
REVIEW_WINDOW_DAYS_MAX: Final = 3_650
REVIEW_CLEARED_COUNT_MAX: Final = 10_000
REVIEW_CLEAR_IDS_MAX: Final = 1_000
REVIEW_ITEMS_PER_EVENT_COUNT_MAX: Final = 500
REVIEW_OPENED_MEMORIES_MAX: Final = 20  # shown with the one that is opened
REGRETS_KEPT_COUNT_MAX: Final = 100  # the newest; as many as a threshold may ask for
GUARDED_PAIRS_PLANNED_COUNT_MAX: Final = 10_000  # of one cycle, for the review
GUARDED_PAIRS_COUNT_MAX: Final = 1_000  # of those, what waits for a look

# Proposals.
PROPOSALS_PENDING_COUNT_MAX: Final = 1_000  # of one namespace
PROPOSALS_DECIDED_COUNT_MAX: Final = 10_000  # of one namespace; with more, the first decided go
PROPOSALS_PER_TRANSACTION_COUNT_MAX: Final = 50
PROPOSAL_EXPIRY_DAYS_DEFAULT: Final = 30
PROPOSAL_EXPIRY_DAYS_MAX: Final = 36_500
PROPOSAL_AUTO_ACCEPT_SHARE_MAX: Final = 1.1  # off: no confidence reaches it

# Events.
EVENT_STREAMS_MAX: Final = 64
EVENTS_PER_READ_MAX: Final = 500
EVENT_READS_MAX: Final = 2  # by all streams together: other reads need threads too
EVENT_READ_PAUSE_SECONDS: Final = 0.05
EVENT_WRITE_BYTES_MAX: Final = 65_536
EVENT_WRITE_DEADLINE_SECONDS: Final = 10.0
EVENT_HEARTBEAT_SECONDS: Final = 15.0
EVENTS_PER_FOLD_MAX: Final = 250
EVENT_FOLD_AT_CLOSE_SECONDS: Final = 1.0
ANNOUNCEMENTS_KEPT_MAX: Final = 16  # events of dry runs: told to those who follow, in no log

# The cycle.
PRUNES_PER_TRANSACTION_MAX: Final = 10
CYCLE_DECISIONS_DEFAULT: Final = 1_000  # as many as its event carries
VECTORS_IN_RAM_BYTES_MAX: Final = 268_435_456  # compared vectors above this lie in a file
CYCLE_EXAMPLES: Final = 5  # memories shown as the weakest and as the nearest to a threshold

# Active forgetting.
CANDIDATE_MEMORIES_DEFAULT: Final = 100  # shown by a report; the rest by runs.decisions
REASONS_COUNT_MAX: Final = 100  # different texts of hosts that invalidationsByReason tells apart
# Simulations.
SIMULATED_DAYS_DEFAULT: Final = 30
SIMULATED_DAYS_MAX: Final = 3_650
SIMULATED_STEP_MS: Final = MILLISECONDS_PER_HOUR
SIMULATED_MEMORIES_PER_DAY_MAX: Final = 1_000_000
SIMULATED_MEMORIES_MAX: Final = 1_000_000  # those there and those arriving, together
SIMULATED_MEMORIES_PLANNED_MAX: Final = 1_000_000_000  # by all its plans; some minutes
SIMULATED_SAMPLE_MEMORIES: Final = 1_000  # of memories, that arrivals are like
SIMULATED_RATE_DAYS: Final = 30  # over which the rate of arrivals is measured

# Files.
SEGMENT_BYTES_MAX: Final = 8 * 1_048_576
FRAME_MEMORIES_MAX: Final = 1_000
SEGMENT_DEAD_SHARE_MAX: Final = 0.3
ENCODE_IN_PROCESS_MEMORIES_MAX: Final = 500  # more are encoded in a process of their own
RESERVE_BYTES: Final = 16 * 1_048_576
VACUUM_GAIN_SHARE_MIN: Final = 0.05  # give space back when a run freed this share of hot.db
SQLITE_PAGE_BYTES: Final = 8_192
GIGABYTE_BYTES: Final = 1_000_000_000
IMPORT_LINE_BYTES_MAX: Final = 4 * 1_048_576
EXPORT_LINE_BYTES_MAX: Final = 8 * 1_048_576  # content of control characters grows six times
SEGMENTS_SMALL_MAX: Final = 16  # more small segments than this are merged
