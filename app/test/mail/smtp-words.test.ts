// Parameters and addresses go on as they came, or are refused.
import { describe, expect, test } from "@jest/globals";
import { knowsVolume, passAddress, passParameters, readExtensions } from "../../src/mail/smtp-words.ts";

const ALL = readExtensions("next.example\n8BITMIME\nSIZE 1000\nDSN\nSMTPUTF8\nXRUNNELOID 1 wss://a:1/mail\n");

describe("words of SMTP", () => {
  test("parameters go on where the next hop knows them; what must not be dropped is refused", () => {
    const mail = { SIZE: "5", BODY: "8BITMIME", SMTPUTF8: true, RET: "HDRS", ENVID: "a+b=ü" } as const;
    expect(passParameters("MAIL", mail, ALL)).toBe(" SIZE=5 BODY=8BITMIME SMTPUTF8 RET=HDRS ENVID=a+2Bb+3D+C3+BC");
    expect(passParameters("RCPT", { NOTIFY: "NEVER", ORCPT: "rfc822;x" }, ALL)).toBe(" NOTIFY=NEVER ORCPT=rfc822;x");
    const none = readExtensions("next.example");
    expect(passParameters("MAIL", { SIZE: "5", RET: "HDRS", BODY: "7bit" }, none)).toBe("");
    expect(passParameters("MAIL", { BODY: "8BITMIME" }, none)).toMatchObject({ code: 554 });
    expect(passParameters("MAIL", { SMTPUTF8: true }, none)).toMatchObject({ code: 554 });
    for (const name of ["REQUIRETLS", "AUTH", "constructor"])
      expect(passParameters("MAIL", { [name]: true }, ALL)).toMatchObject({ code: 555 });
    expect(passParameters("RCPT", { SIZE: "5" }, ALL)).toMatchObject({ code: 555 });
  });

  test("an address goes on as it was; the domain of another script as its ASCII form", () => {
    expect(passAddress("a b+c@x.example", false)).toBe("a b+c@x.example");
    expect(passAddress("ben@bücher.example", false)).toBe("ben@xn--bcher-kva.example");
    expect(passAddress("jürgen@bücher.example", true)).toBe("jürgen@bücher.example");
    expect(passAddress("jürgen@bücher.example", false)).toBeUndefined();
    for (const wrong of ["a\r\nRCPT TO:<x>@y", "a>@b", "a\0@b"]) expect(passAddress(wrong, true)).toBeUndefined();
  });

  test("a next hop knows the volume when it names that, in that format", () => {
    expect(knowsVolume(ALL, "wss://a:1/mail")).toBe(true);
    expect(knowsVolume(ALL, "wss://a:1/other")).toBe(false);
    expect(knowsVolume(readExtensions("x\nXRUNNELOID 2 wss://a:1/mail"), "wss://a:1/mail")).toBe(false);
    expect(knowsVolume(readExtensions("XRUNNELOID 1 wss://a:1/mail"), "wss://a:1/mail")).toBe(false);
  });
});
