/**
 * Writes src/generated/estimate-table.ts from protocol/estimate.json: `npm run generate`. With
 * --check it writes nothing and fails where the file is not what would be written.
 */
import { readFile, writeFile } from "node:fs/promises"
import { format } from "prettier"

const TABLE = new URL("../../protocol/estimate.json", import.meta.url)
const TARGET = new URL("../src/generated/estimate-table.ts", import.meta.url)
const STYLE = new URL("../.prettierrc.json", import.meta.url)

const BANNER = `/**
 * The estimator's words and weights, generated from protocol/estimate.json by \`npm run generate\`.
 * Not for hands.
 */
`

const table = JSON.parse(await readFile(TABLE, "utf8"))
const style = JSON.parse(await readFile(STYLE, "utf8"))
const text = await format(
  `${BANNER}export const ESTIMATE_TABLE = ${JSON.stringify(table)} as const`,
  {
    ...style,
    parser: "typescript",
  },
)
if (process.argv.includes("--check")) {
  const current = await readFile(TARGET, "utf8").catch(() => "")
  if (current !== text) {
    console.error("src/generated/estimate-table.ts is not current: run npm run generate")
    process.exitCode = 1
  }
} else {
  await writeFile(TARGET, text)
}
