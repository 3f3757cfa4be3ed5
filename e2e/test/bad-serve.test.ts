// `runnel serve`, used wrongly or where it cannot work: one sentence each, before any folder is touched.
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { mkdirSync, readdirSync, symlinkSync, writeFileSync } from "node:fs";
import { LAUNCHER, Sandbox, refusalOf, run } from "../src/harness/index.ts";
import type { Device, Refusal, ServerProcess } from "../src/harness/index.ts";

const LONG = "a".repeat(300);

let sandbox: Sandbox;
let server: ServerProcess;
let device: Device;

beforeAll(async () => {
  sandbox = new Sandbox();
  mkdirSync(sandbox.path("served", "inside"), { recursive: true });
  server = await sandbox.startServer({ volumes: { docs: sandbox.path("served") } });
  device = sandbox.device();
  await device.mount(`${server.url}/docs`, sandbox.makeFolder("drive"));
  sandbox.makeFolder("plain", "below");
  symlinkSync("plain", sandbox.path("link"));
  symlinkSync("drive", sandbox.path("into"));
  writeFileSync(sandbox.path("file"), "");
}, 60_000);

afterAll(() => sandbox.cleanup(), 120_000);

/** Relative paths are below the sandbox, which is shown as "~". */
async function refused(volumes: readonly string[], more: readonly string[] = []): Promise<Refusal> {
  const given = volumes.flatMap((volume) => ["--volume", volume]);
  const args = [LAUNCHER, "serve", ...given, "--data", "other", "--listen", "127.0.0.1:0", ...more, "--json"];
  const ran = await run(process.execPath, args, { cwd: sandbox.folder, env: device.env });
  const refusal = refusalOf(ran);
  return { ...refusal, sentence: refusal.sentence.replaceAll(sandbox.folder, "~") };
}

describe("a volume", () => {
  const USE = "cannot name a volume: use up to 100 letters, digits, dots, dashes and spaces.";
  test.each<[string, string[], number, string, string]>([
    ["without a name", ["plain"], 2, "Invalid", '"plain" names no volume. Write NAME=FOLDER: docs=/srv/docs.'],
    ["with a slash in its name", ["a/b=plain"], 2, "Invalid", `"a/b" ${USE}`],
    ["named like a way up", ["..=plain"], 2, "Invalid", `".." ${USE}`],
    ["with a newline in its name", ["a\nb=plain"], 2, "Invalid", `"a\\x0ab" ${USE}`],
    ["with a long name", [`${LONG}=plain`], 2, "Invalid", `"${LONG}" ${USE}`],
    ["twice by one name", ["a=plain", "a=served"], 2, "Invalid", "Two volumes are called a: give each its own name."],
    [
      "of one folder twice",
      ["a=plain", "b=link"],
      2,
      "Invalid",
      "~/link and ~/plain are one folder, which can be served once only.",
    ],
    [
      "within another",
      ["a=link/below", "b=plain"],
      2,
      "Invalid",
      "~/link/below lies inside ~/plain: a folder cannot be served within another.",
    ],
    [
      "that is served already",
      ["a=served"],
      1,
      "Busy",
      expect.stringMatching(
        /^~\/served is served already, by process \d+: stop that one first\.$/,
      ) as unknown as string,
    ],
    [
      "within one that is served already",
      ["a=served/inside"],
      2,
      "Invalid",
      "~/served/inside lies inside ~/served, which is served: a folder cannot be served within another.",
    ],
    ["on a drive", ["a=drive"], 2, "Invalid", "~/drive lies inside the drive ~/drive. Name a folder on a local disk."],
    [
      "that a symlink puts on a drive",
      ["a=into/inside"],
      2,
      "Invalid",
      "~/into/inside lies inside the drive ~/drive. Name a folder on a local disk.",
    ],
    ["that is a file", ["a=file"], 1, "NotFolder", "~/file is not a folder. Name a folder."],
    ["with a long path", [`a=${LONG}`], 1, "NameTooLong", `~/${LONG} is too long for a path. Name a shorter one.`],
  ])("%s is refused", async (_, volumes, code, kind, sentence) => {
    expect(await refused(volumes)).toEqual({ code, kind, sentence });
    expect(readdirSync(sandbox.path("plain"))).toEqual(["below"]);
  });
});

describe("the server's own data", () => {
  const APART = "lie in one another. Name another folder with --data.";
  test.each<[string, string, number, string, string]>([
    [
      "in the served folder",
      "plain/data",
      2,
      "Invalid",
      `The server's own data (~/plain/data/a) and the served folder ~/plain ${APART}`,
    ],
    [
      "around the served folder",
      ".",
      2,
      "Invalid",
      `The server's own data (~/plain) and the served folder ~/plain ${APART}`,
    ],
    [
      "on a drive",
      "drive/data",
      2,
      "Invalid",
      "The server's data would lie inside the drive ~/drive. Name a folder on a local disk.",
    ],
    [
      "in a file",
      "file",
      1,
      "NotFolder",
      "~/file/_server is no folder, or leads through a file. Name another folder with --data.",
    ],
    [
      "where nothing can be made",
      "/proc/x",
      1,
      "NotFound",
      "/proc/x/_server cannot be made or opened by this user. Name another folder with --data.",
    ],
  ])("%s is refused", async (where, data, code, kind, sentence) => {
    const name = where === "around the served folder" ? "plain" : "a";
    expect(await refused([`${name}=plain`], ["--data", data])).toEqual({ code, kind, sentence });
    expect(readdirSync(sandbox.path("plain"))).toEqual(["below"]);
  });
});

describe("a place to listen", () => {
  const WRITE = "is not a place to listen. Write HOST:PORT: 127.0.0.1:7473.";
  test.each<[string, number, string, string]>([
    ["here", 2, "Invalid", `"here" ${WRITE}`],
    ["127.0.0.1:99999", 2, "Invalid", `"127.0.0.1:99999" ${WRITE}`],
    ["::1:7473", 2, "Invalid", `"::1:7473" ${WRITE}`],
  ])("%s is refused", async (listen, code, kind, sentence) => {
    expect(await refused(["a=plain"], ["--listen", listen])).toEqual({ code, kind, sentence });
  });

  test("that is in use is refused before a folder is touched", async () => {
    expect(await refused(["a=plain"], ["--listen", `127.0.0.1:${server.port}`])).toEqual({
      code: 1,
      kind: "Busy",
      sentence: `Port ${server.port} on 127.0.0.1 is in use by another program: choose another port, or stop that program.`,
    });
    expect(readdirSync(sandbox.path("plain"))).toEqual(["below"]);
  });
});
