/** How a daemon is started where none is running. */
export interface SpawnOptions {
  /**
   * The program and its arguments, as `["forgetd", "serve"]`. `--socket` and `--idle-exit` are
   * added. It must stay in the foreground, as `forgetd serve` does.
   */
  readonly command: readonly string[]
  /** Added to what it gets of the host's: `PATH`, `HOME`, `LANG`, `TMPDIR`, `XDG_*`, `FORGETD_*`. */
  readonly env?: Readonly<Record<string, string>> | undefined
  /** What the daemon writes to standard error is added to this file. Default: it is dropped. */
  readonly logFile?: string | undefined
  /** The daemon ends by itself after so long without connections, calls and runs. Default 600. */
  readonly idleExitSeconds?: number | undefined
  /** Milliseconds until the daemon must serve calls. Default 30,000. */
  readonly readyTimeoutMs?: number | undefined
}

/** As `SpawnOptions`, checked and complete. */
export interface SpawnPlan {
  readonly program: string
  readonly arguments: readonly string[]
  readonly env: Readonly<Record<string, string>>
  readonly logFile: string | undefined
  readonly readyTimeoutMs: number
}

const IDLE_EXIT_SECONDS_DEFAULT = 600
/** The daemon's own bound. */
const IDLE_EXIT_SECONDS_MAX = 2_678_400
const READY_TIMEOUT_MS_DEFAULT = 30_000
const READY_TIMEOUT_MS_MAX = 600_000

const OPTION_NAMES: ReadonlySet<string> = new Set([
  "command",
  "env",
  "logFile",
  "idleExitSeconds",
  "readyTimeoutMs",
] satisfies readonly (keyof SpawnOptions)[])

const PASSED_ON = /^(PATH|HOME|LANG|TMPDIR|XDG_\w+|FORGETD_\w+)$/

/**
 * The environment of a spawned daemon: of the host's only `PATH`, `HOME`, `LANG`, `TMPDIR`,
 * `XDG_*` and `FORGETD_*`, because a daemon outlives its host and needs none of its secrets.
 */
export function cleanEnvironment(
  environment: Readonly<Record<string, string | undefined>>,
): Record<string, string> {
  const passed = Object.entries(environment).filter(
    (entry): entry is [string, string] => entry[1] !== undefined && PASSED_ON.test(entry[0]),
  )
  return Object.fromEntries(passed)
}

/** Checks the options and touches nothing. Throws TypeError or RangeError naming the option. */
export function planSpawn(
  options: SpawnOptions,
  socketPath: string,
  environment: Readonly<Record<string, string | undefined>> = process.env,
): SpawnPlan {
  for (const name of Object.keys(options)) {
    if (OPTION_NAMES.has(name)) continue
    throw new TypeError(`spawn has no option ${name}: it has ${[...OPTION_NAMES].join(", ")}`)
  }
  const { command, env = {}, logFile } = options
  const idleExitSeconds = options.idleExitSeconds ?? IDLE_EXIT_SECONDS_DEFAULT
  const readyTimeoutMs = options.readyTimeoutMs ?? READY_TIMEOUT_MS_DEFAULT
  checkNumber("idleExitSeconds", idleExitSeconds, IDLE_EXIT_SECONDS_MAX)
  checkNumber("readyTimeoutMs", readyTimeoutMs, READY_TIMEOUT_MS_MAX)
  if (!Array.isArray(command) || !command.every(isArgument) || !command[0]) {
    throw new TypeError('spawn.command must be texts, as ["forgetd", "serve"]')
  }
  if (!Object.entries(env).every((entry) => entry.every(isArgument))) {
    throw new TypeError("spawn.env must hold texts by name, without NUL characters")
  }
  if (logFile !== undefined && (!isArgument(logFile) || logFile === "")) {
    throw new TypeError("spawn.logFile must be a path without NUL characters, not empty")
  }
  return {
    program: command[0],
    arguments: [
      ...command.slice(1),
      "--socket",
      socketPath,
      "--idle-exit",
      String(idleExitSeconds),
    ],
    env: { ...cleanEnvironment(environment), ...env },
    logFile,
    readyTimeoutMs,
  }
}

function isArgument(value: unknown): value is string {
  return typeof value === "string" && !value.includes("\0")
}

function checkNumber(name: keyof SpawnOptions, value: number, max: number): void {
  if (value > 0 && value <= max) return
  throw new RangeError(`spawn.${name} is ${value}: give more than 0 and at most ${max}`)
}
