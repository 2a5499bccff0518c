/** Operations that list models and catalogs, and read calls. */
import { createHash } from "node:crypto";
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { isChoice, messageOf } from "../conversation/message.ts";
import { Failure } from "../failure.ts";
import { bomLength, locateOffset, toBuffer } from "../json/json-bytes.ts";
import { composeArray, composeMembers, composeObject, parseRawJson, sliceMembers, textAt } from "../json/raw-json.ts";
import { requireFault } from "../json/reader.ts";
import { trajectoryFields } from "../rollouts/check/trajectory.ts";
import { getErrorCode } from "../system/files.ts";
import { describeSystemCode } from "../text/sentences.ts";
import { CallRequest, listAnalysisModels, listModels, listRouterModels, readCall } from "../wire/contract/reads.ts";
import { defineOperation, detailError, HttpRefusal, openAiError, parseBody, reasonError } from "./operation.ts";
import sample from "./sample-catalog.json";
import type { Store, StoredCall } from "./store/store.ts";

/** Interface 4.2. Ignores the project header, because that header tracks usage. */
export const modelsOperation = (store: Store) =>
  defineOperation(listModels, openAiError, async () => {
    const models = await store.listModels();
    const data = models.map(({ id, owner, created }) => ({ id, object: "model", created, owned_by: owner, root: id }));
    return JSON.stringify({ object: "list", data });
  });

/** Interface 4.4 and 4.5. */
export const catalogOperations = (dataDir: string) => [
  defineOperation(listAnalysisModels, detailError, ({ parameters }) =>
    readCatalog(dataDir, "analysis", parameters.analysis_provider ?? ""),
  ),
  defineOperation(listRouterModels, detailError, ({ parameters }) =>
    readCatalog(dataDir, "router", parameters.router_provider ?? ""),
  ),
];

/** Interface 4.3. Copies the values of the trajectory byte for byte. Assumed: for an unknown id, `call` is null. */
export const callOperation = (store: Store) =>
  defineOperation(readCall, reasonError, async ({ body }) => {
    const request = parseBody(CallRequest, body);
    const call = await store.findCall(request.project_id, request.id);
    return composeObject({ call: call ? formatCall(call, request) : "null" });
  });

type CatalogKind = keyof typeof sample;

/** @throws HttpRefusal 404; Failure `unusable-catalog` */
const readCatalog = async (dataDir: string, kind: CatalogKind, provider: string) => {
  const folder = join(dataDir, "catalog", kind);
  const files = (await readdir(folder).catch(() => [])).filter((file) => file.endsWith(".json")).sort();
  if (files.length === 0) return formatSample(kind);
  if (!files.includes(`${provider}.json`)) {
    const known = files.map((file) => json(file.slice(0, -".json".length))).join(", ");
    throw new HttpRefusal(404, `unknown provider ${json(provider)}, expected ${known}`);
  }
  const path = join(folder, `${provider}.json`);
  const fail = (reason: string) => {
    const message = `catalog/${kind}/${provider}.json in the data folder ${reason}`;
    const hint = "correct the file, or move it out of the folder";
    return new Failure("invalid_input", "unusable-catalog", message, { hint, where: { file: path } });
  };
  const bytes = await readFile(path).catch((thrown: unknown) => {
    throw fail(`cannot be read: ${describeSystemCode(getErrorCode(thrown))}`);
  });
  const content = bytes.subarray(bomLength(bytes));
  const list = listRouterModels.reply(content);
  if (list && "value" in list) return content;
  const { line, column } = locateOffset(content, requireFault(content).at);
  throw fail(list ? 'is not a catalog, expected {"data":[…]}' : `is not JSON (line ${line}, column ${column})`);
};

/** Facts are from github.com/anomalyco/models.dev, MIT, Copyright (c) 2025 models.dev (test/samples/README.md). */
const formatSample = (kind: CatalogKind) => {
  const { common, models } = sample[kind];
  const note = `a sample that comes with rollcall. Put your own catalog at catalog/${kind}/<provider>.json in the data folder`;
  return JSON.stringify({ note, data: models.map((model) => ({ ...model, ...common })) });
};

