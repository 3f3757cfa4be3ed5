// A thousand mounts and a thousand attachments leave nothing behind.
import { afterEach, beforeEach, describe, expect, test } from "@jest/globals";
import { randomBytes } from "node:crypto";
import { readdirSync } from "node:fs";
import { LocalSecrets, WsDialer } from "@runnel/shared";
import { Control, Sandbox, descriptorCount, mountsBelow, onMount, waitFor } from "../src/harness/index.ts";
import { bareConnection } from "../src/harness/clients/wire-client.ts";

const CYCLES = 1000;
/** Everything that is made once and kept (threads, statements, sockets that wait to be reused) is there by then. */
const WARM_CYCLES = 20;
const TEST_MS = 30 * 60_000;
const SETTLED_MS = 30_000;

let sandbox: Sandbox;

beforeEach(() => {
  sandbox = new Sandbox(TEST_MS);
});

afterEach(() => sandbox.cleanup(), 120_000);

interface Held {
  descriptors: number;
  threads: number;
}

function heldBy(pid: number): Held {
  return { descriptors: descriptorCount(pid), threads: readdirSync(`/proc/${pid}/task`).length };
}

/** Waits a moment: resources of the last cycle are released a little later. */
async function expectNoMore(pid: number, before: Held, who: string): Promise<void> {
  const isBack = (): boolean => {
    const { descriptors, threads } = heldBy(pid);
    return descriptors <= before.descriptors && threads <= before.threads;
  };
  await waitFor(isBack, SETTLED_MS, `${who} to hold no more than ${JSON.stringify(before)}`).catch((error: unknown) => {
    throw new Error(`${who} holds ${JSON.stringify(heldBy(pid))}`, { cause: error });
  });
}

describe("leaks", () => {
  test(
    `${CYCLES} cycles of mount and unmount leave no mount, no descriptor and no thread behind`,
    async () => {
      const server = await sandbox.startServer();
      const device = sandbox.device();
      const mountpoint = sandbox.makeFolder("drive");
      const url = `${server.url}/docs`;
      await device.mount(url, mountpoint); // Starts the agent.
      await onMount('echo hello >"$1/a.txt"', [mountpoint]);
      await device.unmount(mountpoint);
      const control = await Control.of(device);
      const agent = device.agentPid();
      const serverPid = server.child.pid ?? 0;
      const before: { agent?: Held; server?: Held } = {};
      for (let cycle = 0; cycle < CYCLES; cycle++) {
        await control.ask({ verb: "mount", url, mountpoint, mode: "sync" });
        // A drive that was used has more to let go of.
        if (cycle % 50 === 0) await onMount('cat "$1/a.txt"; echo more >>"$1/a.txt"', [mountpoint]);
        await control.ask({ verb: "unmount", mountpoint, force: false });
        if (cycle === WARM_CYCLES) Object.assign(before, { agent: heldBy(agent), server: heldBy(serverPid) });
      }
      expect(mountsBelow(sandbox.folder)).toEqual([]);
      expect(device.agentPid()).toBe(agent);
      await expectNoMore(agent, before.agent as Held, "the agent");
      await expectNoMore(serverPid, before.server as Held, "the server");
      control.close();
    },
    TEST_MS,
  );

  test(
    `${CYCLES} attachments of as many instances leave no descriptor at the server`,
    async () => {
      const server = await sandbox.startServer();
      const pid = server.child.pid ?? 0;
      const attachOnce = async (isOrderly: boolean): Promise<void> => {
        const link = await new WsDialer(() => ({}), LocalSecrets.ofUser(sandbox.env)).dial(server.url);
        const connection = bareConnection(link);
        await connection.call("hello", { protocol: 1, software: "test client", proof: link.ownerProof });
        const instance = randomBytes(16).toString("hex");
        const feed = connection.open("attach", { volume: "docs", instance, wantsNodes: true });
        await feed.next();
        if (isOrderly) feed.end();
        link.close(1000, "done");
      };
      let before: Held | undefined;
      for (let cycle = 0; cycle < CYCLES; cycle++) {
        await attachOnce(cycle % 2 === 0);
        if (cycle === WARM_CYCLES) before = heldBy(pid);
      }
      await expectNoMore(pid, before as Held, "the server");
    },
    TEST_MS,
  );
});
