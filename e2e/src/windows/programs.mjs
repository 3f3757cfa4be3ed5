// Preloaded into every process of the command line under Wine, and at work in the agent only: loads the stand-in for
// WinFsp's library before the drive looks for it, and listens on a port of 127.0.0.1, at which programs of Windows are
// played. A line is one request of a program, {id, call, args, at}, at the drive of that letter; answered {id, told} or
// {id, error}. Files that a connection has open are closed when it ends, as Windows does for a program. The library's
// path is in RUNNEL_STAND_IN; the port is written beside it, into a file of the same name with .port and the number of
// the process: an agent that finds another one ends again.
import { createInterface } from "node:readline";

const library = process.env.RUNNEL_STAND_IN;
if (library !== undefined && /agent[\\/]main\.js$/.test(process.argv[1] ?? "")) {
  const [{ createServer }, { constants }, { writeFileSync }] = await Promise.all([
    import("node:net"),
    import("node:os"),
    import("node:fs"),
  ]);
  const module = { exports: {} };
  process.dlopen(module, library, constants.dlopen.RTLD_LAZY);
  const standIn = module.exports;

  const toText = (value) =>
    JSON.stringify(value, function write(key, shown) {
      const raw = this[key];
      if (typeof raw === "bigint") return { big: String(raw) };
      return raw instanceof Uint8Array ? { b64: Buffer.from(raw).toString("base64") } : shown;
    });
  const toValue = (text) =>
    JSON.parse(text, (_key, value) => {
      if (typeof value?.big === "string") return BigInt(value.big);
      return typeof value?.b64 === "string" ? Buffer.from(value.b64, "base64") : value;
    });

  const server = createServer((socket) => {
    const open = new Map();
    const answer = async ({ call, args, at }) => {
      if (call === "volume!") return standIn.volume(at);
      if (call === "heard!") return standIn.heard(at);
      if (call === "close") open.delete(`${at} ${args.handle}`);
      const told = await standIn.ask(call, args, at);
      if (call === "open" && told.status === 0) open.set(`${at} ${told.handle}`, { handle: told.handle, at });
      return told;
    };
    createInterface({ input: socket }).on("line", (line) => {
      const { id, ...request } = toValue(line);
      answer(request).then(
        (told) => socket.write(`${toText({ id, told })}\n`),
        (error) => socket.write(`${toText({ id, error: String(error) })}\n`),
      );
    });
    socket.on("error", () => {});
    socket.on("close", () => {
      for (const { handle, at } of open.values()) void standIn.ask("close", { handle }, at);
    });
  });
  server.listen(0, "127.0.0.1", () => writeFileSync(`${library}.port${process.pid}`, String(server.address().port)));
  server.unref();
}
