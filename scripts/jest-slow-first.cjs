// Jest sequencer: what takes long begins first, so that no worker works alone at the end. Jest knows sizes of files
// only, in a fresh clone.
const { default: Sequencer } = require("@jest/test-sequencer");

/** Beginnings of paths below the repository, longest first. */
const SLOW = [
  "e2e/test/descriptors.long",
  "e2e/test/fuzz.long",
  "e2e/test/consistency.long",
  "e2e/test/many-files.long",
  "e2e/test/races.long",
  "native/test/build-all.long",
  "e2e/test/recorded.long",
  "native/test/checks.long",
  "e2e/test/memory.long",
  "e2e/test/real-input.long",
  "e2e/test/consistency",
  "e2e/test/crash",
  "e2e/test/write-back",
  "native/test/drive-fuse",
  "e2e/test/pause",
  "e2e/test/conflicts",
  "e2e/test/burst",
  "e2e/test/many-files",
  "e2e/test/recorded",
  "app/test/cache/cache-crash",
  "server/test/wire/requests/write",
  "app/test/control/agent-process",
  "app/test/cli/command-line",
];

module.exports = class SlowFirst extends Sequencer {
  sort(tests) {
    const rankOf = ({ path, context }) => {
      const rank = SLOW.findIndex((name) => path.startsWith(`${context.config.rootDir}/${name}`));
      return rank === -1 ? SLOW.length : rank;
    };
    return super.sort(tests).sort((one, other) => rankOf(one) - rankOf(other));
  }
};
