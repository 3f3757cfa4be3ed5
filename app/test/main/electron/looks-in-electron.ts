// Looks for updates once at each place that it is told of, with electron-updater over Electron's own requests. Bundled,
// and called in the app that runs, by a test of the whole (e2e/test/desktop-updates.long.test.ts).
import { app } from "electron";
import { NsisUpdater } from "electron-updater";
import { type Clock, RealClock } from "@runnel/shared";
import { fetchFeed } from "../../../src/cli/updates/host/feed-source.ts";
import { FeedUpdater } from "../../../src/main/electron/feed-updater.ts";
import { discardFile, lookAtFile } from "../../../src/main/host/update-files.ts";
import { Updates } from "../../../src/main/updates/updates.ts";

export interface UpdatePlaces {
  /** Address below which each place is a folder, with its list and its feed. */
  url: string;
  key: string;
  names: readonly string[];
  /** Place at which a minute lasts half a second. */
  hurried: string;
  /** Path of what electron-builder would have put beside the app (app-update.yml). */
  configuration: string;
}

export interface UpdateOutcome {
  name: string;
  ready: string | null;
  said: readonly string[];
}

const HURRY = 120;

/** Looks at each place in turn, in the main process of an app. */
export async function lookAtPlaces(places: UpdatePlaces): Promise<UpdateOutcome[]> {
  const outcomes: UpdateOutcome[] = [];
  for (const name of places.names) outcomes.push(await lookAt(name, places));
  return outcomes;
}

async function lookAt(name: string, { url, key, hurried, configuration }: UpdatePlaces): Promise<UpdateOutcome> {
  const real = new RealClock();
  const [bootMs, wallNs] = [() => real.bootMs(), () => real.wallNs()];
  const hurry: Clock = { bootMs, wallNs, after: (delayMs, fire) => real.after(delayMs / HURRY, fire) };
  const said: string[] = [];
  const updater = new NsisUpdater();
  updater.forceDevUpdateConfig = true;
  updater.updateConfigPath = configuration;
  const updates = new Updates({
    // It is looked when it is said here.
    clock: { bootMs, wallNs, after: () => ({ cancel: () => undefined }) },
    current: app.getVersion(),
    place: { url: `${url}/${name}/updates.json`, keys: [key] },
    updater: new FeedUpdater(updater, `${url}/${name}/`, name === hurried ? hurry : real),
    fetchList: (place) => fetchFeed(place),
    look: lookAtFile,
    discard: discardFile,
    log: (sentence) => said.push(sentence),
    whyWait: () => Promise.resolve(undefined),
    changed: () => undefined,
    failed: (sentence) => said.push(sentence),
  });
  await updates.look();
  return { name, ready: updates.readyVersion ?? null, said };
}
