/** The keys of people in a store that is a file. */
import type { Database, Row } from "../../database/index.ts";
import type { StoredKey, StoredKeys } from "./store.ts";

/** What is kept of keys. */
export const keysIn = (database: Database): StoredKeys => {
  const all = database.prepare("SELECT name, digest, projects, uses, created, revoked FROM keys ORDER BY name");
  const insert = database.prepare(
    `INSERT INTO keys (name, digest, projects, uses, created) VALUES (?, ?, ?, ?, ?)
     ON CONFLICT (name) DO UPDATE SET digest = excluded.digest, projects = excluded.projects, uses = excluded.uses,
       created = excluded.created, revoked = NULL WHERE revoked IS NOT NULL`,
  );
  const revoke = database.prepare("UPDATE keys SET revoked = ? WHERE name = ? AND revoked IS NULL");
  return {
    list: async () => all.all().map(keyOf),
    add: async ({ name, digest, projects, uses, created }) => {
      const values = [name, digest, JSON.stringify(projects), JSON.stringify(uses), created];
      return database.transaction(() => insert.run(...values)).changes === 1;
    },
    revoke: async (name, now) => database.transaction(() => revoke.run(now, name)).changes === 1,
  };
};

/** A key out of its row. */
export const keyOf = (row: Row): StoredKey => ({
  name: row.text("name"),
  digest: row.bytes("digest"),
  projects: textsIn(row.text("projects")),
  uses: textsIn(row.text("uses")),
  created: row.integer("created"),
  revoked: row.isNull("revoked") ? undefined : row.integer("revoked"),
});

const textsIn = (json: string): readonly string[] => {
  const value: unknown = JSON.parse(json);
  return Array.isArray(value) ? value.map(String) : [];
};
