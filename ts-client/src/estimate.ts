import { ESTIMATE_TABLE as TABLE } from "./generated/estimate-table.js"

/**
 * The importance that the daemon estimates for a memory whose host sent none, to the last bit the
 * same number. Both are run against `protocol/vectors/estimate.jsonl`; what is counted and why is
 * said in docs/policy.md.
 *
 *     density  = weights of the different words / sqrt(words)
 *     estimate = 0.1 + 0.4 * density / (density + 1.5) + 0.1 * standing
 */

/** What a word is: the keys of the table of kinds. */
export type WordKind = keyof typeof TABLE.kinds

/** What a sentence is: a question, one in the first person, one to the other, or none of these. */
export type SentenceKind = keyof typeof TABLE.sentences

/** Why an estimate is what it is: 0.1 + value + standing, rounded to four decimals. */
export interface EstimateParts {
  readonly estimate: number
  /** What the words give for the length of the text. */
  readonly value: number
  /** What is given for lasting facts, however short they are said. */
  readonly standing: number
  /** All words, repeated ones too. */
  readonly length: number
  /** The different words by kind. */
  readonly words: Readonly<Partial<Record<WordKind, number>>>
  readonly sentences: Readonly<Partial<Record<SentenceKind, number>>>
}

interface Word {
  /** In folded case. */
  readonly text: string
  readonly kind: WordKind
}

type Ranges = readonly (readonly [number, number])[]
type Adds = { readonly weight: number; readonly lift: number; readonly beside: boolean }

/** Changes with anything that can change an estimate. */
export const ESTIMATOR_VERSION: string = TABLE.version

const KINDS: Readonly<Record<WordKind, Adds>> = TABLE.kinds
const LETTERS = within(TABLE.letters)
const UNSPACED = within(TABLE.unspacedScripts)
const TOKEN = new RegExp(
  [
    "https?://[^ \\t\\r\\n]+",
    `[${LETTERS}]+(?:['\\u2019_@.:/\\-][${LETTERS}]+|,[0-9]+)*`,
    `[${UNSPACED}]+`,
    `[${TABLE.ends}]+`,
  ].join("|"),
  "gu",
)
const RUN = new RegExp(`^[${UNSPACED}]`, "u")
const QUESTION = /[?\uff1f\u061f]/
const REFERENCE = /^https?:\/\/|@/
const CAPITAL = new RegExp(`^[${within(TABLE.capitals)}]`, "u")
const CAPITALS = new RegExp(`[${within(TABLE.capitals)}]`, "gu")
const EAST_ASIAN = "\u3041"
const FIRST_SYLLABLE = "\uac00"

const WORDS = byWord(TABLE.words)
const KOREAN_WORDS = byWord(TABLE.koreanWords)
const KOREAN_STEMS = byWord(TABLE.koreanStems)
const RUN_PARTS = byWord(TABLE.unspaced)
const RUN_PART = new RegExp(
  `${[...RUN_PARTS.keys()].sort((one, other) => other.length - one.length).join("|")}|.`,
  "gu",
)
/** Looked past on the way to the word that a negation or a rule is about. */
const LOOKED_PAST: ReadonlySet<WordKind> = new Set([
  ...(Object.keys(KINDS) as WordKind[]).filter((kind) => KINDS[kind].beside),
  "function",
  "first",
  "second",
])

/** The importance of a text whose host said none, from 0.1 to 0.6. */
export function estimateOf(content: string): number {
  return estimateParts(content).estimate
}

/** What lifts and lowers the estimate of a text. Reads its first 2,048 characters only. */
export function estimateParts(content: string): EstimateParts {
  const reading = new Reading()
  let sentence: Word[] = []
  for (const [token] of beginning(content).matchAll(TOKEN)) {
    if (TABLE.ends.includes(token.charAt(0))) {
      reading.addSentence(sentence, QUESTION.test(token))
      sentence = []
    } else {
      sentence.push(...wordsOf(token, sentence.length === 0))
    }
  }
  reading.addSentence(sentence, false)
  return reading.parts()
}

/** What was read of a text so far. */
class Reading {
  #sum = 0
  #standing = 0
  #length = 0
  readonly #seen = new Set<string>()
  readonly #words: Partial<Record<WordKind, number>> = {}
  readonly #sentences: Partial<Record<SentenceKind, number>> = {}

