/** What earlier runs made of the groups of a growing file, by their dedup keys. */

import { Digests, DigestTable, dedupKeyBytes } from "../../groups/index.ts";
import { type EarlierOutcome, EarlierRuns } from "../../ledger/index.ts";

/** What earlier runs made of groups: which groups there will be, nobody knows yet. */
export class EarlierKeys {
  /** Numbers of groups that earlier runs had, by their dedup keys. */
  readonly #keys = new Digests();
  readonly #numbers = new DigestTable(this.#keys);
  readonly #runs: EarlierRuns;

  constructor(options: { readonly input: string; readonly resendLogged: boolean }) {
    const numberOf = (keys: Uint8Array, offset: number) =>
      this.#numberOf(keys.subarray(offset, offset + dedupKeyBytes));
    this.#runs = new EarlierRuns({ ...options, numberOf });
  }

  get runs(): Pick<EarlierRuns, "isEmpty" | "unknownEntries" | "loggedElsewhereAt" | "take"> {
    return this.#runs;
  }

  outcomeOf(key: Uint8Array): EarlierOutcome {
    return this.#runs.outcomeOf(this.#numbers.find(key) ?? -1);
  }

  wasLoggedElsewhere(key: Uint8Array): boolean {
    return this.#runs.wasLoggedElsewhere(this.#numbers.find(key) ?? -1);
  }

  /** Takes over what this run made of a group of a file that another one follows. */
  settle(key: Uint8Array, outcome: "logged" | "unknown"): void {
    this.#runs.settle(this.#numberOf(key), outcome);
  }

  #numberOf(key: Uint8Array): number {
    const known = this.#numbers.find(key);
    if (known !== undefined) return known;
    this.#keys.append(key);
    return this.#numbers.add(this.#keys.count - 1);
  }
}
