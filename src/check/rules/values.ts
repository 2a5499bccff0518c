/** Names of the file's own in sentences, and names of keys that group. */

/** Names that a key of a group has, the surest first. */
export const groupKeyNames: readonly string[] =
  "group_id prompt_id example_id task_id problem_id question_id scenario_id instance_id uid".split(" ");

/** Characters that a name of the file's own has at most in a sentence. */
export const maxNameLength = 60;

/** A name of the file's own, short enough for a sentence; one that nobody sees is in quotes. */
export const shortName = (name: string): string => {
  if (name.trim() === "") return JSON.stringify(name.slice(0, maxNameLength));
  return name.length > maxNameLength ? `${name.slice(0, maxNameLength - 1)}…` : name;
};
