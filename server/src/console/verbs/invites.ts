// Invites: made, listed and withdrawn by an admin.
import { ACTS } from "../../admin/acts.ts";
import { ADMIN_REQUESTS, ADMIN_RESULTS } from "../../admin/messages.ts";
import { consoleVerb } from "../console-verb.ts";

export const invite = consoleVerb(
  { asks: ADMIN_REQUESTS.invite, gives: ADMIN_RESULTS.invite },
  { role: "admin", handle: (deps, request, { actor }) => ACTS.invite(deps, actor, request) },
);

export const invites = consoleVerb(
  { asks: ADMIN_REQUESTS.invites, gives: ADMIN_RESULTS.invites },
  { role: "admin", handle: (deps, request, { actor }) => ACTS.invites(deps, actor, request) },
);

export const withdraw = consoleVerb(
  { asks: ADMIN_REQUESTS.withdraw, gives: ADMIN_RESULTS.withdraw },
  { role: "admin", handle: (deps, request, { actor }) => ACTS.withdraw(deps, actor, request) },
);
