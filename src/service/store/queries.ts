/** Queries of the store. */
import type { Database } from "../../database/database.ts";
import type { Span } from "../../json/json-bytes.ts";
import * as ids from "./call-ids.ts";
import { findByKey, type LoggedRequest, toLoggedRequest } from "./request-writer.ts";

/** All ids of a request have the same end. */
const findCallSql = `
  SELECT id, model, split, logged_at, rest, substring(bytes, ?, ${ids.spanBytes}) AS span
  FROM rollcall.logged JOIN rollcall.logged_body ON logged = id AND piece = ? - first_ms + ${ids.firstSpanPiece}
  WHERE substring(id, ${ids.idTailOffset + 1}) = ? AND project = ?
    AND ? BETWEEN first_ms AND first_ms + calls / ${ids.idsPerMs}`;

export const createQueries = (database: Database) => ({
  async findByKey(project: string, key: string): Promise<LoggedRequest | undefined> {
    const { sql, values } = findByKey(project, key);
    const [row] = await database.query(sql, values);
    return row && toLoggedRequest(row);
  },

  findCall: async (project: string, id: string) => await findCall(database, project, id),

  /** `created` is in Unix seconds. */
  async listModels() {
    const sql = "SELECT id, owner, created FROM rollcall.logged_model ORDER BY created, project";
    const models = new Map<string, { id: string; owner: string; created: number }>();
    for (const row of await database.query(sql)) {
      const name = row.text("id");
      if (models.has(name)) continue;
      const [owner = ""] = row.text("owner").split("/");
      models.set(name, { id: parseName(name), owner, created: row.integer("created") });
    }
    return [...models].toSorted(([a], [b]) => Buffer.compare(Buffer.from(a), Buffer.from(b))).map(([, model]) => model);
  },
});

const findCall = async (database: Database, project: string, id: string) => {
  const uuid = ids.parseId(id);
  if (!uuid) return undefined;
  const ms = ids.idTimeMs(uuid);
  const values = [ids.idCounter(uuid) * ids.spanBytes + 1, ms, uuid.subarray(ids.idTailOffset), project, ms];
  const [row] = await database.query(findCallSql, values);
  const span = row && ids.decodeSpan(row.bytes("span"));
  if (!row || !span) return undefined;
  const request = row.bytes("id");
  const groupSql = "SELECT rest FROM rollcall.logged_group WHERE logged = ? AND position = ?";
  const [bytes, [group]] = await Promise.all([
    readBody(database, request, span),
    database.query(groupSql, [request, span.group]),
  ]);
  return {
    id,
    group: span.group,
    position: span.position,
    bytes,
    model: parseName(row.text("model")),
    split: parseName(row.text("split")),
    loggedAt: row.integer("logged_at"),
    otherRequestKeys: row.text("rest"),
    otherGroupKeys: group?.text("rest") ?? "{}",
  };
};

const readBody = async (database: Database, request: Uint8Array, { start, end }: Span) => {
  const first = Math.floor(start / ids.pieceBytes);
  const sql = "SELECT substring(bytes, ?, ?) AS bytes FROM rollcall.logged_body WHERE logged = ? AND piece = ?";
  const parts = Array.from({ length: Math.ceil(end / ids.pieceBytes) - first }, async (_, at) => {
    const piece = first + at;
    const from = Math.max(0, start - piece * ids.pieceBytes);
    const length = Math.min(end - piece * ids.pieceBytes, ids.pieceBytes) - from;
    return (await database.query(sql, [from + 1, length, request, piece]))[0]?.bytes("bytes") ?? new Uint8Array();
  });
  return Buffer.concat(await Promise.all(parts));
};

/** Names are stored as JSON, because SQLite cannot store NUL or lone surrogates. */
const parseName = (text: string) => String(JSON.parse(text));
