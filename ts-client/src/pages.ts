interface Page {
  /** Where the next page starts; null on the last one. */
  readonly cursor: string | null
}

/** Yields page after page, asking for the next one only when the last was taken. */
export async function* wholePages<T extends Page>(
  fetch: (cursor: string | null) => Promise<T>,
): AsyncGenerator<T, void, undefined> {
  let cursor: string | null = null
  do {
    const page: T = await fetch(cursor)
    yield page
    cursor = page.cursor
  } while (cursor !== null)
}

/** Yields the items of all pages, asking for the next page only when the last is used up. */
export async function* pages<T>(
  fetch: (cursor: string | null) => Promise<Page & { readonly items: T[] }>,
): AsyncGenerator<T, void, undefined> {
  for await (const page of wholePages(fetch)) yield* page.items
}
