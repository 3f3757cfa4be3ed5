// A server of TLS and nothing else, in a process of its own: node bare-tls.ts FOLDER, where key.pem and certificate.pem
// lie. Tells its port, and answers whatever is said.
import { readFileSync } from "node:fs";
import type { AddressInfo } from "node:net";
import { createServer } from "node:tls";

const [folder = ""] = process.argv.slice(2);
const read = (name: string): string => readFileSync(`${folder}/${name}`, "utf8");
const server = createServer(
  { key: read("key.pem"), cert: read("certificate.pem"), minVersion: "TLSv1.3" },
  (socket) => void socket.on("error", () => undefined).on("data", () => socket.write("heard")),
);
server.listen(0, "127.0.0.1", () => process.send?.((server.address() as AddressInfo).port));
