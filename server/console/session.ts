// The session of this page at the server's door: what the door says, and how a session begins and ends. On TLS the
// session is in a cookie that no script sees; on a server's own loopback it is in this tab.

const KEY = "session";

/** Answer of the door to who is not in. */
export interface DoorState {
  /** Name of the server, for people. */
  server: string;
  /** False until there is an administrator. */
  isSetUp: boolean;
}

/** Secret of the first set-up, from the link that the server printed; "" when the page was opened without it. */
export function takeSetUpSecret(): string {
  const secret = /^#setup=([\w-]+)$/.exec(location.hash)?.[1] ?? "";
  if (secret !== "") history.replaceState(null, "", location.pathname);
  return secret;
}

/** The session that this tab keeps; "" when it keeps none, as on TLS. */
export function keptSession(): string {
  return sessionStorage.getItem(KEY) ?? "";
}

export function forgetSession(): void {
  sessionStorage.removeItem(KEY);
}

export async function askDoor(): Promise<DoorState> {
  return (await (await fetch("/door")).json()) as DoorState;
}

/** @throws Error with a sentence for a person */
export function signIn(name: string, password: string, lost: string): Promise<void> {
  return begin("/sign-in", { name, password }, lost);
}

/** @throws Error with a sentence for a person */
export function setUp(secret: string, name: string, password: string, lost: string): Promise<void> {
  return begin("/set-up", { secret, name, password }, lost);
}

async function begin(path: string, body: object, lost: string): Promise<void> {
  let answer: Response;
  try {
    answer = await fetch(path, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify(body),
    });
  } catch (cause) {
    throw new Error(lost, { cause });
  }
  const said = (await answer.json()) as { session?: string; error?: { message: string } };
  if (!answer.ok) throw new Error(said.error?.message ?? lost);
  if (said.session !== undefined) sessionStorage.setItem(KEY, said.session);
}