const operationName = "rollcall.log";
const opDigest = createHash("sha256").update(`${operationName} 1`).digest("base64url");

const json = JSON.stringify;

/** Interface 2.4. Fields that trajectories lack are null. */
const formatCall = (call: StoredCall, request: CallRequest) => {
  const trajectory = sliceMembers(toBuffer(call.bytes).toString("utf8"));
  const { messages, choices, output } = splitConversation(trajectory.get("messages_and_choices") ?? "[]", call.model);
  const [size, loggedAt] = [json(call.bytes.length), json(new Date(call.loggedAt).toISOString())];
  const start = trajectory.get("start_time");
  const nulls = (...names: readonly string[]) => Object.fromEntries(names.map((name) => [name, "null"]));
  return composeObject({
    id: json(call.id),
    project_id: json(request.project_id),
    op_name: json(`vendor:///${request.project_id}/op/${operationName}:${opDigest}`),
    display_name: json(`${call.model} (${call.split})`),
    trace_id: json(call.id),
    ...nulls("parent_id", "thread_id", "turn_id"),
    started_at: start === undefined || start === "null" ? loggedAt : start,
    ended_at: loggedAt,
    exception: "null",
    attributes: formatAttributes(call, trajectory, choices),
    inputs: composeObject({
      model: json(call.model),
      messages,
      tools: trajectory.get("tools"),
      additional_histories: trajectory.get("additional_histories"),
    }),
    output,
    summary: formatSummary(call, trajectory.get("usage"), request.include_costs),
    ...nulls("vendor_user_id", "vendor_username", "vendor_run_id", "vendor_run_step", "vendor_run_step_end"),
    deleted_at: "null",
    storage_size_bytes: request.include_storage_size ? size : undefined,
    total_storage_size_bytes: request.include_total_storage_size ? size : undefined,
  });
};

const conversationFields = ["messages_and_choices", "tools", "additional_histories"];
const attributeFields = trajectoryFields.filter((name) => !conversationFields.includes(name));
const knownFields = [...conversationFields, ...attributeFields, "usage"];

const formatAttributes = (call: StoredCall, trajectory: ReadonlyMap<string, string>, choices: string | undefined) => {
  const otherKeys = composeMembers([...trajectory].filter(([key]) => !knownFields.includes(key)));
  const unlessEmpty = (object: string) => (object === "{}" ? undefined : object);
  return composeMembers([
    ["split", json(call.split)],
    ...attributeFields.map((key) => [key, trajectory.get(key)] as const),
    ["group", json(call.group)],
    ["trajectory", json(call.position)],
    // Repeats the choices, because `inputs` omits members such as `logprobs`.
    ["choices", choices],
    ["other", unlessEmpty(otherKeys)],
    ["group_other", unlessEmpty(call.otherGroupKeys)],
    ["request_other", unlessEmpty(call.otherRequestKeys)],
  ]);
};

/** Costs are empty, because no model has a price. */
const formatSummary = (call: StoredCall, usage: string | undefined, includeCosts: boolean) =>
  composeObject({
    usage: usage?.startsWith("{") === true ? composeMembers([[call.model, usage]]) : undefined,
    status_counts: json({ success: 1, error: 0 }),
    costs: includeCosts ? "{}" : undefined,
  });

const splitConversation = (messagesAndChoices: string, model: string) => {
  const { items } = parseRawJson(messagesAndChoices);
  const last = items.at(-1);
  const answer = isChoice(last) || textAt(last, "role") === "assistant" ? last : undefined;
  const turns = answer ? items.slice(0, -1) : items;
  const choices = turns.filter(isChoice).map((choice) => choice.json);
  // Clients treat a completion as a sampled turn, so a message must not become a completion.
  const completion = answer &&
    isChoice(answer) && { object: json("chat.completion"), model: json(model), choices: composeArray([answer.json]) };
  return {
    messages: composeArray(turns.map((turn) => messageOf(turn).json)),
    choices: choices.length === 0 ? undefined : composeArray(choices),
    output: completion ? composeObject(completion) : (answer?.json ?? "null"),
  };
};
