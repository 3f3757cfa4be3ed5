// Contract of what starts at login: entries in memory, of desktops, of systemd over a stand-in for systemctl, of
// launchd, and of Windows over a stand-in for reg.exe, or over itself where this is Windows.
import { spawnSync } from "node:child_process";
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "@jest/globals";
import { RunnelError } from "@runnel/shared";
import { AT_LOGIN } from "../../../installers/src/windows.ts";
import { LaunchAgent } from "../../src/agent/start/host/darwin/launch-agent.ts";
import { AutostartEntry } from "../../src/agent/start/host/linux/desktop-entry.ts";
import { UserUnit } from "../../src/agent/start/host/linux/user-unit.ts";
import { MemoryEntry } from "../../src/agent/start/host/memory/entry.ts";
import { RUN_KEY, RUN_NAME, type RunReg, RunValue } from "../../src/agent/start/host/windows/run-value.ts";
import { type LoginEntry, LoginStart } from "../../src/agent/start/login-start.ts";
import { checkLoginStart, describeStart } from "../../src/verbs/start-at-login.ts";

const NAMES = { name: "Runnel drives", comment: "Maps the drives that are kept" };
const commandOf = (program: string): string[] => [program, "/opt/main.js", "reconnect", "--home", "/home/ada/state"];
const COMMAND = commandOf("/opt/runnel/node");
/** Paths that some form of an entry has a meaning of its own for. */
const ABSURD = [
  "/a b/node",
  "/100%/%h%u/node",
  "/$HOME/${x}`id`/node",
  "/'it''s'/node",
  "/ü/日本/🎈/node",
  "/a&b<c>/node",
  "/a;b#c/-->/node",
];

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "start-"));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

/** A systemctl that makes and removes the link that `enable` is about, and writes down what it was asked. */
function standInForSystemctl(): Record<string, string> {
  const bin = join(folder, "bin");
  const units = join(folder, "config", "systemd", "user");
  mkdirSync(bin, { recursive: true });
  const script = [
    "#!/bin/sh",
    `echo "$*" >> "${folder}/asked"`,
    `[ ! -e "${folder}/broken" ] || { echo "Failed to connect to bus" >&2; exit 1; }`,
    `wants="${units}/default.target.wants"`,
    'case "$2" in',
    `    enable) mkdir -p "$wants" && ln -sf "${units}/$3" "$wants/$3" ;;`,
    '    disable) rm -f "$wants/$3" ;;',
    "esac",
  ];
  writeFileSync(join(bin, "systemctl"), script.join("\n"));
  chmodSync(join(bin, "systemctl"), 0o755);
  return { HOME: folder, XDG_CONFIG_HOME: join(folder, "config"), PATH: `${bin}:/usr/bin:/bin` };
}

/** A key of a registry as reg.exe exports and imports it. */
function standInForReg(values: Map<string, string>): RunReg {
  const refuse = (): never => {
    throw new RunnelError("NotFound", "start at login", "reg.exe has failed.");
  };
  return async (verb, place = "", name = "", value = "") => {
    if (verb === "delete") return values.delete(value) ? undefined : refuse();
    if (verb === "export") {
      if (values.size === 0) return refuse();
      const lines = [...values].map(([key, data]) => `"${key}"=${data}`);
      const text = ["Windows Registry Editor Version 5.00", "", `[${place}]`, ...lines, ""].join("\r\n");
      return writeFileSync(name, `\uFEFF${text}`, "utf16le");
    }
    for (const [, key = "", data = ""] of readFileSync(place, "utf16le").matchAll(/^"([^"]+)"=(".*")\r$/gm))
      values.set(key, data);
  };
}

const isWindows = process.env["SystemRoot"] !== undefined;

