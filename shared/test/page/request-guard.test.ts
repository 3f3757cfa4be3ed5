// Each header that says where a request comes from, by itself.
import { describe, expect, test } from "@jest/globals";
import { loopbackPlace, requestFault } from "../../src/page/request-guard.ts";

const PORT = 4711;
const HOST = "127.0.0.1:4711";
const OWN = `http://${HOST}`;

function statusOf(method: string, url: string, headers: Record<string, string>, isUpgrade = false): number | undefined {
  return requestFault({ method, url, headers: { host: HOST, ...headers } }, loopbackPlace(PORT), isUpgrade)?.status;
}

describe("a request to the page's port", () => {
  test.each([
    "localhost:4711",
    "127.0.0.1",
    "127.0.0.1:4712",
    "evil.example:4711",
    "[::1]:4711",
    "127.0.0.1:4711.evil.example",
    "",
  ])("for the host %j is misdirected, whatever else it says", (host) => {
    expect(statusOf("GET", "/", { host })).toBe(421);
    expect(statusOf("POST", "/enter", { host, origin: "null" })).toBe(421);
    expect(statusOf("GET", "/calls", { host, origin: OWN }, true)).toBe(421);
  });

  test("without a host is misdirected", () => {
    expect(requestFault({ method: "GET", url: "/", headers: {} }, loopbackPlace(PORT), false)?.status).toBe(421);
  });

  const FOREIGN = [
    "https://evil.example",
    "http://127.0.0.1:4712",
    "http://localhost:4711",
    `${OWN}/`,
    `https://${HOST}`,
    "null",
  ];
  test.each(FOREIGN)("from the origin %j is refused", (origin) => {
    expect(statusOf("GET", "/", { origin })).toBe(403);
    expect(statusOf("HEAD", "/", { origin })).toBe(403);
    expect(statusOf("POST", "/other", { origin })).toBe(403);
    expect(statusOf("POST", "/enter/", { origin })).toBe(403);
    expect(statusOf("GET", "/enter", { origin })).toBe(403);
    expect(statusOf("GET", "/calls", { origin }, true)).toBe(403);
    if (origin !== "null") expect(statusOf("POST", "/enter", { origin })).toBe(403);
  });

  test("must name its origin, but for reading", () => {
    expect(statusOf("GET", "/", {})).toBeUndefined();
    expect(statusOf("HEAD", "/", {})).toBeUndefined();
    for (const method of ["POST", "PUT", "DELETE", "OPTIONS", "TRACE"]) {
      expect(statusOf(method, "/enter", {})).toBe(403);
      expect(statusOf(method, "/enter", { origin: OWN })).toBeUndefined();
    }
    expect(statusOf("GET", "/calls", {}, true)).toBe(403);
    expect(statusOf("GET", "/calls", { origin: OWN }, true)).toBeUndefined();
  });

  test("without an origin enters, from the file that was written for the browser", () => {
    for (const site of [{}, { "sec-fetch-site": "cross-site" }])
      expect(statusOf("POST", "/enter", { origin: "null", ...site })).toBeUndefined();
  });

  test.each(["cross-site", "same-site", "unknown", ""])("from a site that is %j is refused", (site) => {
    expect(statusOf("GET", "/", { "sec-fetch-site": site })).toBe(403);
    expect(statusOf("POST", "/enter", { origin: OWN, "sec-fetch-site": site })).toBe(403);
    expect(statusOf("GET", "/calls", { origin: OWN, "sec-fetch-site": site }, true)).toBe(403);
  });

  test.each(["same-origin", "none"])("from a site that is %j is answered", (site) => {
    expect(statusOf("GET", "/", { "sec-fetch-site": site })).toBeUndefined();
    expect(statusOf("GET", "/calls", { origin: OWN, "sec-fetch-site": site }, true)).toBeUndefined();
  });
});
