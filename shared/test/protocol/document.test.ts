// PROTOCOL.md against the code: its CDDL against the schemas, its bytes against the golden vectors, its tables against
// those of the code.
import { createHmac } from "node:crypto";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { inspect } from "node:util";
import { describe, expect, jest, test } from "@jest/globals";
import { z } from "zod";
import { CLOSE_CODE_OF_KIND, CLOSE_CODE_OTHER, ERROR_KINDS } from "../../src/errors.ts";
import { LIMITS } from "../../src/limits.ts";
import { checkPredicate } from "../../src/model/predicate.ts";
import { FRAME } from "../../src/protocol/frame.ts";
import { FIELD_NAMES } from "../../src/protocol/keys.ts";
import { FEED_FROM_CLIENT, FEED_FROM_SERVER } from "../../src/protocol/feed-messages.ts";
import { GET_CHUNKS } from "../../src/protocol/requests/colleagues.ts";
import { REQUESTS } from "../../src/protocol/requests/index.ts";
import { FETCH_ITEM, FIND_GET_ITEM } from "../../src/protocol/requests/read.ts";
import { STATUS_ITEM } from "../../src/protocol/requests/status-items.ts";
import { FIND_ITEMS } from "../../src/protocol/requests/tree.ts";
import { WRITE_ITEM, WRITE_REPLY } from "../../src/protocol/requests/write.ts";
import { Cddl, blocksOf } from "./cddl.ts";
import { vectors } from "./vectors.ts";

// Lists as long as they may be are made and checked.
jest.setTimeout(60_000);

const DOCUMENT = readFileSync(join(import.meta.dirname, "../../src/protocol/PROTOCOL.md"), "utf8");
const cddl = new Cddl(blocksOf(DOCUMENT, "cddl").join("\n"));

/** Parts that are checked when they are used, by the schema that is for them. */
const predicate = z.custom((value) => {
  try {
    return checkPredicate(value) !== undefined;
  } catch {
    return false;
  }
});
const checkedLater: Record<string, z.ZodType> = {
  "find-request": REQUESTS.find.request.extend({ predicate: predicate.optional() }),
  "write-request": REQUESTS.write.request.extend({ items: z.array(WRITE_ITEM).max(LIMITS.channelItems).optional() }),
};

/** Entries of a kind that is not known are passed over, so that anything may stand there (W45). */
const STATUS_KINDS = cddl.words("status-entry").map((word) => word.replaceAll('"', ""));
const knownEntries = z.custom((value) =>
  (Array.isArray(value) ? (value as unknown[]) : []).every((entry) =>
    STATUS_KINDS.includes((entry as { kind?: string } | null)?.kind ?? ""),
  ),
);

/** Forms of the document, and the schemas that have them. */
const FORMS: Record<string, z.ZodType> = {
  ...Object.fromEntries(
    Object.entries(REQUESTS).flatMap(([name, { request, result }]) => [
      [`${name}-request`, request],
      ...(result instanceof z.ZodVoid ? [] : [[`${result === REQUESTS.make.result ? "change" : name}-result`, result]]),
    ]),
  ),
  ...checkedLater,
  "getChunks-request": GET_CHUNKS,
  "status-item": knownEntries.pipe(STATUS_ITEM),
  "feed-from-client": FEED_FROM_CLIENT,
  "feed-from-server": FEED_FROM_SERVER,
  "write-item": WRITE_ITEM,
  "write-reply": WRITE_REPLY,
  "fetch-item": FETCH_ITEM,
  "findGet-item": FIND_GET_ITEM,
  "find-items": FIND_ITEMS,
};

describe("a message", () => {
  test("[W10] has a form in the document, and each name there means something", () => {
    expect(cddl.undefinedNames()).toEqual([]);
    const said = cddl.names().filter((name) => /-(request|result|reply)$|-items?$/.test(name));
    const within = ["find-item"];
    expect(said.filter((name) => !within.includes(name)).toSorted()).toEqual(
      Object.keys(FORMS)
        .filter((name) => !name.startsWith("feed"))
        .toSorted(),
    );
  });

  test.each(Object.entries(FORMS))("[W10] is a %s where the document says so, and nowhere else", (name, schema) => {
    let accepted = 0;
    let refused = 0;
    for (const [where, value] of cddl.probes(name)) {
      const isSaid = cddl.accepts(name, value);
      const isAccepted = schema.safeParse(value).success;
      if (isAccepted !== isSaid) throw new Error(`${where}: ${inspect({ value, isSaid, isAccepted }, { depth: 9 })}`);
      if (isSaid) accepted += 1;
      else refused += 1;
    }
    expect(accepted).toBeGreaterThan(0);
    expect(refused).toBeGreaterThan(10);
  });

  test.each(Object.entries(FORMS))("[W10] %s has the fields and words of its schema, and no other", (name, schema) => {
    // Literals of the document that the code checks without a schema's literals.
    const elsewhere = cddl.words(name === "find-request" ? "predicate" : "file-type");
    const words =
      name === "write-request" ? cddl.words(name) : cddl.words(name).filter((word) => !elsewhere.includes(word));
    expect(words).toEqual(wordsOf(schema));
  });
});