const ENGINES: [string, () => { entry: LoginEntry; spoil(text: string): void | Promise<void> }][] = [
  [
    "memory",
    () => {
      const entry = new MemoryEntry();
      return { entry, spoil: (text) => void (entry.text = text) };
    },
  ],
  [
    "a desktop",
    () => {
      const entry = new AutostartEntry("runnel-drives.desktop", NAMES, { HOME: folder });
      return { entry, spoil: (text) => spoilFile(entry.place, text) };
    },
  ],
  [
    "systemd",
    () => {
      const entry = new UserUnit(standInForSystemctl());
      return { entry, spoil: (text) => spoilFile(entry.place, text) };
    },
  ],
  [
    "launchd",
    () => {
      const entry = new LaunchAgent(folder);
      return { entry, spoil: (text) => spoilFile(entry.place, text) };
    },
  ],
  [
    "Windows",
    () => {
      const values = new Map([["Other", '"C:\\\\other.exe"']]);
      const entry = isWindows ? new RunValue() : new RunValue(standInForReg(values));
      return {
        entry,
        spoil: (text) => (isWindows ? entry.write(text) : void values.set("Runnel drives", `"${text}"`)),
      };
    },
  ],
];

function spoilFile(path: string, text: string): void {
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, text);
}

describe.each(isWindows ? ENGINES.filter(([name]) => name !== "systemd") : ENGINES)("an entry of %s", (_name, open) => {
  test("is off at first, on when it was made, and off again, however often it is asked", async () => {
    const { entry } = open();
    const start = new LoginStart([entry], COMMAND);
    expect(await start.look()).toEqual({ state: "off", place: entry.place, obstacle: null });
    expect((await start.set(false)).state).toBe("off");
    for (let turn = 0; turn < 2; turn++) expect((await start.set(true)).state).toBe("on");
    expect((await new LoginStart([entry], COMMAND).look()).state).toBe("on");
    for (let turn = 0; turn < 2; turn++) expect((await start.set(false)).state).toBe("off");
  });

  test("of a program that lies elsewhere by now is told, made anew, and removed", async () => {
    const { entry } = open();
    await new LoginStart([entry], commandOf("/old/node")).set(true);
    const start = new LoginStart([entry], COMMAND);
    expect((await start.look()).state).toBe("moved");
    expect((await start.set(true)).state).toBe("on");
    await new LoginStart([entry], commandOf("/old/node")).set(true);
    expect((await start.set(false)).state).toBe("off");
  });

  test("that somebody else made is neither replaced nor removed", async () => {
    const { entry, spoil } = open();
    await spoil("something else");
    const start = new LoginStart([entry], COMMAND);
    const obstacle = `Somebody else's entry is at ${entry.place}. Look at it, and move it away.`;
    expect(await start.look()).toEqual({ state: "foreign", place: entry.place, obstacle });
    await expect(start.set(true)).rejects.toMatchObject({ kind: "Exists", message: obstacle });
    expect((await start.set(false)).state).toBe("foreign");
    expect((await entry.read())?.text).toBe("something else");
    await entry.remove();
  });

  test("comes back as it was, whatever the path, unless no line can hold it", async () => {
    const { entry } = open();
    for (const program of ABSURD) {
      const start = new LoginStart([entry], commandOf(program));
      expect((await start.set(true)).state).toBe("on");
      expect((await new LoginStart([entry], COMMAND).look()).state).toBe("moved");
    }
    for (const program of ["/a\nExec=evil/node", "/a\0b", "/\uD800/node"])
      await expect(new LoginStart([entry], commandOf(program)).set(true)).rejects.toMatchObject({ kind: "Invalid" });
    await entry.remove();
  });
});

test("what was made for another place of the same system goes when the better one is taken, and on off", async () => {
  const [best, other] = [new MemoryEntry(), new MemoryEntry()];
  await new LoginStart([other], COMMAND).set(true);
  const start = new LoginStart([best, other], COMMAND);
  expect((await start.look()).state).toBe("on");
  await start.set(true);
  expect([best.text === undefined, other.text]).toEqual([false, undefined]);
  other.text = "somebody's";
  await start.set(false);
  expect([best.text, other.text]).toEqual([undefined, "somebody's"]);
});

test("what is started is said in a sentence, also by the doctor, who is silent where nobody asked for it", async () => {
  const entry = new MemoryEntry();
  const start = new LoginStart([entry], COMMAND);
  const said = async (): Promise<unknown[]> => [describeStart(await start.look()), await checkLoginStart(start)];
  const off = "Nothing of Runnel is started when you log in.";
  expect(await said()).toEqual([off, []]);
  await start.set(true);
  const on = `The drives that are kept are mapped when you log in: ${entry.place}`;
  expect(await said()).toEqual([on, [{ about: "Start at login", isFine: true, sentence: on, next: null }]]);
  await new LoginStart([entry], commandOf("/old/node")).set(true);
  const moved = `Another copy of Runnel is started when you log in: ${entry.place}`;
  const next = "Start this one instead: runnel start-at-login on";
  expect(await said()).toEqual([moved, [{ about: "Start at login", isFine: false, sentence: moved, next }]]);
  entry.text = "something else";
  expect(await said()).toEqual([
    `${off} Somebody else's entry is at ${entry.place}. Look at it, and move it away.`,
    [],
  ]);
});

