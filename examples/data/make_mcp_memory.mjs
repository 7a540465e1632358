// Writes mcp-memory.jsonl by driving the real @modelcontextprotocol/server-memory over stdio.
//
//   npm install --prefix /tmp/mcp @modelcontextprotocol/server-memory@2026.8.31
//   node make_mcp_memory.mjs /tmp/mcp mcp-memory.jsonl
//
// Every fact is invented. The same release writes the same file, byte for byte.

import { spawn } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { createInterface } from "node:readline";

const people = {
  Mina_Park: ["Works as a data engineer in Busan", "Prefers dark mode in every editor",
    "Is allergic to peanuts", "Drinks oat milk flat whites ☕"],
  Jonas_Weber: ["Leads the platform team in Leipzig", "Is on parental leave until 3 March",
    "Wants pull requests under 300 lines", "Plays the cello in an amateur orchestra"],
  Amara_Okafor: ["Designs the mobile screens", "Is colour-blind (red and green)",
    "Answers fastest in the early morning, Lagos time"],
  Priya_Raman: ["Signs off every release", "Is vegetarian", "Lives in Chennai, UTC+5:30",
    "Her assistant is reachable only by phone"],
  Tomas_Novak: ["Owns the billing service", "Broke his left wrist skiing in January",
    "Prefers Czech on the phone and English in writing"],
  Elif_Kaya: ["Started as an intern in June", "Studies statistics in Izmir",
    "Is writing her thesis about queueing theory"],
  Diego_Fuentes: ["Runs the on-call rota", "Never schedules deployments on a Friday",
    "His daughter Luz has her birthday on 14 April 🎂"],
  Hanna_Virtanen: ["Looks after the Helsinki office", "Keeps the spare key of the server room",
    "Swims in the sea all winter"],
  김서연: ["서울 성수동에 있는 스타트업에서 백엔드 개발자로 일한다", "아침마다 커피를 두 잔 마신다",
    "매운 음식을 잘 먹지 못한다", "회의는 오후 두 시 이후를 선호한다"],
  이준호: ["부산에서 제품 기획을 맡고 있다", "주말에는 한라산을 등산한다 ⛰️", "땅콩 알레르기가 있다"],
  박하늘: ["디자인 시스템을 관리한다", "고양이 두 마리와 함께 산다 🐈", "다음 달에 대전으로 이사한다"],
  최민수: ["보안 점검을 담당한다", "암호는 90일마다 바꾸라고 요구한다", "영어 문서보다 한국어 문서를 먼저 읽는다"],
};

const projects = {
  Project_Lighthouse: ["Uses PostgreSQL 16", "Release is planned for 15 October",
    "Staging runs in the Frankfurt region", "The error budget for this quarter is spent"],
  Project_Heron: ["Rewrites the search page in TypeScript", "Is blocked by the new login",
    "Demo for the board is on 2 December"],
  Project_Basalt: ["Moves cold data to object storage", "Must keep seven years of invoices",
    "Saves about 40 % of the storage bill"],
  Project_Marigold: ["Was cancelled in May", "Its repository is archived",
    "The colour palette is reused by Project_Heron"],
  프로젝트_해무: ["한국어 검색 품질을 높이는 과제", "형태소 분석기 없이 두 글자 단위로 색인한다",
    "중간 발표는 11월 셋째 주"],
  프로젝트_온돌: ["사무실 난방을 예약하는 앱 🔥", "사용자 시험은 스무 명으로 한다", "첫 배포는 12월 1일"],
};

const places = {
  Busan_Office: ["Has twelve desks and one meeting room", "The Wi-Fi is slow on the balcony",
    "Closes at 21:00"],
  Leipzig_Office: ["Is a former cotton mill", "Bicycles go into the basement"],
  Lagos_Hub: ["Has its own generator", "Visitors need a badge one day ahead"],
  Helsinki_Office: ["Has a sauna on the top floor 🧖", "The post arrives before nine"],
  성수동_사무실: ["지하 주차장이 없다", "1층에 빵집이 있다 🥐", "회의실 이름은 별자리다"],
  제주_워크숍_숙소: ["4월 둘째 주에 예약했다", "바다가 보이는 방은 세 개뿐이다"],
};

