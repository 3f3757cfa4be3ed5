// Interface to a place where a system keeps small secrets for one user: tokens and keys by which this device is known.
// Which of them a login is put into, and where it lies when there is none, is decided in secrets.ts.

/** Characters of a secret at most: a key in PEM form has some 250. */
export const SECRET_LENGTH_MAX = 16 * 1024;

/** Name of a secret in its store: made at random, so that no two homes of a user meet. */
export const ID_FORM = /^[0-9a-f]{32}$/;

/**
 * All methods may take as long as the system asks a person; none waits for longer than a bound of its store. They are
 * called one after the other for one id. After a failure the secret of that id is the one of before or the new one.
 */
export interface TokenStore {
  /** Stands in references to its secrets, so it never changes. */
  readonly name: string;
  /** Tells a person where the secrets are: "the keyring of this session". */
  readonly place: string;
  /** Resolves when secrets can be put and read now. @throws RunnelError Unreachable, saying why not. */
  check(): Promise<void>;
  /** @returns undefined when it has none of that id, for certain. @throws RunnelError Unreachable, Corrupt */
  get(id: string): Promise<string | undefined>;
  /** Durable when it resolves, as far as the system's own store is. @throws RunnelError Unreachable, NoSpace, … */
  put(id: string, secret: string): Promise<void>;
  /** Resolves when the secret is there no more, also when it never was. @throws RunnelError Unreachable */
  remove(id: string): Promise<void>;
}
