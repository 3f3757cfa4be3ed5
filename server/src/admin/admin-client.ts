// Asks the server that runs with this data folder.
import { request as httpRequest } from "node:http";
import { userInfo } from "node:os";
import { join } from "node:path";
import { RunnelError } from "@runnel/shared/base";
import { socketPath } from "../host/local-socket.ts";
import { OWN_FOLDER } from "../auth/own-folder.ts";
import {
  ADMIN_ERROR,
  ADMIN_RESULTS,
  ADMIN_SOCKET,
  ADMIN_USER_HEADER,
  type AdminName,
  type AdminRequest,
  type AdminResult,
} from "./messages.ts";

/** @throws RunnelError: the server's own words; Unreachable when none runs there. */
export async function askServer<Name extends AdminName>(
  dataFolder: string,
  name: Name,
  asked: AdminRequest<Name>,
): Promise<AdminResult<Name>> {
  let said: unknown;
  try {
    said = JSON.parse(await post(join(dataFolder, OWN_FOLDER), name, JSON.stringify(asked)));
  } catch (cause) {
    const sentence =
      `No server runs with its data in ${dataFolder}. Start one (runnel serve --listen 0.0.0.0:7473 …), ` +
      "or name its data folder with --data.";
    throw new RunnelError("Unreachable", name, sentence, { cause });
  }
  const refused = ADMIN_ERROR.safeParse(said);
  if (refused.success) {
    const { kind, operation, message } = refused.data.error;
    throw new RunnelError(kind, operation, message);
  }
  return ADMIN_RESULTS[name].parse(said) as AdminResult<Name>;
}

function post(folder: string, name: string, body: string): Promise<string> {
  const { path, close } = socketPath(folder, ADMIN_SOCKET);
  return new Promise<string>((resolve, reject) => {
    const headers = { [ADMIN_USER_HEADER]: encodeURIComponent(userName()) };
    const request = httpRequest({ socketPath: path, path: `/${name}`, method: "POST", headers }, (response) => {
      const parts: Buffer[] = [];
      response.on("data", (part: Buffer) => parts.push(part));
      response.once("end", () => resolve(Buffer.concat(parts).toString()));
      response.once("error", reject);
    });
    request.once("error", reject);
    request.end(body);
  }).finally(close);
}

/** Name of whoever runs the command: with sudo the user who did. */
function userName(): string {
  const { SUDO_USER: before = "" } = process.env;
  try {
    const { username } = userInfo();
    return before === "" || before === username ? username : `${before} as ${username}`;
  } catch {
    // The system has no name for the user.
    return String(process.geteuid?.() ?? "");
  }
}
