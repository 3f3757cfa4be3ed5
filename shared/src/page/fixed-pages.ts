// Pages that are there whether the built ones are or not.

/** Says how the built pages come to be. */
export const NOT_BUILT =
  'Runnel\'s pages are not built here. Run "npm run build:ui" in the folder that Runnel runs from, then load this page again.\n';

export const NOT_FOUND = `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<title>Not found · Runnel</title>
<h1>There is no such page.</h1>
<p><a href="/">Go to the start.</a></p>
</html>
`;

/**
 * Answer to the file that a browser was started with: its script keeps the token for this tab, and goes to the start. A
 * token is safe in HTML.
 */
export function enterPage(session: string): string {
  return `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="session" content="${session}">
<title>Runnel</title>
<script src="/enter.js"></script>
</html>
`;
}

/** A page that comes by a link with a ticket behind "#" does the same by itself, with a POST of JSON. */
export const ENTER_SCRIPT = `const { content } = document.querySelector("meta[name=session]");
sessionStorage.setItem("session", content);
location.replace("/");
`;
