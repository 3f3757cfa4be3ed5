// Devices: own ones by everybody, all by an admin, who also changes rights.
import { RunnelError } from "@runnel/shared";
import { ACTS, listedDevice } from "../../admin/acts.ts";
import { ADMIN_REQUESTS, ADMIN_RESULTS } from "../../admin/messages.ts";
import { consoleVerb } from "../console-verb.ts";

export const devices = consoleVerb(
  { asks: ADMIN_REQUESTS.devices, gives: ADMIN_RESULTS.devices },
  {
    role: "user",
    async handle(deps, request, { actor, role, name }) {
      if (role === "admin") return ACTS.devices(deps, actor, request);
      deps.security.audit.note({ who: actor, act: "devices", result: "done" });
      const own = deps.security.devices.list().filter(({ person }) => person === name);
      return { devices: own.map((device) => listedDevice(deps, device)) };
    },
  },
);

export const revoke = consoleVerb(
  { asks: ADMIN_REQUESTS.revoke, gives: ADMIN_RESULTS.revoke },
  {
    role: "user",
    async handle(deps, request, { actor, role, name }) {
      if (role !== "admin") {
        const isOwn = deps.security.devices.list().some(({ id, person }) => id === request.device && person === name);
        if (!isOwn) {
          // The answer says nothing about the devices of others.
          deps.security.audit.note({ who: actor, act: "revoke", object: request.device, result: "NotFound" });
          throw new RunnelError("NotFound", "revoke", "You have no such device. Name one of yours by its id.");
        }
      }
      return ACTS.revoke(deps, actor, request);
    },
  },
);

export const setRight = consoleVerb(
  { asks: ADMIN_REQUESTS.right, gives: ADMIN_RESULTS.right },
  { role: "admin", handle: (deps, request, { actor }) => ACTS.right(deps, actor, request) },
);
