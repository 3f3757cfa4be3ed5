// Finds the volumes that a URI, an address or a path means, among those that this device has a right on. A hint that
// leads nowhere costs time only.
import { type ObjectUri, RunnelError, isRunnelError } from "@runnel/shared";
import type { Agent } from "../agent.ts";
import { isUrl, volumeUrl } from "../control/volume-url.ts";
import { type CopyPlace, localEnd, volumeEnd } from "./copy-tree.ts";
import { openObject } from "./objects.ts";
import type { UsedVolume } from "./open-volumes.ts";
import type { FileSource, OpenedFile } from "./volume-files.ts";

/** An object that was found, and the volume that has it, until it is disposed of. */
export interface FoundObject extends AsyncDisposable {
  url: string;
  opened: OpenedFile;
}

/**
 * Looks where the hints say, then in the other drives. @throws NotFound where nobody has it; else why the likeliest
 * place could not be asked.
 */
export async function findObject(agent: Agent, uri: ObjectUri): Promise<FoundObject> {
  const failures: RunnelError[] = [];
  const tried = new Set<string>();
  const look = async (use: () => Promise<UsedVolume> | UsedVolume): Promise<FoundObject | undefined> => {
    try {
      await using used = new AsyncDisposableStack();
      const { files } = used.use(await use());
      if (tried.has(files.url)) return undefined;
      tried.add(files.url);
      const opened = used.use(await openObject(files, uri));
      const held = used.move();
      return { url: files.url, opened, [Symbol.asyncDispose]: () => held.disposeAsync() };
    } catch (error) {
      if (!isRunnelError(error)) throw error;
      failures.push(error);
      return undefined;
    }
  };
  for (const hint of uri.hints) {
    const found = await look(() => agent.volumes.use(volumeUrl(hint)));
    if (found !== undefined) return found;
  }
  for (const used of agent.volumes.mounted()) {
    const found = await look(() => used);
    if (found !== undefined) return found;
  }
  const telling = failures.find(({ kind }) => kind !== "NotFound");
  if (telling !== undefined) throw telling;
  const sentence = tried.size === 0 ? "There is no drive, and the URI has no hint." : "No drive or server here has it.";
  throw new RunnelError("NotFound", "get", `The object was not found. ${sentence}`);
}

/**
 * Has the volume that something is to be put into; without an address or a path that of the one drive there is. @throws
 * Invalid where that is not clear.
 */
export async function volumeFor(agent: Agent, to: string | undefined): Promise<UsedVolume> {
  if (to !== undefined)
    return isUrl(to) ? agent.volumes.use(volumeUrl(to)) : useOf(agent, (await agent.mountAt("put", to)).settings.url);
  const [first, ...others] = agent.volumes.mounted();
  if (first !== undefined && others.length === 0) return first;
  const why = first === undefined ? "There is no drive." : "There are several drives.";
  throw new RunnelError("Invalid", "put", `${why} Say where to: --to wss://HOST:PORT/VOLUME, or a path in a drive.`);
}

function useOf(agent: Agent, url: string): Promise<UsedVolume> {
  return agent.volumes.use(url);
}

/** Opens a file that is to be put: of this computer, or of a drive. @throws as the files' open. */
export async function openSource(
  agent: Agent,
  asked: string,
): Promise<FileSource & { isUnchanged?(): Promise<boolean> }> {
  const { path, runnelMount } = await agent.resolve(asked);
  if (runnelMount === undefined) return (await agent.localFiles()).open(path);
  await using used = new AsyncDisposableStack();
  const place = used.use(await placeOf(agent, "put", asked));
  const source = used.use(await place.end.open(place.path));
  const held = used.move();
  return { ...source, [Symbol.asyncDispose]: () => held.disposeAsync() };
}

/**
 * Has the place that a person names: a path of this computer, one in a drive, or wss://HOST:PORT/VOLUME/PATH. @throws
 * Invalid, NotFound, and what opening the volume throws.
 */
export async function placeOf(agent: Agent, operation: string, asked: string): Promise<CopyPlace & AsyncDisposable> {
  if (isUrl(asked)) {
    const { url, path } = splitUrl(asked);
    return inVolume(await agent.volumes.use(url), path);
  }
  const { path, runnelMount } = await agent.resolve(asked);
  if (runnelMount === undefined) {
    const isDrive = async (folder: string): Promise<boolean> => (await agent.resolve(folder)).runnelMount !== undefined;
    return { end: localEnd(await agent.localFiles(), isDrive), path, [Symbol.asyncDispose]: async () => undefined };
  }
  const located = await agent.locate(operation, asked);
  return inVolume(await agent.volumes.use(located.mount.settings.url), located.path);
}

async function inVolume(used: UsedVolume, path: string): Promise<CopyPlace & AsyncDisposable> {
  try {
    // Programs may have changed there what the server does not have yet.
    await used.flush();
  } catch (error) {
    used[Symbol.dispose]();
    throw error;
  }
  return { end: volumeEnd(used.files), path, [Symbol.asyncDispose]: async () => used[Symbol.dispose]() };
}

/** @throws Invalid. */
export function splitUrl(asked: string): { url: string; path: string } {
  const [, server = asked, volume = "", rest = ""] = /^([a-z]+:\/\/[^/]*)\/([^/]*)(.*)$/i.exec(asked) ?? [];
  const names = rest.split("/").filter((name) => name !== "");
  let path: string;
  try {
    path = names.map(decodeURIComponent).join("/");
  } catch {
    throw new RunnelError("Invalid", "read a URL", `"${asked}" has a percent sign that begins no escape.`);
  }
  const isPlain = names.length === path.split("/").filter((name) => name !== "").length;
  if (!isPlain || path.split("/").some((name) => name === "." || name === "..") || /[?#]/.test(rest))
    throw new RunnelError(
      "Invalid",
      "read a URL",
      `"${asked}" is no path in a volume. Write wss://HOST:PORT/VOLUME/PATH.`,
    );
  return { url: volumeUrl(volume === "" ? asked : `${server}/${volume}`), path };
}
