// Which right on its volume a request needs (W72). A new kind of request does not compile until it stands here.
import type { RequestName } from "@runnel/shared";
import { RunnelError } from "@runnel/shared";
import type { Right } from "../auth/access-file.ts";

const NEEDS: Record<RequestName, Right | "none"> = {
  hello: "none",
  join: "none",
  attach: "read",
  detach: "read",
  find: "read",
  findGet: "read",
  status: "read",
  stat: "read",
  getHash: "read",
  fetch: "read",
  xattrs: "read",
  space: "read",
  whenUp: "read",
  // Ids for what a client makes.
  newNodes: "write",
  make: "write",
  link: "write",
  rename: "write",
  remove: "write",
  removeAll: "write",
  setAttr: "write",
  write: "write",
};

/** @throws ReadOnly */
export function mustBeAllowed(name: RequestName, right: Right): void {
  if (NEEDS[name] !== "write" || right === "write") return;
  throw new RunnelError(
    "ReadOnly",
    name,
    "This device may only read here. Ask whoever runs the server for an invite that lets it write.",
  );
}
