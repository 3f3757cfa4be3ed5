import { expect, test } from "@jest/globals";
import { statsTable } from "../../src/verbs/stats-csv.ts";
import { FakeMount } from "../control/fake-mount.ts";

test("a drive is a row; what a spreadsheet would take for more than a text is quoted", () => {
  const mounts = ['/mnt/"a", b', "=1+1"].map(
    (mountpoint) =>
      new FakeMount({
        url: "ws://localhost:1/docs",
        mountpoint,
        cacheFolder: "/cache",
        cacheBytes: 0,
        stateFolder: "/state",
        mapOwner: false,
      }),
  );
  const figures = "ws://localhost:1/docs,0,1000,100,0,0,0,0,0,0,0";
  const rows = statsTable(mounts).split("\r\n");
  expect(rows[0]).toMatch(/^mountpoint,url,read,written,sent data,.*,received overhead$/);
  expect(rows.slice(1)).toEqual([`"/mnt/""a"", b",${figures}`, `'=1+1,${figures}`, ""]);
});
