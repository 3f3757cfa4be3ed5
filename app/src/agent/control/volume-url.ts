// The address of a volume as a person types it, in the one form that everything else compares.
import { RunnelError } from "@runnel/shared";

/** ws://HOST:PORT/VOLUME. @throws RunnelError Invalid */
export function volumeUrl(typed: string): string {
  const url = URL.parse(typed);
  const volume = url?.pathname.replace(/^\/|\/$/g, "") ?? "";
  const isWhole = url !== null && /^wss?:$/.test(url.protocol) && url.hostname !== "" && /^[^/]+$/.test(volume);
  if (!isWhole || url.username !== "" || url.password !== "" || url.search !== "" || url.hash !== "") {
    throw new RunnelError(
      "Invalid",
      "read a URL",
      `${typed} is not the address of a volume. It looks like ws://127.0.0.1:7473/docs.`,
    );
  }
  return `${url.protocol}//${url.host}/${volume}`;
}

export function isUrl(typed: string): boolean {
  return /^[a-z][a-z0-9+.-]*:\/\//i.test(typed);
}
