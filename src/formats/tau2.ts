/** Results of tau2-bench: a simulation is a rollout, the trials of a task are a group; all in one document, or each in a file of `simulations/`. */
import { basename, dirname, join } from "node:path";
import { type Built, type Composed, list, object, objectOf, said, unlessEmpty } from "./built.ts";
import { type Format, type FormatRun, needed, type Rollout, rewardOf, type SourceRecord, Unfit } from "./format.ts";
import { toolCalls } from "./tool-calls.ts";
import { choice, derivedFinish } from "./turns.ts";
import type { Value } from "./value.ts";

/** Why values of a simulation have no place. */
const leftOfSimulation: Readonly<Record<string, string>> = {
  messages: "the interface's messages have no place for it",
  reward_info: "the trajectory has a place for its reward and metrics",
  agent_usage: "the interface has no place for usage",
  review: "the trajectory's metadata holds no nested values",
  info: "the trajectory's metadata holds no nested values",
};

export const tau2: Format = {
  name: "tau2",
  title: "results of tau2-bench",
  keys: {
    group: "the domain and task_id",
    reward: "reward_info.reward",
    sampled: "the assistant's turns but the opening greeting",
  },
  records: { text: "document" },
  files: /(?:^|[/\\])(?:results|simulations[/\\][^/\\]+)\.json(?:\.gz|\.zst)?$/,
  groupsAcross: true,
  recognises: ({ value }) =>
    isSimulation(value) ||
    (value.get("info", "agent_info") !== undefined &&
      value.get("tasks")?.isList === true &&
      (value.get("simulations") ?? value.get("simulation_index"))?.isList === true),
  open: (run) => new Simulations(run),
  left: {
    ...Object.fromEntries(
      ["tasks", "timestamp", "simulation_index", "format_version"].map((key) => [
        key,
        "it is of the run, and of no simulation",
      ]),
    ),
    ...leftOfSimulation,
    ...Object.fromEntries(Object.entries(leftOfSimulation).map(([key, why]) => [`simulations[].${key}`, why])),
  },
};

const isSimulation = (value: Value): boolean =>
  value.get("task_id") !== undefined &&
  value.get("termination_reason") !== undefined &&
  (value.get("messages") ?? value.get("ticks"))?.isList === true;

/** A run of tau2: what tells its tasks from those of others, and what it says of itself. */
interface Run {
  readonly name: string;
  readonly results: Value | undefined;
}

class Simulations {
  readonly #run: FormatRun;

  constructor(run: FormatRun) {
    this.#run = run;
  }

