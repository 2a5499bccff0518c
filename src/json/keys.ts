/** The keys that have an id in tables of JSON. */

const ids = new Map<string, number>();

/** The ids of keys, from 1. */
export const keyIds: ReadonlyMap<string, number> = ids;

/** Keys of formats and options get ids up to this number. The kernel has room for 256. */
const maxRequestedKeys = 180;

/** Returns the id of a key in tables that are written from now on; 0 if it has none. */
export const requestKeyId = (key: string): number => {
  const known = ids.get(key);
  if (known !== undefined) return known;
  return ids.size >= maxRequestedKeys || !canHaveId.test(key) ? 0 : addKey(key);
};

/** Returns the id of a key, which all later tables have. */
export const registerKey = (key: string): number => ids.get(key) ?? addKey(key);

const addKey = (key: string): number => {
  ids.set(key, ids.size + 1);
  return ids.size;
};

/** Keys in ASCII without escapes. */
const canHaveId = /^[ !#-[\]-~]{0,60}$/;
