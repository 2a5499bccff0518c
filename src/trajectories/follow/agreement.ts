/** Holds what the requests of a growing file say against each other, whenever one says something new. */

import type { Found } from "../read/parts/found.ts";
import { checkAgreement } from "../read/scan/request-checks.ts";
import type { Judgement } from "../rules/judgement.ts";
import { Problems } from "../rules/problems.ts";

/** The agreement of all that was found so far. */
export class Agreement {
  readonly #found: Found;
  readonly #judgement: Judgement;
  readonly #split: string;
  /** How many requests and shapes there were that are not the same, when they were last looked at. */
  #seen = { requests: 0, shapes: 0 };
  #mixed = false;

  constructor(found: Found, { split, judgement }: { readonly split: string; readonly judgement: Judgement }) {
    this.#found = found;
    this.#split = split;
    this.#judgement = judgement;
  }

  /** The first line that does not fit, if there is one now; that, and shapes that are mixed, are reported. */
  brokenAt(): number | undefined {
    const { requests, shapes, problems } = this.#found;
    const now = { requests: requests.different.length, shapes: shapes.size };
    if (now.requests === this.#seen.requests && now.shapes === this.#seen.shapes) return undefined;
    this.#seen = now;
    const own = new Problems(this.#judgement);
    checkAgreement({ requests, shapes, split: this.#split, problems: own });
    if (own.errors === 0 && this.#mixed) return undefined;
    this.#mixed = now.shapes > 1;
    problems.merge(own.pack(), 0);
    const lines = own.sorted([]).flatMap(({ severity, line }) => (severity === "error" ? (line ?? 1) : []));
    return lines.length === 0 ? undefined : Math.min(...lines);
  }
}
