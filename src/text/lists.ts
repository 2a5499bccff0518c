/** Collects values in lists by key, in Node and in browsers. */

export const appendTo = <Key, Value>(lists: Map<Key, Value[]>, key: Key, value: Value) => {
  const list = lists.get(key);
  if (list) list.push(value);
  else lists.set(key, [value]);
};

export const listByKey = <Key, Value>(values: Iterable<Value>, keyOf: (value: Value) => Key) => {
  const lists = new Map<Key, Value[]>();
  for (const value of values) appendTo(lists, keyOf(value), value);
  return lists;
};
