// Links that open the app: runnel://add?invite=… . What comes in one is anybody's: it fills in a form, and does nothing by itself.

const LINK_CHARACTERS_MAX = 8192;
const SCHEME = "runnel:";

/** @returns the route of the window that a link opens; undefined for what is no link of ours. */
export function routeOfLink(link: string): string | undefined {
  if (link.length > LINK_CHARACTERS_MAX || !URL.canParse(link)) return undefined;
  const { protocol, host, searchParams } = new URL(link);
  if (protocol !== SCHEME) return undefined;
  const invite = searchParams.get("invite");
  if (host !== "add" || invite === null) return "/";
  return `/add?${new URLSearchParams({ invite }).toString()}`;
}

/** The link among the arguments that the program was started with, if any. */
export function linkAmong(words: readonly string[]): string | undefined {
  return words.find((word) => word.startsWith(`${SCHEME}//`));
}
