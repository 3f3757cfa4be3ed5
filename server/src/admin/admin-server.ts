// Answers the administrator, who is whoever may open the socket in the server's own folder.
import { type IncomingMessage, type ServerResponse, createServer } from "node:http";
import { RunnelError, check, fromSystemError, label } from "@runnel/shared";
import type { Actor } from "../audit/audit-entry.ts";
import type { Security } from "../auth/security.ts";
import { listenLocally } from "../host/local-socket.ts";
import { ACTS, type ActDeps } from "./acts.ts";
import {
  ADMIN_BYTES_MAX,
  ADMIN_REQUESTS,
  ADMIN_SOCKET,
  ADMIN_USER_HEADER,
  type AdminName,
  type AdminResult,
} from "./messages.ts";

export interface AdminDeps extends ActDeps {
  security: Pick<Security, "fingerprint" | "devices" | "invite" | "audit" | "folder">;
  /** Opens the console for the administrator. */
  openConsole(who: Actor, way: "file" | "link"): Promise<AdminResult<"console">>;
}

/** Resolves to what ends it. */
export async function serveAdmin(deps: AdminDeps): Promise<() => Promise<void>> {
  const http = createServer((request, response) => {
    answer(deps, request).then(
      (result) => reply(response, 200, result),
      (error: unknown) => {
        const { kind, operation, message } = fromSystemError(error, "administer");
        reply(response, kind === "Invalid" ? 400 : 409, { error: { kind, operation, message } });
      },
    );
  });
  return listenLocally(http, deps.security.folder, ADMIN_SOCKET);
}

function reply(response: ServerResponse, status: number, body: object): void {
  response.writeHead(status, { "Content-Type": "application/json", Connection: "close" });
  response.end(JSON.stringify(body));
}

async function answer(deps: AdminDeps, request: IncomingMessage): Promise<object> {
  const who = administrator(request);
  let asked: { name: AdminName; body: unknown };
  try {
    asked = await checked(request);
  } catch (error) {
    const { kind, message } = fromSystemError(error, "administer");
    deps.security.audit.note({ who, act: "administer", result: kind, detail: message });
    throw error;
  }
  const { name, body } = asked;
  if (name === "console") return deps.openConsole(who, (body as { way: "file" | "link" }).way);
  const act = ACTS[name] as (deps: ActDeps, who: Actor, asked: unknown) => Promise<object>;
  return act(deps, who, body);
}

/** A request whose form was checked, by its name. @throws RunnelError Invalid */
async function checked(request: IncomingMessage): Promise<{ name: AdminName; body: unknown }> {
  const name = (request.url ?? "").slice(1);
  if (request.method !== "POST" || !Object.hasOwn(ADMIN_REQUESTS, name)) throw invalid("There is no such request.");
  return { name: name as AdminName, body: check(ADMIN_REQUESTS[name as AdminName], await bodyOf(request), name) };
}

function administrator({ headers }: IncomingMessage): Actor {
  return { kind: "admin", id: "", name: userName(headers[ADMIN_USER_HEADER]), person: "", address: "" };
}

/** Returns "" for what is no name. */
function userName(header: string | string[] | undefined): string {
  try {
    return label.safeParse(decodeURIComponent(String(header ?? ""))).data ?? "";
  } catch {
    return "";
  }
}

async function bodyOf(request: IncomingMessage): Promise<unknown> {
  const parts: Buffer[] = [];
  let bytes = 0;
  for await (const part of request as AsyncIterable<Buffer>) {
    bytes += part.length;
    if (bytes > ADMIN_BYTES_MAX) throw invalid("The request is too long.");
    parts.push(part);
  }
  try {
    return JSON.parse(Buffer.concat(parts).toString());
  } catch (cause) {
    throw invalid("The request is not JSON.", cause);
  }
}

function invalid(sentence: string, cause?: unknown): RunnelError {
  return new RunnelError("Invalid", "administer", sentence, { cause });
}
