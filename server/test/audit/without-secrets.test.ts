// Whatever lets somebody in is taken out of what is recorded; names stay.
// oxlint-disable-next-line no-restricted-imports -- of secrets that are planted
import { randomBytes } from "node:crypto";
import { expect, test } from "@jest/globals";
import { formatInvite } from "@runnel/shared";
import { withoutSecrets } from "../../src/audit/without-secrets.ts";

test("secrets are taken out wherever they stand", () => {
  for (let time = 0; time < 20; time++) {
    const secret = randomBytes(16).toString("base64url");
    const token = randomBytes(32).toString("base64url");
    const invite = formatInvite({ place: "files:7473", volume: "docs", secret, fingerprint: token });
    const hex = randomBytes(16).toString("hex");
    const planted = [secret, token, hex, invite, `#${token}.${secret}`];
    for (const text of planted)
      for (const around of [
        text,
        `a ${text} b`,
        `"${text}"`,
        `x=${text}`,
        `No device is called ${text}.`,
        `\n${text}\n`,
      ])
        for (const left of [secret, token, hex, text])
          expect([around, withoutSecrets(around).includes(left)]).toEqual([around, false]);
  }
  expect(withoutSecrets("https://ada:hunter2@proxy:80/a")).toBe("https://[removed]@proxy:80/a");
});

test("names of people, machines and volumes stay", () => {
  const names = [
    "ada-laptop",
    "Adas-MacBook-Pro-16-inch",
    "DESKTOP-A1B2C3D4E5F6G7H8I9J0",
    "Company-Photos-Archive-2024",
    'The server has no volume "docs" for this device. Check the last part of the address.',
    "2001:db8:0:1:2:3:4:5",
    "Invite 1f0c77aa for Ada, with the right to write.",
    "wss://files.example.org:7473",
  ];
  for (const name of names) expect(withoutSecrets(name)).toBe(name);
});
