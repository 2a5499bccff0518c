/** The result of a walk over messages. */
import type { ToolEvent } from "./tool-calls.ts";

/** The sampled turns: choices or, without choices, messages of the assistant. */
export class SampledTurns {
  count = 0;
  /** Code points of the content, the reasoning and the arguments of calls. */
  characters = 0;
  /** The nodes of the log probabilities. */
  readonly scores: number[] = [];
  /** The nodes of contents with marks of chat templates. */
  readonly marked: { readonly node: number; readonly mark: string }[] = [];
}

/** A class, because V8 would recompile its users when a literal makes a second object. */
export class MessageWalk {
  /** The node of the messages and choices; 0 if they were not walked. */
  list = 0;
  choices = 0;
  choicesWithLogprobs = 0;
  hasAssistantTurn = false;
  /** True if a call has a name. */
  callsTools = false;
  /** The first choice replaces the turns before. */
  turns = new SampledTurns();
  readonly events: ToolEvent[] = [];
  /** The number of events before the calls of the last message, which need no result; undefined if it has no calls. */
  beforeLastCalls: number | undefined = undefined;
  /** The node of the first choice or, without choices, of the first assistant turn; or 0. */
  firstTurn = 0;
  /** The byte after the prompt: the messages before the first turn. 0 without a user message, which has the task. */
  promptEnd = 0;
  /** True if the prompt begins with an assistant message, so that the user may be simulated. */
  hasGreeting = false;
  /** The finish reason of the last choice. */
  finishReason: string | undefined = undefined;
  /** The node of this reason if it is `length`, or 0. */
  cutNode = 0;
}
