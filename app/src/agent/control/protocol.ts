// The control protocol's own numbers: what the faces of the agent (command line, tray) speak to it on its local socket.
// The messages are those of shared/src/calls/, the verbs those of app/src/verbs/.

/** Raised when an old face would misunderstand a new agent or the other way round. */
export const CONTROL_VERSION = 1;

/** Features beyond the version's number. */
export const CONTROL_FEATURES: readonly string[] = [];

/** Bounds of what one side accepts from the other. */
export const CONTROL_LIMITS = {
  /** A line from a face. */
  requestLineBytes: 256 * 1024,
  /** A line from the agent: a status with all its conflicts, or a part. */
  answerLineBytes: 16 * 1024 * 1024,
  /** Bytes of answers that wait for a face to read, before what follows waits at its source. */
  queuedBytes: 32 * 1024,
  /** A part of a find is sent when its entries reach this. */
  partBytes: 128 * 1024,
  /** Requests of one connection that are not yet answered. */
  requests: 64,
  /** Connections of one agent. */
  connections: 64,
  /** A connection that has not said hello by then is closed. */
  helloMs: 5000,
  /** An agent that ends waits so long for its last answers to go out. */
  finishMs: 2000,
} as const;
