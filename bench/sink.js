/** A service that takes every request and keeps nothing, in a process of its own; it prints its port. */
import { createServer } from "node:net";

const answer = Buffer.from("HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 2\r\n\r\n{}");
const headEnd = Buffer.from("\r\n\r\n");

/** Reads requests with a `Content-Length`, or in chunks that end with the empty one, and counts. */
const server = createServer((socket) => {
  let head = Buffer.alloc(0);
  let left = -1;
  let tail = Buffer.alloc(0);
  const finish = () => {
    socket.write(answer);
    head = Buffer.alloc(0);
    left = -1;
  };
  const take = (chunk) => {
    if (left >= 0) {
      left -= chunk.length;
      if (left <= 0) finish();
    } else if (left === -2) {
      tail = Buffer.concat([tail, chunk.subarray(-7)]).subarray(-7);
      if (tail.equals(Buffer.from("\r\n0\r\n\r\n"))) finish();
    } else {
      head = Buffer.concat([head, chunk]);
      const end = head.indexOf(headEnd);
      if (end < 0) return;
      const text = head.toString("latin1", 0, end);
      if (/^expect: 100-continue/im.test(text)) socket.write("HTTP/1.1 100 Continue\r\n\r\n");
      const length = /^content-length: (\d+)/im.exec(text)?.[1];
      left = length === undefined ? -2 : Number(length);
      const rest = head.subarray(end + headEnd.length);
      if (left === 0) finish();
      else take(rest);
    }
  };
  socket.on("data", take).on("error", () => socket.destroy());
});
server.listen(0, "127.0.0.1", () => console.log(server.address().port));
