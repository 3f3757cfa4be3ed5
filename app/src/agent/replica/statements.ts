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

/** A file with more names is asked for them each time: they would take too much memory. */
const NAMES_KEPT_MAX = 16;

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
  const allNamesOf = query<NameRow & { folder: number }>("SELECT folder, name, node, seq FROM names WHERE node = ?");
  const namesOf = new RecentRows(db, { get: (node) => allNamesOf.all(node) });
  /** A statement that changes any rows. */
  const changingAny = (statement: Query, ...recent: { clear(): void }[]): Pick<Query, "run"> => ({
    run: (...values) => {
      for (const rows of recent) rows.clear();
      return statement.run(...values);
    },
  });
  /** Newer wins. */
  const putNode = query(
    `INSERT INTO nodes VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
     ON CONFLICT (node) DO UPDATE SET ${UPDATED} WHERE excluded.seq > nodes.seq`,
  );
  const putName = query(
    `INSERT INTO names VALUES (?, ?, ?, ?)
     ON CONFLICT (folder, name) DO UPDATE SET node = excluded.node, seq = excluded.seq`,
  );
  const dropName = query("DELETE FROM names WHERE folder = ? AND name = ?");
  /** The name is about to be another node's, or nobody's. */
  const leaveName = (folder: number, name: string): void => {
    const left = names.get(folder, name);
    if (left !== undefined) namesOf.forget(left.node);
  };
  return {
    facts: query<{ epoch: string; root: number; seq: number; isWhole: number }>(
      "SELECT epoch, root, seq, isWhole FROM facts",
    ),
    putFacts: query("INSERT OR REPLACE INTO facts VALUES (1, ?, ?, ?, ?)"),
    clear: [
      changingAny(query("DELETE FROM nodes"), nodes),
      changingAny(query("DELETE FROM names"), names, namesOf),
      changingAny(query("DELETE FROM folders"), folders),
      query("DELETE FROM facts"),
    ],

    node: nodes,
    putNode: nodes.changing(putNode),
    /** The same of one that may be known. @returns whether it is new. */
    learnNode: (state: NodeState): boolean => {
      const known = nodes.get(state.node);
      if (known !== undefined && known.seq >= state.seq) return false;
      putNode.run(...nodeValues(state));
      nodes.keep(rowOf(state), state.node);
      return known === undefined;
    },
    dropNode: nodes.changing(query("DELETE FROM nodes WHERE node = ?")),
    unnamed: query<{ node: number }>(
      "SELECT node FROM nodes WHERE NOT EXISTS (SELECT 1 FROM names WHERE names.node = nodes.node)",
    ),

    name: names,
    putName: (folder: number, name: string, node: number, seq: number): void => {
      leaveName(folder, name);
      putName.run(folder, name, node, seq);
      names.keep({ name, node, seq }, folder, name);
      namesOf.forget(node);
    },
    dropName: (folder: number, name: string): void => {
      leaveName(folder, name);
      dropName.run(folder, name);
      names.keep(undefined, folder, name);
    },
    namesOf: (node: number): readonly Readonly<NameRow & { folder: number }>[] => {
      const found = namesOf.get(node) ?? [];
      if (found.length > NAMES_KEPT_MAX) namesOf.forget(node);
      return found;
    },
    firstNameOf: query<{ folder: number; name: string }>(
      "SELECT folder, name FROM names WHERE node = ? ORDER BY folder, name LIMIT 1",
    ),
    namesIn: query<NameRow>("SELECT name, node, seq FROM names WHERE folder = ?"),
    dropNamesIn: changingAny(query("DELETE FROM names WHERE folder = ?"), names, namesOf),
    olderNamesIn: query<NameRow>("SELECT name, node, seq FROM names WHERE folder = ? AND seq < ?"),
    dropOlderNamesIn: changingAny(query("DELETE FROM names WHERE folder = ? AND seq < ?"), names, namesOf),
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
    /** folder, how many names come before. */
    nameAt: query<{ name: string }>("SELECT name FROM names WHERE folder = ? LIMIT 1 OFFSET ?"),
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

    dropTombstonesIn: changingAny(
      query("DELETE FROM names WHERE folder = ? AND node = 0 AND seq <= ?"),
      names,
      namesOf,
    ),
    dropPassedTombstones: changingAny(
      query("DELETE FROM names WHERE node = 0 AND seq <= ? AND folder IN (SELECT folder FROM folders)"),
      names,
      namesOf,
    ),
    tombstones: query<{ n: number; seq: number | null }>(
      "SELECT count(*) AS n, max(seq) AS seq FROM names WHERE node = 0",
    ),

    folder: folders,
    putFolder: folders.changing(query("INSERT OR REPLACE INTO folders VALUES (?, ?)")),
    dropFolder: folders.changing(query("DELETE FROM folders WHERE folder = ?")),
    dropFolders: changingAny(query("DELETE FROM folders"), folders),
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
