import { describe, expect, test } from "@jest/globals";
import { volumeOf, volumeUrl } from "../../src/agent/control/index.ts";

describe("the address of a volume", () => {
  test.each([
    "",
    "docs",
    "http://127.0.0.1:7473/docs",
    "runnel://127.0.0.1:7473/docs",
    "ws:/docs",
    "ws://127.0.0.1:7473",
    "ws://127.0.0.1:7473/",
    "ws://127.0.0.1:7473/a/b",
    "ws://127.0.0.1:7473/..",
    "ws://127.0.0.1:7473/%2e%2e",
    "ws://127.0.0.1:7473/a%2fb",
    "ws://127.0.0.1:7473/%ff",
    "ws://127.0.0.1:7473/%00",
    "ws://127.0.0.1:7473/do\ncs",
    `ws://127.0.0.1:7473/${"a".repeat(101)}`,
    "ws://127.0.0.1:99999/docs",
    "ws://127.0.0.1:port/docs",
    "ws://[::1/docs",
    "ws://:7473/docs",
    "ws://user:secret@127.0.0.1:7473/docs",
    "ws://127.0.0.1:7473/docs?x=1",
    "ws://127.0.0.1:7473/docs#x",
  ])("is not %j", (typed) => {
    expect(() => volumeUrl(typed)).toThrow(expect.objectContaining({ kind: "Invalid" }));
  });

  test.each([
    ["ws://127.0.0.1:7473/docs", "ws://127.0.0.1:7473/docs", "docs"],
    ["WS://LocalHost:7473/docs/", "ws://localhost:7473/docs", "docs"],
    ["ws://[::1]:80/%64ocs", "ws://[::1]/docs", "docs"],
    ["wss://h/my docs", "wss://h/my%20docs", "my docs"],
    ["ws://h/d\u00f5cs", "ws://h/d%C3%B5cs", "d\u00f5cs"],
  ])("%j has one form", (typed, url, volume) => {
    expect(volumeUrl(typed)).toBe(url);
    expect(volumeOf(new URL(url))).toBe(volume);
  });
});
