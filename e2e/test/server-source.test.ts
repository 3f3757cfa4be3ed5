// The server keeps the contract of a source of chunks: over the wire, from a real volume, on simulated ground.
import { randomBytes } from "node:crypto";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect } from "@jest/globals";
import { Arrivals, ServerSource, Session, Transfer, openCache } from "@runnel/app/internals";
import { sourceContract } from "@runnel/app/test/transfer/sources/chunk-source-contract.ts";
import { inlineExecutor } from "@runnel/native";
import { ROOT_NODE, SimulatedDisk } from "@runnel/shared";
import { SERVER_URL, VOLUME } from "../src/simulation/serve-folder.ts";
import { SimulatedPlace } from "../src/simulation/index.ts";

sourceContract(
  "a server",
  async ({ bytes, sizeBytes, recipe }) => {
    const place = new SimulatedPlace(1, { delayMs: 15, bytesPerSecond: 2_000_000 });
    await place.open({ content: bytes });
    const { clock } = place;
    const executor = inlineExecutor();
    const folder = mkdtempSync(join(tmpdir(), "runnel-server-source-"));
    const root = await new SimulatedDisk({ clock, seed: 1 }).openRoot("/cache", { permissions: 0o700 });
    const cache = await openCache({ root, path: join(folder, "cache.sqlite"), executor, clock, boot: "1" });
    const session = new Session({
      url: SERVER_URL,
      volume: VOLUME,
      clock,
      dialer: place.line,
      executor,
      instance: () => randomBytes(16).toString("hex"),
      software: "a test",
      wasUsed: () => false,
      resume: () => undefined,
      listsAll: false,
      events: {},
    });
    await place.run(session.start());
    const state = await place.volume.meta.lookup(ROOT_NODE, "content");
    const version = { node: state?.node ?? 0, seq: state?.version ?? 0 };
    await place.until(async () => (await place.volume.recipes.get(version)) !== undefined);
    expect((await place.volume.recipes.get(version))?.lengths).toEqual(recipe.lengths);
    const hold = await cache.create(version, sizeBytes);
    const countNothing = (): void => undefined;
    const reused = { base: 0, cache: 0, server: 0, bytes: 0 };
    const arrivals = new Arrivals({ cache, executor, reused, countRecipe: countNothing, countContent: countNothing });
    const transfer = new Transfer(1, { direction: "down", file: "content", totalBytes: sizeBytes }, 0, countNothing);
    const served = { content: hold.content, held: [], transfer, askedEnd: sizeBytes };
    // Time passes until the test has ended.
    const { promise: ended, resolve: end } = Promise.withResolvers<void>();
    const passing = place.run(ended);
    return {
      source: new ServerSource({ cache, session, arrivals }, served),
      async close() {
        end();
        await passing;
        await place.run(session.close());
        hold[Symbol.dispose]();
        await cache.close();
        await place.close();
        rmSync(folder, { recursive: true });
      },
    };
  },
  { hasOnlyThis: false },
);
