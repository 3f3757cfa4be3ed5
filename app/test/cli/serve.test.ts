import { describe, expect, test } from "@jest/globals";
import {
  parseAddresses,
  parseConnections,
  parseListen,
  parseNetworks,
  parseTerm,
  parseVolumes,
} from "../../src/cli/verbs/serve.ts";

describe("where a server listens", () => {
  test.each<[string, string, number]>([
    ["127.0.0.1:7473", "127.0.0.1", 7473],
    ["localhost:0", "localhost", 0],
    ["[::1]:65535", "::1", 65_535],
  ])("%s", (typed, host, port) => {
    expect(parseListen(typed)).toEqual({ host, port });
  });

  test.each(["7473", ":7473", "127.0.0.1", "127.0.0.1:", "127.0.0.1:65536", "::1:7473", "a:b", "a:-1", ""])(
    "is not %j",
    (typed) => {
      expect(() => parseListen(typed)).toThrow(expect.objectContaining({ kind: "Invalid" }));
    },
  );
});

describe("a volume to serve", () => {
  test("is a name and a folder, which may hold an equals sign", () => {
    expect(parseVolumes(["docs=/srv/docs", "a=/b=c"])).toEqual([
      { name: "docs", folder: "/srv/docs" },
      { name: "a", folder: "/b=c" },
    ]);
  });

  test.each(["docs", "=", "docs=", "=/srv"])("is not %j", (typed) => {
    expect(() => parseVolumes([typed])).toThrow(expect.objectContaining({ kind: "Invalid" }));
  });
});

describe("a lease term", () => {
  test("is whole seconds", () => {
    expect([parseTerm("1"), parseTerm("20"), parseTerm("600")]).toEqual([1, 20, 600]);
  });

  test.each(["0", "601", "-1", "1.5", "20s", ""])("is not %j", (typed) => {
    expect(() => parseTerm(typed)).toThrow(expect.objectContaining({ kind: "Invalid" }));
  });
});

test("a count of connections is a whole number from 1 to 100,000", () => {
  expect([parseConnections("1"), parseConnections("4096"), parseConnections("100000")]).toEqual([1, 4096, 100_000]);
  for (const typed of ["", "0", "-1", "1.5", "1e3", "100001", "many"])
    expect(() => parseConnections(typed)).toThrow(expect.objectContaining({ kind: "Invalid" }));
});

test("an address that browsers know the console by is HOST or HOST:PORT", () => {
  const good = ["files.example.org", "files:8443", "192.0.2.7", "[2001:db8::7]:443"];
  expect(parseAddresses(good)).toEqual(good);
  for (const typed of ["", "https://files", "files/", "files:port", "a b", "user@files"])
    expect(() => parseAddresses([typed])).toThrow(expect.objectContaining({ kind: "Invalid" }));
});

test("a network is a name and ranges of addresses", () => {
  expect(parseNetworks(["berlin=10.1.0.0/16,203.0.113.7", "lab=2001:db8::/32"])).toEqual([
    { name: "berlin", ranges: ["10.1.0.0/16", "203.0.113.7"] },
    { name: "lab", ranges: ["2001:db8::/32"] },
  ]);
  for (const typed of ["", "berlin", "berlin=", "=10.0.0.0/8"])
    expect(() => parseNetworks([typed])).toThrow(expect.objectContaining({ kind: "Invalid" }));
});
