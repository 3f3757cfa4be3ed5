import { expect, test } from "@jest/globals";
import { formatSaved } from "../../src/cli/format.ts";

test.each([
  [99.6, "100 %"],
  [0, "0 %"],
  // Three bytes of a file of gigabytes were written, and its list of chunks was sent.
  [-19_989_167, "nothing"],
])("of what programs wrote, %d %% less on the wire is said as %j", (percent, words) => {
  expect(formatSaved(percent)).toBe(words);
});
