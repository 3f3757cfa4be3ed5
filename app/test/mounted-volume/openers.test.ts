// openers as an agent asks for them: of a server that knows, of one of an earlier version, and without a line.
import { expect, test } from "@jest/globals";
import { RunnelError } from "@runnel/shared";
import { askOpeners } from "../../src/agent/mounted-volume/openers.ts";

const desk = { name: "desk", isOwn: false, isConnected: true, hasRead: true };

function sessionOf(answer: () => Promise<unknown>, isResponsive = true): Parameters<typeof askOpeners>[0] {
  return {
    mustRespond: () => {
      if (!isResponsive) throw new RunnelError("Unreachable", "connect", "There is no line.");
    },
    inBackground: answer,
    aside: <T>(each: Promise<T>): Promise<T> => each,
  };
}

test("[W189] are taken as the server says them; a time that it does not know is none", async () => {
  const openers = [5, 0].map((sinceMs) => ({ ...desk, sinceMs }));
  expect(
    await askOpeners(
      sessionOf(async () => ({ openers, total: 9 })),
      2,
      1,
    ),
  ).toEqual({
    openers: [5, null].map((sinceMs) => ({ ...desk, sinceMs })),
    total: 9,
  });
});

test("[W179] of a server of an earlier version are refused in words for a person", async () => {
  const session = sessionOf(async () => {
    throw new RunnelError("Unsupported", "openers", "This server does not know the operation.");
  });
  await expect(askOpeners(session, 2, 1)).rejects.toMatchObject({
    kind: "Unsupported",
    message: "The server is of an earlier version, and does not tell who has a file open.",
  });
});

test("are not asked for without a line", async () => {
  const session = sessionOf(async () => expect(1).toBe(2), false);
  await expect(askOpeners(session, 2, 1)).rejects.toMatchObject({ kind: "Unreachable" });
});
