import { afterAll, expect, test } from "@jest/globals";
import { readdirSync } from "node:fs";
import { join } from "node:path";
import Database from "better-sqlite3";
import { fromSqliteError } from "../../../src/meta/sqlite/database.ts";
import { hasRoom } from "../../../src/meta/sqlite/room.ts";
import { newFolder, removeFolders } from "./sqlite-place.ts";

afterAll(removeFolders);

test("a folder that takes bytes has room, and keeps nothing of the try; one that is not there does not say that it is full", () => {
  const folder = newFolder();
  expect(hasRoom(folder)).toBe(true);
  expect(readdirSync(folder)).toEqual([]);
  expect(hasRoom(join(folder, "none"))).toBe(true);
});

test.each([
  ["SQLITE_FULL", true, "NoSpace"],
  ["SQLITE_IOERR_WRITE", false, "NoSpace"],
  ["SQLITE_IOERR_SHMSIZE", false, "NoSpace"],
  ["SQLITE_CANTOPEN", false, "NoSpace"],
  ["SQLITE_IOERR_WRITE", true, "Io"],
  ["SQLITE_IOERR_DATA", false, "Corrupt"],
  ["SQLITE_BUSY", false, "Io"],
])("%s where there is room (%p) is %s: a quota that is used up is an I/O error to SQLite", (code, isRoom, kind) => {
  expect(fromSqliteError(new Database.SqliteError("It failed.", code), () => isRoom)).toMatchObject({ kind });
});
