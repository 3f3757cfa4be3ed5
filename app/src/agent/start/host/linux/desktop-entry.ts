// Desktop entries of Linux (freedesktop.org, Desktop Entry Specification 1.5), also those that a session starts at
// login (Desktop Application Autostart Specification).
import { homedir } from "node:os";
import { join } from "node:path";
import { checkPrintable } from "../../login-start.ts";
import { FileEntry } from "../file-entry.ts";

type Environment = Readonly<Record<string, string | undefined>>;

const MARK = "X-Runnel-Entry=true";

/** Name and description of an entry, as a desktop shows them. */
export interface EntryNames {
  name: string;
  comment: string;
}

export class AutostartEntry extends FileEntry {
  readonly #names: EntryNames;

  constructor(file: string, names: EntryNames, environment: Environment = process.env) {
    super(join(xdgFolder(environment, "XDG_CONFIG_HOME", ".config"), "autostart", file), MARK);
    this.#names = names;
  }

  textOf(command: readonly string[]): string {
    checkPrintable(command);
    return desktopEntry(command, this.#names, [MARK]);
  }

  /** An entry without a mark is known by what it says of itself. */
  override isOurs(text: string): boolean {
    return super.isOurs(text) || text.split("\n").includes(`Comment=${this.#names.comment}`);
  }
}

/** Folder of the XDG base directory specification; a relative path is to be ignored. */
export function xdgFolder(environment: Environment, variable: string, otherwise: string): string {
  const asked = environment[variable];
  return asked?.startsWith("/") ? asked : join(environment["HOME"] ?? homedir(), otherwise);
}

export function desktopEntry(command: readonly string[], names: EntryNames, more: readonly string[]): string {
  const lines = [
    "[Desktop Entry]",
    "Type=Application",
    `Name=${names.name}`,
    `Comment=${names.comment}`,
    `Exec=${command.map(quoted).join(" ")}`,
    "Terminal=false",
    "Categories=Network;FileTransfer;",
    ...more,
  ];
  return `${lines.join("\n")}\n`;
}

/** An argument of Exec: quoted as the specification says, and once more for being a string. */
function quoted(argument: string): string {
  if (argument === "%u" || /^[\w@+=:,./-]+$/.test(argument)) return argument;
  const inner = argument.replaceAll(/["`$\\]/g, String.raw`\$&`).replaceAll("%", "%%");
  return `"${inner}"`.replaceAll("\\", "\\\\");
}
