// Conflicts of a drive in `runnel status`: each names a path that is there.
import { expect, test } from "@jest/globals";
import { describeStatus } from "../../src/verbs/status.ts";
import { headOf } from "../../src/agent/view/head.ts";
import { FakeMount } from "../control/fake-mount.ts";

test.each([
  [
    "one whose other content is an old version",
    { path: "docs/a", conflictCopy: null, seq: 1, by: "desk", atMs: 1 },
    "  docs/a was changed in two places. It has what desk saved; the other content is among the server's old versions. When you have seen to it: runnel settle",
  ],
  [
    "one that is kept beside",
    { path: "docs/a", conflictCopy: "docs/a (conflict 2026-11-23 10.00.00)", seq: 1, by: "desk", atMs: 1 },
    "  docs/a was changed in two places. What desk saved is docs/a (conflict 2026-11-23 10.00.00). When you have seen to it: runnel settle",
  ],
])("a conflict, %s", async (_which, conflict, line) => {
  const mount = new FakeMount({
    url: "ws://localhost:1/docs",
    mountpoint: "/mnt/docs",
    cacheFolder: "/cache",
    cacheBytes: 0,
    stateFolder: "/state",
    mapOwner: false,
    isAsync: false,
  });
  const status = { ...(await mount.status()), conflicts: [conflict] };
  expect(
    describeStatus({
      head: headOf({ drives: [status], lost: [], transfers: [] }),
      mounts: [status],
      lost: [],
      resting: [],
    }),
  ).toContain(line);
});
