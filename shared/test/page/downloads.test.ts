import { expect, test } from "@jest/globals";
import { attachment } from "../../src/page/downloads.ts";

test.each([
  ["stats.csv", `attachment; filename="stats.csv"; filename*=UTF-8''stats.csv`],
  ['a "b"\r\nX: y', `attachment; filename="a _b___X_ y"; filename*=UTF-8''a%20%22b%22%0D%0AX%3A%20y`],
  ["für (1)'s.txt", `attachment; filename="f_r _1__s.txt"; filename*=UTF-8''f%C3%BCr%20%281%29%27s.txt`],
  ["\ud800", `attachment; filename="_"; filename*=UTF-8''%EF%BF%BD`],
])("the name %j stays one header", (name, header) => {
  expect(attachment(name)).toBe(header);
});
