// The session of this page at the server's door: how it begins, and what this tab keeps of it. On TLS it is in a cookie
// that no script sees; a page that the administrator opened on the server's machine keeps it in its tab.

const KEY = "session";

/**
 * Takes what stands behind "#" out of the address: the token of the first set-up, which it returns, "" when there is
 * none; or a ticket, which it exchanges for a session of this tab.
 */
export async function takeHash(): Promise<string> {
  const hash = location.hash.slice(1);
  if (hash === "") return "";
  history.replaceState(null, "", location.pathname);
  const token = /^setup=([\w-]+)$/.exec(hash)?.[1];
  if (token !== undefined) return token;
  await post("/enter", { ticket: hash }, "").catch(() => undefined);
  return "";
}

/** True where people sign in; false for a page that was opened on the server's machine. */
export const hasSignIn = location.protocol === "https:";

/** The session that this tab keeps; "" when it keeps none, as on TLS. */
export function keptSession(): string {
  return sessionStorage.getItem(KEY) ?? "";
}

export function forgetSession(): void {
  sessionStorage.removeItem(KEY);
}

/** `lost`: says that the server does not answer. @throws Error with a sentence for a person */
export function signIn(name: string, password: string, lost: string): Promise<void> {
  return post("/sign-in", { name, password }, lost);
}

/** Makes the administrator; otherwise it is as signIn. */
export function setUp(token: string, name: string, password: string, lost: string): Promise<void> {
  return post("/set-up", { token, name, password }, lost);
}

interface Answer {
  session?: string;
  error?: { message: string };
}

async function post(path: string, body: object, lost: string): Promise<void> {
  let answer: Response;
  let said: Answer;
  try {
    answer = await fetch(path, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify(body),
    });
    said = (await answer.json()) as Answer;
  } catch (cause) {
    throw new Error(lost, { cause });
  }
  if (!answer.ok) throw new Error(said.error?.message ?? lost);
  if (said.session !== undefined) sessionStorage.setItem(KEY, said.session);
}
