// Every bound on what the other side, a file or a program may ask for. PROTOCOL.md's limits page has the same rows, and
// each row a test.

const KiB = 1024;
const MiB = 1024 * KiB;

export const LIMITS = {
  /** Bytes of a name in UTF-8 (Linux NAME_MAX). */
  nameBytes: 255,
  /** Folders between the root and a node. */
  depth: 256,
  /** A symlink's target, in bytes (Linux PATH_MAX less the NUL). */
  symlinkBytes: 4095,
  /**
   * Name and value of an extended attribute (Linux XATTR_NAME_MAX, XATTR_SIZE_MAX); all names of a node have room for
   * one value (XATTR_LIST_MAX).
   */
  xattrNameBytes: 255,
  xattrValueBytes: 64 * KiB,
  /** All extended attributes of a node, names and values. */
  xattrsBytes: 256 * KiB,
  /** Payload of a control frame after decompression. */
  controlBytes: 1 * MiB,
  /** Payload of a bulk frame. */
  bulkFrameBytes: 64 * KiB,
  /** Size of a WebSocket message, header included. */
  frameBytes: 1 * MiB + 64,
  /** Nesting of arrays and maps in CBOR. */
  cborDepth: 16,
  /** Arrays and maps in one message: each takes more memory than bytes on the wire. */
  cborContainers: 131_072,
  /** Values in a request: as many as its longest list takes, and some. */
  requestValues: 262_144,
  /** Channels open at once on a connection. */
  channels: 1024,
  /** Control items waiting to be handled on one channel. */
  channelItems: 16_384,
  /** Bulk credit of one channel. */
  channelCreditBytes: 4 * MiB,
  /** Attachments of one connection, and of all of a device: one for each drive that it has mounted. */
  attachments: 64,
  deviceAttachments: 256,
  /** Times that a device may attach at once: twice with all that it may have. */
  deviceAttaches: 512,
  /**
   * Files of one attachment whose small changes come with the feed; and what comes of one change at most, as it is
   * sent.
   */
  wantedFiles: 1000,
  wantedBytes: 16 * KiB,
  /** Folders followed by one attachment. */
  followedFolders: 200_000,
  /** Folders followed by all instances of a device. */
  deviceFollowedFolders: 400_000,
  /** Feed items not yet acknowledged by one attachment; past it, "list again". */
  feedBacklogItems: 16_384,
  /** Feed items likewise of all attachments of a device to a volume. */
  deviceFeedBacklogItems: 65_536,
  /** Descriptors in one recipe item (a recipe goes in several). */
  recipeDescriptorsPerItem: 4096,
  /** Descriptors in one recipe. */
  recipeDescriptors: 4_194_304,
  /** A run of new data in a write, before compression. */
  runBytes: 1 * MiB,
  /** Bytes staged by one device and not yet committed. */
  stagedBytes: 64 * 1024 * MiB,
  /**
   * Descriptors of its unfinished writes, and of versions that they copy from; each item counts as eight more, each
   * further place of its bytes as three. The largest file can be written over the largest, with a hundred thousand
   * edits; 64 GiB of new files take a tenth: 36 bytes each.
   */
  unfinishedDescriptors: 9_437_184,
  /** Operations that one may name to be executed after. */
  operationsAfter: 16,
  /** Node ids that a client asks for at once. */
  nodesAtOnce: 1_048_576,
  /** Files and folders that one removeAll removes; and those named that it was refused for. */
  removeAllNodes: 4096,
  changedNodes: 100,
  /** A file that findGet brings, and how many it is asked for at once. */
  smallFileBytes: 256 * KiB,
  findGetVersions: 2048,
  /** Versions that a fetch may name as held; nodes, and names, of one stat; folders of one unfollow. */
  heldVersions: 8,
  statNodes: 1000,
  unfollowFolders: 1000,
  /** Ranges of a commit's content that its client is asked for once more, and their bytes. */
  lackedRanges: 256,
  lackedBytes: 64 * MiB,
  /** Such questions of a server that wait for an answer. */
  lacks: 1024,
  /** Items of a write that are asked for at once. */
  neededItems: 65_536,
  /** Operations of one instance whose results are not yet reported received. */
  outstandingOperations: 4096,
  /** Spans of operations that are not received, among those up to the one that is reported. */
  notReceived: 64,
  /** A find predicate: nodes in its tree, and its text. */
  predicateNodes: 64,
  predicateBytes: 4096,
  /** Notices of each kind that a volume keeps: the newest. */
  notices: 1000,
  statusEntriesPerItem: 4096,
  /** Users of a file or folder that are named in one answer. */
  openers: 128,
  /**
   * The length of a file: recipeDescriptors of the largest chunks. A longer one is refused when it grows, not after it
   * was cut.
   */
  fileBytes: 256 * 1024 * MiB,
  /** All that an unauthenticated connection may say: one of which the server does not know yet whose it is. */
  unauthenticatedBytes: 16 * KiB,
  unauthenticatedFrames: 64,
  /** Messages of a client that the server has not handled, unfolded: of a connection, and of all of a device. */
  heldBytes: 12 * MiB,
  deviceHeldBytes: 14 * MiB,
  /** Messages of a server that a client has not handled: it has asked for them. */
  clientHeldBytes: 128 * MiB,
  /** Bulk that a client has sent and the server has not read: of a connection, and of all of a device. */
  heldBulkBytes: 24 * MiB,
  deviceHeldBulkBytes: 26 * MiB,
  /** Answers that a client has asked for and not read: of a connection, and of all of a device. */
  unreadBytes: 6 * MiB,
  deviceUnreadBytes: 8 * MiB,
  /** Unread bytes behind which no more of a feed is sent: "list again" instead. */
  unreadFeedBytes: 3 * MiB,
  /** Write leases on a volume at the same time, and those of an attachment. */
  writeLeases: 256,
  attachmentWriteLeases: 32,
  /** Questions for the lease that wait, of an attachment. */
  leaseQuestions: 1024,
  /**
   * Connections that have not asked for a WebSocket yet; unauthenticated ones; and all of a server, unless its settings
   * say another number.
   */
  unopened: 512,
  unauthenticated: 256,
  connections: 4096,
  /** Connections of one device. */
  deviceConnections: 64,
  /** Connections of a device that may be closed at once for what they said. */
  cutOffs: 16,
  /** Tokens and secrets of no device that one address may try at once. */
  failedLogins: 10,
  /** Devices and invites that a server keeps. */
  devices: 10_000,
  invites: 10_000,
  /** Characters of a device's name. */
  deviceName: 100,
  /** Characters of the path that a conflict copy is said to be of. */
  copyOf: 4096,
  /** Features that a hello offers, and characters of the name of each. */
  features: 64,
  featureCharacters: 64,
  /** Spans of chunks in a list of them, of one version. */
  chunkSpans: 64,
  /** Versions in one announcement, and all that an attachment is known to have: the last ones. */
  announcedAtOnce: 256,
  announcedVersions: 1024,
  /** Spans of all these, and attachments of a device to a volume that announce. */
  announcedSpans: 4096,
  deviceAnnounces: 8,
  /** Addresses of a colleague, and colleagues that one answer names. */
  colleagueAddresses: 16,
  hints: 16,
  /** Questions of an attachment for who has something, waiting for an answer. */
  locates: 32,
  /** Bytes of a ticket. */
  ticketBytes: 256,
  /**
   * Connections without a ticket that a colleague takes at once, those with one, those of one device of these, and
   * requests on one.
   */
  colleagueConnections: 64,
  admittedColleagueConnections: 256,
  deviceColleagueConnections: 8,
  colleagueRequests: 8,
  /** Tickets that are none which one address may show a colleague at once. */
  failedTickets: 10,
  /** Devices that mDNS told of, addresses of each, bytes of a message, and messages that are read in a second. */
  nearbyDevices: 64,
  nearbyAddresses: 4,
  nearbyBytes: 1500,
  nearbyMessages: 100,
  /** A mail that a relay takes; parts of one by reference, and what says of which it is. */
  mailBytes: 1024 * MiB,
  mailParts: 64,
  mailReferenceBytes: 16 * KiB,
  /** Connections of a relay at once, recipients of a mail, and an answer of the next hop. */
  mailConnections: 64,
  mailRecipients: 1000,
  mailReplyBytes: 16 * KiB,
} as const;