/** Keys of objects, and literals, anywhere in a schema: sorted. */
function wordsOf(schema: z.core.$ZodType): string[] {
  const words = new Set<string>();
  const visit = (part: z.core.$ZodType): void => {
    const { def } = part as unknown as { def: z.core.$ZodTypes["_zod"]["def"] };
    if (def.type === "object") {
      for (const [key, field] of Object.entries(def.shape)) {
        words.add(`${key}:`);
        visit(field);
      }
    } else if (def.type === "literal") {
      for (const value of def.values) words.add(JSON.stringify(value));
    } else if (def.type === "enum") {
      for (const value of Object.values(def.entries)) words.add(JSON.stringify(value));
    } else if (def.type === "tuple") def.items.forEach(visit);
    else if (def.type === "array") visit(def.element);
    else if (def.type === "union") def.options.forEach(visit);
    else if (def.type === "optional" || def.type === "nullable") visit(def.innerType);
    else if (def.type === "pipe") {
      visit(def.in);
      visit(def.out);
    }
  };
  visit(schema);
  return [...words].toSorted();
}

describe("the bytes of the document", () => {
  const known = new Map(vectors.frames.map(({ name, hex }) => [name, hex]));
  known.set("recipe", vectors.recipe.hex);

  test.each(blocksOf(DOCUMENT, "hex").map((block) => [/^; (.*)/.exec(block)?.[1] ?? "", block]))(
    "[W1] [W2] are those of the golden vector: %s",
    (name, block) => {
      expect(block.replaceAll(/;.*/g, "").replaceAll(/\s/g, "")).toBe(known.get(name));
    },
  );

  test("[W4] the OID of the recipe is said", () => {
    expect(DOCUMENT).toContain(`\`${vectors.recipe.oid}\``);
  });

  test("[W165] the proofs are those of the secret and the nonces", () => {
    const [secret] = /(?<=the secret is `)[\w-]{43}/.exec(DOCUMENT) ?? [];
    const [, client, server, proof] = /^Runnel-Nonce: (.*)\n[^]*^Runnel-Proof: (.*)\.(.*)\n/m.exec(DOCUMENT) ?? [];
    const proofOf = (by: string): string =>
      createHmac("sha256", secret ?? "")
        .update(`runnel ${by} ${client} ${server}`)
        .digest("base64url");
    expect(proof).toBe(proofOf("server"));
    expect(/(?<=says the proof\s)`(.*)`/.exec(DOCUMENT)?.[1]).toBe(proofOf("client"));
  });
});

describe("the tables of the document", () => {
  test("[W56] number the fields as the code does", () => {
    const [list = ""] = /(?<=^\*\*\[W56\]\*\*[^]*?\n\n)[^]*?(?=\n\n)/m.exec(DOCUMENT) ?? [];
    const numbered = [...list.matchAll(/(\d+) `(\w+)`/g)].map(([, number, name]) => [Number(number), name]);
    expect(numbered).toEqual(FIELD_NAMES.map((name, number) => [number, name]));
  });

  test("[W1] name each kind of frame", () => {
    const rows = [...DOCUMENT.matchAll(/^\| (\d) \| (\w+) \| (?:new|its|0) \|/gm)];
    expect(Object.fromEntries(rows.map(([, number, name]) => [name, Number(number)]))).toEqual(FRAME);
  });

  test("[W54] name each kind of error", () => {
    const [table = ""] = /(?<=\| kind \| means \| detail \|\n.*\n)(?:\|.*\n)+/.exec(DOCUMENT) ?? [];
    const kinds = [...table.matchAll(/^\| ([^|]*) \|/gm)].flatMap(([, names = ""]) => names.split(", "));
    expect(kinds.toSorted()).toEqual([...ERROR_KINDS].toSorted());
  });

  test("[W55] say the code with which each kind closes a connection", () => {
    const [rule = ""] = /^\*\*\[W55\]\*\*[^]*?\n\n/m.exec(DOCUMENT) ?? [];
    const said = [...rule.matchAll(/(4\d\d\d)\s(\w+)/g)].map(([, code, kind]) => [kind, Number(code)]);
    expect(Object.fromEntries(said)).toEqual({ ...CLOSE_CODE_OF_KIND, any: CLOSE_CODE_OTHER });
  });

  test("[W45] have a line for each kind of entry", () => {
    const kinds = STATUS_KINDS.filter((word) => !word.endsWith(":"));
    for (const kind of kinds) expect(DOCUMENT).toMatch(new RegExp(`^- \`${kind}\`: `, "m"));
    expect(kinds).toHaveLength(8);
  });
});
