import { describe, expect, test } from "@jest/globals";
import { isRunnelMount } from "@runnel/shared";
import fc from "fast-check";
import { parseMountList } from "../../../../src/agent/control/host/darwin/mount-list.ts";

const read = (line: string): unknown[] =>
  parseMountList(line).map((entry) => [entry.source, entry.mountpoint, entry.fileSystem, isRunnelMount(entry)]);

describe("the list of macOS's mounts", () => {
  test.each<[string, unknown[]]>([
    [
      "runnel:docs on /Volumes/docs (macfuse, nodev, nosuid, synchronous, mounted by ada)",
      ["runnel:docs", "/Volumes/docs", "macfuse", true],
    ],
    ["runnel:docs on /Volumes/docs (osxfuse)", ["runnel:docs", "/Volumes/docs", "osxfuse", true]],
    ["/dev/disk3s5 on / (apfs, local, journaled)", ["/dev/disk3s5", "/", "apfs", false]],
    ["map -hosts on /net (autofs, nosuid)", ["map -hosts", "/net", "autofs", false]],
    [
      "//ada@nas/Docs%20(1) on /Volumes/Docs (1) (smbfs)",
      ["//ada@nas/Docs%20(1)", "/Volumes/Docs (1)", "smbfs", false],
    ],
    ["runnel:a on /Users/ada/one on /two (macfuse)", ["runnel:a", "/Users/ada/one on /two", "macfuse", true]],
    ["runnel:a on /Users/ada/ a  (b (macfuse) (macfuse)", ["runnel:a", "/Users/ada/ a  (b (macfuse)", "macfuse", true]],
    ["runnel:a on /Users/ada/Ŷ 📁 (macfuse)", ["runnel:a", "/Users/ada/Ŷ 📁", "macfuse", true]],
    // Another file system that says to be one of ours, and ours over NFS.
    ["runnel:a on /Volumes/a (apfs)", ["runnel:a", "/Volumes/a", "apfs", false]],
    [`127.0.0.1:/${"0a".repeat(16)} on /Users/ada/Docs (nfs, nodev)`, ["runnel:", "/Users/ada/Docs", "served", true]],
    [
      `nas:/${"0a".repeat(16)} on /Users/ada/Docs (nfs, nodev)`,
      [`nas:/${"0a".repeat(16)}`, "/Users/ada/Docs", "nfs", false],
    ],
    ["127.0.0.1:/export on /Users/ada/Docs (nfs)", ["127.0.0.1:/export", "/Users/ada/Docs", "nfs", false]],
  ])("has %s", (line, entry) => {
    expect(read(line)).toEqual([entry]);
  });

  test.each([
    "",
    " on ",
    " on / (apfs)",
    "runnel:a",
    "runnel:a on /Volumes/a",
    "runnel:a on /Volumes/a (macfuse",
    "runnel:a on /Volumes/a (macfuse) ",
    "runnel:a on /Volumes/a ()",
    "runnel:a on /Volumes/a(macfuse)",
    "runnel:a on Volumes/a (macfuse)",
    "runnel:a on /a (macfuse, nodev())",
    "a (macfuse) on /b",
    `runnel:a on /${"b".repeat(4096)} (macfuse)`,
  ])("passes over %j", (line) => {
    expect(read(line)).toEqual([]);
  });

  test("goes on after what it passes over, in the order in which mounts lie over each other", () => {
    const text = "runnel:a on /a (macfuse)\n\nnonsense\r\nrunnel:b on /a (macfuse, mounted by ada)\n";
    expect(parseMountList(text).map(({ source }) => source)).toEqual(["runnel:a", "runnel:b"]);
  });

  test("has each mount as it is named, whatever brackets and words its names have", () => {
    const piece = fc.constantFrom(" on ", " on /", " (", "(", ")", ", ", "/", " ", "a", "macfuse", "ü", "\t", "\r");
    const name = fc.array(piece, { maxLength: 12 }).map((pieces) => pieces.join(""));
    fc.assert(
      fc.property(name, fc.constantFrom("", ", nodev, mounted by ada"), (path, options) => {
        expect(read(`runnel:docs on /${path} (macfuse${options})`)).toEqual([
          ["runnel:docs", `/${path}`, "macfuse", true],
        ]);
      }),
    );
  });

  test("is read whatever it says, in time that grows with it", () => {
    fc.assert(fc.property(fc.string({ unit: "binary", maxLength: 2000 }), (text) => void parseMountList(text)));
    const pieces = [" on /".repeat(800), " (".repeat(2000), "(a, ".repeat(1000), ")".repeat(4000), "a, ".repeat(1300)];
    for (const piece of pieces) expect(parseMountList(`${piece}\n`.repeat(20))).toEqual([]);
    expect(parseMountList("a on /b (c)\n".repeat(20_000))).toHaveLength(16_384);
  });
});
