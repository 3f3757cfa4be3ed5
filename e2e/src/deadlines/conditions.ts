// Conditions that may befall a link, a server or an agent.
import type { LinkEmulator } from "../emulator/index.ts";
import type { Device, ServerProcess } from "../harness/index.ts";
import type { Knows, Link } from "./expectations.ts";

export interface Place {
  server: ServerProcess;
  links: readonly LinkEmulator[];
  devices: readonly Device[];
}

export interface Condition {
  name: string;
  link: Link;
  /** Stages of what the client comes to know, one after the other. */
  phases: readonly Knows[];
  begin(place: Place): Promise<void>;
  end(place: Place): Promise<void>;
}

const KILOBYTE_PER_SECOND = { upBitsPerSecond: 8000, downBitsPerSecond: 8000 };
const NO_LIMIT = { upBitsPerSecond: Infinity, downBitsPerSecond: Infinity };
const FLAP_UP_MS = 1000;
const FLAP_DOWN_MS = 500;

async function onLinks(place: Place, work: (link: LinkEmulator) => Promise<void>): Promise<void> {
  await Promise.all(place.links.map(work));
}

const restore = (place: Place): Promise<void> => onLinks(place, (link) => link.restore());

export const CONDITIONS: readonly Condition[] = [
  {
    name: "cut",
    link: "none",
    phases: ["leased", "offline"],
    begin: (place) => onLinks(place, (link) => link.cut("refuse")),
    end: restore,
  },
  {
    name: "black hole",
    link: "none",
    phases: ["leased", "asks", "offline"],
    begin: (place) => onLinks(place, (link) => link.blackHole()),
    end: restore,
  },
  {
    name: "stopped server",
    link: "none",
    phases: ["leased", "asks", "offline"],
    begin: async ({ server }) => server.pause(),
    end: async ({ server }) => server.goOn(),
  },
  {
    name: "flapping",
    link: "some",
    phases: ["asks"],
    begin: (place) => onLinks(place, (link) => link.flap(FLAP_UP_MS, FLAP_DOWN_MS)),
    end: restore,
  },
  {
    name: "stalled agent",
    link: "stalled",
    phases: ["leased"],
    begin: async ({ devices }) => {
      for (const device of devices) device.stallAgent();
    },
    end: async () => undefined,
  },
  // The last, since a client that could not acknowledge in time asks for a while.
  {
    name: "1 kB/s",
    link: "some",
    phases: ["asks"],
    begin: (place) => onLinks(place, (link) => link.setShape(KILOBYTE_PER_SECOND)),
    end: (place) =>
      onLinks(place, async (link) => {
        await link.setShape(NO_LIMIT);
        // Bytes that are under way would still come out at the old rate.
        await link.cut("accept");
      }),
  },
];
