// Secrets by which programs of one user know each other over plain ws (W165): each belongs to the address that a server
// listens on, and lies in a file that only this user can read. A program that passes words on between two addresses has
// the secret of neither.
/* oxlint-disable node/no-sync -- a file of 43 bytes, when a server starts or is dialed */
import {
  closeSync,
  constants,
  fstatSync,
  lstatSync,
  mkdirSync,
  openSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
// oxlint-disable-next-line no-restricted-imports -- of one secret
import { randomBytes } from "node:crypto";
import { RunnelError } from "../../errors.ts";

/** Place that a server listens on, as a socket says it. */
export interface Place {
  address: string;
  port: number;
}

const SECRET_BYTES = 32;
const FORM = /^[\w-]{43}$/;
const PRIVATE_FOLDER = 0o700;
const PRIVATE_FILE = 0o600;
const OTHERS = 0o077;

type Environment = Readonly<Record<string, string | undefined>>;

export class LocalSecrets {
  /** Returns the paths where the secret of a place may lie, the best first. */
  private readonly pathsOf: (place: Place) => string[];

  private constructor(pathsOf: (place: Place) => string[]) {
    this.pathsOf = pathsOf;
  }

  /** Keeps the secrets in the user's folder for what lasts as long as the system runs. */
  static ofUser(environment: Environment = process.env): LocalSecrets {
    return new LocalSecrets((place) => runtimeFolders(environment).map((folder) => join(folder, fileName(place))));
  }

  /** The one of a file that a person named, for any place. */
  static ofUserOr(path: string | undefined): LocalSecrets {
    return path === undefined ? LocalSecrets.ofUser() : new LocalSecrets(() => [path]);
  }

  /**
   * A server's own, the same at its next start, else `secret` or a new one. @throws RunnelError Denied when there is no
   * place that only this user can read.
   */
  keep(place: Place, secret = randomBytes(SECRET_BYTES).toString("base64url")): string {
    const paths = this.pathsOf(place);
    for (const path of paths) {
      try {
        return read(path) ?? write(path, secret);
      } catch {
        // The next one.
      }
    }
    const sentence = `${paths.join(" or ")} cannot hold the server's secret for this user alone. Name a file with --secret.`;
    throw new RunnelError("Denied", "serve", sentence);
  }

  /** Returns the secrets that a server there may have: only one, unless others of this user have left theirs. */
  find(place: Place): string[] {
    return this.pathsOf(place).flatMap((path) => {
      try {
        return read(path) ?? [];
      } catch {
        return [];
      }
    });
  }
}

/** The XDG base directory specification's, whether the environment says it or not; else one beside those of others. */
function runtimeFolders(environment: Environment): string[] {
  const user = process.getuid?.();
  if (user === undefined) return [join(tmpdir(), "runnel")];
  const said = environment["XDG_RUNTIME_DIR"];
  const own = [said?.startsWith("/") ? said : undefined, `/run/user/${user}`].filter(
    (folder) => folder !== undefined && ownerOf(folder) === user,
  ) as string[];
  return [...new Set([...own.map((folder) => join(folder, "runnel")), join(tmpdir(), `runnel-${user}`)])];
}

function fileName({ address, port }: Place): string {
  const plain = address.replace(/^::ffff:(?=\d)/i, "").replaceAll(":", "_");
  return `${plain}-${port}.secret`;
}

function ownerOf(path: string): number | undefined {
  try {
    return lstatSync(path).uid;
  } catch {
    return undefined;
  }
}

/** @returns undefined when there is none. @throws when it is not this user's own, or others can read it. */
function read(path: string): string | undefined {
  let file: number;
  try {
    file = openSync(path, constants.O_RDONLY | (constants.O_NOFOLLOW ?? 0) | (constants.O_NONBLOCK ?? 0));
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined;
    throw error;
  }
  try {
    const stat = fstatSync(file);
    const isPrivate = process.getuid === undefined || (stat.uid === process.getuid() && (stat.mode & OTHERS) === 0);
    if (!stat.isFile() || !isPrivate) throw new Error(`${path} is not this user's own.`);
    const text = readFileSync(file, "latin1").trim();
    return FORM.test(text) ? text : undefined;
  } finally {
    closeSync(file);
  }
}

function write(path: string, secret: string): string {
  mkdirSync(dirname(path), { recursive: true, mode: PRIVATE_FOLDER });
  // Only who listens at the place makes its secret. Through no link of another user's.
  rmSync(`${path}.new`, { force: true });
  writeFileSync(`${path}.new`, `${secret}\n`, { mode: PRIVATE_FILE, flag: "wx" });
  renameSync(`${path}.new`, path);
  return secret;
}
