/** Searches in the background: what each found so far can be asked for; one that nobody asks for any more ends. */
import { type Reading, type RewardsKnown, type Sought, searchGroups } from "../groups/index.ts";
import type { Searched } from "./shapes.ts";

/** Searches that are kept, for as many tabs. */
const mostSearches = 4;

/** How long a search goes on that nobody asks for: a page asks several times a second. */
const abandonedMs = 2000;

/** What is searched for in a reading. */
export class Searches {
  readonly #reading: Reading;
  readonly #rewardsKnown: RewardsKnown;
  readonly #all = new Map<string, Search>();

  constructor(reading: Reading, rewardsKnown: RewardsKnown) {
    this.#reading = reading;
    this.#rewardsKnown = rewardsKnown;
  }

  /** The search for something, which begins with that; undefined where nothing is looked for. */
  for({ text, where }: Sought): Search | undefined {
    if (text === undefined && where === undefined) return undefined;
    const key = JSON.stringify([text, where]);
    const known = this.#all.get(key);
    const search =
      known === undefined || known.isAbandoned ? new Search(this.#reading, { text, where }, this.#rewardsKnown) : known;
    // The last that was asked for stands last.
    this.#all.delete(key);
    this.#all.set(key, search);
    const [oldest] = this.#all;
    if (this.#all.size > mostSearches && oldest !== undefined) {
      oldest[1].end();
      this.#all.delete(oldest[0]);
    }
    return search;
  }

  end(): void {
    for (const search of this.#all.values()) search.end();
    this.#all.clear();
  }
}

/** One search. */
export class Search {
  readonly #found: Uint8Array;
  readonly #ending = new AbortController();
  #searched: Searched = { share: 0, found: 0 };
  #failure: { readonly thrown: unknown } | undefined;
  #timer: ReturnType<typeof setTimeout> | undefined;

  constructor(reading: Reading, sought: Sought, rewardsKnown: RewardsKnown) {
    this.#found = new Uint8Array(reading.groups.count);
    const { signal } = this.#ending;
    const found = (group: number) => this.#take(group);
    const progress = (share: number) => {
      // All of it is found once nothing is left to find.
      this.#searched = { ...this.#searched, share: Math.min(share, 0.999) };
    };
    searchGroups(reading, sought, { signal, found, progress, rewardsKnown })
      .then(
        () => {
          this.#searched = { ...this.#searched, share: 1 };
        },
        (thrown: unknown) => {
          this.#failure = { thrown };
        },
      )
      .finally(() => clearTimeout(this.#timer));
  }

  get isAbandoned(): boolean {
    return this.#ending.signal.aborted;
  }

  /** How far it is. @throws what it ended with: Failure `where-wrong`, `input-changed` */
  asked(): Searched {
    if (this.#failure !== undefined) throw this.#failure.thrown;
    clearTimeout(this.#timer);
    if (this.#searched.share < 1) this.#timer = setTimeout(() => this.end(), abandonedMs).unref();
    return this.#searched;
  }

  has(group: number): boolean {
    return this.#found[group] === 1;
  }

  end(): void {
    clearTimeout(this.#timer);
    this.#ending.abort();
  }

  #take(group: number): void {
    if (this.#found[group] !== 0) return;
    this.#found[group] = 1;
    this.#searched = { ...this.#searched, found: this.#searched.found + 1 };
  }
}
