// Two ends that know a secret, and ends that do not.
import { expect, test } from "@jest/globals";
import { Meeting, isProof, meet } from "../../../src/host/local/local-proof.ts";

const SECRET = "s".repeat(43);
const OTHER = "o".repeat(43);

test("[W165] both ends that know the secret say what the other expects, another time each", () => {
  const said: unknown[] = [];
  for (let time = 0; time < 2; time++) {
    const client = new Meeting([OTHER, SECRET]);
    const server = meet(SECRET, client.nonce);
    expect(client.answer(server.said)).toBe(server.ownerProof);
    said.push(client.nonce, server.said, server.ownerProof);
  }
  expect(new Set(said).size).toBe(6);
});

test("[W165] a server of another secret proves nothing, and what it saw is no proof to the one that is meant", () => {
  const client = new Meeting([SECRET]);
  expect(client.answer(meet(OTHER, client.nonce).said)).toBeUndefined();
  // It asks the server with the client's nonce, and has a proof for a client then, but none of a client.
  const relayed = meet(SECRET, client.nonce);
  const [, serverProof = ""] = (relayed.said ?? "").split(".");
  expect(isProof(serverProof, relayed.ownerProof)).toBe(false);
});

test("[W165] what has not the form of a proof is none", () => {
  const client = new Meeting([SECRET]);
  const { said = "" } = meet(SECRET, client.nonce);
  for (const wrong of [
    undefined,
    "",
    "a.b",
    [said, said],
    `${said}.x`,
    `${said}x`,
    said.slice(1),
    said.replace(".", ""),
  ])
    expect([wrong, client.answer(wrong)]).toEqual([wrong, undefined]);
  expect(isProof("", meet(SECRET, client.nonce).ownerProof)).toBe(false);
});

test("[W165] a client that has named no nonce can prove nothing", () => {
  for (const nonce of [undefined, "", "short", ["a"], "*".repeat(43)]) {
    const { said, ownerProof } = meet(SECRET, nonce);
    expect(said).toBeUndefined();
    expect(ownerProof).toMatch(/^[\w-]{43}$/);
    expect(meet(SECRET, nonce).ownerProof).not.toBe(ownerProof);
  }
});
