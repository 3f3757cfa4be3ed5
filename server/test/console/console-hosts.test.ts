// Hosts under which the console is shown: exactly those that are this server's.
import { expect, test } from "@jest/globals";
import { ConsoleHosts, type HostsSettings } from "../../src/console/console-hosts.ts";

function hosts(settings: Partial<HostsSettings> = {}): ConsoleHosts {
  const ownAddresses = (): string[] => ["192.0.2.7", "2001:db8::7"];
  return new ConsoleHosts({
    port: 7473,
    hostname: "Files",
    addresses: [],
    certificate: () => undefined,
    ownAddresses,
    ...settings,
  });
}

test.each([
  "localhost:7473",
  "files:7473",
  "FILES:7473",
  "127.0.0.1:7473",
  "[::1]:7473",
  "192.0.2.7:7473",
  "[2001:db8::7]:7473",
])("%j is one of this server's", (host) => expect(hosts().has(host)).toBe(true));

test.each([
  "",
  "files",
  "files:7474",
  "files:7473:7473",
  "files:7473.evil.example",
  "files.evil.example:7473",
  "evil.example:7473",
  "192.0.2.8:7473",
  "2001:db8::7:7473",
  "user@files:7473",
  "files:7473/",
  "127.0.0.2:7473",
])("%j is none", (host) => expect(hosts().has(host)).toBe(false));

test("names that the server was told of are its own, with its port or with theirs", () => {
  const told = hosts({ addresses: ["files.example.org", "gate.example.org:443", "[2001:db8::9]"] });
  for (const host of ["files.example.org:7473", "gate.example.org", "gate.example.org:443", "[2001:db8::9]:7473"])
    expect(told.has(host)).toBe(true);
  for (const host of ["files.example.org", "gate.example.org:7473"]) expect(told.has(host)).toBe(false);
});

test("at the usual port a browser names none", () => {
  expect(hosts({ port: 443 }).has("files")).toBe(true);
  expect(hosts({ port: 443 }).has("files:7473")).toBe(false);
});
