// People: listed, added, changed and removed by an admin. A person owns the devices whose invites were for that name.
import { RunnelError } from "@runnel/shared";
import { z } from "zod";
import type { Person } from "../../auth/people-file.ts";
import { isOf } from "../console-sessions.ts";
import { type ConsoleDeps, consoleVerb } from "../console-verb.ts";
import { newPassword, nothing, person, personName, role } from "./schemas.ts";

export const people = consoleVerb(
  { asks: nothing, gives: z.object({ people: z.array(person) }) },
  {
    role: "admin",
    async handle(deps, _request, { actor }) {
      deps.security.audit.note({ who: actor, act: "people", result: "done" });
      return { people: deps.people.list().map((each) => shown(deps, each)) };
    },
  },
);

export const addPerson = consoleVerb(
  {
    /** Without a password nobody can sign in by that name: it only owns devices. */
    asks: z.object({ name: personName, role, password: newPassword.optional() }),
    gives: z.object({ person }),
  },
  {
    role: "admin",
    async handle(deps, { name, role: given, password }, { actor }) {
      const act = { who: actor, act: "personAdd", object: name, detail: describe(given, password) } as const;
      const added = await deps.security.audit.perform(act, () => deps.people.add(name, given, password));
      return { person: shown(deps, added) };
    },
  },
);

export const changePerson = consoleVerb(
  {
    /** Leaves as it is what is not named; `password`: null takes it away. */
    asks: z.object({ name: personName, role: role.optional(), password: newPassword.nullable().optional() }),
    gives: z.object({ person }),
  },
  {
    role: "admin",
    async handle(deps, { name, role: given, password }, { actor, session }) {
      const act = { who: actor, act: "personChange", object: name, detail: describe(given, password) } as const;
      const changed = await deps.security.audit.perform(act, () => deps.people.change(name, { role: given, password }));
      // Ends with them what was begun with the role of before, or by who knew the password of before.
      const sentence = "An admin has changed your role or your password. Sign in again.";
      deps.sessions.end((each) => isOf(each, name) && each.id !== session.id, sentence);
      return { person: shown(deps, changed) };
    },
  },
);

export const removePerson = consoleVerb(
  {
    /** `revokesDevices`: those of this person are shut out as well. */
    asks: z.object({ name: personName, revokesDevices: z.boolean() }),
    gives: z.object({ person, revoked: z.array(z.string()) }),
  },
  {
    role: "admin",
    async handle(deps, { name, revokesDevices }, { actor, name: own }) {
      const { security, people: all, sessions } = deps;
      const revoked: string[] = [];
      const before = await security.audit.perform({ who: actor, act: "personRemove", object: name }, async () => {
        const removed = shown(deps, all.mustFind(name));
        if (name === own) throw new RunnelError("Invalid", "people", "You cannot remove yourself. Ask another admin.");
        await all.remove(name);
        sessions.end((each) => isOf(each, name), "You were removed from this server.");
        return removed;
      });
      if (revokesDevices)
        for (const { id, name: device } of devicesOf(deps, name)) {
          const act = { who: actor, act: "revoke", object: `${device} (${id})` } as const;
          await security.audit.perform(act, () => security.devices.revoke(id));
          revoked.push(device);
        }
      return { person: before, revoked };
    },
  },
);

function describe(given: string | undefined, password: string | null | undefined): string {
  const text = given === undefined ? "" : `Role: ${given}.`;
  const change =
    password === null ? "The password was taken away." : password === undefined ? "" : "A password was set.";
  return `${text} ${change}`.trim();
}

function shown(deps: ConsoleDeps, { name, role: own, password, createdMs }: Person): z.output<typeof person> {
  const devices = devicesOf(deps, name);
  const isOn =
    devices.some(({ id }) => deps.server.connected(id)) || deps.sessions.list().some((each) => isOf(each, name));
  return { name, role: own, hasPassword: password !== undefined, createdMs, devices: devices.length, isOn };
}

function devicesOf({ security }: ConsoleDeps, name: string): { id: string; name: string }[] {
  return security.devices.list().filter((device) => device.person === name && device.revokedMs === undefined);
}