  /** Adds the words that are new; what asks, or only addresses the other, counts less. */
  addSentence(words: readonly Word[], asked: boolean): void {
    if (words.length === 0) return
    const kinds = words.map((word) => word.kind)
    const sentence = sentenceKind(kinds, asked)
    this.#sentences[sentence] = (this.#sentences[sentence] ?? 0) + 1
    const factor = TABLE.sentences[sentence]
    let weights = 0
    for (const [place, { text, kind }] of words.entries()) {
      this.#length += kind === "character" ? TABLE.characterLength : 1
      if (this.#seen.has(text)) continue
      this.#seen.add(text)
      this.#words[kind] = (this.#words[kind] ?? 0) + 1
      const adds = KINDS[kind]
      weights += adds.weight
      if (adds.lift > 0 && (!adds.beside || besideContent(kinds, place, text))) {
        this.#standing += adds.lift * Math.min(1, factor)
      }
    }
    this.#sum += weights * factor
  }

  /** What it all makes. */
  parts(): EstimateParts {
    const density = this.#length > 0 ? this.#sum / Math.sqrt(this.#length) : 0
    const value = (TABLE.valueShare * density) / (density + TABLE.densityHalf)
    const standing = TABLE.standingShare * Math.min(1, this.#standing)
    const estimate = Math.floor((TABLE.estimateMin + value + standing) * 10_000 + 0.5) / 10_000
    return {
      estimate,
      value,
      standing,
      length: this.#length,
      words: this.#words,
      sentences: this.#sentences,
    }
  }
}

/** The first characters in NFC, of which each stands for at most four: reading is bounded. */
function beginning(content: string): string {
  const text = content.replace(/^[ \t\r\n]+/, "")
  return firstOf(firstOf(text, 4 * TABLE.charactersMax).normalize("NFC"), TABLE.charactersMax)
}

/** So many characters from the start, a pair of surrogates as one. */
function firstOf(text: string, count: number): string {
  if (text.length <= count) return text
  return Array.from(text.slice(0, 2 * count))
    .slice(0, count)
    .join("")
}

function sentenceKind(kinds: readonly WordKind[], asked: boolean): SentenceKind {
  if (asked) return "question"
  if (kinds.includes("first")) return "first"
  return kinds.includes("second") ? "addressed" : "plain"
}

/** Whether the word is about something: English looks ahead, Korean and Chinese both ways. */
function besideContent(kinds: readonly WordKind[], place: number, text: string): boolean {
  if (isContent(kinds.slice(place + 1))) return true
  return text >= EAST_ASIAN && isContent(kinds.slice(0, place).reverse())
}

function isContent(kinds: readonly WordKind[]): boolean {
  const nearest = kinds.find((kind) => !LOOKED_PAST.has(kind))
  return nearest !== undefined && nearest !== "chat"
}

/** A token as one word in folded case, or a run without spaces as its parts, by kind. */
function wordsOf(token: string, first: boolean): Word[] {
  if (RUN.test(token)) {
    return (token.match(RUN_PART) ?? []).map((text) => ({
      text,
      kind: RUN_PARTS.get(text) ?? "character",
    }))
  }
  const text = folded(token)
  const kind = kindOf(text)
  return [{ text, kind: kind === "content" && !first && CAPITAL.test(token) ? "name" : kind }]
}

function folded(token: string): string {
  return token
    .replace(CAPITALS, (capital) =>
      String.fromCharCode(capital.charCodeAt(0) + TABLE.capitalToSmall),
    )
    .replaceAll("\u2019", "'")
}

function kindOf(word: string): WordKind {
  let kind = WORDS.get(word)
  const elided = word.indexOf("'")
  if (kind === undefined && elided >= 0) {
    const [head, tail] = [word.slice(0, elided), word.slice(elided + 1)]
    kind = WORDS.get(Array.from(head).length <= TABLE.elisionLettersMax ? tail : head)
  }
  if (kind !== undefined) return kind
  if (REFERENCE.test(word)) return "reference"
  if (/[0-9]/.test(word)) return "number"
  return word >= FIRST_SYLLABLE ? koreanKind(word) : "content"
}

function koreanKind(word: string): WordKind {
  let kind = KOREAN_WORDS.get(word)
  const longest = Math.min(word.length, TABLE.stemSyllablesMax)
  for (let syllables = longest; syllables > 0 && kind === undefined; syllables -= 1) {
    kind = KOREAN_STEMS.get(word.slice(0, syllables))
  }
  return kind ?? "content"
}

function within(ranges: Ranges): string {
  return ranges.map((range) => range.map((code) => `\\u{${code.toString(16)}}`).join("-")).join("")
}

function byWord(lists: Readonly<Partial<Record<WordKind, string>>>): ReadonlyMap<string, WordKind> {
  const pairs = Object.entries(lists) as [WordKind, string][]
  return new Map(pairs.flatMap(([kind, words]) => words.split(" ").map((word) => [word, kind])))
}
