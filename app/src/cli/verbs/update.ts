// runnel update: whether a newer version was released, by a list that is signed. It installs nothing.
import { RealClock, RunnelError, wallMs } from "@runnel/shared/base";
import type { Command } from "commander";
import { VERSION } from "../../agent/version.ts";
import { readText } from "../host/text-file.ts";
import type { Output } from "../output.ts";
import { fetchFeed, readFeedPlace } from "../updates/host/feed-source.ts";
import { type Feed, isNewer, readSignedFeed } from "../updates/signed-feed.ts";
import { addVerb } from "../verb.ts";

export function addUpdate(program: Command, output: Output): void {
  addVerb(program, "update", "Says whether a newer version was released. It installs nothing.", [
    "update",
    "update --from updates.json",
  ])
    .option("--from <file>", "a list that was fetched otherwise")
    .action(async ({ from }: { from?: string }) => {
      const place = await readFeedPlace();
      if (place === undefined) {
        const sentence =
          "This copy of Runnel does not know where updates are told: get it anew where you have it from.";
        throw new RunnelError("Unsupported", "look for an update", sentence);
      }
      const text = from === undefined ? await fetchFeed(place.url) : await readText(from, "The list of updates");
      const update = updateIn(readSignedFeed(text, place.keys, wallMs(new RealClock())), VERSION);
      output.result(update, () => describeUpdate(update));
    });
}

export type Update = Pick<Feed, "version" | "releasedMs" | "packages"> & { current: string; isNewer: boolean };

/** An older version than the one that runs is no update, whoever has signed it. */
export function updateIn({ version, releasedMs, packages }: Feed, current: string): Update {
  const isUpdate = isNewer(version, current);
  return { version, current, isNewer: isUpdate, releasedMs, packages: isUpdate ? packages : [] };
}

export function describeUpdate({ version, current, isNewer: isUpdate, packages }: Update): string[] {
  if (!isUpdate) return [`${current} is the newest version.`];
  return [
    `${version} is out; this is ${current}. Its packages, by their SHA-256 (sha256sum --check):`,
    ...packages.map(({ name, sha256 }) => `${sha256}  ${name}`),
  ];
}
