// The address of a volume as a person types it, in the one form that everything else compares.
import { isVolumeName, RunnelError } from "@runnel/shared/base";

/** wss://HOST:PORT/VOLUME, or ws on loopback. @throws RunnelError Invalid */
export function volumeUrl(typed: string): string {
  const url = URL.parse(typed);
  const volume = volumeOf(url);
  const isWhole = url !== null && /^wss?:$/.test(url.protocol) && url.hostname !== "" && isVolumeName(volume);
  // The parser drops control characters without a word.
  const isClean =
    url?.username === "" && url.password === "" && url.search === "" && url.hash === "" && !/\p{Cc}/u.test(typed);
  if (!isWhole || !isClean) {
    throw new RunnelError(
      "Invalid",
      "read a URL",
      `"${typed}" is not the address of a volume. Write wss://HOST:PORT/VOLUME: wss://files.example.org:7473/docs.`,
    );
  }
  return `${url.protocol}//${url.host}/${encodeURIComponent(volume)}`;
}

/** The name of the volume that an address ends with; "" for none. */
export function volumeOf(url: URL | null): string {
  try {
    return decodeURIComponent(url?.pathname.replace(/^\/|\/$/g, "") ?? "");
  } catch {
    return "";
  }
}

export function isUrl(typed: string): boolean {
  return /^[a-z][a-z0-9+.-]*:\/\//i.test(typed);
}
