// The folders of a drive, for a page: some rows of one by their place.
import { z } from "zod";
import { FolderPage } from "../../agent/mount-status.ts";
import { FOLDER_ORDERS } from "../../agent/view/folder-list.ts";
import { text } from "../schemas.ts";
import { agentVerb } from "../verb.ts";

const ROWS_MAX = 500;

const schemas = {
  /** `path`: of a folder in the drive, "" for the drive. */
  asks: z.object({
    mountpoint: text,
    path: text,
    from: z.int().nonnegative(),
    count: z.int().positive().max(ROWS_MAX),
    order: z.enum(FOLDER_ORDERS),
  }),
  gives: FolderPage,
};

export const folder = agentVerb(schemas, {
  pageAsks: schemas.asks,
  async handle(agent, { mountpoint, path, ...range }) {
    const mount = await agent.mountAt("list", mountpoint);
    return mount.folder(path, range);
  },
});
