// Invites as text: what was written is read again, and nothing else is taken for one.
import { describe, expect, test } from "@jest/globals";
import fc from "fast-check";
import { isVolumeName } from "../../src/model/names.ts";
import { RunnelError } from "../../src/errors.ts";
import { formatInvite, parseInvite } from "../../src/protocol/invite.ts";

const PRINT = "SCLtvzsw_PIFr9oMZjthHRJGDEQ4fwbXk18ZqsDUDfU";
const SECRET = "ytmiIYSHEs0hgbNe2z-Geg";

const characters = [..."ABCabc019-_"];
const word = (length: number): fc.Arbitrary<string> =>
  fc.array(fc.constantFrom(...characters), { minLength: length, maxLength: length }).map((all) => all.join(""));
const volume = fc
  .array(fc.constantFrom(..."aZ9é日 ._-"), { minLength: 1, maxLength: 20 })
  .map((all) => all.join(""))
  .filter(isVolumeName);
const place = fc
  .tuple(
    fc.constantFrom("files.example.org", "192.0.2.7", "[2001:db8::7]", "a-b.example"),
    fc.integer({ min: 1, max: 65_535 }),
  )
  .map(([host, port]) => `${host}:${port}`);

describe("an invite", () => {
  test("[W70] has this form", () => {
    const invite = { place: "files.example.org:7473", volume: "my docs", fingerprint: PRINT, secret: SECRET };
    const text = `runnel://files.example.org:7473/my%20docs#${PRINT}.${SECRET}`;
    expect(formatInvite(invite)).toBe(text);
    expect(parseInvite(text)).toEqual(invite);
    expect(parseInvite(`  ${text}\n`)).toEqual(invite);
    expect(parseInvite(`runnel://files.example.org/docs#${SECRET}`)).toEqual({
      place: "files.example.org:443",
      volume: "docs",
      secret: SECRET,
    });
  });

  test("[W70] is read as it was written", () => {
    fc.assert(
      fc.property(place, volume, fc.option(word(43), { nil: undefined }), word(22), (at, name, fingerprint, secret) => {
        const invite = { place: at, volume: name, secret, ...(fingerprint === undefined ? {} : { fingerprint }) };
        expect(parseInvite(formatInvite(invite))).toEqual(invite);
      }),
    );
  });

  test.each([
    "",
    "runnel:",
    "runnel://",
    "wss://h:1/docs",
    `runnel://h:1/docs`,
    `runnel://h:1/docs#`,
    `runnel://h:1/docs#${PRINT}`,
    `runnel://h:1/docs#${SECRET}.${PRINT}`,
    `runnel://h:1/docs#${PRINT}.${SECRET}x`,
    `runnel://h:1/docs#${PRINT}.${SECRET.slice(1)}`,
    `runnel://h:1/docs#${PRINT}.${SECRET.slice(1)}!`,
    `runnel://h:1/docs#x.${SECRET}`,
    `runnel://h:1/#${PRINT}.${SECRET}`,
    `runnel://h:1/a/b#${PRINT}.${SECRET}`,
    `runnel://h:1/..#${PRINT}.${SECRET}`,
    `runnel://h:1/%2e%2e#${PRINT}.${SECRET}`,
    `runnel://h:1/%zz#${PRINT}.${SECRET}`,
    `runnel:///docs#${PRINT}.${SECRET}`,
    `runnel://h:99999/docs#${PRINT}.${SECRET}`,
    `runnel://user@h:1/docs#${PRINT}.${SECRET}`,
    `runnel://:secret@h:1/docs#${PRINT}.${SECRET}`,
    `runnel://h:1/docs?x#${PRINT}.${SECRET}`,
    `runnel://h:1/do\ncs#${PRINT}.${SECRET}`,
    `runnel://h:1/docs #${PRINT}.${SECRET}`,
    `RUNNEL2://h:1/docs#${PRINT}.${SECRET}`,
    `runnel://h:1/${"d".repeat(1000)}#${PRINT}.${SECRET}`,
  ])("[W70] is not %j, which is not repeated", (text) => {
    expect(() => parseInvite(text)).toThrow(
      expect.objectContaining({ kind: "Invalid", message: expect.stringMatching(/^That is not a whole invite\./) }),
    );
  });

  test("[W70] from random and damaged text is one that reads the same again, or is refused", () => {
    const good = `runnel://files.example.org:7473/docs#${PRINT}.${SECRET}`;
    const damaged = fc
      .array(fc.tuple(fc.nat(good.length), fc.nat(3), fc.string({ maxLength: 3, unit: "binary" })), { maxLength: 4 })
      .map((cuts) => cuts.reduce((text, [at, gone, more]) => text.slice(0, at) + more + text.slice(at + gone), good));
    let refused = 0;
    fc.assert(
      fc.property(fc.oneof(damaged, fc.string({ unit: "binary" }), fc.webUrl({ withFragments: true })), (text) => {
        try {
          const invite = parseInvite(text);
          expect(parseInvite(formatInvite(invite))).toEqual(invite);
        } catch (error) {
          if (!(error instanceof RunnelError) || error.kind !== "Invalid") throw error;
          refused++;
        }
      }),
      { numRuns: 20_000 },
    );
    expect(refused).toBeGreaterThan(1000);
    expect(refused).toBeLessThan(20_000);
  });
});
