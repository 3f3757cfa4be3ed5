// findGet: the contents of many small files in one stream, for a program that walks a tree reading (ZX's findget; the
// entries come by find). Files are read side by side and compressed together; the stream takes only what the line has
// to spare.
import type { Channel, Recipe, RequestOf, VersionId } from "@runnel/shared";
import { LIMITS, RunPacker, encodeRecipe, isRunnelError, nextTurn, recipeSize } from "@runnel/shared";
import { chunkVersion, readRun } from "../../content/version-reader.ts";
import type { Volume } from "../../volume/volume.ts";
import type { Sending } from "../device-share.ts";
import { RunSender } from "../encode-run.ts";
import type { Call } from "./call.ts";

/** Compressed together: more saves little, and the first of them waits for the last. */
const RUN_BYTES = 256 * 1024;
/** Someone waits for the first file. */
const FIRST_RUN_BYTES = 32 * 1024;
const READ_AT_ONCE = 8;
/** Descriptors in an item without contents, and in the first one. */
const RECIPE_BYTES = 32 * 1024;
const FIRST_RECIPE_BYTES = 1024;

interface Small {
  index: number;
  recipe: Recipe;
  bytes: Uint8Array;
}

export async function serveFindGet(request: RequestOf<"findGet">, call: Call): Promise<void> {
  call.channel.isBackground = true;
  const { connection, places } = call.sending;
  const send = request.recipesOnly === true ? sendRecipes : sendFiles;
  await places.findGets.run(connection, () => send(request, call));
}

/** Sends the recipes alone. */
async function sendRecipes({ versions }: RequestOf<"findGet">, { volume, channel }: Call): Promise<void> {
  let named: [index: number, descriptors: Uint8Array][] = [];
  let [bytes, enoughBytes] = [0, FIRST_RECIPE_BYTES];
  for (let at = 0; at < versions.length && !channel.abort.signal.aborted; at += READ_AT_ONCE) {
    const some = versions.slice(at, at + READ_AT_ONCE);
    const recipes = await Promise.all(some.map((version) => recipeOf(volume, version)));
    for (const [index, recipe] of recipes.entries()) {
      if (recipe === undefined) continue;
      const descriptors = encodeRecipe(recipe);
      named.push([at + index, descriptors]);
      bytes += descriptors.length;
    }
    if (bytes >= enoughBytes) {
      channel.send(["g", named, "raw", 0, 0]);
      [named, bytes, enoughBytes] = [[], 0, RECIPE_BYTES];
    }
    // Others are served between, also where nothing has to be waited for.
    await new Promise<void>(nextTurn);
  }
  if (named.length > 0 && !channel.abort.signal.aborted) channel.send(["g", named, "raw", 0, 0]);
}

/** Returns undefined for what cannot be had so. */
async function recipeOf(volume: Volume, version: VersionId): Promise<Recipe | undefined> {
  try {
    const recipe = (await volume.recipes.get(version)) ?? (await chunkVersion(volume, version));
    const length = recipe === undefined ? 0 : recipeSize(recipe);
    return length === 0 || length > LIMITS.smallFileBytes ? undefined : recipe;
  } catch (error) {
    // Gone, changed just now, destroyed: whoever opens it finds out.
    if (!isRunnelError(error)) throw error;
    return undefined;
  }
}

async function sendFiles(request: RequestOf<"findGet">, { volume, channel, sending }: Call): Promise<void> {
  const stream = new RunStream(volume, channel, sending);
  for (let at = 0; at < request.versions.length && !channel.abort.signal.aborted; at += READ_AT_ONCE) {
    const some = request.versions.slice(at, at + READ_AT_ONCE);
    const read = await Promise.all(some.map((version, index) => readSmall(volume, version, at + index)));
    for (const one of read) if (one !== undefined) await stream.add(one);
    // Others are served between, also where nothing has to be waited for.
    await new Promise<void>(nextTurn);
  }
  await stream.end();
}

/** Returns undefined when it cannot be had so, and is passed over. */
async function readSmall(volume: Volume, version: VersionId, index: number): Promise<Small | undefined> {
  const recipe = await recipeOf(volume, version);
  if (recipe === undefined) return undefined;
  try {
    const length = recipeSize(recipe);
    const open = await volume.content.open(version);
    try {
      const run = { from: 0, count: recipe.lengths.length, offset: 0, length };
      return { index, recipe, bytes: await readRun(open, recipe, run, volume.executor) };
    } finally {
      await open.close();
    }
  } catch (error) {
    if (!isRunnelError(error)) throw error;
    return undefined;
  }
}

/** Joins files to runs. */
class RunStream {
  private readonly volume: Volume;
  private readonly channel: Channel;
  private readonly runs: RunSender;
  private gathered: Small[] = [];
  private gatheredBytes = 0;
  private enoughBytes = FIRST_RUN_BYTES;

  constructor(volume: Volume, channel: Channel, sending: Sending) {
    this.volume = volume;
    this.channel = channel;
    this.runs = new RunSender(channel, sending);
  }

  async add(small: Small): Promise<void> {
    this.gathered.push(small);
    this.gatheredBytes += small.bytes.length;
    if (this.gatheredBytes >= this.enoughBytes) await this.flush();
  }

  async end(): Promise<void> {
    if (this.gathered.length > 0) await this.flush();
    await this.runs.end();
  }

  private async flush(): Promise<void> {
    const { gathered: files, gatheredBytes } = this;
    this.gathered = [];
    this.gatheredBytes = 0;
    this.enoughBytes = RUN_BYTES;
    await this.runs.send(gatheredBytes, async () => {
      const bytes = Buffer.concat(files.map((file) => file.bytes));
      // A new packer for each run: what one shrinks by says nothing of the next, since they are of other files.
      const packer = new RunPacker<never>(this.volume.executor, () => this.channel.ratePerSecond);
      const { encoding, encoded } = await packer.pack(bytes);
      this.volume.traffic.fetched(bytes.length, encoded.length);
      const named = files.map(({ index, recipe }) => [index, encodeRecipe(recipe)]);
      return { item: ["g", named, encoding, bytes.length, encoded.length], encoded };
    });
  }
}
