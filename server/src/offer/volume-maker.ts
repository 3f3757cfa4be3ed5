// Makes volumes of offered folders while the server runs, stops, resumes and removes those. One after another, so that
// two that are asked for at once see each other. What is answered is in the list [F200].
import type { DiskRoot } from "@runnel/shared";
import { type Clock, RunnelError, fromSystemError, isVolumeName, wallMs } from "@runnel/shared";
import type { Actor } from "../audit/audit-entry.ts";
import type { AuditLog } from "../audit/audit-log.ts";
import type { DeviceRegistry } from "../auth/device-registry.ts";
import type { Offer, ServedVolume } from "../served-volume.ts";
import { type ServedFolder, checkFolders } from "../served-folders.ts";
import type { ServedVolumes } from "../served-volumes.ts";
import type { OfferedFolders } from "./offered-folders.ts";
import { LISTED_MAX, type ListedVolume, writeVolumeList } from "./volume-list.ts";

/** A volume that takes longer to open, since its folder is large, goes on opening once it is in the list. */
const OPEN_MS = 3_000;

export interface VolumeMakerDeps {
  clock: Clock;
  /** The server's own folder. */
  root: DiskRoot;
  dataFolder: string;
  offered: OfferedFolders;
  served: ServedVolumes;
  /** Volumes in the list at the start. */
  listed: readonly ListedVolume[];
  audit: Pick<AuditLog, "perform">;
  devices: Pick<DeviceRegistry, "forgetVolume">;
  offerOf(volume: ServedFolder): Offer;
}

export class VolumeMaker {
  readonly #deps: VolumeMakerDeps;
  #listed: readonly ListedVolume[];
  #work: Promise<unknown> = Promise.resolve();

  constructor(deps: VolumeMakerDeps) {
    this.#deps = deps;
    this.#listed = deps.listed;
  }

  /** Tells whether the volume is in the list: others are of the command line. */
  isListed(name: string): boolean {
    return this.#listed.some((volume) => volume.name === name);
  }

  /**
   * Makes a volume of a folder. It is served from now on, or is being opened, and again after each start. @throws
   * RunnelError with a sentence for a person; then there is none.
   */
  create(who: Actor, asked: ServedFolder): Promise<void> {
    const act = { who, act: "volumeMake", object: asked.name, detail: asked.folder } as const;
    return this.#serially(() => this.#deps.audit.perform(act, () => this.#create(asked)));
  }

  /**
   * Stops a volume, or serves it again; the list remembers it. Of a volume that is stopped the attachments have ended.
   * @throws RunnelError NotFound; Invalid for a volume of the command line; what writing the list throws.
   */
  setServed(who: Actor, name: string, isServed: boolean): Promise<void> {
    const act = { who, act: isServed ? "volumeResume" : "volumeStop", object: name } as const;
    return this.#serially(() => this.#deps.audit.perform(act, () => this.#setServed(name, isServed)));
  }

  /**
   * Removes a volume that is stopped from the list, with the rights on it. The folder keeps its files, and the server
   * what it knows of them: a volume of that name, made of that folder, goes on from there. @throws as setServed;
   * Invalid for one that is served.
   */
  remove(who: Actor, name: string): Promise<void> {
    const detail = this.#listed.find((volume) => volume.name === name)?.folder ?? "";
    const act = { who, act: "volumeRemove", object: name, detail } as const;
    return this.#serially(() => this.#deps.audit.perform(act, () => this.#remove(name)));
  }

  async #create({ name, folder }: ServedFolder): Promise<void> {
    const { clock, offered, served, dataFolder, offerOf } = this.#deps;
    if (!isVolumeName(name))
      throw refusal("Invalid", "A name has up to 100 letters, digits, dots, dashes and spaces. Choose another one.");
    if (served.get(name) !== undefined)
      throw refusal("Exists", `There is a volume ${name} already. Choose another name.`);
    if (this.#listed.length >= LISTED_MAX)
      throw refusal("TooLarge", `The server has ${LISTED_MAX} volumes that were made here, and takes no more.`);
    await offered.check(folder);
    await checkFolders([...served.list, { name, folder }], dataFolder);
    const offer = offerOf({ name, folder });
    await offer.probe();
    const volume = served.add(offer);
    try {
      await volume.startWithin(OPEN_MS);
      await this.#write([...this.#listed, { name, folder, madeMs: wallMs(clock), isStopped: false }]);
    } catch (error) {
      await served.remove(volume, "it could not be made.");
      throw error;
    }
  }

  async #setServed(name: string, isServed: boolean): Promise<void> {
    const { served } = this.#deps;
    this.#mustBeListed(name);
    // Written first: a volume that somebody has stopped is not served again by a crash.
    await this.#write(this.#listed.map((each) => (each.name === name ? { ...each, isStopped: !isServed } : each)));
    if (isServed) served.resume(name);
    else await served.stop(name);
  }

  async #remove(name: string): Promise<void> {
    const { served, devices } = this.#deps;
    const volume = this.#mustBeListed(name);
    if (!volume.isStopped) throw refusal("Invalid", `${name} is served. Stop it first.`);
    // Ended first: a crash leaves a stopped volume without rights, never rights on whatever is called so next.
    await devices.forgetVolume(name);
    await this.#write(this.#listed.filter((each) => each.name !== name));
    await served.remove(volume, "an administrator has removed it.");
  }

  #mustBeListed(name: string): ServedVolume {
    const volume = this.#deps.served.get(name);
    if (volume === undefined) throw refusal("NotFound", `The server has no volume ${name}.`);
    if (this.isListed(name)) return volume;
    const sentence = `${name} is a volume of the command line. Take it away there (--volume), and start the server again.`;
    throw refusal("Invalid", sentence);
  }

  async #write(listed: readonly ListedVolume[]): Promise<void> {
    try {
      await writeVolumeList(this.#deps.root, listed);
    } catch (cause) {
      const { kind } = fromSystemError(cause, "list volumes");
      const why =
        kind === "NoSpace" ? "the server's disk is full. Make room on it" : `its disk says ${kind}. Look after it`;
      const sentence = `Nothing was changed, since the list of volumes cannot be written: ${why}, then try again.`;
      throw new RunnelError(kind, "list volumes", sentence, { cause });
    }
    this.#listed = listed;
  }

  #serially<T>(work: () => Promise<T>): Promise<T> {
    const done = this.#work.then(work);
    this.#work = done.catch(() => undefined);
    return done;
  }
}

/** @throws RunnelError Invalid where the list and the command line have a volume of one name. */
export function checkListed(listed: readonly ListedVolume[], ofCommandLine: readonly ServedFolder[]): void {
  for (const { name, folder } of listed) {
    const other = ofCommandLine.find((volume) => volume.name === name);
    if (other === undefined) continue;
    const sentence = `The volume ${name} was made of ${folder} in the console, and --volume names ${other.folder} so. Give that one another name, or leave it out.`;
    throw new RunnelError("Invalid", "serve", sentence);
  }
}

function refusal(kind: RunnelError["kind"], sentence: string): RunnelError {
  return new RunnelError(kind, "make volume", sentence);
}
