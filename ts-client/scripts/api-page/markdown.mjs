/** Parts of a Markdown page. */

export function fence(language, text) {
  return `\`\`\`${language}\n${text}\n\`\`\``
}

/** A table; cells may hold line breaks and bars. */
export function table(head, rows) {
  const lines = [head, head.map(() => "---"), ...rows].map(
    (cells) =>
      `| ${cells.map((cell) => cell.replace(/\s+/g, " ").replaceAll("|", "\\|")).join(" | ")} |`,
  )
  return lines.join("\n")
}

/** Names in running text. */
export function list(names) {
  return names.map((name) => `\`${name}\``).join(", ")
}
