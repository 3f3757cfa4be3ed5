// Requests by which clients of a volume find each other through the server, and the one that they ask each other.
import { isIP } from "node:net";
import { z } from "zod";
import { LIMITS, TIMING } from "../../limits.ts";
import { bytes, keyDigest, packVersion, versionId } from "../fields.ts";
import { count } from "../numbers.ts";
import { attached, defineRequest } from "./definition.ts";

/** Chunks of a version: the first, and how many. */
const chunkSpan = z.tuple([count, count]).transform(([from, chunks]) => ({ from, count: chunks }));
const chunkSpans = z.array(chunkSpan).max(LIMITS.chunkSpans);
const port = z.int().min(0).max(65_535);
/** Texts that are no addresses are dropped: nobody is to look up a name that a stranger says. */
const addresses = z
  .array(z.string())
  .max(LIMITS.colleagueAddresses)
  .transform((all) => all.filter((each) => isIP(each) !== 0));
const ticket = bytes.refine(({ length }) => length <= LIMITS.ticketBytes, "too long");

/** Place at which a client can be reached, as it says itself. */
const place = z.object({
  /** Fingerprint of its key. */
  key: keyDigest,
  /** 0: it does not listen. */
  port,
  addresses,
  reach: z.enum(["network", "everyone"]),
});
export type ColleaguePlace = z.output<typeof place>;

const colleague = z.object({ member: count, name: z.string(), key: keyDigest, port, addresses });
/** Client that can be reached, and the number by which hints name it on this attachment. */
export type SeenColleague = z.output<typeof colleague>;

const ONE_CHUNK: [number, number][] = [[0, 1]];

export const COLLEAGUES_FEATURE = "colleagues";

export const COLLEAGUES_REQUESTS = {
  announce: defineRequest({
    right: "read",
    request: z.object({
      ...attached,
      /** Left out: as it was said before. */
      place: place.optional(),
      /** All chunks of these versions that can be had of this client; none: it has nothing of it any more. */
      has: z.array(z.tuple([versionId, chunkSpans])).max(LIMITS.announcedAtOnce),
    }),
    /** `others`: clients that it may meet, and that listen. */
    result: z.object({ ticketKey: keyDigest, nowMs: count, others: count }),
    isAnsweredWhole: true,
    sample: ({ file }) => ({
      place: { key: new Uint8Array(32), port: 0, addresses: [], reach: "network" as const },
      has: [[packVersion(file), ONE_CHUNK]] as [[number, number], [number, number][]][],
    }),
  }),
  locate: defineRequest({
    right: "read",
    request: z.object({
      ...attached,
      version: versionId,
      wanted: chunkSpans,
      /** Keys of clients that did not bring what they were said to have. */
      without: z.array(keyDigest).max(LIMITS.hints),
      /** A ticket for the version is there. */
      hasTicket: z.boolean(),
      /** Milliseconds that the answer may wait for something that is new. */
      waitMs: count.pipe(z.number().max(TIMING.locateWaitMs)),
    }),
    result: z.object({
      ticket: ticket.optional(),
      /** Colleagues that hints name, and that were not told before on this attachment. */
      colleagues: z.array(colleague).max(LIMITS.hints),
      /** Numbers of colleagues, and what each of them has of it. */
      hints: z.array(z.tuple([count, chunkSpans])).max(LIMITS.hints),
      /** Chunks to be asked of the server; all that is in no hint is on its way to somebody else. */
      yours: chunkSpans,
    }),
    sample: ({ file }) => ({ version: packVersion(file), wanted: ONE_CHUNK, without: [], hasTicket: false, waitMs: 0 }),
  }),
};

/** The request that a client answers to another one. */
export const GET_CHUNKS = z.object({ ticket, wanted: chunkSpans });
