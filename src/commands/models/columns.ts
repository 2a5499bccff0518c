/** The columns of the models that can be called (interface 2.3). */
import type { InferenceModel } from "../../contract/models.ts";
import type { Column } from "../../output/index.ts";
import { dayCell, fieldColumn, statedValue, textCell } from "../lists/cells.ts";

/** Their order is a promise (promises.md, "Output"). */
export const modelColumns: readonly Column<InferenceModel>[] = [
  fieldColumn("id", { rank: 0, of: ({ id }) => id, cell: textCell }),
  fieldColumn("created", { rank: 2, of: ({ created }) => created, cell: dayCell, value: statedValue }),
  fieldColumn("owned_by", { heading: "owned by", rank: 1, of: ({ owned_by }) => owned_by, cell: textCell }),
  fieldColumn("root", { rank: 3, of: ({ root }) => root, cell: textCell }),
  fieldColumn("object", { rank: 4, of: ({ object }) => object, cell: textCell }),
];
