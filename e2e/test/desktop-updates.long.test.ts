// Updates of the desktop app in a real Electron, over its own requests, which differ from Node's: what a server may do
// to a download ends in a sentence, and a good one is there, byte for byte.
import { once } from "node:events";
import { mkdirSync, readFileSync, readdirSync, writeFileSync } from "node:fs";
import { type ServerResponse, createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "@jest/globals";
import { build } from "esbuild";
import { newPair, signed } from "@runnel/app/test/cli/updates/signed-lists.ts";
import type { UpdateOutcome, UpdatePlaces } from "@runnel/app/test/main/electron/looks-in-electron.ts";
import { feedText, listOf, released } from "@runnel/app/test/main/updates/releases.ts";
import { COMMON_JS } from "../../scripts/bundle-windows.mjs";
import { DesktopApp, desktopObstacle, ROOT } from "../src/browser/desktop-app.ts";
import { DesktopBus } from "../src/browser/desktop-bus.ts";
import { Sandbox } from "../src/harness/index.ts";

const OURS = newPair();
const EXE = released("Runnel-app-1.1.0-x64.exe", "the newer app ".repeat(200_000));
const FAKE = released(EXE.name, "the other app ".repeat(200_000));
const RUN_MS = 120_000;

type Answer = Buffer | ((answer: ServerResponse) => void);

const endless = (answer: ServerResponse): void => {
  const more = (): void => {
    while (!answer.destroyed && answer.write("x".repeat(50_000)));
  };
  answer.on("drain", more);
  more();
};
const begun = (answer: ServerResponse, then: () => void = () => undefined): void => {
  answer.writeHead(200, { "content-length": EXE.sizeBytes });
  answer.write(EXE.bytes.subarray(0, 70_000), then);
};

/** Place → what it answers in place of a good one, and what is said of it. */
const PLACES: Record<string, { feed?: Answer; file?: Answer; says: string }> = {
  changed: { file: FAKE.bytes, says: "checksum mismatch" },
  cut: { file: (answer) => begun(answer, () => void answer.destroy()), says: "The app was not updated" },
  endless: { file: endless, says: "longer than what was signed" },
  silent: { file: (answer) => begun(answer), says: "Nothing came for a minute" },
  elsewhere: {
    file: (answer) => void answer.writeHead(302, { location: "/changed/anything" }).end(),
    says: "The app was not updated",
  },
  large: { feed: endless, says: "longer than what was signed" },
  page: { feed: Buffer.from("{{{ <html>"), says: "Cannot parse update info" },
  good: { says: "1.1.0 is ready." },
};

const why = desktopObstacle();
const onDesktop = why === undefined ? test : test.skip;

let sandbox: Sandbox;
let desktop: DesktopBus | undefined;
const headers = new Set<string>();

const server = createServer(({ url = "", headers: given }, answer) => {
  const [, name = "", path = ""] = new URL(url, "http://server").pathname.split("/");
  for (const header of Object.keys(given)) headers.add(header);
  const place = PLACES[name];
  const good: Record<string, Buffer> = {
    "updates.json": Buffer.from(signed(listOf("1.1.0", [EXE], Date.now()), OURS)),
    // On this system electron-updater looks for a feed of that name.
    "latest-linux.yml": Buffer.from(feedText("1.1.0", [EXE])),
    [EXE.name]: EXE.bytes,
  };
  const other: Record<string, Answer | undefined> = { "latest-linux.yml": place?.feed, [EXE.name]: place?.file };
  const body = other[path] ?? good[path];
  if (body === undefined || place === undefined) answer.writeHead(404).end();
  else if (typeof body === "function") body(answer);
  else answer.end(body);
});

beforeAll(async () => {
  sandbox = new Sandbox();
  await once(server.listen(0, "127.0.0.1"), "listening");
});

afterAll(async () => {
  server.closeAllConnections();
  server.close();
  desktop?.close();
  await sandbox.cleanup();
}, 60_000);

onDesktop(
  `what is not as it was signed is refused in a real Electron${why === undefined ? "" : ` (skipped: ${why})`}`,
  async () => {
    const folder = sandbox.makeFolder("updates");
    await build({
      absWorkingDir: ROOT,
      entryPoints: ["app/test/main/electron/looks-in-electron.ts"],
      outfile: join(folder, "looks.mjs"),
      bundle: true,
      platform: "node",
      format: "esm",
      target: "node20.18",
      external: ["electron"],
      banner: { js: COMMON_JS },
      logLevel: "warning",
    });
    // Code that is handed to the app from outside has no import of its own.
    writeFileSync(join(folder, "enter.cjs"), 'exports.looks = () => import("./looks.mjs");');
    const configuration = join(folder, "app-update.yml");
    writeFileSync(configuration, "provider: generic\nupdaterCacheDirName: runnel-updater\n");
    const user = sandbox.makeFolder("user");
    const cache = join(user, "cache");
    mkdirSync(cache);
    desktop = await DesktopBus.start({ ...sandbox.env, HOME: user, XDG_CACHE_HOME: cache, XDG_CONFIG_HOME: user });
    const app = await DesktopApp.start(sandbox.device("a", desktop.env).env, ["--quiet"]);
    const { port } = server.address() as AddressInfo;
    const places: UpdatePlaces = {
      url: `http://127.0.0.1:${port}`,
      key: OURS.key,
      names: [...Object.keys(PLACES), "nowhere"],
      hurried: "silent",
      configuration,
    };
    const outcomes = await app.electron.evaluate(
      async (_electron, [path, given]) => {
        const enter = process.getBuiltinModule("node:module").createRequire(path)(path) as {
          looks(): Promise<{ lookAtPlaces(places: UpdatePlaces): Promise<UpdateOutcome[]> }>;
        };
        return (await enter.looks()).lookAtPlaces(given);
      },
      [join(folder, "enter.cjs"), places] as const,
    );
    expect(outcomes).toEqual([
      ...Object.entries(PLACES).map(([name, { says }]) => ({
        name,
        ready: name === "good" ? "1.1.0" : null,
        said: [expect.stringContaining(says)],
      })),
      { name: "nowhere", ready: null, said: [expect.stringContaining("cannot be fetched")] },
    ]);
    const files = readdirSync(cache, { recursive: true, withFileTypes: true }).filter(({ name }) => /\.exe/.test(name));
    expect(files.map(({ parentPath, name }) => readFileSync(join(parentPath, name)).equals(EXE.bytes))).toEqual([true]);
    expect([...headers].filter((name) => name.startsWith("x-"))).toEqual([]);
  },
  RUN_MS,
);
