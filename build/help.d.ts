/** A section of a help: the lines, and the commands, arguments or options that the lines describe. */
export interface HelpSection {
  readonly title: string;
  readonly lines: readonly string[];
  /** An example of a `term` is `-o, --output <format>`. */
  readonly items: readonly { readonly term: string; readonly about: string; readonly lines: readonly string[] }[];
}

export function parseHelp(text: string): {
  readonly about: string;
  readonly usage: string;
  readonly sections: readonly HelpSection[];
};
