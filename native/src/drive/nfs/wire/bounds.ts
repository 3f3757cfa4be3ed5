// Bounds of what a client of the NFS drive may send, have answered, and have under way.

/** Bytes of one READ or WRITE (rtmax, wtmax). */
export const TRANSFER_BYTES_MAX = 256 * 1024;
/** A record is a WRITE at the most, with its header, credentials and handle. */
export const RECORD_BYTES_MAX = TRANSFER_BYTES_MAX + 4096;
/** Fragments of one record: clients send one, some two; each may be empty. */
export const FRAGMENTS_MAX = 64;
/** A kernel has one connection, or a few; each program with libnfs has its own. */
export const CONNECTIONS_MAX = 64;
/** Calls of one connection that wait for an answer; no more are read meanwhile. */
export const CALLS_MAX = 64;
/** Answers that a client does not take; no more calls of it are read meanwhile. */
export const UNSENT_BYTES_MAX = 4 * 1024 * 1024;
/** Bytes of a page of a folder, whatever a client asks for. */
export const PAGE_BYTES_MAX = 64 * 1024;
/** Names take 255 bytes at the most, as in the volume. */
export const NAME_BYTES_MAX = 255;
/** PATH_MAX, of symlinks and of what is mounted. */
export const PATH_BYTES_MAX = 4096;
/** Groups of AUTH_SYS (RFC 5531, appendix A). */
export const GROUPS_MAX = 16;
/** The longest file (LIMITS.fileBytes). */
export const FILE_BYTES_MAX = 2 ** 38;
