/** A number with its noun: `1 group`, `2 groups`. */

/** How many there are of something; `several` where its plural is not the noun and an s. */
export const counted = (count: number, noun: string, several = `${noun}s`): string =>
  `${count} ${count === 1 ? noun : several}`;
