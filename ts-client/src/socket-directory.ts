import { lstatSync, type Stats } from "node:fs"
import { SpawnError } from "./errors.js"

const OPEN_TO_OTHERS = 0o077

/**
 * Throws SpawnError `unsafe_directory` unless nobody else can put a socket into `directory`: it
 * is a directory, no link, of this process's user, closed to all others (mode 0700). One that is
 * not there passes, because the daemon makes it so.
 */
export function checkSocketDirectory(directory: string): void {
  const fault = faultOf(directory)
  if (fault === undefined) return
  throw new SpawnError("unsafe_directory", `the socket directory ${directory} ${fault}`)
}

function faultOf(directory: string): string | undefined {
  let found: Stats | undefined
  try {
    found = lstatSync(directory, { throwIfNoEntry: false })
  } catch (error) {
    return `cannot be looked at (${(error as NodeJS.ErrnoException).code})`
  }
  if (found === undefined) return undefined
  if (found.isSymbolicLink()) return "is a symbolic link: name its target by socketPath"
  if (!found.isDirectory()) return "is not a directory: name another by socketPath"
  const user = process.geteuid?.()
  if (found.uid !== user) {
    return `belongs to the user with id ${found.uid}: name one of your own by socketPath`
  }
  if ((found.mode & OPEN_TO_OTHERS) !== 0) {
    const mode = (found.mode & 0o7777).toString(8).padStart(4, "0")
    return `is open to others (mode ${mode}): chmod 700 it, or name another by socketPath`
  }
  return undefined
}
