// Answers of the server about people, as the console's views take them. Those that share a file with what answers them
// are written out here: the libraries of a browser and of Node do not go together.
import type { z } from "zod";
import type { AdminResult } from "../src/admin/messages.ts";
import type { person } from "../src/console/verbs/schemas.ts";

export type PersonRow = z.output<typeof person>;
export type Role = PersonRow["role"];
export type DeviceRow = AdminResult<"devices">["devices"][number];
export type InviteRow = AdminResult<"invites">["invites"][number];
export type MadeInvite = AdminResult<"invite">;

/** The person who is signed in, as `whoAmI` says. */
export interface Me {
  /** "" when the page was opened over the server's socket, without a password. */
  name: string;
  role: Role;
  hasPassword: boolean;
  /** There is an administrator who can sign in. */
  isSetUp: boolean;
  /** Name of the server. */
  server: string;
  version: string;
}

/** A row of `sessions`. */
export interface SessionRow {
  id: string;
  person: string;
  address: string;
  browser: string;
  startedMs: number;
  lastMs: number;
  isOwn: boolean;
}

/** The answer of `settings`. */
export interface ServerSettings {
  name: string;
  version: string;
  listen: string;
  url: string;
  addresses: string[];
  fingerprint: string | null;
  dataFolder: string;
  startedMs: number;
}
