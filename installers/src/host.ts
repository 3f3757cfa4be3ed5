// The systems for which trees are packed: which addons go in and where they were built, and whether Node comes along.

export interface Host {
  /** Platform and processor in Node's words, as addons' folders and files are named. */
  name: string;
  /** Else the Node of the system runs it. */
  bringsNode: boolean;
  addons: { folder: string; names: readonly string[] };
}

export const LINUX: Host = {
  name: "linux-x64",
  bringsNode: true,
  addons: { folder: "native/build", names: ["core", "drive"] },
};

/** Drives are served over NFS there: that of macFUSE is built where macFUSE is installed only. */
const mac = (processor: string): Host => ({
  name: `darwin-${processor}`,
  bringsNode: false,
  addons: { folder: `native/prebuilds/darwin-${processor}`, names: ["core", "loopback"] },
});

export const MACS: readonly Host[] = ["arm64", "x64"].map(mac);
