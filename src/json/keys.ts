/** Keys that have an id in tables of JSON: those that somebody asked for, as far as there is room for them. */

const ids = new Map<string, number>();

/** The ids of keys, in their order from 1 on. */
export const keyIds: ReadonlyMap<string, number> = ids;

const mostKeys = 200;

/** The id that tables have for a key; 0 for one that has none. Tables that were written before have none. */
export const idOfKey = (key: string): number => {
  const known = ids.get(key);
  if (known !== undefined) return known;
  if (ids.size === mostKeys || !mayHaveId.test(key)) return 0;
  ids.set(key, ids.size + 1);
  return ids.size;
};

/** The bytes of such keys are their characters. */
const mayHaveId = /^[ !#-[\]-~]{0,60}$/;
