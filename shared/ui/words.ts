// The words of a page: a catalogue of ICU messages by id, compiled when the page is built, so that no parser of them is
// in the page.
import { type MessageDescriptor, setupI18n } from "@lingui/core";
import { LANGUAGE } from "./format.ts";

type Values = Readonly<Record<string, string | number>>;

/** Says a message of the catalogue. */
export type Say<Id extends string> = (id: Id, values?: Values) => string;

/** `messages`: compiled, by id. */
export function words<Id extends string>(messages: Readonly<Record<Id, string>>): Say<Id> {
  const i18n = setupI18n({ locale: LANGUAGE, messages: { [LANGUAGE]: messages } });
  return (id, values = {}) => i18n._({ id, values } satisfies MessageDescriptor);
}
