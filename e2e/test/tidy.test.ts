// Runs the tidy checks over the project, and shows with planted files that each of them bites.
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, test } from "@jest/globals";
import { LIMITS, TIMING } from "@runnel/shared";
import {
  type Check,
  checkCircles,
  checkCitedPages,
  checkClock,
  checkColumns,
  checkCommentOpenings,
  checkDeclaredImports,
  checkDefaultExports,
  checkDependencies,
  checkFocused,
  checkFolderSizes,
  checkImportDirection,
  checkLength,
  checkLimits,
  checkLinks,
  checkMachinePaths,
  checkNames,
  checkOfRegistry,
  checkOpenings,
  checkPlatform,
  checkRules,
  checkSingleFolder,
  checkUnfinished,
  checkWords,
  formatViolations,
  readProject,
} from "../src/tidy/index.ts";
import { scanCode } from "../src/tidy/scan-code.ts";

const ROOT = fileURLToPath(new URL("../..", import.meta.url));

/** Runs a check over planted files, given as path → text. */
function planted(check: Check, files: Record<string, string>): string[] {
  const found = check(Object.entries(files).map(([path, text]) => ({ path, text })));
  return formatViolations(found)
    .split("\n")
    .filter((line) => line !== "");
}

describe("the project", () => {
  const files = readProject(ROOT);

  test.each<[string, Check]>([
    ["names its files for ideas, in one style", checkNames],
    ["imports one way between its workspaces", checkImportDirection],
    ["knows each library and system interface in one folder", checkSingleFolder],
    ["declares the packages that it imports", checkDeclaredImports],
    ["asks the clock for the time", checkClock],
    ["asks the host which system it runs on", checkPlatform],
    ["tests every rule of its documents, and no other", checkRules],
    ["tests every limit of its limits page, and has a row for each", checkLimits({ ...LIMITS, ...TIMING })],
    ["names no path of one machine", checkMachinePaths],
    ["leaves nothing marked as unfinished", checkUnfinished],
    ["has nobody run a package of npm's that is called as it is", checkOfRegistry],
    ["runs every test", checkFocused],
    ["exports by name", checkDefaultExports],
    ["keeps its files short", checkLength],
    ["opens each source with what it is for", checkOpenings],
    ["opens its comments with what they explain", checkCommentOpenings],
    ["names only its own pages in comments", checkCitedPages],
    ["writes comments and pages in 120 columns", checkColumns],
    ["speaks the field's words", checkWords],
    ["keeps its folders small", checkFolderSizes],
    ["imports in no circle", checkCircles],
    ["justifies every dependency in one line", checkDependencies],
    ["has only links that lead somewhere", (all) => checkLinks(all, (path) => existsSync(join(ROOT, path)))],
  ])("%s", (_title, check) => {
    expect(formatViolations(check(files))).toBe("");
  });

  test("brings nothing that runs code when it is installed", () => {
    const { packages } = JSON.parse(readFileSync(join(ROOT, "package-lock.json"), "utf8")) as {
      packages: Record<string, { hasInstallScript?: true; dev?: true }>;
    };
    const scripted = Object.entries(packages).filter(
      ([path, each]) => path !== "" && each.hasInstallScript && !each.dev,
    );
    expect(scripted.map(([path]) => path)).toEqual([]);
    expect(Object.keys(packages).filter((path) => path.includes("cbor-extract"))).toEqual([]);
  });
});

