import { homedir } from "node:os"
import { isAbsolute, join, resolve } from "node:path"
import { ConnectError } from "./errors.js"

/** The longest socket path the system can bind, in bytes. */
export const SOCKET_PATH_BYTES_MAX = process.platform === "darwin" ? 103 : 107

type Environment = Readonly<Record<string, string | undefined>>

/**
 * The absolute path of the socket, found as the daemon finds it: the option, else
 * `FORGETD_SOCKET`, else `$XDG_RUNTIME_DIR/forgetd/forgetd.sock`, else `run/forgetd.sock` in the
 * state directory (`FORGETD_STATE_DIR`, `$XDG_STATE_HOME/forgetd` or `~/.local/state/forgetd`).
 * Empty variables and relative XDG ones count as absent; a leading `~` is the home directory.
 * Touches no file.
 *
 * Throws ConnectError `ENAMETOOLONG` for a path that no socket can have: the system itself
 * reports such a path as missing or invalid, which misleads.
 */
export function resolveSocketPath(option?: string, environment: Environment = process.env): string {
  if (option === "" || option?.includes("\0")) {
    throw new TypeError("socketPath must be a path without NUL characters, not empty")
  }
  const given = option ?? environment["FORGETD_SOCKET"]
  const path = given ? expand(given) : defaultSocketPath(environment)
  const bytes = Buffer.byteLength(path)
  if (bytes > SOCKET_PATH_BYTES_MAX) {
    throw new ConnectError(
      "ENAMETOOLONG",
      `the socket path has ${bytes} bytes, at most ${SOCKET_PATH_BYTES_MAX} are possible: ` +
        `choose a shorter one with socketPath or FORGETD_SOCKET (${path})`,
      path,
      false,
    )
  }
  return path
}

function defaultSocketPath(environment: Environment): string {
  const runtime = absoluteBase("XDG_RUNTIME_DIR", environment)
  const directory =
    runtime === undefined ? join(stateDirectory(environment), "run") : join(runtime, "forgetd")
  return join(directory, "forgetd.sock")
}

function stateDirectory(environment: Environment): string {
  const given = environment["FORGETD_STATE_DIR"]
  if (given) return expand(given)
  const home = absoluteBase("XDG_STATE_HOME", environment) ?? join(homedir(), ".local", "state")
  return join(home, "forgetd")
}

/** The base directory specification says: a relative path is invalid and must be ignored. */
function absoluteBase(variable: string, environment: Environment): string | undefined {
  const value = environment[variable]
  return value !== undefined && isAbsolute(value) ? value : undefined
}

function expand(path: string): string {
  return resolve(path.replace(/^~(?=\/|$)/, homedir()))
}
