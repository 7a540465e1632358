/** Yields the items of all pages, asking for the next page only when the last is used up. */
export async function* pages<T>(
  fetch: (cursor: string | null) => Promise<{ items: T[]; cursor: string | null }>,
): AsyncGenerator<T, void, undefined> {
  let cursor: string | null = null
  do {
    const page: { items: T[]; cursor: string | null } = await fetch(cursor)
    yield* page.items
    cursor = page.cursor
  } while (cursor !== null)
}
