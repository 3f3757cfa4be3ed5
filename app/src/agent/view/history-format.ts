// Tables of history.sqlite in the agent's home (docs/FORMAT.md, "The agent's history"): what was saved, and what
// happened lately.
import type { DatabaseFormat } from "../replica/database.ts";

/**
 * `used`: drives by the order of their last use. `turn`: entries of the activity log by the order of their last
 * change.
 */
export const HISTORY_FORMAT: DatabaseFormat = {
  what: "history of activity and savings",
  version: 2,
  schema: `
    CREATE TABLE drives (
      id INTEGER PRIMARY KEY, url TEXT NOT NULL, mountpoint TEXT NOT NULL, used INTEGER NOT NULL, UNIQUE (url, mountpoint)
    ) STRICT;
    CREATE TABLE savings (
      hour INTEGER NOT NULL, drive INTEGER NOT NULL, folder TEXT NOT NULL, read INTEGER NOT NULL, written INTEGER NOT NULL,
      sent INTEGER NOT NULL, received INTEGER NOT NULL, oldVersion INTEGER NOT NULL, otherFile INTEGER NOT NULL,
      compression INTEGER NOT NULL, colleague INTEGER NOT NULL, stick INTEGER NOT NULL, oldFolder INTEGER NOT NULL,
      PRIMARY KEY (hour, drive, folder)
    ) STRICT, WITHOUT ROWID;
    CREATE TABLE activity (
      id INTEGER PRIMARY KEY, turn INTEGER NOT NULL, fromMs INTEGER NOT NULL, toMs INTEGER NOT NULL, drive INTEGER NOT NULL,
      kind TEXT NOT NULL, folder TEXT NOT NULL, name TEXT NOT NULL, count INTEGER NOT NULL, bytes INTEGER NOT NULL,
      detail TEXT NOT NULL
    ) STRICT;
  `,
  upgrades: {
    1: `
      ALTER TABLE savings ADD COLUMN colleague INTEGER NOT NULL DEFAULT 0;
      ALTER TABLE savings ADD COLUMN stick INTEGER NOT NULL DEFAULT 0;
      ALTER TABLE savings ADD COLUMN oldFolder INTEGER NOT NULL DEFAULT 0;
    `,
  },
};
