/** How the demo talks: plain sentences, and claims that are checked as they are made. */

export const NAMESPACE = "demo"
const CONTENT_COLUMNS = 36
const colours = process.stdout.isTTY && (process.env["NO_COLOR"] ?? "") === ""

/** One sentence of the story. */
export function say(sentence: string): void {
  console.log(`   ${sentence}`)
}

/** A sentence that must be true; the program ends with what was found where it is not. */
export function claim(sentence: string, holds: boolean, found: unknown): void {
  if (!holds) throw new NotAsTold(`${sentence}\n  found: ${JSON.stringify(found)}`)
  console.log(` ${colours ? "\x1b[32m✓\x1b[0m" : "✓"} ${sentence}`)
}

/** Rows below their heads. Columns of numbers stand to the right. */
export function table(heads: readonly string[], rows: readonly (readonly string[])[]): void {
  const columns = heads.map((head, column) => {
    const cells = rows.map((row) => row[column] ?? "")
    const width = Math.max(head.length, ...cells.map((cell) => cell.length))
    const numbers = cells.every((cell) => /^([\d.,]+( d| kB)?|-)$/.test(cell))
    return (cell: string) => (numbers ? cell.padStart(width) : cell.padEnd(width))
  })
  for (const line of [heads, ...rows]) {
    const cells = line.map((cell, column) => columns[column]?.(cell) ?? cell)
    const text = `     ${cells.join("  ")}`.trimEnd()
    console.log(line === heads && colours ? `\x1b[2m${text}\x1b[0m` : text)
  }
}

/** A text cut to what one line of a table has room for. Korean letters are two columns wide. */
export function shortened(text: string): string {
  let columns = 0
  let kept = ""
  for (const character of text) {
    columns += (character.codePointAt(0) ?? 0) >= 0x1100 ? 2 : 1
    if (columns > CONTENT_COLUMNS) return `${kept}…`
    kept += character
  }
  return text
}

/** Bytes in thousands, as the thresholds count them. */
export function size(bytes: number): string {
  return `${Math.round(bytes / 1000).toLocaleString("en")} kB`
}

/** Runs the program; what goes wrong is said without a trace and ends it with 1. */
export async function tell(program: () => Promise<void>): Promise<void> {
  try {
    await program()
  } catch (error) {
    console.error(error instanceof NotAsTold ? `not as told: ${error.message}` : `${error}`)
    process.exitCode = 1
  }
}

class NotAsTold extends Error {}
