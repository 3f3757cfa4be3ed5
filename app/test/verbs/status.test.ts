// Conflicts of a drive in `runnel status`: each names a path that is there.
import { expect, test } from "@jest/globals";
import { describeStatus } from "../../src/verbs/status.ts";
import { headOf } from "../../src/agent/view/head.ts";
import { FakeMount } from "../control/fake-mount.ts";

test.each([
  [
    "one whose other content is an old version",
    { path: "docs/a", conflictCopy: null, atMs: 1 },
    "  docs/a was changed here and elsewhere. Both are kept; the other is among the server's old versions.",
  ],
  [
    "one that is kept beside",
    { path: "docs/a", conflictCopy: "docs/a (conflict 2026-11-23 10.00.00)", atMs: 1 },
    "  docs/a was changed here and elsewhere. Both are kept; the other is docs/a (conflict 2026-11-23 10.00.00).",
  ],
  [
    "one whose file had lost its name",
    { path: "docs/a (conflict 2026-11-23 10.00.00)", conflictCopy: "docs/a (conflict 2026-11-23 10.00.00)", atMs: 1 },
    "  docs/a (conflict 2026-11-23 10.00.00) was changed here and removed or replaced elsewhere. It is kept under this name.",
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
