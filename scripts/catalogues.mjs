// A plugin of esbuild that compiles the messages of a catalogue (words/*.ts), so that no parser of them is in a bundle.
import { pathToFileURL } from "node:url";
import { compileMessage } from "@lingui/message-utils/compileMessage";

/** `alter`: changes each message before it is compiled. */
export function compiledCatalogues(alter = (message) => message) {
  return {
    name: "compiled-catalogues",
    setup({ onLoad }) {
      onLoad({ filter: /\/words\/\w+\.ts$/ }, async ({ path }) => {
        const { WORDS } = await import(pathToFileURL(path).href);
        const compiled = Object.entries(WORDS).map(([id, message]) => [id, compileMessage(alter(message))]);
        return { contents: `export const WORDS = ${JSON.stringify(Object.fromEntries(compiled))};`, loader: "js" };
      });
    },
  };
}
