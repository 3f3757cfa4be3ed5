// Counts what a module brings with it: every start of a process or thread pays for each.
import { execFile } from "node:child_process";
import { promisify } from "node:util";

const PROGRAM = `
import { registerHooks } from "node:module";
const urls = [];
registerHooks({ load: (url, context, next) => (urls.push(url), next(url, context)) });
await import(process.argv[1]);
process.stdout.write(JSON.stringify(urls));
`;

/** @returns the addresses of all modules that are loaded with this one, in a process of its own. */
export async function loadedModules(url: string): Promise<string[]> {
  const args = ["--input-type=module", "--disable-warning=ExperimentalWarning", "-e", PROGRAM, url];
  const { stdout } = await promisify(execFile)(process.execPath, args);
  return JSON.parse(stdout) as string[];
}
