import assert from "node:assert/strict"
import type { Transport } from "../dist/transport.js"
import { Judge, readDocument } from "./judge.js"

/** The transport that the package under test uses, which it does not export. */
const TRANSPORT = new URL("../../dist/transport.js", import.meta.url)

/**
 * From now on every call of every client in this process is held against openrpc.json: one that
 * does not fit, or whose answer does not, rejects with an AssertionError.
 */
export async function watchTransport(): Promise<void> {
  const { Transport: watched } = (await import(TRANSPORT.href)) as { Transport: typeof Transport }
  const judge = new Judge(readDocument())
  const post = watched.prototype.post
  watched.prototype.post = async function (body, signal) {
    const reply = await post.call(this, body, signal)
    assert.deepEqual(judge.unfit(JSON.parse(body), JSON.parse(reply.body)), [])
    return reply
  }
}
