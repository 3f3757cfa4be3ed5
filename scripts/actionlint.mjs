// Fetches actionlint, a linter of workflow files, from its Go module into .setup/tools when it is first asked for.
import { join } from "node:path";
import { hasCommand } from "./system-packages.mjs";
import { perform, toolFolder } from "./tools.mjs";

const VERSION = "1.7.12";

/** Path of the program. Compiled by Go: half a minute. @throws Error where Go is missing. */
export function ensureActionlint() {
  const folder = toolFolder(`actionlint-${VERSION}`, (into) => {
    if (!hasCommand("go")) throw new Error("actionlint is compiled with Go: install Go 1.24 or newer.");
    perform("go", ["install", `github.com/rhysd/actionlint/cmd/actionlint@v${VERSION}`], {
      env: { ...process.env, GOBIN: into },
      stdio: ["ignore", "ignore", "inherit"],
    });
  });
  return join(folder, "actionlint");
}
