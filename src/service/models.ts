/** The model list (interface 4.2): the models that were logged to. */
import { listModels } from "../contract/models.ts";
import { errorWording } from "./answer.ts";
import { type Operation, operation } from "./operation.ts";
import type { Store } from "./stored.ts";

/** The operation that lists models. The project header is for tracking usage: there is none to track here. */
export const modelsOperation = (store: Store): Operation =>
  operation(listModels, errorWording, () => ({
    status: 200,
    body: JSON.stringify({
      object: "list",
      data: store
        .models()
        .map(({ id, owner, created }) => ({ id, object: "model", created, owned_by: owner, root: id })),
    }),
  }));
