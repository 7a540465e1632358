/** What an agent may have noted in 300 days. The same count at the same time gives the same facts. */
import type { MemoryInput } from "forgetd"

const DAY_MS = 86_400_000
const YEAR_DAYS = 299
const SEED = 20_061
export const EMBEDDING_MODEL = "hashed-bigrams"
const EMBEDDING_NUMBERS = 192

const PEOPLE = ["Mina", "Jonas", "Priya", "Diego", "서연", "준호", "하늘", "Hanna"] as const
const PLACES = ["Busan", "Leipzig", "Lagos", "Helsinki", "성수동", "제주"] as const
const TOPICS = ["search", "billing", "login", "the label printer", "결제", "난방 예약"] as const
const DAYS = ["Monday", "Tuesday", "Thursday", "Friday"] as const

type Saying = (words: Words) => string
interface Words {
  readonly person: string
  readonly place: string
  readonly topic: string
  readonly day: string
  readonly number: number
}
/** How much facts of a kind are worth to the agent: from `least`, to `most`. */
interface Kind {
  readonly memoryType: "semantic" | "episodic"
  readonly least: number
  readonly most: number
  readonly sayings: readonly Saying[]
}

const SMALL_TALK: Kind = {
  memoryType: "episodic",
  least: 0.03,
  most: 0.3,
  sayings: [
    ({ person, place }) => `${person} said that the lift in ${place} was slow again`,
    ({ person, number }) => `${person} had soup number ${number} for lunch and liked it`,
    ({ person, place }) => `${person} 님이 ${place}에 비가 많이 왔다고 했다`,
  ],
}
const ERRAND: Kind = {
  memoryType: "episodic",
  least: 0.25,
  most: 0.55,
  sayings: [
    ({ person, place, number }) => `${person} left parcel ${number} at the desk in ${place}`,
    ({ person, place, number }) => `${place} 회의실 ${number}호를 ${person} 이름으로 예약했다`,
    ({ person, topic, number }) => `${person} opened ticket ${number} about ${topic}`,
  ],
}
const PREFERENCE: Kind = {
  memoryType: "semantic",
  least: 0.5,
  most: 0.8,
  sayings: [
    ({ person, topic, day }) => `${person} wants news about ${topic} on ${day} mornings`,
    ({ person, topic }) => `${person} 님은 ${topic} 이야기를 짧은 글로 받고 싶어 한다`,
    ({ person, place }) => `${person} prefers the window seat when working in ${place}`,
  ],
}
const DECISION: Kind = {
  memoryType: "semantic",
  least: 0.7,
  most: 1,
  sayings: [
    ({ person, topic, number }) => `${person} decided that ${topic} stays on version ${number}`,
    ({ topic, place, number }) => `The limit of ${topic} in ${place} is ${number} a day`,
    ({ person, topic }) => `${topic} 담당은 ${person} 님으로 정했다`,
  ],
}
const KINDS = [SMALL_TALK, SMALL_TALK, SMALL_TALK, ERRAND, ERRAND, PREFERENCE, PREFERENCE, DECISION]

/** Each replaces the one before it: an agent learns that what it knew is no longer so. */
const CHAINS = [
  {
    importance: 0.6,
    versions: [
      "The release of Lighthouse is planned for 15 October",
      "The release of Lighthouse moved to 29 October",
      "The release of Lighthouse moved to 12 November",
    ],
  },
  {
    importance: 0.1,
    versions: [
      "주간 회의는 월요일 열 시에 한다",
      "주간 회의는 화요일 열한 시로 옮겼다",
      "주간 회의는 목요일 두 시로 옮겼다",
    ],
  },
] as const

const PINNED = [
  "In an emergency call Mina's brother first",
  "비상시에는 서연의 어머니께 먼저 연락한다",
] as const

/** `count` facts (20 or more): two chains, two pinned, six that have expired, and everyday ones. */
export function factsOfTheYear(count: number, now: number): MemoryInput[] {
  const random = randomNumbers(SEED)
  const special = [...chains(now), ...pinned(now), ...expired(now, random)]
  const everyday = Array.from({ length: count - special.length }, (_, index) =>
    everydayFact(index, now, random),
  )
  return [...special, ...everyday].map((fact) => ({
    ...fact,
    embedding: embedded(fact.content),
    embeddingModel: EMBEDDING_MODEL,
  }))
}

function chains(now: number): MemoryInput[] {
  return CHAINS.flatMap(({ importance, versions }, chain) =>
    versions.map((content, version) => ({
      id: `chain-${chain + 1}-v${version + 1}`,
      content,
      importance,
      createdAt: now - (260 - 60 * version - chain) * DAY_MS,
      supersedes: version > 0 ? `chain-${chain + 1}-v${version}` : undefined,
    })),
  )
}

function pinned(now: number): MemoryInput[] {
  return PINNED.map((content, index) => ({
    id: `pinned-${index + 1}`,
    content,
    importance: 0.1,
    createdAt: now - (280 - index) * DAY_MS,
    pinned: true,
  }))
}

function expired(now: number, random: () => number): MemoryInput[] {
  return Array.from({ length: 6 }, (_, index) => {
    const createdAt = now - (70 + 30 * index) * DAY_MS
    return {
      id: `door-code-${index + 1}`,
      content: `The door code for guests in ${pick(PLACES, random)} is ${4100 + 37 * index}`,
      importance: 0.5,
      createdAt,
      expiresAt: createdAt + 14 * DAY_MS,
    }
  })
}

function everydayFact(index: number, now: number, random: () => number): MemoryInput {
  const { memoryType, least, most, sayings } = pick(KINDS, random)
  const words: Words = {
    person: pick(PEOPLE, random),
    place: pick(PLACES, random),
    topic: pick(TOPICS, random),
    day: pick(DAYS, random),
    number: 2 + Math.floor(97 * random()),
  }
  const age = 1 + YEAR_DAYS * random()
  const recallCount = random() < 0.2 ? 1 + Math.floor(4 * random()) : 0
  const idle = recallCount > 0 ? age * random() : age
  return {
    id: `note-${index + 1}`,
    content: pick(sayings, random)(words),
    importance: Math.round((least + (most - least) * random()) * 100) / 100,
    memoryType,
    createdAt: Math.round(now - age * DAY_MS),
    recallCount,
    lastRecalledAt: recallCount > 0 ? Math.round(now - idle * DAY_MS) : null,
    metadata: { source: "demo", number: index + 1 },
  }
}

/** A vector as a model would give it, made without one: counts of pairs of letters, by hash. */
function embedded(text: string): number[] {
  const vector = new Array<number>(EMBEDDING_NUMBERS).fill(0)
  const letters = [...text.toLowerCase()]
  for (let place = 1; place < letters.length; place += 1) {
    let hash = 0
    for (const letter of [letters[place - 1], letters[place]]) {
      hash = (Math.imul(hash, 31) + (letter?.codePointAt(0) ?? 0)) >>> 0
    }
    vector[hash % EMBEDDING_NUMBERS]! += 1
  }
  const length = Math.hypot(...vector)
  return vector.map((number) => number / length)
}

function pick<T>(from: readonly T[], random: () => number): T {
  return from[Math.floor(random() * from.length)]!
}

/** Numbers from 0 to 1 that depend on the seed alone (mulberry32). */
function randomNumbers(seed: number): () => number {
  let state = seed
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
}
