// Words of SMTP that a relay takes and passes on: replies, parameters of MAIL and RCPT, and the extension by which two
// relays know each other. Whatever it does not know of is refused, never dropped. Pure.
import { domainToASCII } from "node:url";

export interface Reply {
  code: number;
  text: string;
}

/** Parameters of a command, by their names in upper case; `true` for one without a value. */
export type Parameters = Readonly<Record<string, string | true>>;

/** Capabilities of the other side, by their names in upper case, with what stands behind. */
export type Extensions = ReadonlyMap<string, string>;

/** Name of the extension, and of the parameter of MAIL that says that the content is framed. */
export const EXTENSION = "XRUNNELOID";
/** Begins the reply to a framed content whose objects cannot be had: the same mail whole would be taken. */
export const CANNOT_GET = "4.3.0 XRUNNELOID";

const FORMAT = "1";

/** The line of EHLO for a volume. */
export function extensionLine(volume: string): string {
  return `${EXTENSION} ${FORMAT} ${volume}`;
}

/** The other side puts mails together from objects of this volume. */
export function knowsVolume(extensions: Extensions, volume: string): boolean {
  return extensions.get(EXTENSION) === `${FORMAT} ${volume}`;
}

export const isPositive = ({ code }: Reply): boolean => code >= 200 && code < 400;

/** Says what a parameter needs of the next hop, and whether its value is xtext (RFC 3461 §4). */
interface Rule {
  needs: string | undefined;
  isXtext?: true;
  refusal?: Reply;
}

const MAIL_RULES: Readonly<Record<string, Rule>> = {
  SIZE: { needs: undefined },
  BODY: { needs: "8BITMIME", refusal: { code: 554, text: "5.6.3 The next hop takes no mail of 8 bits" } },
  SMTPUTF8: { needs: "SMTPUTF8", refusal: { code: 554, text: "5.6.7 The next hop takes no addresses in UTF-8" } },
  RET: { needs: "DSN" },
  ENVID: { needs: "DSN", isXtext: true },
};
const RCPT_RULES: Readonly<Record<string, Rule>> = {
  NOTIFY: { needs: "DSN" },
  ORCPT: { needs: "DSN", isXtext: true },
};

/** The parameters for the next hop, or why it cannot be given the mail. SIZE and DSN go where they are known. */
export function passParameters(verb: "MAIL" | "RCPT", given: Parameters, extensions: Extensions): string | Reply {
  const rules = verb === "MAIL" ? MAIL_RULES : RCPT_RULES;
  let text = "";
  for (const [name, value] of Object.entries(given)) {
    const rule = Object.hasOwn(rules, name) ? rules[name] : undefined;
    if (rule === undefined) return { code: 555, text: `5.5.4 The parameter ${name.slice(0, 40)} is not known` };
    if (name === "BODY" && value !== true && /^7bit$/i.test(value)) continue;
    if (!extensions.has(rule.needs ?? name)) {
      if (rule.refusal !== undefined) return rule.refusal;
      continue;
    }
    text += value === true ? ` ${name}` : ` ${name}=${rule.isXtext ? xtext(value) : value}`;
  }
  return text;
}

/** RFC 3461 §4: printable ASCII but "+" and "=", others as "+" and two digits. In UTF-8 where it is not ASCII. */
function xtext(value: string): string {
  const escaped = (byte: number): string => `+${byte.toString(16).toUpperCase().padStart(2, "0")}`;
  const isPlain = (byte: number): boolean => byte > 0x20 && byte < 0x7f && byte !== 0x2b && byte !== 0x3d;
  return Array.from(Buffer.from(value), (byte) => (isPlain(byte) ? String.fromCodePoint(byte) : escaped(byte))).join(
    "",
  );
}

/**
 * An address for the next hop. A domain of another script came as its ASCII form where the mail is not SMTPUTF8.
 * @returns undefined for one that no command can carry.
 */
export function passAddress(address: string, isUtf8: boolean): string | undefined {
  // oxlint-disable-next-line no-control-regex -- they would end the command
  if (/[\u0000-\u001F\u007F<>]/.test(address)) return undefined;
  const isAscii = /^[ -~]*$/.test(address);
  if (isAscii || isUtf8) return address;
  const at = address.lastIndexOf("@");
  const domain = domainToASCII(address.slice(at + 1));
  const made = `${address.slice(0, at + 1)}${domain}`;
  return domain !== "" && /^[ -~]*$/.test(made) ? made : undefined;
}

/** The capabilities that a reply to EHLO names. */
export function readExtensions(text: string): Extensions {
  const lines = text.split("\n").slice(1);
  return new Map(
    lines.map((line) => {
      const [name = "", ...rest] = line.trim().split(" ");
      return [name.toUpperCase(), rest.join(" ")];
    }),
  );
}
