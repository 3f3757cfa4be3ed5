// The replica's prepared statements.
import type { NodeState } from "@runnel/shared";
import type { IndexDatabase, Query, Row } from "./database.ts";
import type { NodeRow } from "./schema.ts";
import { RecentRows } from "./recent-rows.ts";
import { NODE_COLUMNS, nodeValues, rowOf } from "./schema.ts";

export interface NameRow {
  name: string;
  node: number;
  seq: number;
}

const UPDATED = "type mode uid gid size mtime ctime nlink rdev target version seq xattrSeq"
  .split(" ")
  .map((column) => `${column} = excluded.${column}`)
  .join(", ");

export type Statements = ReturnType<typeof prepareStatements>;

export function prepareStatements(db: IndexDatabase) {
  const query = <R = Row>(sql: string): Query<R> => db.query<R>(sql);
  const sortedBy = (order: string): Query<{ name: string }> =>
    db.query(
      `SELECT names.name FROM names JOIN nodes ON nodes.node = names.node
       WHERE names.folder = ? ORDER BY type <> ?, ${order}`,
    );
  const nodes = new RecentRows(db, query<NodeRow>(`SELECT ${NODE_COLUMNS} FROM nodes WHERE node = ?`));
  const names = new RecentRows(db, query<NameRow>("SELECT name, node, seq FROM names WHERE folder = ? AND name = ?"));
  const folders = new RecentRows(db, query<{ asOf: number }>("SELECT asOf FROM folders WHERE folder = ?"));
  /** Newer wins. */
  const putNode = query(
    `INSERT INTO nodes VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
     ON CONFLICT (node) DO UPDATE SET ${UPDATED} WHERE excluded.seq > nodes.seq`,
  );
  const putName = query(
    `INSERT INTO names VALUES (?, ?, ?, ?)
     ON CONFLICT (folder, name) DO UPDATE SET node = excluded.node, seq = excluded.seq`,
  );
  return {
    facts: query<{ epoch: string; root: number; seq: number; isWhole: number }>(
      "SELECT epoch, root, seq, isWhole FROM facts",
    ),
    putFacts: query("INSERT OR REPLACE INTO facts VALUES (1, ?, ?, ?, ?)"),
    clear: [
      nodes.changingAll(query("DELETE FROM nodes")),
      names.changingAll(query("DELETE FROM names")),
      folders.changingAll(query("DELETE FROM folders")),
      query("DELETE FROM facts"),
    ],

    node: nodes,
    putNode: nodes.changing(putNode, 1),
    /** The same of one that may be known. @returns whether it is new. */
    learnNode: (state: NodeState): boolean => {
      const known = nodes.get(state.node);
      if (known !== undefined && known.seq >= state.seq) return false;
      putNode.run(...nodeValues(state));
      nodes.keep(rowOf(state), state.node);
      return known === undefined;
    },
    dropNode: nodes.changing(query("DELETE FROM nodes WHERE node = ?"), 1),
    unnamed: query<{ node: number }>(
      "SELECT node FROM nodes WHERE NOT EXISTS (SELECT 1 FROM names WHERE names.node = nodes.node)",
    ),

    name: names,
    putName: (folder: number, name: string, node: number, seq: number): void => {
      putName.run(folder, name, node, seq);
      names.keep({ name, node, seq }, folder, name);
    },
    dropName: names.changing(query("DELETE FROM names WHERE folder = ? AND name = ?"), 2),
    namesOf: query<NameRow & { folder: number }>("SELECT folder, name, node, seq FROM names WHERE node = ?"),
    firstNameOf: query<{ folder: number; name: string }>(
      "SELECT folder, name FROM names WHERE node = ? ORDER BY folder, name LIMIT 1",
    ),
    namesIn: query<NameRow>("SELECT name, node, seq FROM names WHERE folder = ?"),
    dropNamesIn: names.changingAll(query("DELETE FROM names WHERE folder = ?")),
    olderNamesIn: query<NameRow>("SELECT name, node, seq FROM names WHERE folder = ? AND seq < ?"),
    dropOlderNamesIn: names.changingAll(query("DELETE FROM names WHERE folder = ? AND seq < ?")),
    /** Rows without a state are kept out by the join: a folder is not complete with such a name. */
    entriesIn: query<NodeRow & { name: string }>(
      `SELECT names.name, ${NODE_COLUMNS} FROM names JOIN nodes ON nodes.node = names.node
       WHERE names.folder = ? ORDER BY names.name`,
    ),

    /** folder, name that they come after, how many. */
    entriesAfter: query<NodeRow & { name: string }>(
      `SELECT names.name, ${NODE_COLUMNS} FROM names JOIN nodes ON nodes.node = names.node
       WHERE names.folder = ? AND names.name > ? ORDER BY names.name LIMIT ?`,
    ),
    /** folder, type of a folder. */
    sortedNames: {
      name: sortedBy("names.name COLLATE NOCASE, names.name"),
      size: sortedBy("size DESC, names.name"),
      modified: sortedBy("mtime DESC, names.name"),
    },
    /** node, type of a file. A file with several names counts once. */
    filesAt: query<{ files: number; bytes: number }>(
      `WITH RECURSIVE below(node) AS (
         SELECT ? UNION SELECT names.node FROM names JOIN below ON names.folder = below.node WHERE names.node <> 0
       ) SELECT count(*) AS files, coalesce(sum(size), 0) AS bytes FROM below JOIN nodes ON nodes.node = below.node
       WHERE type = ?`,
    ),

    /** folder, how many names are looked at, type, least and greatest size, size, how many are wanted. */
    nodesOfSize: query<{ node: number }>(
      `SELECT nodes.node FROM (SELECT node FROM names WHERE folder = ? LIMIT ?) AS some JOIN nodes ON nodes.node = some.node
       WHERE type = ? AND size BETWEEN ? AND ? ORDER BY abs(size - ?), nodes.node LIMIT ?`,
    ),

    dropTombstonesIn: names.changingAll(query("DELETE FROM names WHERE folder = ? AND node = 0 AND seq <= ?")),
    dropPassedTombstones: names.changingAll(
      query("DELETE FROM names WHERE node = 0 AND seq <= ? AND folder IN (SELECT folder FROM folders)"),
    ),
    tombstones: query<{ n: number; seq: number | null }>(
      "SELECT count(*) AS n, max(seq) AS seq FROM names WHERE node = 0",
    ),

    folder: folders,
    putFolder: folders.changing(query("INSERT OR REPLACE INTO folders VALUES (?, ?)"), 1),
    dropFolder: folders.changing(query("DELETE FROM folders WHERE folder = ?"), 1),
    dropFolders: folders.changingAll(query("DELETE FROM folders")),
    countBelow: query<{ n: number }>(
      `WITH RECURSIVE below(node) AS (
         SELECT node FROM names WHERE folder = ? AND node <> 0
         UNION SELECT names.node FROM names JOIN below ON names.folder = below.node WHERE names.node <> 0
       ) SELECT count(*) AS n FROM below`,
    ),
    counts: query<{ nodes: number; names: number; completeFolders: number }>(
      `SELECT (SELECT count(*) FROM nodes) AS nodes, (SELECT count(*) FROM names WHERE node <> 0) AS names,
       (SELECT count(*) FROM folders) AS completeFolders`,
    ),
  };
}
