// Makes the packages of Linux and lives with them in a clean Debian: installs, serves and maps a drive as a person
// does, puts a newer version over it, and takes it away again. Data stay.
import { generateKeyPairSync } from "node:crypto";
import { copyFileSync, existsSync, readFileSync, readdirSync, statSync, writeFileSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { ensureDebian } from "../../scripts/tools.mjs";
import { type RunResult, Sandbox, mustRun, run } from "../src/harness/index.ts";
import { DebianRoot, debianObstacle } from "../src/installers/debian-root.ts";
import { earlierClone } from "../src/installers/earlier-clone.ts";
import { type Pack, freePort, pack } from "../src/installers/packs.ts";
import { Service } from "../src/installers/service.ts";

/** Before the product had packages, today, and the next that is told of. */
const EARLIER = "7.0.0";
const NEW = "7.0.1";
const NEXT = "7.0.2";
const ALL_MS = 30 * 60_000;
const INSTALL_MS = 240_000;
const TRY_INSTALLERS = fileURLToPath(new URL("../../scripts/try-installers.ts", import.meta.url));
const STEP_MS = 300_000;
/** Bytes at the lowest level of compression. */
const DEB_BYTES_MAX = 80 * 1024 * 1024;

const why = debianObstacle();
const testInDebian = why === undefined ? test : test.skip;
const shown = why === undefined ? "" : ` (skipped: ${why})`;

let sandbox: Sandbox;
let debian: DebianRoot;
let service: Service | undefined;
let packs: Record<"earlier" | "new" | "again" | "tar" | "tarAgain", Pack>;
let port: number;
/** Tells the packer who signs, and where updates are told. */
let updates: NodeJS.ProcessEnv;
/** Files of the system before anything was installed. */
let before: string[];

beforeAll(async () => {
  if (why !== undefined) return;
  sandbox = new Sandbox(ALL_MS);
  const { privateKey } = generateKeyPairSync("ed25519");
  const key = sandbox.path("update-key.pem");
  writeFileSync(key, privateKey.export({ format: "pem", type: "pkcs8" }));
  updates = { RUNNEL_UPDATE_KEY: key, RUNNEL_UPDATE_URL: "https://updates.invalid/updates.json" };
  const one = async (kind: string, version: string, folder: string, clone?: string): Promise<Pack> => {
    const [made] = await pack([kind], version, sandbox.makeFolder(folder), updates, clone);
    if (made === undefined) throw new Error(`No ${kind} was made.`);
    return made;
  };
  packs = {
    earlier: await one("deb", EARLIER, "of-earlier", await earlierClone(sandbox)),
    new: await one("deb", NEW, "new"),
    again: await one("deb", NEW, "again"),
    tar: await one("tar", NEXT, "tar"),
    tarAgain: await one("tar", NEXT, "tar-again"),
  };
  debian = await DebianRoot.make(sandbox);
  port = await freePort();
  await debian.mustRun("apt-get -qq update", { deadlineMs: INSTALL_MS });
  await debian.mustRun("apt-get -qq install -y --no-install-recommends procps", { deadlineMs: INSTALL_MS });
}, ALL_MS);

afterAll(async () => {
  if (why !== undefined) return;
  await debian?.close();
  await sandbox?.cleanup();
}, 120_000);

/** Everything that a package could leave behind. */
async function systemFiles(): Promise<string[]> {
  const found = await debian.mustRun("find /usr /etc /srv /opt /var -xdev");
  return found.split("\n").filter((path) => path !== "" && !/^\/var\/(lib\/dpkg|lib\/apt|cache|log|tmp)\//.test(path));
}

async function install({ path }: Pack): Promise<string> {
  copyFileSync(path, debian.path(`var/tmp/${basename(path)}`));
  const script = `apt-get -qq install -y --no-install-recommends /var/tmp/${basename(path)} 2>&1`;
  return debian.mustRun(script, { deadlineMs: INSTALL_MS });
}

const asAda = (script: string): Promise<string> => debian.mustRun(script, { user: "ada" });

describe("the deb", () => {
  testInDebian(`is the same bytes when it is made twice${shown}`, async () => {
    expect(packs.again.sha256).toBe(packs.new.sha256);
    expect(packs.earlier.sha256).not.toBe(packs.new.sha256);
    const { size } = statSync(packs.new.path);
    expect(size).toBeLessThan(DEB_BYTES_MAX);
    console.log(`deb: ${(size / 1e6).toFixed(1)} MB in ${(packs.new.durationMs / 1000).toFixed(0)} s`);
    const { stdout } = await mustRun("dpkg-deb", ["--field", packs.new.path, "Depends"]);
    expect(stdout).toMatch(/\bfuse3\b/);
  });

  testInDebian(
    `is installed, and its service and a drive work${shown}`,
    async () => {
      await debian.mustRun("useradd --create-home ada");
      // Packages that it needs are no part of what it leaves behind.
      const needed = (await mustRun("dpkg-deb", ["--field", packs.new.path, "Depends"])).stdout;
      const names = needed.split(", ").map((each) => each.trim().split(" ")[0]);
      await debian.mustRun(`apt-get -qq install -y --no-install-recommends ${names.join(" ")}`, {
        deadlineMs: INSTALL_MS,
      });
      before = await systemFiles();
      await install(packs.earlier);
      expect(await asAda("runnel --version")).toBe(`${EARLIER}\n`);
      expect(await debian.mustRun("dpkg --verify runnel")).toBe("");
      await debian.mustRun("install -d -o runnel -g runnel /srv/docs");
      const options = `--volume docs=/srv/docs --listen 127.0.0.1:${port} --tls`;
      writeFileSync(debian.path("etc/runnel/server.conf"), `RUNNEL_SERVE="${options}"\n`);
      service = await Service.start(debian);
      const asks = `runnel invite docs --data /var/lib/runnel/server --address 127.0.0.1:${port} --json`;
      const { invite } = JSON.parse(await debian.mustRun(asks)) as { invite: string };
      await asAda(`runnel login '${invite}'; mkdir Docs; runnel mount wss://127.0.0.1:${port}/docs Docs`);
      await asAda("seq 100000 > Docs/numbers; cp Docs/numbers Docs/copy; cmp Docs/numbers Docs/copy");
      await asAda("mkdir Docs/below; echo hello > Docs/below/file; runnel flush --applied Docs");
      expect(readFileSync(debian.path("srv/docs/below/file"), "utf8")).toBe("hello\n");
      expect(await debian.mustRun("stat -c %U /srv/docs/below/file")).toBe("runnel\n");
    },
    STEP_MS,
  );

  testInDebian(
    `follows one of the commit before there were packages, which serves and maps meanwhile${shown}`,
    async () => {
      await install(packs.new);
      expect(await asAda("runnel --version")).toBe(`${NEW}\n`);
      expect(readFileSync(debian.path("etc/runnel/server.conf"), "utf8")).toContain("docs=/srv/docs");
      // The server and the agent of before are those that ran.
      await asAda("cat Docs/below/file; echo meanwhile > Docs/meanwhile");
      expect(await service?.stop(debian)).toBe(0);
      service = await Service.start(debian);
      await asAda("runnel stop");
      await asAda(`runnel mount wss://127.0.0.1:${port}/docs Docs`);
      expect(await asAda("cat Docs/below/file Docs/meanwhile; wc -l < Docs/numbers")).toBe(
        "hello\nmeanwhile\n100000\n",
      );
      await asAda("echo newer > Docs/newer; runnel flush --applied Docs; runnel stop");
      expect(readFileSync(debian.path("srv/docs/newer"), "utf8")).toBe("newer\n");
    },
    STEP_MS,
  );

  testInDebian(`says that there is a newer version, by a signed list only${shown}`, async () => {
    const list = debian.path("var/tmp/updates.json");
    copyFileSync(join(dirname(packs.tar.path), "updates.json"), list);
    expect(JSON.parse(await asAda("runnel update --from /var/tmp/updates.json --json"))).toMatchObject({
      version: NEXT,
      current: NEW,
      isNewer: true,
      packages: [{ name: basename(packs.tar.path), sha256: packs.tar.sha256 }],
    });
    writeFileSync(list, readFileSync(list, "utf8").replace(NEXT, "7.9.9"));
    const forged = await debian.run("runnel update --from /var/tmp/updates.json", { user: "ada" });
    expect(forged).toMatchObject({ code: 4, stderr: expect.stringContaining("Install nothing that it names") });
  });

  testInDebian(
    `is removed and purged: its files go, data stay${shown}`,
    async () => {
      expect(await service?.stop(debian)).toBe(0);
      await debian.mustRun("apt-get -qq remove -y runnel 2>&1", { deadlineMs: INSTALL_MS });
      expect(existsSync(debian.path("usr/lib/runnel"))).toBe(false);
      expect(existsSync(debian.path("usr/bin/runnel"))).toBe(false);
      expect(existsSync(debian.path("etc/runnel/server.conf"))).toBe(true);
      const said = await debian.mustRun("apt-get -qq purge -y runnel 2>&1", { deadlineMs: INSTALL_MS });
      expect(said).toContain("stay in /var/lib/runnel");
      const known = new Set(before);
      // The last are of adduser, which keeps a copy of each file before it changes one.
      const stays = /^\/(srv\/docs|var\/lib\/runnel)(\/|$)|^\/etc\/(passwd|group|shadow|gshadow|subuid|subgid)-$/;
      const left = (await systemFiles()).filter((path) => !known.has(path) && !stays.test(path));
      expect(left).toEqual([]);
      for (const path of ["srv/docs/newer", "srv/docs/below/file", "var/lib/runnel/server"])
        expect(existsSync(debian.path(path))).toBe(true);
      expect(existsSync(debian.path("home/ada/.local/state/runnel/servers.json"))).toBe(true);
    },
    STEP_MS,
  );
});

describe("the tarball", () => {
  testInDebian(`is the same bytes when it is made twice${shown}`, () => {
    expect(packs.tarAgain.sha256).toBe(packs.tar.sha256);
  });

  testInDebian(
    `runs from the folder of whoever unpacks it${shown}`,
    async () => {
      copyFileSync(packs.tar.path, debian.path("var/tmp/runnel.tar.xz"));
      await debian.mustRun("apt-get -qq install -y --no-install-recommends xz-utils", { deadlineMs: INSTALL_MS });
      const name = `runnel-${NEXT}-linux-x64`;
      await asAda("mkdir 'a folder' served drive; tar -xJf /var/tmp/runnel.tar.xz -C 'a folder'");
      const runnel = `"$HOME/a folder/${name}/bin/runnel"`;
      expect(await asAda(`ln -s ${runnel} command; ./command --version`)).toBe(`${NEXT}\n`);
      const serving = debian.start(`${runnel} serve --volume own=served --listen 127.0.0.1:${port}`, { user: "ada" });
      try {
        await asAda(`until ${runnel} mount ws://127.0.0.1:${port}/own drive; do sleep 0.2; done`);
        await asAda(`echo here > drive/file; ${runnel} flush --applied drive; cmp drive/file served/file`);
        await asAda(`${runnel} stop`);
      } finally {
        serving.kill("SIGKILL");
      }
    },
    STEP_MS,
  );
});

describe("npm run try-installers", () => {
  const args = (folder: string): string[] => [process.execPath, TRY_INSTALLERS, folder];
  // A mount that nobody else sees goes with its namespace.
  const inNamespace = (env: NodeJS.ProcessEnv, ...words: string[]): Promise<RunResult> =>
    run("unshare", ["--mount", "--propagation", "private", ...words], { env, deadlineMs: STEP_MS });

  testInDebian(
    `unpacks the tarball, uses a drive of it, and leaves nothing; without FUSE or a tarball it fails${shown}`,
    async () => {
      const [home, own] = [sandbox.makeFolder("tried"), sandbox.makeFolder("unpacked")];
      const env = { ...sandbox.env, RUNNEL_HOME: home, TMPDIR: own, RUNNEL_KEYRING: "off" };
      const { code, stdout, stderr } = await inNamespace(env, ...args(dirname(packs.tar.path)));
      expect({ code, stdout, stderr }).toMatchObject({ code: 0 });
      expect(stdout).toMatch(
        /\nMounted ws:[^]*\nwritten at \d+ elsewhere\n[^]*\nUnmounted [^]*: installed, used and removed\n/,
      );
      expect(readdirSync(own).filter((name) => /tried|used/.test(name))).toEqual([]);
      const blind = await inNamespace(
        env,
        "sh",
        "-c",
        'mount --bind /dev/null /dev/fuse; exec "$@"',
        "sh",
        ...args(dirname(packs.tar.path)),
      );
      expect(blind).toMatchObject({ code: 1, stderr: expect.stringMatching(/ mount ws:.* ended with [1-9]/) });
      const none = await inNamespace(env, ...args(sandbox.makeFolder("none")));
      expect(none).toMatchObject({ code: 1, stderr: expect.stringContaining("has 0 of") });
    },
    STEP_MS,
  );
});

describe("the rpm", () => {
  testInDebian(
    `has the same files, and asks for FUSE${shown}`,
    async () => {
      ensureDebian("rpmbuild", ["rpm"]);
      const [first] = await pack(["rpm"], NEW, sandbox.makeFolder("rpm"), updates);
      const [again] = await pack(["rpm"], NEW, sandbox.makeFolder("rpm-again"), updates);
      if (first === undefined) throw new Error("No rpm was made.");
      expect(again?.sha256).toBe(first.sha256);
      const list = async (command: string, ...args: string[]): Promise<string[]> =>
        (await mustRun(command, args)).stdout.split("\n").filter((line) => line !== "");
      const inDeb = (await list("dpkg-deb", "--contents", packs.new.path))
        .map((line) => / \.(\/.*?)(?: -> .*)?$/.exec(line)?.[1] ?? "")
        .filter((path) => !path.endsWith("/"));
      expect(inDeb.length).toBeGreaterThan(500);
      const inRpm = new Set(await list("rpm", "-qlp", first.path));
      expect(inDeb.filter((path) => !inRpm.has(path))).toEqual([]);
      expect(await list("rpm", "-qp", "--requires", first.path)).toEqual(expect.arrayContaining(["fuse3"]));
      expect(await list("rpm", "-qcp", first.path)).toEqual(["/etc/runnel/server.conf"]);
    },
    STEP_MS,
  );
});
