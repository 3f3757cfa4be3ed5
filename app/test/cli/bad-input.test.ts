// Verbs that move bytes, used wrongly: each says in one sentence what is wrong, by its name, and nothing has changed
// afterwards. Command line and agent are real and in this process, the drive is a fake one.
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  readdirSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "@jest/globals";
import { inlineExecutor, realDisk } from "@runnel/native";
import { RealClock } from "@runnel/shared";
import { Carrier } from "../../src/agent/carry/carry.ts";
import { type RunningAgent, startAgent } from "../../src/agent/run-agent.ts";
import { Supplies } from "../../src/agent/supply/supplies.ts";
import { VERSION } from "../../src/agent/version.ts";
import { runCommandLine } from "../../src/cli/command-line.ts";
import { FakeMount, fakeEngines } from "../control/fake-mount.ts";
import { type Refusal, refusedHere } from "./refused-here.ts";

const URL_OF_DRIVE = "ws://127.0.0.1:1/docs";
const VOLUME = "Write wss://HOST:PORT/VOLUME: wss://files.example.org:7473/docs.";
const OID = "0".repeat(64);
const URI = `runnel:${OID}?size=1`;
const homeBefore = process.env["RUNNEL_HOME"];
const engine = { disk: realDisk(), executor: inlineExecutor(), clock: new RealClock() };
const mounts: FakeMount[] = [];
let folder: string;
let agent: RunningAgent | undefined;
let supplies: Supplies | undefined;

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), "rnl-bad-"));
  process.env["RUNNEL_HOME"] = at("home");
  for (const name of ["drive", "second", "other", "empty", "stick", "tree/below", "tree/drive"])
    mkdirSync(at(name), { recursive: true });
  for (const name of ["file", "tree/a"]) writeFileSync(at(name), name);
  symlinkSync("tree", at("link"));
  const carrier = new Carrier({ ...engine, workFolder: folder });
  const engines = {
    ...fakeEngines,
    carrier: async () => carrier,
    supplies: async () => (supplies ??= await Supplies.open({ ...engine, home: at("home"), log: () => undefined })),
    closeSupplies: async () => supplies?.close(),
    openMount: async (settings: FakeMount["settings"]) => {
      const opened = new FakeMount(settings);
      mounts.push(opened);
      return opened;
    },
  };
  agent = await startAgent({ version: VERSION, engines });
});

afterAll(async () => {
  await agent?.end("the tests are over");
  rmSync(folder, { recursive: true });
  if (homeBefore === undefined) delete process.env["RUNNEL_HOME"];
  else process.env["RUNNEL_HOME"] = homeBefore;
});

function at(name: string): string {
  return join(folder, name);
}

async function done(...args: string[]): Promise<void> {
  const said = { write: () => undefined };
  expect(await runCommandLine(args, { stdout: said, stderr: said })).toBe(0);
}

/** Drives that the agent knows as such without a kernel. */
async function mount(name: string, url = URL_OF_DRIVE): Promise<void> {
  await done("mount", url, at(name), "--nfs");
}

/** Files that commands could have changed, with what is in them; and what the agent keeps of drives and supplies. */
function picture(): unknown {
  const files = readdirSync(folder, { recursive: true, encoding: "utf8" })
    .filter((name) => !name.startsWith("home"))
    .map((name) => [name, statSync(at(name)).isFile() ? readFileSync(at(name), "utf8") : ""]);
  const record = at("home/mounts.json");
  const kept = existsSync(record) ? readFileSync(record, "utf8") : "";
  const settings = mounts.map((each) => structuredClone(each.settings));
  const stored = mounts.map((each) => [...each.files.stored.keys()]);
  return { files, kept, settings, stored, supplies: supplies?.list() ?? [] };
}

/** "~" is the folder of the tests. */
async function refused(args: readonly string[]): Promise<Refusal> {
  const before = picture();
  const refusal = await refusedHere(args.map((arg) => arg.replaceAll("~", folder)));
  expect(picture()).toEqual(before);
  return { ...refusal, sentence: refusal.sentence.replaceAll(folder, "~") };
}

type Row = [args: string[], code: number, kind: string, sentence: string];

const invalid = (args: string[], sentence: string): Row => [args, 2, "Invalid", sentence];
const notFound = (args: string[], sentence: string): Row => [args, 1, "NotFound", sentence];

