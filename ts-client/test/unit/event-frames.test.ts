import assert from "node:assert/strict"
import { test } from "node:test"
import { ProtocolError } from "forgetd"
import type * as frames from "../../dist/event-frames.js"

/** What the package does not export. */
const MODULE = new URL("../../../dist/event-frames.js", import.meta.url)
const { FrameParser, FRAME_BYTES_MAX } = (await import(MODULE.href)) as typeof frames

const TEXT =
  ': alive\n\nid: 0\n\nid: 1\nevent: a.b\ndata: {"x":"커피 ☕🫖"}\n\n' +
  ": within\nid:2\nretry: 5\nunknown\ndata:one\ndata: two\ndata\n\ndata: nameless\n\nid: 3\nevent: cut"

const EXPECTED = [
  { id: "0", event: "", data: undefined },
  { id: "1", event: "a.b", data: '{"x":"커피 ☕🫖"}' },
  { id: "2", event: "", data: "one\ntwo\n" },
  { id: "", event: "", data: "nameless" },
]

function parsed(pieces: readonly Uint8Array[]): frames.Frame[] {
  const parser = new FrameParser()
  return pieces.flatMap((piece) => [...parser.push(piece)])
}

test("[TS-41] frames are the same wherever their bytes are cut and however lines end", () => {
  for (const lineEnd of ["\n", "\r\n", "\r"]) {
    const bytes = Buffer.from(TEXT.replaceAll("\n", lineEnd))
    assert.deepEqual(parsed([bytes]), EXPECTED)
    assert.deepEqual(parsed(Array.from(bytes, (byte) => Uint8Array.of(byte))), EXPECTED)
    for (let cut = 0; cut <= bytes.length; cut += 1) {
      assert.deepEqual(parsed([bytes.subarray(0, cut), bytes.subarray(cut)]), EXPECTED)
    }
  }
})

test("[TS-41] a frame over the bound is refused as soon as it is, comments and all", () => {
  const piece = Buffer.from("x".repeat(65_536))
  for (const start of ["data: ", ": "]) {
    const parser = new FrameParser()
    let kept = 0
    assert.throws(() => {
      for ([...parser.push(Buffer.from(start))]; ; kept += piece.length) [...parser.push(piece)]
    }, ProtocolError)
    assert.ok(kept <= FRAME_BYTES_MAX)
  }
  const parser = new FrameParser(20)
  for (let index = 0; index < 100; index += 1) {
    assert.equal([...parser.push(Buffer.from("id: 1\ndata: 123\n\n"))].length, 1)
  }
})

test("[TS-41] what is not UTF-8 is refused", () => {
  assert.throws(() => parsed([Buffer.from([0x69, 0xff, 0x0a])]), ProtocolError)
})
