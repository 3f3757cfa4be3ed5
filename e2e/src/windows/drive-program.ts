// A program of Windows that uses a drive, in a process of its own.
//     node.exe drive-program.js PORT DRIVE STEPS TOLD
// PORT is the stand-in's, DRIVE a letter or a share. STEPS is a file of JSON, [[verb, ...words]…]; what comes of each
// goes to TOLD as a line of JSON. It ends after the last step, unless that is to stay.
import { appendFileSync, constants, readFileSync } from "node:fs";
import { StandIn } from "@runnel/native/test/support/stand-in.ts";
import {
  ACCESS,
  DISPOSITION,
  OPTION,
  StatusError,
  WindowsProgram,
} from "@runnel/native/test/support/windows-program.ts";

const { O_CREAT, O_RDONLY, O_RDWR, O_TRUNC } = constants;
const READ_BYTES = 1 << 20;

export type Step = readonly [verb: keyof typeof VERBS, ...words: string[]];

type Verb = (program: WindowsProgram, ...words: string[]) => Promise<unknown>;

async function writeOpen(program: WindowsProgram, name: string, text: string): Promise<number> {
  const fd = await program.open(name, O_RDWR | O_CREAT | O_TRUNC);
  await program.write(fd, 0, Buffer.from(text));
  return fd;
}

const VERBS = {
  write: async (program, name = "", text = "") => program.close(await writeOpen(program, name, text)),
  /** Leaves the file open. */
  begin: async (program, name = "", text = "") => void (await writeOpen(program, name, text)),
  read: async (program, name = "") => {
    const fd = await program.open(name, O_RDONLY);
    const bytes = await program.read(fd, 0, READ_BYTES);
    await program.close(fd);
    return Buffer.from(bytes).toString();
  },
  list: (program, folder = "") => program.readdir(folder),
  mkdir: (program, folder = "") => program.mkdir(folder),
  rename: (program, from = "", to = "") => program.rename(from, to),
  remove: (program, name = "") => program.unlink(name),
  /** Makes a file that nobody has yet, which goes with this process. */
  lock: async (program, name = "") => {
    const access = ACCESS.read | ACCESS.write | ACCESS.delete;
    const how = { path: `\\${name}`, access, disposition: DISPOSITION.create, options: OPTION.deleteOnClose };
    await program.ask("open", how);
  },
  stay: () => new Promise(() => setInterval(() => {}, READ_BYTES)),
} satisfies Record<string, Verb>;

/** Result of a step, or the status that it failed with. */
export type Outcome = { result: unknown } | { status: number };

async function perform(program: WindowsProgram, [verb, ...words]: Step): Promise<Outcome> {
  const run: Verb = VERBS[verb];
  try {
    return { result: (await run(program, ...words)) ?? null };
  } catch (error) {
    if (error instanceof StatusError) return { status: error.status };
    throw error;
  }
}

const [, , port, drive, steps = "", told = ""] = process.argv;
const program = new WindowsProgram(await StandIn.open(Number(port)), drive);
for (const step of JSON.parse(readFileSync(steps, "utf8")) as Step[])
  appendFileSync(told, `${JSON.stringify(await perform(program, step))}\n`);
// Under Wine a process does not always end by itself.
process.exit(0);