describe("where there is no drive", () => {
  const MOUNT = "No drive is mounted. Mount one first: runnel mount URL MOUNTPOINT";
  test.each<Row>([
    notFound(["carry", "out", "~/stick"], MOUNT),
    notFound(["carry", "in", "~/stick"], MOUNT),
    invalid(["put", "~/file"], "There is no drive. Say where to: --to wss://HOST:PORT/VOLUME, or a path in a drive."),
    notFound(["get", URI, "~/got"], "The object was not found. There is no drive, and the URI has no hint."),
  ])("%j is refused", async (args, code, kind, sentence) => {
    expect(await refused(args)).toEqual({ code, kind, sentence });
  });
});

describe("with a drive", () => {
  beforeAll(() => mount("drive"));

  const NO_DRIVE = 'Run "runnel status" to see the drives there are.';
  const IN_DRIVE = "lies in a drive. Name a folder of a stick or a disk.";
  const ALL = "carry in takes in all that is current. Name only the stick, without";
  const THERE = "Name a folder that is there.";
  const EMPTY = "A path is empty. Name a folder.";
  const carry: Row[] = [
    invalid(["carry", "in", "~/stick", "~/drive"], `${ALL} ~/drive.`),
    invalid(["carry", "in", "~/stick", "--for", "desk"], `${ALL} --for desk.`),
    invalid(
      ["carry", "sideways", "~/stick"],
      'WAY is one of: out, in; not "sideways". Run runnel carry --help to see how it is used.',
    ),
    invalid(["carry", "out", "~/drive"], `~/drive ${IN_DRIVE}`),
    invalid(["carry", "out", "~/drive/deep"], `~/drive/deep ${IN_DRIVE}`),
    invalid(["carry", "in", "~/drive/deep"], `~/drive/deep ${IN_DRIVE}`),
    notFound(["carry", "out", "~/none"], `~/none does not exist. ${THERE}`),
    [["carry", "out", "~/file"], 1, "NotFolder", `~/file is not a folder. ${THERE}`],
    invalid(["carry", "out", ""], EMPTY),
    invalid(["carry", "out", "~/stick", ""], EMPTY),
    notFound(
      ["carry", "in", "~/empty"],
      "~/empty carries nothing: it has no folder runnel-carry. Write to it first: runnel carry out DIR PATH",
    ),
    notFound(["carry", "out", "~/stick", "~/tree"], `Runnel has no drive at ~/tree. ${NO_DRIVE}`),
  ];

  const WHO = 'Option --colleagues <who> is one of: off, network, everyone; not "';
  const SIZE = "is not a size. Write a number and K, M, G or T: 20G.";
  const NOTHING = 'With "0" colleagues would get nothing. Write a size: 500K; or share nothing: --colleagues off.';
  const colleagues: Row[] = [
    invalid(["set", "~/drive", "--colleagues", "all"], `${WHO}all". Run runnel set --help to see how it is used.`),
    invalid(["set", "~/drive", "--colleagues="], `${WHO}". Run runnel set --help to see how it is used.`),
    invalid(
      ["mount", "ws://127.0.0.1:1/new", "~/other", "--colleagues", "Network"],
      `${WHO}Network". Run runnel mount --help to see how it is used.`,
    ),
    invalid(["set", "~/drive", "--colleagues-up", "0"], NOTHING),
    invalid(["mount", "ws://127.0.0.1:1/new", "~/other", "--colleagues-up", "0"], NOTHING),
    invalid(["set", "~/drive", "--colleagues-up", "5X"], `"5X" ${SIZE}`),
    invalid(["set", "~/drive", "--colleagues-up="], `"" ${SIZE}`),
    invalid(["set", "~/drive", "--metered", "maybe"], '"maybe" says nothing of a line. Write yes, no or auto.'),
    notFound(["set", "~/tree", "--colleagues", "off"], `Runnel has no drive at ~/tree. ${NO_DRIVE}`),
  ];

  const TIME = "is no time. Write a number and m, h or d, at most 366d: 7d.";
  const put: Row[] = [
    ...["", "0", "0d", "-1d", "never", "367d", "9999999d", "99999999d", "7", "7w", "1.5d", "1e3d", " 7d"].map((time) =>
      invalid(["put", "~/file", `--for=${time}`], `"${time}" ${TIME}`),
    ),
    invalid(["put", "~/file", "--for=7d\u001b[31m"], `"7d\\x1b[31m" ${TIME}`),
    ...["https://h/docs", "wss://h", "wss://u:p@h/docs", "wss://127.0.0.1:9/docs/deeper"].map((to) =>
      invalid(["put", "~/file", "--to", to], `"${to}" is not the address of a volume. ${VOLUME}`),
    ),
    invalid(["put", "~/file", "--to="], EMPTY),
    notFound(["put", "~/file", "--to", "~/tree"], `Runnel has no drive at ~/tree. ${NO_DRIVE}`),
    invalid(["put", ""], EMPTY),
    notFound(["put", "~/none"], "There is no ~/none."),
    [["put", "~/tree"], 1, "IsFolder", "~/tree is a folder."],
    [["put", "/dev/null"], 1, "Unsupported", "/dev/null is neither file nor folder."],
  ];

  const NO_URI = "This is not the URI of an object.";
  const hints = (...all: string[]): string => all.map((hint) => `&hint=${encodeURIComponent(hint)}`).join("");
  const long = `wss://a/${"b".repeat(1020)}`;
  const uris: Row[] = [
    ["", '"" does not begin with "runnel:".'],
    ["file", '"file" does not begin with "runnel:".'],
    [`RUNNEL:${OID}?size=1`, `"RUNNEL:${OID}?size=1" does not begin with "runnel:".`],
    [`runnel:${OID}`, "It has no size."],
    [`runnel:${OID}?${hints("wss://a/b").slice(1)}`, "It has no size."],
    [`${URI}?`, "It has more than one question mark."],
    [`runnel:${OID.slice(1)}?size=1`, `Its OID "${OID.slice(1)}" is not 64 hexadecimal digits in lower case.`],
    [`runnel:${"A".repeat(64)}?size=1`, `Its OID "${"A".repeat(64)}" is not 64 hexadecimal digits in lower case.`],
    [`runnel:${OID}?size=`, 'Its field "size=" is not NAME=VALUE, percent-encoded.'],
    [`runnel:${OID}?size=-1`, 'Its size "-1" is no number up to 274877906944.'],
    [`runnel:${OID}?size=01`, 'Its size "01" is no number up to 274877906944.'],
    [`runnel:${OID}?size=1e3`, 'Its size "1e3" is no number up to 274877906944.'],
    [`runnel:${OID}?size=274877906945`, 'Its size "274877906945" is no number up to 274877906944.'],
    [`${URI}&size=1`, "It has two sizes."],
    [`${URI}&mode=1`, 'Its field "mode=1" is neither size nor hint.'],
    [`${URI}&`, 'Its field "" is not NAME=VALUE, percent-encoded.'],
    [`${URI}&hint=a%b`, 'Its field "hint=a%b" is not NAME=VALUE, percent-encoded.'],
    [`${URI}&hint=%ff`, 'Its hint "%ff" is no UTF-8.'],
    [`${URI}${hints("http://a/b")}`, 'Its hint "http://a/b" is not wss://HOST:PORT/VOLUME.'],
    [`${URI}${hints("wss://a/b\u001b")}`, 'Its hint "wss://a/b\\x1b" is not wss://HOST:PORT/VOLUME.'],
    [`${URI}${hints(long)}`, `Its hint "wss://a/${"b".repeat(52)}…${"b".repeat(30)}" is not wss://HOST:PORT/VOLUME.`],
    [`${URI}${hints(...Array.from({ length: 9 }, () => "wss://a/b"))}`, "It has more than 8 hints."],
    [`${URI}&hint=${"a".repeat(4100)}`, "It has more than 4096 characters."],
  ].map(([uri = "", why]) => invalid(["get", uri, "~/got"], `${NO_URI} ${why}`));
  const get: Row[] = [
    invalid(["get", URI], "With --json a file is needed: stdout has the JSON."),
    invalid(["get", URI, ""], EMPTY),
    invalid(["get", URI, "~/drive/x"], "~/drive/x is in a drive. Get it to a file outside, or to stdout."),
    notFound(
      ["get", URI, "~/none/x"],
      "~/none does not exist. Choose another path, or make this one first: mkdir -p ~/none/x",
    ),
    notFound(["get", URI, "~/got"], "The object was not found. No drive or server here has it."),
  ];

  const OVER = "lies in a drive, whose bytes come over the line. Name a folder of this computer or a stick.";
  const supply: Row[] = [
    invalid(["supply", "~/drive"], `~/drive ${OVER}`),
    invalid(["supply", "~/drive/deep"], `~/drive/deep ${OVER}`),
    invalid(["supply", "/"], "/ is all of this computer. Name a folder in it."),
    invalid(["supply", "~/tree/../../../../../../.."], "/ is all of this computer. Name a folder in it."),
    invalid(["supply", ""], EMPTY),
    notFound(["supply", "~/none"], `~/none does not exist. ${THERE}`),
    [["supply", "~/file"], 1, "NotFolder", `~/file is not a folder. ${THERE}`],
    invalid(["supply", "--remove"], "Name the folder to remove."),
    notFound(["supply", "--remove", "~/tree"], "~/tree is no supply. See what is: runnel supply"),
  ];

  const SELF = "cannot be copied into itself.";
  const cp: Row[] = [
    ...["tree", "tree/below", "tree/new", "link/new"].map((to) =>
      invalid(["cp", "-r", "~/tree", `~/${to}`], `~/tree ${SELF}`),
    ),
    invalid(["cp", "-r", "~/link", "~/tree/new"], `~/tree ${SELF}`),
    invalid(["cp", "-r", "/", "~/new"], `/ ${SELF}`),
    invalid(["cp", "-r", "~/drive", "~/drive/new"], `${URL_OF_DRIVE} ${SELF}`),
    invalid(["cp", "~/file", "~/file"], `~/file ${SELF}`),
    [["cp", "~/tree", "~/new"], 1, "IsFolder", "~/tree is a folder. Copy it with -r."],
    notFound(["cp", "~/none", "~/new"], "There is no ~/none."),
    invalid(["cp", "~/file", ""], EMPTY),
    notFound(
      ["cp", "~/file", "~/none/x"],
      "~/none does not exist. Choose another path, or make this one first: mkdir -p ~/none/x",
    ),
    ...["https://h/docs", "wss://h", "wss://h/"].map((to) =>
      invalid(["cp", "~/file", to], `"${to}" is not the address of a volume. ${VOLUME}`),
    ),
    invalid(["cp", "~/file", "wss://h/docs/%"], '"wss://h/docs/%" has a percent sign that begins no escape.'),
    invalid(
      ["cp", "~/file", "wss://h/docs/%2e%2e/x"],
      '"wss://h/docs/%2e%2e/x" is no path in a volume. Write wss://HOST:PORT/VOLUME/PATH.',
    ),
  ];

  test.each<Row>([...carry, ...colleagues, ...put, ...uris, ...get, ...supply, ...cp])(
    "%j is refused",
    async (args, code, kind, sentence) => {
      expect(await refused(args)).toEqual({ code, kind, sentence });
    },
  );

  test("of two carries at once the second is refused, and the first goes on", async () => {
    const [drive] = mounts;
    if (drive === undefined) throw new Error("There is no drive.");
    const [begun, over] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    drive.carrying.carryOut = async () => {
      begun.resolve();
      await over.promise;
    };
    const first = done("carry", "out", at("stick"), at("drive"));
    await begun.promise;
    const busy = "Something else is being carried just now. Try again when that is done.";
    for (const args of [
      ["carry", "out", "~/stick", "~/drive"],
      ["carry", "out", "~/empty", "~/drive"],
      ["carry", "in", "~/stick"],
    ])
      expect(await refused(args)).toEqual({ code: 1, kind: "Busy", sentence: busy });
    over.resolve();
    await first;
    const nobody = await refused(["carry", "out", "~/stick", "~/drive", "--for", "nobody"]);
    const LIST = "has left no list on ~/stick. Run there first: runnel carry in DIR";
    expect(nobody).toEqual({ code: 1, kind: "NotFound", sentence: `"nobody" ${LIST}` });
    expect((await refused(["carry", "out", "~/stick", "--for="])).sentence).toBe(`"" ${LIST}`);
    await done("carry", "in", at("stick"));
  });
});

