// Stands for the agent's own this-system.ts: macOS, over programs that answer as its mount(8) and umount(8) do. Drives
// are FUSE's, which are told as macFUSE's.
const HOST = "../../../app/src/agent/control/host/darwin/";
const at = (name: string): string => new URL(`${HOST}${name}`, import.meta.url).href;

const { darwinSystem } = (await import(at("system.ts"))) as { darwinSystem: object };
const { DarwinMountTable } = (await import(at("mount-table.ts"))) as {
  DarwinMountTable: new (clock: unknown, programs: object) => object;
};

/** Fields of mountinfo: the mount point is the fifth; type and source come behind the dash. */
const LIST = `awk '{
  split($0, half, " - "); split(half[1], before, " "); split(half[2], after, " ")
  gsub(/\\\\040/, " ", before[5]); sub(/^fuse.*/, "macfuse", after[1])
  print after[2] " on " before[5] " (" after[1] ", nodev, nosuid, mounted by ada)"
}' /proc/self/mountinfo`;
const UNMOUNT = '[ "$1" = -f ] && { umount -l -- "$2" || fusermount3 -u -z -- "$2"; }';
const PROGRAMS = {
  mount: ["sh", "-c", LIST],
  umount: ["sh", "-c", UNMOUNT, "umount"],
  node: [process.execPath],
};

export const thisSystem = {
  ...darwinSystem,
  mapsNfs: false,
  mountTable: (clock: unknown) => new DarwinMountTable(clock, PROGRAMS),
};
