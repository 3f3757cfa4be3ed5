// A unit of the user's own systemd, by the name that the unit of Runnel's packages has: the user's is taken before it.
import { execFile } from "node:child_process";
import { lstat, readFile } from "node:fs/promises";
import { join } from "node:path";
import { RunnelError } from "@runnel/shared/base";
import { checkPrintable, type FoundEntry } from "../../login-start.ts";
import { FileEntry } from "../file-entry.ts";
import { xdgFolder } from "./desktop-entry.ts";

type Environment = Readonly<Record<string, string | undefined>>;

const UNIT = "runnel-drives.service";
const MARK = "# Made by `runnel start-at-login on`; `runnel start-at-login off` removes it.";
const ANSWER_MS = 10_000;

export class UserUnit extends FileEntry {
  readonly #environment: Environment;
  readonly #link: string;

  constructor(environment: Environment = process.env) {
    const folder = join(xdgFolder(environment, "XDG_CONFIG_HOME", ".config"), "systemd", "user");
    super(join(folder, UNIT), MARK);
    this.#environment = environment;
    this.#link = join(folder, "default.target.wants", UNIT);
  }

  /** True where this user has a systemd that answers. */
  answers(): Promise<boolean> {
    return this.#systemctl("show", "--property=Version").then(
      () => true,
      () => false,
    );
  }

  /** Words are quoted as systemd.service(5) says. A shell starts the program: systemd takes no path with quotes. */
  textOf(command: readonly string[]): string {
    checkPrintable(command);
    const words = ["-c", 'exec "$0" "$@"', ...command].map(
      (word) =>
        `"${word
          .replaceAll(/["\\]/g, String.raw`\$&`)
          .replaceAll("%", "%%")
          .replaceAll("$", "$$$$")}"`,
    );
    return `${[
      MARK,
      "[Unit]",
      "Description=Runnel drives that are kept",
      "",
      "[Service]",
      "Type=oneshot",
      "RemainAfterExit=yes",
      "# A drive whose server is away is no reason to end the others.",
      `ExecStart=-/bin/sh ${words.join(" ")}`,
      "TimeoutStartSec=120",
      "TimeoutStopSec=60",
      "",
      "[Install]",
      "WantedBy=default.target",
    ].join("\n")}\n`;
  }

  override async read(): Promise<FoundEntry | undefined> {
    const isEnabled = await lstat(this.#link).then(
      () => true,
      () => false,
    );
    const own = await super.read();
    if (own !== undefined) return isEnabled || !this.isOurs(own.text) ? own : undefined;
    if (!isEnabled) return undefined;
    // A link that leads nowhere starts nothing, but is to be removed.
    return readFile(this.#link, "utf8").then(
      (text) => ({ text, isOfPackage: true }),
      () => ({ text: MARK }),
    );
  }

  override async write(text: string): Promise<void> {
    await super.write(text);
    try {
      await this.#systemctl("daemon-reload");
      await this.#systemctl("enable", UNIT);
    } catch (error) {
      await super.remove();
      throw error;
    }
  }

  override async remove(): Promise<void> {
    await this.#systemctl("disable", UNIT);
    await super.remove();
    await this.#systemctl("daemon-reload");
  }

  #systemctl(...words: string[]): Promise<void> {
    const options = { timeout: ANSWER_MS, env: { ...this.#environment } };
    return new Promise((done, fail) => {
      execFile("systemctl", ["--user", ...words], options, (error, _said, complained) => {
        if (error === null) return done();
        const why = complained.trim().split("\n")[0] ?? "";
        fail(new RunnelError("Unavailable", "start at login", `systemctl --user ${words[0]} has failed: ${why}`));
      });
    });
  }
}
