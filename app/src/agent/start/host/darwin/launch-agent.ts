// An agent of launchd on macOS (launchd.plist(5)): a file in the user's LaunchAgents, which the next log-in reads.
import { homedir } from "node:os";
import { join } from "node:path";
import { checkPrintable } from "../../login-start.ts";
import { FileEntry } from "../file-entry.ts";

const LABEL = "io.github.runnel.drives";
const MARK = "<!-- Made by `runnel start-at-login on`; `runnel start-at-login off` removes it. -->";

export class LaunchAgent extends FileEntry {
  constructor(home: string = homedir()) {
    super(join(home, "Library", "LaunchAgents", `${LABEL}.plist`), MARK);
  }

  /** Spares the agent that is left behind: launchd is not to end it with its starter. */
  textOf(command: readonly string[]): string {
    checkPrintable(command);
    return `${[
      '<?xml version="1.0" encoding="UTF-8"?>',
      '<!DOCTYPE plist PUBLIC "-//Apple//DTD PLIST 1.0//EN" "http://www.apple.com/DTDs/PropertyList-1.0.dtd">',
      MARK,
      '<plist version="1.0">',
      "<dict>",
      `  <key>Label</key><string>${LABEL}</string>`,
      "  <key>ProgramArguments</key>",
      "  <array>",
      ...command.map((word) => `    <string>${escaped(word)}</string>`),
      "  </array>",
      "  <key>RunAtLoad</key><true/>",
      "  <key>AbandonProcessGroup</key><true/>",
      "</dict>",
      "</plist>",
    ].join("\n")}\n`;
  }
}

function escaped(text: string): string {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");
}
