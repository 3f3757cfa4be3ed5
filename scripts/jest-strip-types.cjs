// Jest transformer: Node's own type stripping, so that tests run the same text as the product does.
const { createHash } = require("node:crypto");
const { stripTypeScriptTypes } = require("node:module");

module.exports = {
  canInstrument: false,
  getCacheKey: (source, path) => createHash("sha256").update(`${process.version}\0${path}\0${source}`).digest("hex"),
  process: (source) => ({ code: stripTypeScriptTypes(source, { mode: "strip" }) }),
};
