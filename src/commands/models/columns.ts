/** The columns of the models that can be called (interface 2.3). */
import type { InferenceModel } from "../../contract/models.ts";
import type { Column } from "../../output/index.ts";
import { dayCell, sortValue, statedValue, textCell } from "../lists/cells.ts";

/** Their order is a promise (promises.md, "Output"). */
export const modelColumns: readonly Column<InferenceModel>[] = [
  {
    name: "id",
    heading: "id",
    rank: 0,
    cell: ({ id }, spelled) => textCell(id, spelled),
    value: ({ id }) => sortValue(id),
  },
  {
    name: "created",
    heading: "created",
    rank: 2,
    cell: ({ created }, spelled) => dayCell(created, spelled),
    value: ({ created }) => statedValue(created),
  },
  {
    name: "owned_by",
    heading: "owned by",
    rank: 1,
    cell: ({ owned_by }, spelled) => textCell(owned_by, spelled),
    value: ({ owned_by }) => sortValue(owned_by),
  },
  {
    name: "root",
    heading: "root",
    rank: 3,
    cell: ({ root }, spelled) => textCell(root, spelled),
    value: ({ root }) => sortValue(root),
  },
  {
    name: "object",
    heading: "object",
    rank: 4,
    cell: ({ object }, spelled) => textCell(object, spelled),
    value: ({ object }) => sortValue(object),
  },
];
