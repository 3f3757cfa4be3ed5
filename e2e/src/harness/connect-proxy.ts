// A small HTTP proxy (CONNECT only) as a process of its own, such as a company has between its people and the outside.
//     node connect-proxy.ts PORT MODE    MODE: open, refuse, or USER:PASSWORD
// The first line of its output is the port it took; each tunnel is one more line, HOST:PORT.
import { createServer } from "node:http";
import { connect } from "node:net";

const [, , port = "0", mode = "open"] = process.argv;

const server = createServer((_request, response) => {
  response.writeHead(405);
  response.end();
});

server.on("connect", (request, client, head) => {
  client.on("error", () => undefined);
  const said = request.headers["proxy-authorization"];
  const expected = `Basic ${Buffer.from(mode).toString("base64")}`;
  if (mode === "refuse") client.end("HTTP/1.1 403 Forbidden\r\nContent-Length: 0\r\n\r\n");
  else if (mode !== "open" && said !== expected)
    client.end('HTTP/1.1 407 Proxy Authentication Required\r\nProxy-Authenticate: Basic realm="x"\r\n\r\n');
  else {
    const place = request.url ?? "";
    const { hostname, port: to } = new URL(`http://${place}`);
    const far = connect(Number(to === "" ? "80" : to), hostname.replaceAll(/[[\]]/g, ""));
    far.once("connect", () => {
      client.write("HTTP/1.1 200 Connection established\r\n\r\n");
      if (head.length > 0) far.write(head);
      far.pipe(client);
      client.pipe(far);
      process.stdout.write(`${place}\n`);
    });
    far.on("error", () => client.destroy());
    client.on("close", () => far.destroy());
  }
});

server.listen(Number(port), "127.0.0.1", () => {
  const address = server.address();
  process.stdout.write(`${typeof address === "object" ? address?.port : ""}\n`);
});
