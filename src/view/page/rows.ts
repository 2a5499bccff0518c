/** Rows of a table, asked for as they are scrolled to. */
import { useEffect, useRef, useState } from "preact/hooks";
import type { Listed } from "../shapes.ts";
import { askJson } from "./ask.ts";
import { queryOf } from "./routes.ts";

/** Rows that are asked for at once. */
const blockRows = 100;

/** What rows are asked for. */
export interface Asking {
  /** Where they are asked for, without what is selected. */
  readonly path: string;
  readonly parameters: Readonly<Record<string, string>>;
  /** Rows are asked for anew when it changes. */
  readonly edition: unknown;
}

/** How often the page asks what a search has found. */
const againMs = 200;

/** Rows by their position, block by block as they were scrolled to. */
export const useRows = <Row>({ path, parameters, edition }: Asking) => {
  const addressAt = (from: number, count = blockRows): string =>
    `${path}${queryOf({ ...parameters, from: String(from), count: String(count) })}`;
  const query = addressAt(0);
  const blocks = useRef(new Map<number, readonly Row[] | undefined>());
  const [found, setFound] = useState<Pick<Listed<Row>, "selected" | "of" | "searched">>();
  const [trouble, setTrouble] = useState<string>();
  const [, setDrawn] = useState(0);
  const leaving = useRef(new AbortController());
  const asked = useRef<unknown>(undefined);
  useEffect(() => {
    leaving.current = new AbortController();
    const { signal } = leaving.current;
    setTrouble(undefined);
    let timer: ReturnType<typeof setTimeout>;
    // What a search finds stands among what it found before: the rows are asked for anew until it has ended.
    const ask = async (): Promise<void> => {
      const said = await askJson<Listed<Row>>(query, signal);
      // What comes behind all others leaves whole blocks as they are.
      const isKept = asked.current === edition && Object.keys(parameters).length === 0;
      const kept = isKept ? [...blocks.current].filter(([, rows]) => rows?.length === blockRows) : [];
      blocks.current = new Map([...kept, [0, said.rows]]);
      asked.current = edition;
      setFound(said);
      if (said.searched !== null && said.searched.share < 1) timer = setTimeout(() => void ask().catch(tell), againMs);
    };
    const tell = (thrown: unknown) => {
      if (signal.aborted || !(thrown instanceof Error)) return;
      // What was shown before is not what is asked for now.
      blocks.current = new Map();
      setFound(undefined);
      setTrouble(thrown.message);
    };
    ask().catch(tell);
    return () => {
      clearTimeout(timer);
      leaving.current.abort();
    };
  }, [query, edition]);
  const need = (block: number): void => {
    if (blocks.current.has(block)) return;
    blocks.current.set(block, undefined);
    askJson<Listed<Row>>(addressAt(block * blockRows), leaving.current.signal).then(
      ({ rows }) => {
        blocks.current.set(block, rows);
        setDrawn((count) => count + 1);
      },
      (thrown: unknown) => {
        blocks.current.delete(block);
        if (thrown instanceof Error && thrown.name !== "AbortError") setTrouble(thrown.message);
      },
    );
  };
  return {
    /** What is selected, in which order. */
    name: `${path}${queryOf(parameters)}`,
    addressAt,
    found,
    trouble,
    rowAt: (at: number): Row | undefined => blocks.current.get(Math.floor(at / blockRows))?.[at % blockRows],
    need: (from: number, to: number): void => {
      for (let block = Math.floor(from / blockRows); block * blockRows < to; block++) need(block);
    },
  };
};
