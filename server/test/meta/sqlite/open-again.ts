// A process that opens the store of a folder several times, then with a changed byte; prints what kind of failure that
// is. Its main thread never loads SQLite, so that each worker thread is the first to.
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { isRunnelError } from "@runnel/shared";
import { openSqliteMetaStore } from "../../../src/meta/sqlite/meta-store.ts";

const folder = process.argv[2] ?? "";
for (let count = 0; count < 3; count++) await (await openSqliteMetaStore(folder)).close();
const path = join(folder, "meta.db");
const bytes = readFileSync(path);
bytes.writeUInt8(bytes.readUInt8(5000) ^ 1, 5000);
writeFileSync(path, bytes);
await openSqliteMetaStore(folder).catch((error: unknown) => {
  if (!isRunnelError(error)) throw error;
  console.log(error.kind);
});