  convert(record: SourceRecord): readonly Rollout[] {
    const { value, file } = record;
    const simulations = value.get("simulations");
    if (simulations?.isList === true) {
      const run = { name: file, results: value };
      return simulations.items().map((simulation, at) => this.#rollout(simulation, run, at));
    }
    if (value.get("info") !== undefined && value.get("tasks") !== undefined) return this.#missing(record);
    const results = this.#run.beside(record, join("..", "results.json"));
    if (results === undefined) this.#run.note("there is no results.json beside simulations/: the domain is not known");
    return [this.#rollout(value, { name: join(dirname(file), "..", "results.json"), results }, 0)];
  }

  /** The simulations of a folder that its list names, and that have no file: the others of their groups are no groups without them. */
  #missing({ value, file }: SourceRecord): readonly Rollout[] {
    const folder = join(dirname(file), "simulations");
    const there = new Set(
      this.#run.files
        .filter((name) => dirname(join(name)) === folder)
        .map((name) => basename(name).replace(/\.json.*$/, "")),
    );
    const listed = value.get("simulation_index")?.items() ?? [];
    const missing = listed.filter((entry) => !there.has(entry.get("id")?.text ?? ""));
    return missing.map((entry, at) => {
      const wrong = `its simulation is no file of simulations/ here: give the folder that holds both`;
      const run = { name: join(file), results: value };
      const [group, unfit] = [groupOf(entry, run), new Unfit(wrong, entry)];
      return { group: group ?? `without task ${at}`, of: entry, unfit, isUnplaced: group === undefined };
    });
  }

  #rollout(simulation: Value, run: Run, at: number): Rollout {
    const group = groupOf(simulation, run);
    try {
      if (group === undefined) throw new Unfit("task_id is missing", simulation);
      return { group, of: simulation, ...this.#outcome(simulation, run, group) };
    } catch (thrown) {
      if (!(thrown instanceof Unfit)) throw thrown;
      const own = group ?? `${run.name} without task ${at}`;
      return { group: own, of: simulation, unfit: thrown, isUnplaced: group === undefined };
    }
  }

  #outcome(simulation: Value, run: Run, group: string): Omit<Rollout, "group"> {
    const ticks = simulation.get("ticks");
    if (ticks !== undefined) throw new Unfit("it has ticks: simulations of voice are not read", ticks, group);
    const info = simulation.get("reward_info");
    if (info === undefined) {
      this.#run.leave(simulation, "a simulation without reward_info is an exception, whatever else it has");
      return { exception: exceptionOf(simulation) };
    }
    const id = simulation.get("id");
    const { reward, identity } = rewardOf(this.#run, { record: simulation, ids: [id], own: info.get("reward"), group });
    const trajectory = object({
      messages_and_choices: list(this.#turns(simulation, group)),
      reward,
      metrics: unlessEmpty(metricsOf(info)),
      metadata: unlessEmpty(metadataOf(simulation, run)),
    });
    return { trajectory, identity };
  }

  #turns(simulation: Value, group: string): readonly Built[] {
    const messages = needed(simulation, "messages", group);
    if (!messages.isList) throw new Unfit("messages are no list", messages, group);
    const all = messages.items().flatMap((message) => message.get("tool_messages")?.items() ?? [message]);
    if (all[0]?.get("role")?.text !== "system") {
      this.#run.note("the agent's system prompt is not recorded: the messages begin without it");
    }
    const opening = all.find((message) => message.get("role")?.text !== "system");
    return all.flatMap((message) => this.#turn(message, { isOpening: message === opening, group }) ?? []);
  }

  #turn(
    message: Value,
    { isOpening, group }: { readonly isOpening: boolean; readonly group: string },
  ): Built | undefined {
    const [role, content] = [message.get("role"), message.get("content")];
    if (role?.isText !== true) throw new Unfit("a message has no role", message, group);
    if (role.text === "assistant") return this.#agents(message, isOpening);
    const isUsersOwn =
      role.text === "user"
        ? (message.get("tool_calls")?.items() ?? []).length > 0 && (content?.text ?? "").trim() === ""
        : message.get("requestor")?.text === "user";
    if (isUsersOwn) {
      this.#run.note("calls of the simulated user's own tools are left out");
      this.#run.leave(message, "the simulated user's own tools are no part of what the agent saw");
      return undefined;
    }
    return object({
      role,
      tool_call_id: role.text === "tool" ? message.get("id") : undefined,
      content: content ?? said(""),
    });
  }

  /** A turn of the agent: as its provider gave it, where that is a choice. */
  #agents(message: Value, isOpening: boolean): Built {
    const raw = message.get("raw_data");
    const whole = object({
      role: message.get("role"),
      content: message.get("content") ?? said(null),
      tool_calls: toolCalls(message),
    });
    const callsTools = (message.get("tool_calls")?.items() ?? []).length > 0;
    if (raw === undefined && isOpening && !callsTools) return whole;
    const given = [raw, raw?.get("choices", 0)].find(isChoice);
    if (given !== undefined) {
      this.#run.leave(message, "the choice in raw_data says it");
      return given;
    }
    const finish = raw?.get("choices", 0, "finish_reason");
    return choice(whole, finish?.isText !== true ? derivedFinish(this.#run, callsTools) : finish);
  }
}

const isChoice = (value: Value | undefined): boolean =>
  value?.get("finish_reason")?.isText === true && value.get("message")?.isObject === true;

const domainOf = ({ results }: Run): Value | undefined => results?.get("info", "environment_info", "domain_name");

const groupOf = (simulation: Value, run: Run): string | undefined => {
  const task = simulation.get("task_id");
  return task === undefined ? undefined : `${run.name} ${domainOf(run)?.text ?? ""} ${task.text ?? task.raw}`;
};

const exceptionOf = (simulation: Value): Built =>
  object({
    type: simulation.get("termination_reason") ?? said("unscored"),
    message: said("the simulation ended without a reward: it has no reward_info"),
  });

const metricsOf = (info: Value): Composed =>
  objectOf(
    (info.get("reward_breakdown")?.members() ?? [])
      .filter(([, { isNumber }]) => isNumber)
      .map(([name, value]) => [`reward_breakdown.${name}`, value]),
  );

const metadataOf = (simulation: Value, run: Run): Composed => {
  const own = simulation.members().filter(([, { isFlat }]) => isFlat);
  const others: readonly [string, Value | undefined][] = [
    ["domain", domainOf(run)],
    ["model", run.results?.get("info", "agent_info", "llm")],
  ];
  const nulls = new Set(["messages", "ticks", "reward_info"]);
  return objectOf([...own.filter(([key]) => !nulls.has(key)), ...others]);
};