describe("with several drives", () => {
  beforeEach(() => mount("tree/drive", "ws://127.0.0.1:1/second"));
  afterEach(() => done("unmount", at("tree/drive")));

  test("what is to be put needs a place", async () => {
    expect(await refused(["put", "~/file"])).toEqual({
      code: 2,
      kind: "Invalid",
      sentence: "There are several drives. Say where to: --to wss://HOST:PORT/VOLUME, or a path in a drive.",
    });
  });

  test("a drive within a folder that is copied is left out, and named: also where the copy goes into it", async () => {
    const second = mounts.at(-1)?.files;
    await done("cp", "-r", at("tree"), at("tree/drive/copy"));
    expect([...(second?.stored.keys() ?? [])]).toEqual(["copy", "copy/a", "copy/below"]);
    await done("cp", "-r", at("tree"), at("other"));
    expect(readdirSync(at("other/tree"))).toEqual(["a", "below"]);
    // A copy that comes upon a drive does not go into it by the kernel.
    await second?.makeFolders("new/tree/drive");
    expect(await refusedHere(["cp", "-r", at("tree/drive/new/tree"), folder])).toEqual({
      code: 2,
      kind: "Invalid",
      sentence: `${at("tree/drive")} is a drive. Copy into it by its own path.`,
    });
  });
});