test("Windows starts nothing that is longer than it takes, which is said when it is asked for", async () => {
  const start = new LoginStart([new RunValue(standInForReg(new Map()))], commandOf(`C:\\${"a".repeat(250)}\\node.exe`));
  const obstacle = expect.stringMatching(
    /^Windows starts nothing at log-in whose command has more than 260 characters/,
  );
  await expect(start.set(true)).rejects.toMatchObject({ kind: "Invalid", message: obstacle });
  expect(await start.look()).toMatchObject({ state: "off", obstacle });
  const value = String.raw`"C:\with space\node.exe" "C:\m.js" "reconnect" "--home" "D:\\"`;
  expect(new RunValue().textOf(["C:\\with space\\node.exe", "C:\\m.js", "reconnect", "--home", "D:\\"])).toBe(value);
});

(isWindows ? test.skip : test)("an entry that cannot be read, written or removed is told with its place", async () => {
  const entry = new AutostartEntry("runnel-drives.desktop", NAMES, { HOME: folder });
  const start = new LoginStart([entry], COMMAND);
  mkdirSync(join(folder, ".config"));
  writeFileSync(join(folder, ".config", "autostart"), "a file in the way");
  expect((await start.look()).state).toBe("off");
  await expect(start.set(true)).rejects.toMatchObject({
    kind: "Exists",
    message: `${entry.place} cannot be written (EEXIST). Look at it, and at the folders above it.`,
  });
  rmSync(join(folder, ".config", "autostart"));
  mkdirSync(entry.place, { recursive: true });
  for (const attempt of [() => start.look(), () => start.set(true), () => start.set(false)])
    await expect(attempt()).rejects.toMatchObject({
      message: `${entry.place} cannot be read (EISDIR). Look at it, and at the folders above it.`,
    });
});

(isWindows ? test : test.skip)(
  "reg.exe leaves the values of others, and one of another type is another's",
  async () => {
    const key = String.raw`HKCU\Software\Microsoft\Windows\CurrentVersion\Run`;
    const reg = (...words: string[]): string => {
      const { status, stdout } = spawnSync("reg.exe", words, { encoding: "utf8" });
      expect(status).toBe(0);
      return stdout;
    };
    const other = String.raw`"C:\other folder\other.exe" --say "50%"`;
    reg("add", key, "/v", "Other", "/d", other, "/f");
    const start = new LoginStart([new RunValue()], COMMAND);
    expect((await start.set(true)).state).toBe("on");
    expect(reg("query", key, "/v", "Runnel drives")).toContain(
      '"/opt/runnel/node" "/opt/main.js" "reconnect" "--home"',
    );
    expect((await start.set(false)).state).toBe("off");
    expect(reg("query", key, "/v", "Other")).toContain(other);
    reg("delete", key, "/v", "Other", "/f");
    reg(
      "add",
      key,
      "/v",
      "Runnel drives",
      "/t",
      "REG_EXPAND_SZ",
      "/d",
      '"%SystemRoot%" "reconnect" "--home" "x"',
      "/f",
    );
    expect((await start.look()).state).toBe("foreign");
    await expect(start.set(true)).rejects.toMatchObject({ kind: "Exists" });
    reg("delete", key, "/v", "Runnel drives", "/f");
  },
);

test("where reg.exe is missing, or refuses, it is said", async () => {
  const { SystemRoot } = process.env;
  process.env["SystemRoot"] = join(folder, "nowhere");
  try {
    const start = new LoginStart([new RunValue()], COMMAND);
    for (const attempt of [() => start.look(), () => start.set(true)])
      await expect(attempt()).rejects.toMatchObject({ kind: "Unavailable", message: "reg.exe export has failed." });
  } finally {
    if (SystemRoot === undefined) delete process.env["SystemRoot"];
    else process.env["SystemRoot"] = SystemRoot;
  }
  const values = new Map<string, string>();
  const refusing = new LoginStart(
    [
      new RunValue(async (...words) => {
        if (words[0] === "import") throw new RunnelError("Unavailable", "start at login", "reg.exe import has failed.");
        return standInForReg(values)(...words);
      }),
    ],
    COMMAND,
  );
  await expect(refusing.set(true)).rejects.toMatchObject({ kind: "Unavailable" });
  expect((await refusing.look()).state).toBe("off");
});

