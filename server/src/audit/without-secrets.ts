// Takes out of a text what may let somebody in. Nothing that is recorded is a secret by itself, but a person may paste
// an invite where a name is asked for, and a client may call itself by its token.

/** Invites, and addresses with a user's password in them. */
const INVITE = /runnel:\/\/\S+/gi;
const PASSWORD = /(\b[a-z][a-z+.-]*:\/\/)[^\s/@]*@/gi;
/** Secrets of 128 bits and more in hexadecimal digits. */
const HEX = /[\da-f]{32,}/gi;
const WORD = /[\w-]{22,}/g;
/**
 * Characters of 128 and of 256 bits in base64: an invite's secret; tokens, proofs and what programs of a user share.
 */
const LENGTH_OF_128 = 22;
const LENGTH_OF_256 = 43;

const REMOVED = "[removed]";

export function withoutSecrets(text: string): string {
  return text
    .replaceAll(INVITE, `runnel://${REMOVED}`)
    .replaceAll(PASSWORD, `$1${REMOVED}@`)
    .replaceAll(HEX, REMOVED)
    .replaceAll(WORD, (word) => (isLikeSecret(word) ? REMOVED : word));
}

/**
 * Tells by length and case: one random text of 22 characters in ten thousand lacks one of the two; few names are just
 * so long.
 */
function isLikeSecret(word: string): boolean {
  const isOfLength = word.length === LENGTH_OF_128 || word.length >= LENGTH_OF_256;
  return isOfLength && /[A-Z]/.test(word) && /[a-z]/.test(word);
}
