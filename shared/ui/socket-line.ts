// A line over a WebSocket: the session of the page goes first, then the texts of the calls.
import type { Line, LineEvents } from "./calls.ts";

/** Code of a close by which the other end says that it does not know the session, or that it has ended. */
const SESSION_ENDED = 4401;

/** `session`: proves to the other end that this page may ask. */
export function socketLine(url: string, session: string, events: LineEvents): Line {
  const socket = new WebSocket(url);
  socket.addEventListener("open", () => {
    socket.send(JSON.stringify({ session }));
    events.opened();
  });
  socket.addEventListener("message", ({ data }) => events.text(String(data)));
  socket.addEventListener("close", ({ code }) => events.closed(code === SESSION_ENDED));
  return { send: (text) => socket.send(text), close: () => socket.close() };
}