const things = {
  Tofu: ["pet", ["Is a grey cat", "Is allergic to chicken", "Hides during thunderstorms"]],
  Biscuit: ["pet", ["Is a beagle", "Needs a pill every evening at eight"]],
  콩이: ["pet", ["갈색 푸들이다 🐩", "병원은 매달 첫째 월요일에 간다"]],
  Billing_Service: ["service", ["Is written in Go", "Retries a payment three times",
    "Its database is backed up at 02:00 UTC"]],
  Login_Service: ["service", ["Will support passkeys", "Sessions last twelve hours"]],
  Search_Index: ["service", ["Is rebuilt every Sunday", "Holds 4.2 million documents"]],
  Build_Server: ["service", ["Has two cores and is often the bottleneck", "Runs Debian 12"]],
  결제_서비스: ["service", ["매일 새벽 두 시에 정산한다", "환불은 사흘 안에 처리한다"]],
  Espresso_Machine: ["device", ["Descale it on the first Monday of the month",
    "The spare gasket is in the second drawer"]],
  Label_Printer: ["device", ["Takes 62 mm rolls", "Jams when the cover is warm"]],
  출입_카드: ["device", ["분실하면 최민수에게 알린다", "유효 기간은 1년이다"]],
  Style_Guide: ["document", ["Sentences under 25 words", "No exclamation marks in error messages",
    "Dates are written 5 May 2026"]],
  Incident_0412: ["event", ["Payments failed for 38 minutes", "Cause: an expired certificate",
    "Follow-up: alarm 30 days before expiry"]],
  Offsite_2026: ["event", ["Takes place on Jeju in April", "Budget is 9,000 euros",
    "Elif_Kaya books the flights ✈️"]],
  Reading_Group: ["group", ["Meets every second Thursday", "Reads “Release It!” at the moment"]],
  Recipe_Kimchi_Stew: ["recipe", ["Needs old kimchi, at least three weeks",
    "Half the chilli for 김서연", "Simmer for twenty-five minutes"]],
  Unfiled_Idea: ["note", []],
};

const relations = [
  ["Mina_Park", "leads", "Project_Lighthouse"], ["Mina_Park", "owns", "Tofu"],
  ["Mina_Park", "works_at", "Busan_Office"], ["Jonas_Weber", "manages", "Tomas_Novak"],
  ["Jonas_Weber", "works_at", "Leipzig_Office"], ["Amara_Okafor", "designs", "Project_Heron"],
  ["Amara_Okafor", "works_at", "Lagos_Hub"], ["Priya_Raman", "approves", "Project_Lighthouse"],
  ["Priya_Raman", "approves", "Project_Basalt"], ["Tomas_Novak", "maintains", "Billing_Service"],
  ["Tomas_Novak", "wrote", "Incident_0412"], ["Elif_Kaya", "reports_to", "Mina_Park"],
  ["Elif_Kaya", "organises", "Offsite_2026"], ["Diego_Fuentes", "owns", "Biscuit"],
  ["Diego_Fuentes", "handled", "Incident_0412"], ["Hanna_Virtanen", "works_at", "Helsinki_Office"],
  ["Hanna_Virtanen", "runs", "Reading_Group"], ["Project_Heron", "depends_on", "Login_Service"],
  ["Project_Heron", "depends_on", "Search_Index"], ["Project_Lighthouse", "uses", "Build_Server"],
  ["Project_Basalt", "stores_data_of", "Billing_Service"],
  ["Project_Heron", "succeeds", "Project_Marigold"], ["Incident_0412", "affected", "Billing_Service"],
  ["Style_Guide", "applies_to", "Project_Heron"], ["Espresso_Machine", "stands_in", "Busan_Office"],
  ["Label_Printer", "stands_in", "Leipzig_Office"], ["Offsite_2026", "stays_at", "제주_워크숍_숙소"],
  ["김서연", "이끈다", "프로젝트_해무"], ["김서연", "근무한다", "성수동_사무실"],
  ["김서연", "동료이다", "Mina_Park"], ["이준호", "기획한다", "프로젝트_온돌"],
  ["이준호", "근무한다", "Busan_Office"], ["박하늘", "디자인한다", "프로젝트_온돌"],
  ["박하늘", "관리한다", "Style_Guide"], ["최민수", "점검한다", "결제_서비스"],
  ["최민수", "발급한다", "출입_카드"], ["이준호", "키운다", "콩이"],
  ["프로젝트_해무", "개선한다", "Search_Index"], ["결제_서비스", "연결된다", "Billing_Service"],
  ["Recipe_Kimchi_Stew", "cooked_for", "김서연"],
];

