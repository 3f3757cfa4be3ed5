import { ACCEPTED_BYTES, ACCEPTED_STEP } from "@runnel/shared";
import { expect, test } from "@jest/globals";
import { Unaccepted } from "../../src/agent/transfer/unaccepted.ts";

test("[W35] 8192 items are sent ahead, or 1 MiB in them, whatever was taken before", () => {
  const items = new Unaccepted(100);
  for (let count = 0; count < 2 * ACCEPTED_STEP; count++) {
    expect(items.mustWait).toBe(false);
    items.sent(0);
  }
  expect(items.mustWait).toBe(true);
  items.accepted(101);
  expect(items.mustWait).toBe(false);

  const bytes = new Unaccepted(0);
  for (let count = 0; count < 4; count++) {
    expect(bytes.mustWait).toBe(false);
    bytes.sent(ACCEPTED_BYTES);
  }
  expect(bytes.mustWait).toBe(true);
  // Said again, as after a repetition, it is no more than it was.
  bytes.accepted(1);
  bytes.accepted(1);
  bytes.sent(ACCEPTED_BYTES - 1);
  expect(bytes.mustWait).toBe(false);
  bytes.sent(1);
  expect(bytes.mustWait).toBe(true);
});
