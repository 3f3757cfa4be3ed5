// Says the messages of the desktop app's catalogue.
import { type Say, words } from "@runnel/shared/ui/words.ts";
import { WORDS } from "./words/en.ts";

export const say: Say<keyof typeof WORDS> = words(WORDS);
