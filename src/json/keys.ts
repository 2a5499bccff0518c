/** Keys that have an id in tables of JSON: those that somebody asked for, as far as there is room for them. */

const ids = new Map<string, number>();

/** The ids of keys, in their order from 1 on. */
export const keyIds: ReadonlyMap<string, number> = ids;

/** Keys after which no other one that somebody asks for gets an id; the kernel has room for 256. */
const maxRequestedKeys = 180;

/** The id that tables have for a key; 0 for one that has none. Tables that were written before have none. */
export const requestKeyId = (key: string): number => {
  const known = ids.get(key);
  if (known !== undefined) return known;
  return ids.size >= maxRequestedKeys || !canHaveId.test(key) ? 0 : addKey(key);
};

/** The id that all tables have for a key of the program's own. */
export const registerKey = (key: string): number => ids.get(key) ?? addKey(key);

const addKey = (key: string): number => {
  ids.set(key, ids.size + 1);
  return ids.size;
};

/** The bytes of such keys are their characters. */
const canHaveId = /^[ !#-[\]-~]{0,60}$/;
