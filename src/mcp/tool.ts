/** What a tool is: what a client is told of it, and what it does. */
import type { Given, Parameter, Schema } from "./parameter.ts";

/** A tool that only reads. */
export interface Tool {
  readonly name: string;
  readonly title: string;
  /** For the agent that chooses it: what it gives, in which units, and what bounds it. */
  readonly description: string;
  readonly parameters: readonly Parameter<unknown>[];
  /** JSON Schema of what it gives, an object. */
  readonly result: Schema;
  /** Whether it asks a service, or only this machine. */
  readonly asksService: boolean;
  /**
   * Its result: an object that is JSON.
   * @throws Failure, which the client is given as its document
   */
  run(given: Given, about: { readonly signal: AbortSignal }): Promise<Readonly<Record<string, unknown>>>;
}