const entity = (entityType) => ([name, observations]) => ({ name, entityType, observations });
const entities = [
  ...Object.entries(people).map(entity("person")),
  ...Object.entries(projects).map(entity("project")),
  ...Object.entries(places).map(entity("place")),
  ...Object.entries(things).map(([name, [type, observations]]) => entity(type)([name, observations])),
  { name: "Draft_Note", entityType: "note", observations: ["Will be deleted again"] },
];

const [packageRoot, output] = process.argv.slice(2);
if (!packageRoot || !output) {
  console.error("usage: node make_mcp_memory.mjs DIRECTORY-WITH-node_modules OUTPUT.jsonl");
  process.exit(64);
}
if (existsSync(output)) {
  console.error(`${output} exists; the server would add to it. Remove it first.`);
  process.exit(64);
}
const home = join(resolve(packageRoot), "node_modules/@modelcontextprotocol/server-memory");
const { version } = JSON.parse(readFileSync(join(home, "package.json"), "utf8"));

const server = spawn(process.execPath, [join(home, "dist/index.js")], {
  env: { PATH: process.env.PATH, MEMORY_FILE_PATH: resolve(output) },
  stdio: ["pipe", "pipe", "inherit"],
});
const waiting = new Map();
createInterface({ input: server.stdout }).on("line", (line) => {
  const reply = JSON.parse(line);
  waiting.get(reply.id)?.(reply);
  waiting.delete(reply.id);
});

let lastId = 0;
async function request(method, params) {
  const id = ++lastId;
  const reply = await new Promise((done) => {
    waiting.set(id, done);
    server.stdin.write(`${JSON.stringify({ jsonrpc: "2.0", id, method, params })}\n`);
  });
  if (reply.error || reply.result?.isError) throw new Error(JSON.stringify(reply));
  return reply.result;
}
const tool = (name, args) => request("tools/call", { name, arguments: args });

await request("initialize", {
  protocolVersion: "2025-06-18",
  capabilities: {},
  clientInfo: { name: "make_mcp_memory", version: "1" },
});
server.stdin.write(`${JSON.stringify({ jsonrpc: "2.0", method: "notifications/initialized" })}\n`);

await tool("create_entities", { entities });
await tool("create_relations", {
  relations: relations.map(([from, relationType, to]) => ({ from, to, relationType })),
});
// What an agent does in a second conversation: it learns more, corrects and removes.
await tool("add_observations", {
  observations: [
    { entityName: "Mina_Park", contents: ["Moved to Daegu in May"] },
    { entityName: "Project_Heron", contents: ["The board demo moved to 9 December"] },
    { entityName: "김서연", contents: ["요즘은 커피 대신 보리차를 마신다 🍵"] },
  ],
});
await tool("delete_observations", {
  deletions: [{ entityName: "Project_Heron", observations: ["Demo for the board is on 2 December"] }],
});
await tool("delete_entities", { entityNames: ["Draft_Note"] });

const graph = (await tool("read_graph", {})).structuredContent;
server.stdin.end();
const observations = graph.entities.reduce((sum, each) => sum + each.observations.length, 0);
console.error(
  `server-memory ${version} wrote ${graph.entities.length} entities, ` +
  `${observations} observations and ${graph.relations.length} relations to ${output}`,
);
