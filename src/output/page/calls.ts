/** What is said of traced calls to print them, and how each form prints them. */
import type { Screen } from "../screen/screen.ts";

/** What of a traced call was asked for, and how its deployment spells it: cost and sizes are shown only where asked for. */
export interface CallAsked {
  readonly costs: boolean;
  readonly storageSize: boolean;
  readonly totalStorageSize: boolean;
  /** Whether a terminal gets long texts whole. Default no. */
  readonly full?: boolean;
  /** Whether what people and models wrote is shown. Default yes. */
  readonly content?: boolean;
  /** The word in front of `_user_id`, `_run_id` and of what the summary holds (interface 2.4). */
  readonly vendorPrefix: string;
}

/** Prints traced calls in the form asked for, in the order given, as soon as the form allows it. */
export interface CallPrinter {
  /** `bytes` is the call as the service wrote it: one JSON object. */
  print(bytes: Uint8Array): Promise<void>;
  /** Prints what had to wait for the last call. `several` ids asked for make the JSON `{"calls":[…]}`, one `{"call":{…}}`. */
  end(about: { readonly several: boolean }): Promise<void>;
  /** Prints what a person can use of what waited, since something else ends the run. */
  cut(): Promise<void>;
}

/** How a run's calls are printed. */
export interface CallPrinting {
  readonly screen: Screen;
  readonly asked: CallAsked;
  /** Whether pages are Markdown. */
  readonly markdown?: boolean;
}

/** The fields of a call in the order of interface 2.4; `vendor_` stands for the deployment's own word. */
export const callFields = [
  "id",
  "project_id",
  "op_name",
  "trace_id",
  "started_at",
  "attributes",
  "inputs",
  "display_name",
  "parent_id",
  "thread_id",
  "turn_id",
  "ended_at",
  "exception",
  "output",
  "summary",
  "vendor_user_id",
  "vendor_username",
  "vendor_run_id",
  "vendor_run_step",
  "vendor_run_step_end",
  "deleted_at",
  "storage_size_bytes",
  "total_storage_size_bytes",
] as const;
