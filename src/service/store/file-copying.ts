/** What the store in a file is asked for its copy: its requests one by one, their bodies, and to take those of another. */
import type { Database, Row } from "../../database/index.ts";
import { Failure } from "../../failure.ts";
import { type keepIn, keyIn } from "./file-queries.ts";
import { firstId, idsFrom, mostPieces, nameOf, nameText, unpackPlaces } from "./packed-calls.ts";
import type { StoreCopying, StoredFacts } from "./store.ts";

/** Copies out of a file, and into it. `keep` is how it keeps requests. */
export const copyingIn = (database: Database, keep: ReturnType<typeof keepIn>): StoreCopying => {
  const models = database.prepare("SELECT id, project, owner, created FROM project_models ORDER BY id, project");
  const insertModel = database.prepare(
    "INSERT INTO project_models (id, project, owner, created) VALUES (?, ?, ?, ?) ON CONFLICT DO NOTHING",
  );
  const identify = database.prepare("UPDATE identity SET id = ?");
  return {
    requests: () => requestsIn(database),
    body: bodyIn(database),
    models: async () =>
      models.all().map((row) => ({
        id: nameOf(row.text("id")),
        project: row.text("project"),
        owner: row.text("owner"),
        created: row.integer("created"),
      })),
    take: async (requests) => keep(requests),
    become: async (id, others) =>
      database.transaction(() => {
        identify.run(id);
        for (const { id: model, project, owner, created } of others) {
          insertModel.run(nameText(model), project, owner, created);
        }
      }),
  };
};

/** Reads one request at a time: what its file says of it is as long as its service took. */
async function* requestsIn(database: Database): AsyncGenerator<StoredFacts, void> {
  identifyEmpty(database);
  const earlier = database
    .prepare("SELECT count(*) AS requests FROM requests WHERE id NOT IN (SELECT request FROM logged)")
    .get();
  const requests = earlier?.integer("requests") ?? 0;
  if (requests > 0) throw new Failure("copy-earlier-calls", { path: database.path, requests });
  const next = database.prepare(
    `SELECT logged.first_id, logged.ids, logged.places, requests.* FROM logged JOIN requests ON requests.id = logged.request
     WHERE logged.first_id > ? ORDER BY logged.first_id LIMIT 1`,
  );
  const groups = database.prepare("SELECT position, rest FROM groups WHERE request = ? ORDER BY position");
  let last: Uint8Array = new Uint8Array();
  for (let row = next.get(last); row !== undefined; row = next.get(last)) {
    last = row.bytes("first_id");
    if (!idsFrom(last, row.integer("calls")).equals(row.bytes("ids"))) {
      throw new Failure("database-corrupt", { path: database.path, title: "the store of the local service" });
    }
    yield factsOf(row, groups.all(row.integer("id")));
  }
}

/** Gives requests without a call an identifier of their own, where they were stored without: their copy is known by it. */
const identifyEmpty = (database: Database): void => {
  const empty = database.prepare(
    "SELECT id, logged_at FROM requests WHERE calls = 0 AND id NOT IN (SELECT request FROM logged)",
  );
  const identify = database.prepare("INSERT INTO logged (request, first_id, ids, places) VALUES (?, ?, ?, ?)");
  if (empty.get() === undefined) return;
  database.transaction(() => {
    for (const row of empty.all()) {
      identify.run(row.integer("id"), firstId(row.integer("logged_at")), new Uint8Array(), new Uint8Array());
    }
  });
};

const factsOf = (row: Row, groups: readonly Row[]): StoredFacts => {
  const project = row.text("project");
  const once = row.isNull("key") ? undefined : { key: keyIn(project, row.text("key")), digest: row.bytes("digest") };
  return {
    id: row.bytes("first_id"),
    project,
    once,
    model: nameOf(row.text("model")),
    split: nameOf(row.text("split")),
    metrics: row.text("metrics"),
    rest: row.text("rest"),
    loggedAt: row.integer("logged_at"),
    groupRests: new Map(groups.map((group) => [group.integer("position"), group.text("rest")])),
    places: unpackPlaces(row.bytes("places")),
  };
};

const bodyIn = (database: Database): StoreCopying["body"] => {
  const request = database.prepare("SELECT request FROM logged WHERE first_id = ?");
  const piece = database.prepare("SELECT bytes FROM bodies WHERE piece = ?");
  return async (id) => {
    const of = request.get(id)?.integer("request");
    const pieces: Uint8Array[] = [];
    while (of !== undefined && pieces.length < mostPieces) {
      const row = piece.get(of * mostPieces + pieces.length);
      if (row === undefined) break;
      pieces.push(row.bytes("bytes"));
    }
    return Buffer.concat(pieces);
  };
};
