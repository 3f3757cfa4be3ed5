// All that is fuzzed, by the module that says how, and how many inputs each gets in a long run: what is slow and seldom
// reached from outside gets fewer.
export interface Share {
  module: URL;
  name: string;
  inputs: number;
}

const PROTOCOL = new URL("../../../shared/test/fuzz/protocol-targets.ts", import.meta.url);
const ADDON = new URL("../../../native/test/fuzz-targets.ts", import.meta.url);
const NFS = new URL("../../../native/test/nfs-fuzz-targets.ts", import.meta.url);
const SERVER = new URL("../../../server/test/fuzz-targets.ts", import.meta.url);
const AGENT = new URL("../../../app/test/fuzz-targets.ts", import.meta.url);

const share = (module: URL, name: string, inputs: number): Share => ({ module, name, inputs });

export const EVERY_TARGET: readonly Share[] = [
  share(PROTOCOL, "frames", 200_000),
  share(PROTOCOL, "forms", 200_000),
  share(PROTOCOL, "predicates", 60_000),
  share(PROTOCOL, "recipe deltas", 80_000),
  share(PROTOCOL, "regions", 60_000),
  share(PROTOCOL, "invites", 60_000),
  share(PROTOCOL, "object uris", 60_000),
  share(PROTOCOL, "connections", 40_000),
  share(PROTOCOL, "logs", 50_000),
  share(ADDON, "chunks", 15_000),
  share(ADDON, "edits", 5_000),
  share(ADDON, "unfolding", 80_000),
  share(NFS, "nfs calls", 20_000),
  share(NFS, "nfs records", 60_000),
  share(SERVER, "requests", 5_000),
  share(SERVER, "writes", 15_000),
  share(SERVER, "commits", 80_000),
  share(SERVER, "notes", 30_000),
  share(SERVER, "trash", 30_000),
  share(SERVER, "devices", 20_000),
  share(AGENT, "control", 60_000),
  share(AGENT, "journal", 80_000),
  share(AGENT, "mail references", 60_000),
  share(AGENT, "mail bodies", 60_000),
  share(AGENT, "incoming colleagues", 15_000),
  share(AGENT, "asked colleagues", 15_000),
  share(AGENT, "nearby", 30_000),
];
