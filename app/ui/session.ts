// The session of this page: kept in sessionStorage, so that another tab has none of it and a reload keeps it. A ticket
// after "#" is exchanged for one, once.

const KEY = "session";

/** @returns the session; "" when there is none, which the agent refuses. */
export async function enter(): Promise<string> {
  const ticket = location.hash.slice(1);
  if (ticket !== "") {
    history.replaceState(null, "", location.pathname);
    const answer = await fetch("/enter", {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ ticket }),
    });
    if (answer.ok) sessionStorage.setItem(KEY, ((await answer.json()) as { session: string }).session);
  }
  return sessionStorage.getItem(KEY) ?? "";
}
