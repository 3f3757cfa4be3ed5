// Request and results of a login and a logout, as they go over the control socket.
import { z } from "zod";
import { text } from "../../verbs/schemas.ts";

export const LoginRequest = z.object({
  invite: text,
  /** This device's name; undefined: the machine's. */
  name: text.optional(),
  proxy: text.optional(),
  /** Path of certificates of authorities in PEM form. */
  caFile: text.optional(),
});
export type LoginRequest = z.output<typeof LoginRequest>;

/** `url`: the volume's address, for mount. `device`: the server's name for this device. */
export const LoggedIn = z.object({ url: text, device: text, isReadOnly: z.boolean() });
export type LoggedIn = z.output<typeof LoggedIn>;

/** A server that knows this device. */
export const KnownPlace = z.object({
  server: text,
  device: text,
  volumes: z.array(z.object({ name: text, isReadOnly: z.boolean() })),
});
export type KnownPlace = z.output<typeof KnownPlace>;

/** `server`: host:port. `isTokenGone`: false when the keyring did not open, and still has what nobody can name. */
export const LoggedOut = z.object({ server: text, device: text, isTokenGone: z.boolean() });
export type LoggedOut = z.output<typeof LoggedOut>;
