// Key and certificate by which an end of TLS is known.

/** PEM. */
export interface TlsIdentity {
  key: string;
  /** With the chain that leads to its authority, if it has one. */
  certificate: string;
}
