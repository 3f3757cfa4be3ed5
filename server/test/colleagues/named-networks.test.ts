// Networks that whoever runs the server names: who is in which, and what is refused as one.
import { describe, expect, test } from "@jest/globals";
import { SimulatedClock } from "@runnel/shared";
import { Colleagues } from "../../src/colleagues/colleagues.ts";
import { NamedNetworks } from "../../src/colleagues/named-networks.ts";

describe("named networks", () => {
  const networks = new NamedNetworks([
    { name: "berlin", ranges: ["203.0.113.7", "198.51.100.0/25", "2001:db8:1::/48"] },
    { name: "paris", ranges: ["10.2.0.0/16"] },
    { name: "lab", ranges: ["10.3.0.0/16"] },
  ]);

  test.each([
    ["203.0.113.7", [], "berlin"],
    ["203.0.113.8", [], undefined],
    ["198.51.100.127", [], "berlin"],
    ["198.51.100.128", [], undefined],
    ["::ffff:198.51.100.1", [], "berlin"],
    ["2001:db8:1:ffff::1", [], "berlin"],
    ["2001:db8:2::1", [], undefined],
    ["192.0.2.1", ["10.2.7.7"], "paris"],
    ["192.0.2.1", ["192.168.1.1", "10.3.7.7"], "lab"],
    // The address that the server sees comes first, whatever a client says.
    ["203.0.113.7", ["10.2.7.7"], "berlin"],
    ["", ["", "nonsense", "10.2.0.0/16", "10.2.0.1%eth0"], "paris"],
    ["fe80::1%eth0", [], undefined],
  ])("[W196] have %s, with %j of its own, in %s", (seen, own, name) => {
    expect(networks.networkOf(seen, own)).toBe(name);
  });

  test.each([
    [[["", "10.0.0.0/8"]], "no name"],
    [[["a", ""]], " of the network a is no range"],
    [[["a", "10.0.0.0/33"]], "10.0.0.0/33 of the network a is no range"],
    [[["a", "10.0.0/8"]], "10.0.0/8 of the network a is no range"],
    [[["a", "::/129"]], "::/129 of the network a is no range"],
    [[["a", "fe80::1%eth0/64"]], "is no range"],
    [[["a", "::ffff:10.0.0.1/128"]], "is no range"],
    [[["a", "office"]], "office of the network a is no range"],
    [[["a", "10.0.0.0/8/8"]], "is no range"],
    [
      [
        ["a", "10.0.0.0/8"],
        ["a", "11.0.0.0/8"],
      ],
      "The network a is named twice",
    ],
    [
      [
        ["a", "10.0.0.0/8"],
        ["b", "10.1.0.0/16"],
      ],
      "10.1.0.0/16 of the network b and 10.0.0.0/8 of a have addresses in common",
    ],
    [
      [
        ["a", "10.1.2.3"],
        ["b", "10.1.0.0/16"],
      ],
      "have addresses in common",
    ],
    [
      [
        ["a", "2001:db8::1"],
        ["b", "2001:db8::/32"],
      ],
      "have addresses in common",
    ],
  ])("are not %j", (named, sentence) => {
    const settings = named.map(([name = "", range = ""]) => ({ name, ranges: [range] }));
    expect(() => new NamedNetworks(settings)).toThrow(
      expect.objectContaining({ kind: "Invalid", message: expect.stringContaining(sentence) as unknown }),
    );
  });

  test("may overlap within themselves, and lie beside each other", () => {
    const beside = new NamedNetworks([
      { name: "a", ranges: ["10.0.0.0/9", "10.0.0.1", "::/1"] },
      { name: "b", ranges: ["10.128.0.0/9", "8000::/1"] },
    ]);
    expect(["10.127.0.1", "10.128.0.1", "::1", "ffff::1"].map((each) => beside.networkOf(each, []))).toEqual([
      "a",
      "b",
      "a",
      "b",
    ]);
    expect(() => new NamedNetworks([{ name: "a", ranges: [] }])).toThrow("has no addresses");
  });
});

/** Says that clients of these addresses are there; the last one hears how many it may meet. */
function othersOf(
  networks: NamedNetworks,
  ...clients: [seen: string, own: string, reach?: "network" | "everyone"][]
): number {
  const colleagues = new Colleagues({
    clock: new SimulatedClock(),
    epoch: "e",
    recipe: () => Promise.resolve(undefined),
    networks,
  });
  const heard = clients.map(([address, own, reach = "network"], number) => {
    const listener = { shutOut: () => undefined, colleagues: () => undefined };
    const facts = { device: `device ${number}`, name: "", address };
    const place = { key: new Uint8Array(32).fill(number), port: 7000, addresses: [own], reach };
    return colleagues.announce(listener, facts, { attachment: 3, has: [], place }).others;
  });
  return Number(heard.at(-1));
}

describe("who may meet", () => {
  const networks = new NamedNetworks([
    { name: "one", ranges: ["10.1.0.0/16", "203.0.113.1", "203.0.113.200"] },
    { name: "two", ranges: ["10.2.0.0/16", "203.0.113.2"] },
  ]);

  test("[W196] are those of one named network, whatever addresses it has", () => {
    expect(othersOf(networks, ["203.0.113.1", "192.168.0.2"], ["203.0.113.200", "192.168.0.3"])).toBe(1);
    expect(othersOf(networks, ["203.0.113.1", "192.168.0.2"], ["10.1.9.9", "10.1.9.9"])).toBe(1);
  });

  test("[W196] are not those of two named networks, or of one and none, though they look alike", () => {
    expect(othersOf(networks, ["203.0.113.1", "192.168.0.2"], ["203.0.113.2", "192.168.0.3"])).toBe(0);
    expect(othersOf(networks, ["203.0.113.1", "192.168.0.2"], ["203.0.113.3", "192.168.0.3"])).toBe(0);
    expect(othersOf(networks, ["203.0.113.3", "192.168.0.2"], ["203.0.113.4", "192.168.0.3"])).toBe(1);
  });

  test("[W196] behind one shared address are those whose own addresses are of one network", () => {
    expect(othersOf(networks, ["198.51.100.9", "10.1.0.1"], ["198.51.100.9", "10.2.0.1"])).toBe(0);
    expect(othersOf(networks, ["198.51.100.9", "10.1.0.1"], ["198.51.100.9", "10.1.0.2"])).toBe(1);
  });

  test("[W196] are also those of different ones who both want anybody", () => {
    expect(othersOf(networks, ["203.0.113.1", "10.0.0.1", "everyone"], ["203.0.113.2", "10.0.0.2", "everyone"])).toBe(
      1,
    );
  });
});