describe("the tidy checks", () => {
  test("find names in the wrong style or without meaning", () => {
    expect(
      planted(checkNames, {
        "shared/src/readThing.ts": "",
        "shared/src/path-utils.ts": "",
        "server/src/common/read.ts": "",
        "native/src/chunk/rabinTable.cc": "",
        "native/src/chunk/rabin_table.cc": "",
        "shared/src/read-thing.ts": "",
        "shared/test/read-thing.test.ts": "",
      }),
    ).toEqual([
      "shared/src/readThing.ts: name it in kebab-case",
      'shared/src/path-utils.ts: "utils" says nothing: name the idea',
      'server/src/common/read.ts: "common" says nothing: name the idea',
      "native/src/chunk/rabinTable.cc: name it in snake_case",
    ]);
  });

  test("find imports against the direction, by name or by path", () => {
    const found = planted(checkImportDirection, {
      "shared/src/a.ts": 'import { chunk } from "@runnel/native";',
      "native/index.ts": 'import { x } from "@runnel/server";\nimport { LIMITS } from "@runnel/shared";',
      "server/src/a.ts": 'export { x } from "../../shared/src/errors.ts";',
      "app/src/agent/a.ts": 'const server = await import("@runnel/server");',
      "app/src/cli/serve.ts": 'import { Server } from "@runnel/server";',
      "app/ui/a.ts": 'import { LIMITS } from "@runnel/shared";\nimport type { Limits } from "@runnel/shared";',
      "e2e/src/a.ts": 'import { Server } from "@runnel/server";\nimport { Agent } from "@runnel/app";',
    });
    expect(found).toEqual([
      "shared/src/a.ts:1: imports @runnel/native: shared may import no other workspace",
      "native/index.ts:1: imports @runnel/server: native may import only shared",
      "server/src/a.ts:1: imports ../../shared/src/errors.ts: enter another workspace by its name, @runnel/shared",
      "app/src/agent/a.ts:1: imports @runnel/server: app may import only native, shared",
      "app/ui/a.ts:1: imports @runnel/shared: app/ui/ may take only types (import type)",
    ]);
  });

  test("find a library outside its folder, but not its types or its tests", () => {
    const found = planted(checkSingleFolder, {
      "server/src/wire/a.ts": 'import { WebSocket } from "ws";\nimport type { RawData } from "ws";',
      "shared/src/host/a.ts": 'import { WebSocket } from "ws";\nimport { readFile } from "node:fs/promises";',
      "shared/test/a.test.ts": 'import { WebSocket } from "ws";',
      "app/src/main/a.ts": 'const { NsisUpdater } = await import("electron-updater");',
      "server/src/volume/a.ts": 'import { readFile } from "node:fs/promises";',
      "native/src/chunk/rabin.cc": "#include <napi.h>\n#include <vector>",
      "native/src/bridge/core.cc": "#include <napi.h>",
    });
    expect(found).toEqual([
      "server/src/wire/a.ts:1: imports ws, which only shared/src/host/ may",
      "app/src/main/a.ts:1: imports electron-updater, which only app/src/main/electron/ may",
      expect.stringMatching(/^server\/src\/volume\/a\.ts:1: imports node:fs/),
      "native/src/chunk/rabin.cc:1: imports napi.h, which only native/src/bridge/ may",
    ]);
  });

  test("find packages that are imported and not declared", () => {
    const found = planted(checkDeclaredImports, {
      "package.json": '{"devDependencies":{"@jest/globals":"1"}}',
      "shared/package.json": '{"dependencies":{"ws":"1"}}',
      "shared/src/a.ts":
        'import { a } from "ws";\nimport { b } from "left-pad/x";\nimport { test } from "@jest/globals";',
      "shared/test/a.test.ts": 'import { test } from "@jest/globals";\nimport { readFileSync } from "node:fs";',
    });
    expect(found).toEqual([
      "shared/src/a.ts:2: imports left-pad, which shared/package.json does not list",
      "shared/src/a.ts:3: imports @jest/globals, which shared/package.json does not list",
    ]);
  });

  test("find clocks and timers outside the host folder, but not words in comments", () => {
    const found = planted(checkClock, {
      "server/src/a.ts": "// setTimeout is not for us\nconst now = Date.now();\nconst text = 'Date.now';\nnew Date();",
      "app/src/agent/a.ts": 'import { setTimeout as sleep } from "node:timers/promises";',
      "shared/src/host/system-clock.ts": "setTimeout(fire, 1);",
      "e2e/src/harness/a.ts": "setTimeout(fire, 1);",
    });
    expect(found).toEqual([
      "server/src/a.ts:2: Date.now: ask the Clock that you were given",
      "server/src/a.ts:4: new Date(): ask the Clock that you were given",
      "app/src/agent/a.ts:1: setTimeout: ask the Clock that you were given",
      "app/src/agent/a.ts:1: imports node:timers/promises: ask the Clock that you were given",
    ]);
  });

  test("find code outside a host folder that asks which system it runs on", () => {
    const found = planted(checkPlatform, {
      "app/src/agent/a.ts": '// process.platform\nif (process.platform === "win32") end();',
      "app/src/agent/control/host/a.ts": "export const system = process.platform;",
      "app/src/agent/control/host/windows/a.ts": 'import { platform } from "node:os";\nplatform();',
      "app/src/main/electron/main.ts": "const { argv, platform } = process;",
      "native/src/load.ts": 'import os from "node:os";\nexport const system = os.platform();',
      "native/drive.ts": "export const system = process?.platform;\nexport const platform = system;",
      "shared/src/a.ts": "interface A { platform: string }\nexport const a: A = argument;\nplatform();",
      "app/test/a.test.ts": "export const system = process.platform;",
      "native/build.mjs": "export const system = process.platform;",
      "scripts/a.mjs": "export const system = process.platform;",
      "installers/src/a.ts": "export const system = process.platform;",
    });
    const rule = "ask the host's interface, in a folder host/";
    expect(found).toEqual([
      `app/src/agent/a.ts:2: process.platform: ${rule}`,
      `app/src/main/electron/main.ts:1: { argv, platform } = process: ${rule}`,
      `native/src/load.ts:2: os.platform(): ${rule}`,
      `native/drive.ts:1: process?.platform: ${rule}`,
    ]);
  });

  test("find rules without a test, tests without a rule, and rules defined twice", () => {
    const found = planted(checkRules, {
      "shared/src/protocol/PROTOCOL.md": "**[W1]** A.\n\n- **[W2]** B.\n**[W2]** again\nsee [W3]\n**[F1]** wrong book",
      "docs/FORMAT.md": "**[F2]** A log.",
      "shared/test/a.test.ts": 'test("[W1] [F2] keeps its word", () => {}); test("[W9] is made up", () => {});',
      "shared/src/a.ts": "// [W1] and [W7]\nconst list = words[W8];",
    });
    expect(found).toEqual([
      "shared/src/protocol/PROTOCOL.md:4: [W2] is defined twice",
      "shared/src/protocol/PROTOCOL.md:6: [F1] has a letter that is not this document's",
      "shared/src/protocol/PROTOCOL.md:3: no test's title carries [W2]",
      "shared/src/protocol/PROTOCOL.md:4: no test's title carries [W2]",
      "shared/src/protocol/PROTOCOL.md:6: no test's title carries [F1]",
      "shared/test/a.test.ts:1: tests [W9], which no document defines",
      "shared/src/a.ts:1: cites [W7], which no document defines",
    ]);
  });

  test("find limits without a row, with another value, or without a test, and tests of none", () => {
    const check = checkLimits({
      names: 255,
      frameBytes: 1024 * 1024 + 64,
      termMs: 20_000,
      folders: 200_000,
      depth: 16,
    });
    const files = {
      "shared/src/protocol/PROTOCOL.md":
        "## Limits\n| `names` | 256 of them | BadName |\n| `frameBytes` | 1 MiB + 64 bytes a message | closes |\n| `termMs` | 20 s | |\n| `folders` | 200,000 | |\n| `gone` | 5 | |\n\n## Not yet\n| `x` | 1 |",
      "shared/test/a.test.ts":
        'test("[W1] [limit names] [limit frameBytes] are refused", () => { use(LIMITS.names, LIMITS.frameBytes); });',
      "shared/test/b.test.ts":
        'test("[limit depth] is kept", () => {}); test("says [limit termMs]", () => TIMING.termMs);',
      "shared/test/c.test.ts":
        'test("[limit folders] [limit gone] are kept", () => { use(LIMITS.folders, LIMITS.gone); });',
    };
    expect(planted(check, files)).toEqual([
      "shared/src/protocol/PROTOCOL.md:2: `names` is 255 in limits.ts",
      "shared/src/protocol/PROTOCOL.md:6: `gone` is none of limits.ts",
      "shared/test/b.test.ts:1: tests the limit depth without its value from limits.ts",
      "shared/src/protocol/PROTOCOL.md: no test's title carries [limit termMs]",
      "shared/src/protocol/PROTOCOL.md: the limits page has no row for `depth`",
    ]);
  });

  test("find paths of one machine, marks of unfinished work, and focused or skipped tests", () => {
    const unfinished = ["TO", "DO"].join("");
    expect(planted(checkMachinePaths, { "server/src/a.ts": 'open("/tmp/x");\nopen("/srv/docs/tmp/x");' })).toEqual([
      "server/src/a.ts:1: /tmp/: a path of this machine",
    ]);
    expect(planted(checkUnfinished, { "server/src/a.ts": `// ${unfinished}: later` })).toHaveLength(1);
    expect(
      planted(checkFocused, {
        "shared/test/a.test.ts": 'test.only("a", f);\ndescribe.skip("b", f);\ntest("d.only", f);',
      }),
    ).toEqual([
      "shared/test/a.test.ts:1: test.only: every test runs",
      "shared/test/a.test.ts:2: describe.skip: every test runs",
    ]);
  });

  test("find commands that have npm fetch a package of Runnel's name, and no other", () => {
    const npx = ["np", "x"].join("");
    const text = `${npx} runnel mount\n${npx} --yes @runnel/app mount\nnpm run runnel\n${npx} runnels`;
    expect(planted(checkOfRegistry, { "docs/a.md": text, "server/src/a.ts": "// npm exec run" })).toEqual([
      `docs/a.md:1: ${npx} runnel: Runnel is on no registry of npm's`,
      `docs/a.md:2: ${npx} --yes @runnel/app: Runnel is on no registry of npm's`,
    ]);
  });

  test("find default exports, long files and sources that do not say what they are for", () => {
    const files = {
      "shared/src/a.ts": `export default 1;\n${"x;\n".repeat(500)}`,
      "jest.config.js": "/** For jest. */\nexport default {};",
      "shared/src/b.ts": "// What it is for.\nexport const b = 1;",
    };
    expect(planted(checkDefaultExports, files)).toEqual(["shared/src/a.ts:1: export it by name"]);
    expect(planted(checkLength, files)).toEqual(["shared/src/a.ts: 501 lines, more than 500: give each idea a file"]);
    expect(planted(checkOpenings, files)).toHaveLength(1);
  });

  test("find comments that open elliptically, where there are more than a share of them", () => {
    const files = {
      "server/src/a.ts": [
        "// Of a volume:",
        "// the rest of its block. Of no account.",
        "const a = 1; /** undefined: none. */",
        "/**",
        " * Whose it is.",
        " */",
        "// Office hours.",
        'const b = "// Of a string";',
        "// Digest of a chunk.",
      ].join("\n"),
      "server/src/b.cc": "// Returns the digest.\nint a;  // By now.\n",
      "app/src/a.ts": "// What it is for.\n",
    };
    const says = (opening: string): string => `opens with "${opening}": begin with a verb, or the noun it explains`;
    expect(planted(checkCommentOpenings, files)).toEqual([
      `server/src/a.ts:1: ${says("Of")}`,
      `server/src/a.ts:3: ${says("undefined:")}`,
      `server/src/a.ts:4: ${says("Whose")}`,
      `server/src/b.cc:2: ${says("By")}`,
      `app/src/a.ts:1: ${says("What")}`,
    ]);
  });

  test("find pages that comments name and the project has not", () => {
    const outside = ["WI", "RE"].join("");
    const found = planted(checkCitedPages, {
      "docs/FORMAT.md": "# Formats\n",
      "server/src/a.ts": `// As FORMAT.md and docs/FORMAT.md say.\nconst name = "none.md";\n/* See PAGE.md\n and ${outside}: Guarantee. */`,
    });
    expect(found).toEqual([
      "server/src/a.ts:3: PAGE.md is no page of the project",
      `server/src/a.ts:4: ${outside} is no page of the project`,
    ]);
  });

  test("find comments and prose beyond column 120, but neither code nor what cannot be broken", () => {
    const long = `${"word ".repeat(24)}end`;
    const link = `[there](https://example.org/${"a".repeat(120)})`;
    const found = planted(checkColumns, {
      "server/src/a.ts": `const text = "${long}";\n// ${long}\n/**\n * ${long}\n */\n// ${"a".repeat(130)}\nf(); // ${long}`,
      "native/src/a.cc": `int a;  // ${long}\n// Short enough.`,
      "docs/a.md": `${long}\n| ${long} |\n    ${long}\n\`\`\`sh\n${long}\n\`\`\`\n- ${link}\n- see ${link}`,
    });
    expect(found).toEqual([
      "server/src/a.ts:2: 126 columns, more than 120",
      "server/src/a.ts:4: 126 columns, more than 120",
      "server/src/a.ts:7: 131 columns, more than 120",
      "native/src/a.cc:1: 134 columns, more than 120",
      "docs/a.md:1: 123 columns, more than 120",
      `docs/a.md:8: ${`- see ${link}`.length} columns, more than 120`,
    ]);
  });

  test("find private words in names of files and in identifiers, and lone participles as exports", () => {
    const files = {
      "server/src/guest-list.ts": "// A guest.\nconst keptBesideMs = 1; keptBesideMs; const text = 'overtaken';",
      "server/src/a.ts": "class Teller { #upSeq = 0; }\nexport function told(): void {}\nexport const seenAt = 1;",
      "native/src/room.cc": "int kPatienceMs = 1;",
    };
    expect(planted(checkWords, files)).toEqual([
      "server/src/guest-list.ts: is named with a private word: device",
      "server/src/guest-list.ts:2: keptBesideMs is a private word: conflict copy",
      "server/src/a.ts:1: Teller is a private word: external change, scan, probe",
      "server/src/a.ts:1: upSeq is a private word: applied",
      "server/src/a.ts:2: exports told: name it with a noun",
      "native/src/room.cc:1: kPatienceMs is a private word: request timeout",
    ]);
  });

  test("find folders with many files, and circles of imports", () => {
    const names = Array.from({ length: 21 }, (_, n) => `${n}`);
    const many = Object.fromEntries(names.map((name) => [`server/src/wire/${name}.ts`, ""]));
    expect(planted(checkFolderSizes, { ...many, "server/src/wire/below/a.ts": "" })).toEqual([
      "server/src/wire: 21 source files, more than 20: split the folder",
    ]);
    delete many["server/src/wire/0.ts"];
    expect(planted(checkFolderSizes, many)).toEqual([]);
    const files = {
      "app/src/a.ts": 'import { b } from "./below/b.ts";',
      "app/src/below/b.ts": 'export type { C } from "../c.ts";',
      "app/src/c.ts": 'import type { A } from "./a.ts";',
      "app/src/d.ts": 'import { a } from "./a.ts";',
    };
    expect(planted(checkCircles, files)).toEqual([
      "app/src/a.ts: imports in a circle with app/src/below/b.ts, app/src/c.ts",
    ]);
  });

  test("find dependencies without a reason, reasons without a dependency, and links that lead nowhere", () => {
    const files = {
      "shared/package.json": '{"dependencies":{"ws":"1","zod":"1","@runnel/native":"1"}}',
      "shared/README.md":
        "| package | why |\n| --- | --- |\n| `ws` | WebSockets on both sides |\n| `left-pad` | no reason |\n",
      "docs/a.md": "[b](b.md) [c](../shared/README.md#gone) [d](../shared/) [e](https://x.org) `[f](g.md)`\n",
    };
    expect(planted(checkDependencies, files)).toEqual([
      "shared/README.md: has no line that says why shared/package.json depends on zod",
      "shared/README.md: justifies left-pad, which shared/package.json does not list",
    ]);
    expect(planted((all) => checkLinks(all), files)).toEqual([
      "docs/a.md:1: the link to b.md leads nowhere",
      "docs/a.md:1: shared/README.md has no heading #gone",
    ]);
  });
});

describe("the scanner", () => {
  test("tells code from comments, strings, templates and regular expressions", () => {
    const source = [
      "const a = 'it''s'; // it's a comment",
      "const b = `x ${ c ? `y ${d}` : { e: 'f' } } z`; /* g */ h();",
      "const i = j / k / l; m = /[/'\"]n/.test(o);",
    ].join("\n");
    const { code, comments, literals } = scanCode(source);
    expect(literals.map(({ text, line }) => [text, line])).toEqual([
      ["it", 1],
      ["s", 1],
      ["y ${}", 2],
      ["f", 2],
      ["x ${} z", 2],
    ]);
    expect(comments.replaceAll(/\s+/g, " ").trim()).toBe("// it's a comment /* g */");
    expect(code).toContain("h();");
    expect(code).toContain("j / k / l");
    expect(code).not.toContain("n/");
    expect(code.length).toBe(source.length);
  });
});
