// The server's own key and certificate, and those that an administrator brings along.
import { X509Certificate } from "node:crypto";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeEach, describe, expect, test } from "@jest/globals";
import {
  type DiskRoot,
  SimulatedClock,
  SimulatedDisk,
  fingerprintOf,
  givenIdentity,
  ownIdentity,
  readWhole,
  replaceWhole,
  vouchesForItself,
} from "@runnel/shared";
import { newAuthority, signedBy } from "./certificates.ts";

let disk: SimulatedDisk;
let root: DiskRoot;

beforeEach(async () => {
  disk = new SimulatedDisk({ clock: new SimulatedClock(), seed: 1 });
  root = await disk.openRoot("/data/_server", { permissions: 0o700 });
});

const OWNER = { hostname: "files", name: "Runnel server", loss: "all devices need new invites" };
const printOf = (pem: string): string => fingerprintOf(new X509Certificate(pem));

describe("the server's own key", () => {
  test("[F90] is made once, kept from others, and the same after a power cut", async () => {
    const first = await ownIdentity(root, OWNER);
    expect((await root.stat("key.pem")).mode & 0o777).toBe(0o600);
    disk.crash();
    root = await disk.openRoot("/data/_server", { permissions: 0o700 });
    expect(await ownIdentity(root, OWNER)).toEqual(first);
  });

  test("[F90] vouches for itself, for this machine's name, without an end", async () => {
    const identity = await ownIdentity(root, OWNER);
    const certificate = new X509Certificate(identity.certificate);
    expect(vouchesForItself(identity)).toBe(true);
    expect(certificate.subjectAltName).toBe("DNS:files, DNS:localhost");
    expect(certificate.validToDate.getUTCFullYear()).toBe(9999);
    expect(certificate.publicKey.asymmetricKeyDetails).toEqual({ namedCurve: "prime256v1" });
  });

  test("[F90] stays when its certificate is lost, or another key's: invites name the key", async () => {
    const first = await ownIdentity(root, OWNER);
    await root.removeFile("certificate.pem");
    const second = await ownIdentity(root, { ...OWNER, hostname: "renamed" });
    expect(second.key).toBe(first.key);
    expect(printOf(second.certificate)).toBe(printOf(first.certificate));
    const strange = await signedBy(await newAuthority(), { dns: ["x"] });
    await replaceWhole(root, "certificate.pem", strange.certificate);
    expect(printOf((await ownIdentity(root, OWNER)).certificate)).toBe(printOf(first.certificate));
  });

  test.each(["key.pem", "certificate.pem"])("[F90] is not made anew when %s is damaged", async (name) => {
    await ownIdentity(root, OWNER);
    await replaceWhole(root, name, "-----BEGIN NOTHING-----");
    await expect(ownIdentity(root, OWNER)).rejects.toMatchObject({ kind: "Corrupt" });
    expect(await readWhole(root, name)).toBe("-----BEGIN NOTHING-----");
  });
});

describe("a certificate of an administrator's own", () => {
  const folder = mkdtempSync(join(tmpdir(), "rnl-"));
  const write = (name: string, text: string): string => {
    const path = join(folder, name);
    writeFileSync(path, text);
    return path;
  };

  afterAll(() => rmSync(folder, { recursive: true }));

  test("is used with its key; what an authority signed does not vouch for itself", async () => {
    const identity = await signedBy(await newAuthority(), { dns: ["files.example"] });
    const given = await givenIdentity(write("c.pem", identity.certificate), write("k.pem", identity.key));
    expect(given).toEqual(identity);
    expect(vouchesForItself(given)).toBe(false);
  });

  test("is refused in one sentence when it is none, or has another key", async () => {
    const [one, two] = [await ownIdentity(root, OWNER), await signedBy(await newAuthority(), { dns: ["b"] })];
    const certificate = write("one.pem", one.certificate);
    const ofTwo = write("two-key.pem", two.key);
    const nothing = write("nothing.pem", "nothing");
    await expect(givenIdentity(certificate, ofTwo)).rejects.toMatchObject({
      kind: "Invalid",
      message: `${ofTwo} is not the key of the first certificate in ${certificate}. Name the two that go together.`,
    });
    await expect(givenIdentity(nothing, ofTwo)).rejects.toMatchObject({
      kind: "Invalid",
      message: `${nothing} holds no certificate in PEM form.`,
    });
    await expect(givenIdentity(certificate, nothing)).rejects.toMatchObject({ kind: "Invalid" });
    await expect(givenIdentity(join(folder, "missing"), ofTwo)).rejects.toMatchObject({
      kind: "NotFound",
      message: `${join(folder, "missing")} does not exist. Name a file in PEM form.`,
    });
  });
});
