/** Reads and writes nodes, which `JsonTable` in src/json/table.ts describes. */

export const nodeBytes: usize = 16;

export const encodedKey: u32 = 0xffffffff;

export function input(): usize {
  return (__heap_base + 63) & ~usize(63);
}

export function keyIdOf(keyNode: usize): u32 {
  const id = load<u32>(keyNode, 12);
  return id === encodedKey ? 0 : id;
}

export function startOf(node: usize): usize {
  return input() + load<u32>(node);
}

export function endOf(node: usize): usize {
  return input() + load<u32>(node, 4);
}

export function putNode(node: usize, end: u32, after: u32, detail: u32): void {
  store<u32>(node, end, 4);
  store<u32>(node, after, 8);
  store<u32>(node, detail, 12);
}
