/** A section of a help: its lines, and the commands, arguments or options that they describe. */
export interface HelpSection {
  readonly title: string;
  readonly lines: readonly string[];
  /** `term` is such as `-o, --output <format>`. */
  readonly items: readonly { readonly term: string; readonly about: string; readonly lines: readonly string[] }[];
}

export function parseHelp(text: string): {
  readonly about: string;
  readonly usage: string;
  readonly sections: readonly HelpSection[];
};
