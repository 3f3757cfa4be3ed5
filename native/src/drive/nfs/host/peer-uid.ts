// Says whose the other end of a TCP connection on loopback is, as the system knows it.
import { readFile } from "node:fs/promises";

/**
 * The user whose socket has that port and is connected to `ourPort`; undefined when there is no such socket; "unknown"
 * on systems that do not say.
 */
export type PeerUid = (theirPort: number, ourPort: number) => Promise<number | undefined | "unknown">;

export const peerUid: PeerUid = process.platform === "linux" ? linuxPeerUid : async () => "unknown";

/** Tables of TCP sockets (proc_pid_net(5)); one of IPv6 may be connected to an address of IPv4. */
const TABLES = [
  { path: "/proc/self/net/tcp", loopback: "0100007F" },
  { path: "/proc/self/net/tcp6", loopback: "0000000000000000FFFF00000100007F" },
];

async function linuxPeerUid(theirPort: number, ourPort: number): Promise<number | undefined> {
  for (const { path, loopback } of TABLES) {
    let table: string;
    try {
      table = await readFile(path, "latin1");
    } catch {
      continue; // a machine without IPv6
    }
    const uid = uidIn(table, `${loopback}:${hexPort(theirPort)}`, `${loopback}:${hexPort(ourPort)}`);
    if (uid !== undefined) return uid;
  }
  return undefined;
}

const hexPort = (port: number): string => port.toString(16).toUpperCase().padStart(4, "0");

/** TCP_ESTABLISHED, as the table has it. */
const ESTABLISHED = "01";

/**
 * local_address rem_address st tx:rx tr:when retrnsmt UID … ; addresses as the machine stores them, in hex. A socket
 * that its program has closed is shown as root's, so that only those that are open say whose they are.
 */
export function uidIn(table: string, local: string, remote: string): number | undefined {
  const ends = `${local} ${remote} ${ESTABLISHED} `;
  const at = table.indexOf(ends);
  if (at === -1) return undefined;
  const [, , , uid] = table.slice(at + ends.length).split(/\s+/, 4);
  return Number(uid);
}
