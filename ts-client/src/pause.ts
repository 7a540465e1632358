/** Waits, or rejects with the signal's reason as soon as it is aborted. */
export async function pause(delayMs: number, signal: AbortSignal): Promise<void> {
  let timer: NodeJS.Timeout | undefined
  const waited = new Promise<void>((resolve) => (timer = setTimeout(resolve, delayMs)))
  try {
    await abortable(waited, signal)
  } finally {
    clearTimeout(timer)
  }
}

/** What `promise` becomes, or a rejection with the signal's reason if that comes first. */
export function abortable<T>(promise: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    const stop = (): void => reject(signal.reason as Error)
    if (signal.aborted) stop()
    signal.addEventListener("abort", stop, { once: true })
    promise.then(resolve, reject).finally(() => signal.removeEventListener("abort", stop))
  })
}
