// Exports what asks a server that runs here, for commands that start no server.
export { askServer } from "./admin/admin-client.ts";