/** Lease terms and timings of the protocol, milliseconds. Settings may override those of a server. */
export const TIMING = {
  leaseTermMs: 20_000,
  /** Time that a client subtracts from the term it counts, for drift of the two clocks. */
  leaseMarginMs: 1_000,
  /** Silence after which an attachment counts as offline for whoever asks, at the least. */
  silenceMs: 2_000,
  /** Time that an unanswered change may take before the program gets EIO, at the least. */
  requestTimeoutMs: 10_000,
  /** Silence, request timeout and term follow the line's round trip up to this one. */
  roundTripMsMax: 10_000,
  /**
   * Time for each step of connecting: TCP, a proxy's answer, TLS, the upgrade. Each takes a round trip of a line that
   * nothing is known of yet.
   */
  connectStepMs: 12_000,
  /** Staged data of an unfinished write is kept so long. */
  stagedKeepMs: 24 * 3_600_000,
  /** The server closes a connection that is unauthenticated for so long. */
  loginGraceMs: 15_000,
  /** After so long a device that was cut off may be once more. */
  cutOffRefillMs: 6_000,
  /** After so long a device that attached too often may once more. */
  attachRefillMs: 100,
  /** After so long an address may fail to log in once more. */
  loginRefillMs: 6_000,
  /** The most that an answer about colleagues waits for something new. */
  locateWaitMs: 2_000,
  /** A ticket is good for so long. */
  ticketMs: 120_000,
  /** After so long an address may show a ticket that is none once more. */
  ticketRefillMs: 6_000,
  /** Terms for which an instance that did not acknowledge asks at every open. */
  probationTerms: 10,
} as const;
