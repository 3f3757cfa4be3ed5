// macOS: the login keychain, through its own program. Secrets go over standard input, since every user may list the
// arguments of programs.
import { spawn } from "node:child_process";
import { type Clock, RealClock, RunnelError } from "@runnel/shared/base";
import { SECRET_LENGTH_MAX, type TokenStore } from "../../token-store.ts";

const SERVICE = "Runnel";
const SECURITY = "/usr/bin/security";
/** A person may be asked for the keychain's password. */
const ANSWER_MS = 20_000;
/** Exit codes are the low byte of an OSStatus (SecBase.h): errSecItemNotFound. */
const NOT_FOUND = 44;
const OUTPUT_BYTES_MAX = 4 * SECRET_LENGTH_MAX;

/** Stands before the secret, in characters that no program takes for others: an empty one is a word too. */
const FORM = "base64:";

interface Ended {
  code: number | null;
  output: string;
}

export class Keychain implements TokenStore {
  readonly name = "keychain";
  readonly place = "the login keychain";
  readonly #program: string;
  readonly #clock: Clock;

  constructor(program: string = SECURITY, clock: Clock = new RealClock()) {
    this.#program = program;
    this.#clock = clock;
  }

  async check(): Promise<void> {
    const { code } = await this.#run(["show-keychain-info"]);
    if (code !== 0) throw this.#unreachable(code);
  }

  async get(id: string): Promise<string | undefined> {
    const { code, output } = await this.#run(["find-generic-password", "-s", SERVICE, "-a", id, "-w"]);
    if (code === NOT_FOUND) return undefined;
    if (code !== 0) throw this.#unreachable(code);
    return Buffer.from(output.trim().slice(FORM.length), "base64").toString();
  }

  async put(id: string, secret: string): Promise<void> {
    const word = `${FORM}${Buffer.from(secret).toString("base64")}`;
    const { code } = await this.#run(["-i"], `add-generic-password -U -s ${SERVICE} -a ${id} -w ${word}\n`);
    // The program does not say everywhere how a command ended that it read.
    if (code !== 0 || (await this.get(id)) !== secret) throw this.#unreachable(code);
  }

  async remove(id: string): Promise<void> {
    const { code } = await this.#run(["delete-generic-password", "-s", SERVICE, "-a", id]);
    if (code !== 0 && code !== NOT_FOUND) throw this.#unreachable(code);
  }

  #unreachable(code: number | null): RunnelError {
    const sentence = `The login keychain does not open (${this.#program} ended with ${code}). Unlock it: log in at the screen, or run "security unlock-keychain".`;
    return new RunnelError("Unreachable", "use a secret", sentence);
  }

  #run(args: string[], input = ""): Promise<Ended> {
    return new Promise((done) => {
      const child = spawn(this.#program, args, { cwd: "/", stdio: ["pipe", "pipe", "ignore"] });
      const timer = this.#clock.after(ANSWER_MS, () => child.kill("SIGKILL"));
      let output = "";
      const end = (code: number | null): void => {
        timer.cancel();
        done({ code, output });
      };
      child.stdout.on("data", (bytes: Buffer) => {
        if (output.length < OUTPUT_BYTES_MAX) output += bytes.toString("latin1");
      });
      child.once("error", () => end(null));
      child.once("close", end);
      child.stdin.on("error", () => undefined);
      child.stdin.end(input);
    });
  }
}
