// Fuzz target: datagrams of mDNS, through the reader of DNS that the sockets have.
import { EventEmitter } from "node:events";
import type { Socket } from "node:dgram";
import { SimulatedClock } from "@runnel/shared";
import { type FuzzTarget, requireThat } from "@runnel/shared/test/fuzz/target.ts";
import multicastDns from "multicast-dns";
import { onLink } from "../../../src/agent/colleagues/nearby/lan-multicast.ts";
import { Nearby } from "../../../src/agent/colleagues/nearby/nearby.ts";
import {
  type NearbyMessage,
  nearbyAnswer,
  nearbyQuestion,
  readNearby,
} from "../../../src/agent/colleagues/nearby/nearby-messages.ts";

const KEY = Buffer.alloc(32, 7).toString("base64url");

/** A socket that keeps what is sent; what it emits is as if it had come. */
class FakeSocket extends EventEmitter {
  readonly sent: Uint8Array[] = [];
  send(bytes: Uint8Array): void {
    this.sent.push(bytes);
  }
}

function readerOn(socket: FakeSocket): multicastDns.MulticastDNS {
  return multicastDns({ socket: socket as unknown as Socket, bind: false, multicast: false });
}

/** Returns the bytes of a message. */
export async function datagramOf(message: NearbyMessage): Promise<Uint8Array> {
  const socket = new FakeSocket();
  const writer = readerOn(socket);
  if (message.type === "query") writer.query(message);
  else writer.respond(message);
  await new Promise<void>((resolve) => void setImmediate(resolve));
  return Uint8Array.from(socket.sent[0] ?? []);
}

/** Whatever a datagram of the link was read as. */
export function readDatagram(bytes: Uint8Array): unknown[] {
  if (!onLink("10.0.0.7/24")(bytes, { address: "10.0.0.1" })) return [];
  const socket = new FakeSocket();
  const reader = readerOn(socket);
  const read: unknown[] = [];
  reader.on("query", (message) => read.push(message));
  reader.on("response", (message) => read.push(message));
  socket.emit("message", Buffer.from(bytes), { address: "10.0.0.1" });
  return read;
}

export async function nearby(): Promise<FuzzTarget> {
  const place = { key: KEY, port: 4711 };
  return {
    structure: "bytes",
    seeds: await Promise.all([nearbyQuestion(), nearbyAnswer(place), nearbyAnswer(place, true)].map(datagramOf)),
    run: (input) => {
      let hear: (message: unknown) => void = () => undefined;
      const multicast = (events: { heard(message: unknown, address: string): void }) => {
        hear = (message) => events.heard(message, "10.0.0.1");
        return { say: () => undefined, close: async () => undefined };
      };
      new Nearby({ clock: new SimulatedClock(), multicast }).open({}, { key: "own", port: 1 });
      for (const message of readDatagram(input)) {
        hear(message);
        for (const { key, port } of readNearby(message).told)
          requireThat(Buffer.from(key, "base64url").length === 32 && port > 0 && port < 65_536, "a place is one");
      }
    },
  };
}
