// Holds what macOS is packed by against what can be known without a Mac: texts are read by the parsers of their
// languages, the script runs over stand-ins for Apple's tools that note how they are called, and electron-builder's own
// schema judges its configuration.
import { spawnSync } from "node:child_process";
import { chmodSync, existsSync, mkdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { basename, dirname, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { ensureDebian, ensureTestElectron } from "../../scripts/tools.mjs";
import { isDebian } from "../../scripts/system-packages.mjs";
import { readMachO } from "@runnel/native/test/support/mach-o.ts";
import { cask, formula } from "../../installers/src/macos.ts";
import { readManifest } from "../../installers/src/packages.ts";
import { Sandbox, mustRun, run } from "../src/harness/index.ts";
import { BUILDER, partOfBuilder } from "../src/installers/electron-builder.ts";
import { pack } from "../src/installers/packs.ts";

const ROOT = resolve(fileURLToPath(new URL("../..", import.meta.url)));
const DARWIN = join(ROOT, "installers/darwin");
const NAME = "runnel-7.0.0-darwin-arm64";
const STEP_MS = 300_000;
/** zig compiles a C++ library for each target when it is first asked for. */
const PACK_MS = 60 * 60_000;
/** Names of Apple's tools that the script calls. */
const TOOLS = ["codesign", "pkgbuild", "productbuild", "pkgutil", "hdiutil", "xcrun"];
/** Notes how it was called, and makes the file that it was asked for: the last of its arguments. */
const STAND_IN = `#!/bin/sh
echo "$(basename -- "$0") $*" >> "$NOTES"
for last; do :; done
case $(basename -- "$0") in pkgbuild | productbuild | hdiutil) echo made > "$last" ;; esac
`;
const isHere = process.platform === "linux" && process.getuid?.() === 0 && isDebian();
const testHere = isHere ? test : test.skip;
const why = isHere ? "" : " (skipped: needs root on Debian, for its tools)";

let sandbox: Sandbox;

beforeAll(async () => {
  if (!isHere) return;
  sandbox = new Sandbox(STEP_MS * 2);
  ensureDebian("ruby", ["ruby"]);
  ensureDebian("xmllint", ["libxml2-utils"]);
  const bin = sandbox.makeFolder("bin");
  for (const name of TOOLS) {
    writeFileSync(join(bin, name), STAND_IN);
    chmodSync(join(bin, name), 0o755);
  }
  const tree = sandbox.makeFolder("tree", NAME);
  for (const folder of ["bin", "native"]) mkdirSync(join(tree, folder));
  for (const file of ["bin/runnel", "native/core.node", "LICENSE", "THIRD-PARTY.txt"])
    writeFileSync(join(tree, file), file);
  await mustRun("tar", ["-cJf", sandbox.path(`${NAME}.tar.xz`), "-C", sandbox.path("tree"), NAME]);
}, STEP_MS);

afterAll(() => sandbox?.cleanup(), 60_000);

describe("texts for macOS", () => {
  const digests = { arm64: "a".repeat(64), x64: "b".repeat(64) };

  testHere.each([
    ["formula", formula],
    ["cask", cask],
  ])(`the %s is Ruby${why}`, async (name, write) => {
    const path = sandbox.path(`${name}.rb`);
    const text = write({ version: "7.0.0" }, digests, "https://example.org/runnel");
    writeFileSync(path, text);
    expect((await run("ruby", ["-wc", path])).stdout).toBe("Syntax OK\n");
    writeFileSync(path, text.replace(/\nend\n$/, "\n"));
    expect((await run("ruby", ["-wc", path])).code).not.toBe(0);
  });

  testHere(`the entitlements are a list of properties, and give what Node wants to compile${why}`, async () => {
    const read = "import json, plistlib, sys; print(json.dumps(plistlib.load(open(sys.argv[1], 'rb'))))";
    const { stdout } = await mustRun("python3", ["-c", read, join(DARWIN, "node.entitlements")]);
    expect(JSON.parse(stdout)).toEqual({
      "com.apple.security.cs.allow-jit": true,
      "com.apple.security.cs.allow-unsigned-executable-memory": true,
      "com.apple.security.cs.disable-library-validation": true,
    });
  });

  testHere(`the distribution names the package that is built beside it${why}`, async () => {
    const path = join(DARWIN, "distribution.xml");
    await mustRun("xmllint", ["--noout", path]);
    const ask = async (words: string): Promise<string> =>
      (await mustRun("xmllint", ["--xpath", `string(${words})`, path])).stdout.trim();
    expect(await ask("//pkg-ref[text()]")).toBe("agent.pkg");
    expect(await ask("//choices-outline/line/@choice")).toBe(await ask("//choice/@id"));
    expect(await ask("//choice/pkg-ref/@id")).toBe("runnel.agent");
    expect(readFileSync(join(DARWIN, "make.sh"), "utf8")).toContain("--identifier runnel.agent");
  });
});

describe("the script that makes a package or an image on a Mac", () => {
  const IDENTITIES = {
    RUNNEL_APPLE_APPLICATION: "Developer ID Application: Nobody",
    RUNNEL_APPLE_INSTALLER: "Developer ID Installer: Nobody",
    RUNNEL_APPLE_NOTARY: "nobody",
  };
  let runs = 0;

  function make(kind: string, more: NodeJS.ProcessEnv, tarball = `${NAME}.tar.xz`, node = process.execPath) {
    const place = sandbox.makeFolder(`run-${runs++}`);
    const notes = join(place, "notes");
    const path = `${sandbox.path("bin")}:${process.env["PATH"]}`;
    const env = { ...process.env, PATH: path, NOTES: notes, ...more };
    const args = [join(DARWIN, "make.sh"), kind, sandbox.path(tarball), node, join(place, "out")];
    const { status, stderr, stdout } = spawnSync("sh", args, { env, encoding: "utf8" });
    const calls = existsSync(notes) ? readFileSync(notes, "utf8").trim().split("\n") : [];
    return { status, stderr, made: stdout.trim().split("\n").at(-1) ?? "", calls, place };
  }

  testHere(`signs nothing for nobody, and its name says so${why}`, () => {
    for (const kind of ["pkg", "dmg"]) {
      const { status, stderr, made, calls, place } = make(kind, {});
      expect([status, stderr]).toEqual([0, ""]);
      expect(made).toBe(`${place}/out/Runnel-7.0.0-arm64-unsigned.${kind}`);
      expect(existsSync(made)).toBe(true);
      expect(calls.filter((call) => /codesign|--sign|notarytool|stapler/.test(call))).toEqual([]);
    }
  });

  testHere(`signs programs, package and image for who is named, then has Apple look at them${why}`, () => {
    const { status, made, calls } = make("dmg", IDENTITIES);
    expect(status).toBe(0);
    expect(made).toMatch(/\/Runnel-7\.0\.0-arm64\.dmg$/);
    const kinds = calls.map((call) =>
      call
        .replace(/^xcrun (\w+).*\.(pkg|dmg).*/, "$1 $2")
        .replace(/^codesign .*--verify.*/, "verify")
        .replace(/^codesign .*(core\.node|\/node|\.dmg)$/, "codesign $1")
        .replace(/^(pkgbuild|productbuild|pkgutil|hdiutil) .*/, "$1"),
    );
    expect(kinds).toEqual([
      "codesign core.node",
      "codesign /node",
      "verify",
      "pkgbuild",
      "productbuild",
      "pkgutil",
      "notarytool pkg",
      "stapler pkg",
      "hdiutil",
      "codesign .dmg",
      "notarytool dmg",
      "stapler dmg",
    ]);
    expect(calls.find((call) => call.startsWith("productbuild"))).toContain(
      `--sign ${IDENTITIES.RUNNEL_APPLE_INSTALLER}`,
    );
    for (const call of calls.filter((each) => /^codesign .*--sign /.test(each)))
      expect(call).toContain(IDENTITIES.RUNNEL_APPLE_APPLICATION);
  });

  testHere(`makes nothing for half of a signature, of another file, or with an old Node${why}`, () => {
    for (const name of Object.keys(IDENTITIES)) {
      const half: NodeJS.ProcessEnv = { ...IDENTITIES };
      delete half[name];
      expect(make("pkg", half)).toMatchObject({ status: 1, calls: [], stderr: expect.stringContaining("go together") });
    }
    expect(make("zip", {}).stderr).toContain("neither pkg nor dmg");
    expect(make("pkg", {}, "runnel-7.0.0-linux-x64.tar.xz").stderr).toContain("is no tarball of Runnel for macOS");
    const old = sandbox.path("old-node");
    writeFileSync(old, "#!/bin/sh\necho v22.1.0\n", { mode: 0o755 });
    expect(make("pkg", {}, undefined, old).stderr).toContain("older than Node 24");
  });

  testHere(`makes nothing when one of the tools fails${why}`, () => {
    const bin = sandbox.makeFolder("failing");
    writeFileSync(join(bin, "xcrun"), "#!/bin/sh\nexit 3\n", { mode: 0o755 });
    const path = `${bin}:${sandbox.path("bin")}:${process.env["PATH"]}`;
    const { status, place } = make("pkg", { ...IDENTITIES, PATH: path });
    expect(status).toBe(3);
    expect(existsSync(join(place, "out/Runnel-7.0.0-arm64.pkg"))).toBe(false);
  });
});

describe("npm run pack -- macos", () => {
  const canPack = process.platform === "linux" && process.arch === "x64";
  const packs = canPack ? test : test.skip;
  const whyNot = canPack ? "" : " (skipped: packages are made on Linux on x64)";

  packs(
    `makes tarballs, twice the same, with the addons of their processor, the drive without a driver among them${whyNot}`,
    async () => {
      const own = new Sandbox(PACK_MS);
      try {
        const made = await pack(["macos"], "7.0.0", own.makeFolder("out"));
        const again = await pack(["macos"], "7.0.0", own.makeFolder("again"));
        expect(again.map(({ sha256 }) => sha256)).toEqual(made.map(({ sha256 }) => sha256));
        const names = made.map(({ path }) => basename(path, ".tar.xz")).toSorted();
        expect(names).toEqual(["runnel-7.0.0-darwin-arm64", "runnel-7.0.0-darwin-x64"]);
        for (const name of names) {
          const [, processor = ""] = /-darwin-(\w+)$/.exec(name) ?? [];
          const tarball = own.path("out", `${name}.tar.xz`);
          const paths = (await mustRun("tar", ["-tJf", tarball], { deadlineMs: STEP_MS })).stdout.trim().split("\n");
          const addons = paths.filter((path) => path.endsWith(".node"));
          expect(addons.toSorted()).toEqual([
            `${name}/native/prebuilds/darwin-${processor}/core.node`,
            `${name}/native/prebuilds/darwin-${processor}/loopback.node`,
            `${name}/node_modules/better-sqlite3/prebuilds/darwin-${processor}.node`,
          ]);
          await mustRun("tar", ["-xJf", tarball, "-C", own.folder, ...addons], { deadlineMs: STEP_MS });
          const processors = addons.map((addon) => readMachO(readFileSync(own.path(addon))).processor);
          expect(processors).toEqual(addons.map(() => processor));
        }
      } finally {
        await own.cleanup();
      }
    },
    PACK_MS,
  );
});

describe("the configuration of electron-builder", () => {
  const text = readFileSync(join(ROOT, "installers/electron-builder.json"), "utf8");

  test("names the Electron of the app's package, and files that are there", () => {
    const app = JSON.parse(readFileSync(join(ROOT, "app/package.json"), "utf8")) as {
      devDependencies: Record<string, string>;
    };
    const { electronVersion } = JSON.parse(text) as { electronVersion: string };
    expect(electronVersion).toBe(app.devDependencies["electron"]);
    const paths = [...text.matchAll(/"(installers\/(?!out)[^"]+)"/g)].map(([, path = ""]) => path);
    expect(paths.length).toBeGreaterThan(2);
    expect(paths.filter((path) => !existsSync(join(ROOT, path)))).toEqual([]);
    expect(readFileSync(join(ROOT, "installers/here.ts"), "utf8")).toContain(`electron-builder@${BUILDER}`);
  });

  testHere(
    `is one by electron-builder's own schema, which finds a word that it does not know${why}`,
    async () => {
      ensureDebian("jsonschema", ["python3-jsonschema"]);
      const scheme = await partOfBuilder(sandbox, "scheme.json");
      const judge = async (configuration: string): Promise<number | null> => {
        const path = sandbox.path("configuration.json");
        writeFileSync(path, configuration);
        return (await run("jsonschema", ["-i", path, scheme])).code;
      };
      expect(await judge(text)).toBe(0);
      expect(await judge(text.replace("perMachine", "perMachines"))).toBe(1);
      expect(await judge(text.replace('"asar": true', '"asar": "perhaps"'))).toBe(1);
    },
    STEP_MS,
  );

  testHere(
    `packs the app with what it starts, which runs from there${why}`,
    async () => {
      const electron = dirname(ensureTestElectron());
      const args = ["installers/here.ts", "app", "--electron", electron];
      const key = sandbox.path("update.pem");
      await mustRun("openssl", ["genpkey", "-algorithm", "ed25519", "-out", key]);
      const env = { ...process.env, RUNNEL_UPDATE_KEY: key, RUNNEL_UPDATE_URL: "https://example.org/a/updates.json" };
      await mustRun(process.execPath, args, { cwd: ROOT, env, deadlineMs: STEP_MS });
      const packed = join(ROOT, "installers/out/app/linux-unpacked/resources");
      // The bundle alone: what it is made of lies in it.
      expect(statSync(join(packed, "app.asar")).size).toBeLessThan(2 * 1024 * 1024);
      // The app looks for both here (app/src/main/host/agent-program.ts).
      const node = join(packed, "runnel/node_modules/.bin/node");
      const launcher = join(packed, "runnel/app/bin/runnel.mjs");
      expect((await mustRun(node, [launcher, "--version"])).stdout).toBe(`${readManifest(ROOT).version}\n`);
      const configuration = readFileSync(join(packed, "app-update.yml"), "utf8");
      expect(configuration).toMatch(/^provider: generic\nurl: https:\/\/example\.org\/a\/\nupdaterCacheDirName: /);
      const place = JSON.parse(readFileSync(join(packed, "runnel/update-feed.json"), "utf8")) as object;
      expect(place).toMatchObject({ url: "https://example.org/a/updates.json" });
      expect(readFileSync(join(packed, "THIRD-PARTY-app.txt"), "utf8")).toContain("electron-updater");
      for (const made of ["app", "product"]) rmSync(join(ROOT, "installers/out", made), { recursive: true });
    },
    STEP_MS * 2,
  );
});