const has = (program: string): boolean => spawnSync(program, ["--version"]).status === 0;

(has("systemd-analyze") ? test : test.skip)("systemd reads a unit without a word, whatever the path", async () => {
  for (const program of ABSURD) {
    const unit = new UserUnit({ HOME: folder });
    // The program has to be there.
    const command = [join(folder, program), ...commandOf(program)];
    spoilFile(command[0] as string, "#!/bin/sh\n");
    chmodSync(command[0] as string, 0o755);
    spoilFile(unit.place, unit.textOf(command));
    const { status, stderr } = spawnSync("systemd-analyze", ["--user", "--man=no", "verify", unit.place], {
      encoding: "utf8",
      env: { ...process.env, XDG_RUNTIME_DIR: folder },
    });
    expect([program, status, stderr]).toEqual([program, 0, ""]);
  }
});

(isWindows ? test.skip : test)("a unit that systemd does not take is not left behind", async () => {
  const unit = new UserUnit(standInForSystemctl());
  expect(await unit.answers()).toBe(true);
  writeFileSync(join(folder, "broken"), "");
  expect(await unit.answers()).toBe(false);
  await expect(new LoginStart([unit], COMMAND).set(true)).rejects.toMatchObject({ kind: "Unavailable" });
  expect(existsSync(unit.place)).toBe(false);
});

(isWindows ? test.skip : test)(
  "the unit of a package that was enabled by hand is on, and goes by its link",
  async () => {
    const unit = new UserUnit(standInForSystemctl());
    const wants = join(dirname(unit.place), "default.target.wants");
    mkdirSync(wants, { recursive: true });
    writeFileSync(join(folder, "packaged"), "[Service]\nExecStart=/usr/bin/runnel reconnect\n");
    symlinkSync(join(folder, "packaged"), join(wants, "runnel-drives.service"));
    const start = new LoginStart([unit], COMMAND);
    expect((await start.look()).state).toBe("on");
    await start.set(true);
    expect(existsSync(unit.place)).toBe(false);
    expect((await start.set(false)).state).toBe("off");
    symlinkSync(join(folder, "gone"), join(wants, "runnel-drives.service"));
    expect((await start.look()).state).toBe("moved");
    expect((await start.set(true)).state).toBe("on");
  },
);

(has("python3") ? test : test.skip)("a plist reads as the command that it was made of", () => {
  const entry = new LaunchAgent(folder);
  const program = "import plistlib, sys, json; print(json.dumps(plistlib.loads(sys.stdin.buffer.read())))";
  for (const path of ABSURD) {
    const { stdout } = spawnSync("python3", ["-c", program], {
      input: entry.textOf(commandOf(path)),
      encoding: "utf8",
    });
    expect(JSON.parse(stdout)).toEqual({
      Label: "io.github.runnel.drives",
      ProgramArguments: commandOf(path),
      RunAtLoad: true,
      AbandonProcessGroup: true,
    });
  }
});

test("a value of Windows lies where that looks at a log-in", () => {
  const key = "HKEY_CURRENT_USER\\Software\\Microsoft\\Windows\\CurrentVersion\\Run";
  expect(new RunValue().place).toBe(`${key}, "Runnel drives"`);
});

test("what Windows starts at log-in is known to the installers by the product's name of it", () => {
  expect(AT_LOGIN).toEqual({ RUN: RUN_KEY, STARTS: RUN_NAME });
  const script = readFileSync(new URL("../../../installers/windows/at-login.nsh", import.meta.url), "utf8");
  const defined = [...script.matchAll(/^!define (\w+) "(.*)"$/gm)].map(([, name, value]) => [name, value]);
  expect(Object.fromEntries(defined)).toEqual({ RUNS: RUN_KEY, STARTS: RUN_NAME });
});
