/** Lists trajectories to read, and by what they are selected. */
import { useRef } from "preact/hooks";
import type { ReadingList } from "../answers.ts";
import { useLink, useListKeys, usePage } from "./navigation.tsx";
import { formatCount, Reward } from "./numbers.tsx";
import { PendingAnswer } from "./problems.tsx";
import { useAnswer } from "./use-answer.ts";

export const ReadingView = () => {
  const link = useLink();
  const { value, error } = useAnswer("reading", usePage().query);
  const lists = useRef<HTMLDivElement>(null);
  useListKeys(lists, "li a");
  if (!value) return <PendingAnswer error={error} />;
  return (
    <section>
      <div class="position">
        <a href={link({ reading: undefined })}>groups</a>
      </div>
      <h1>reading list</h1>
      <p class="quiet">
        {value.length === 0 ? "No trajectory is selected." : "Each list says by what it is selected."} rollcall judges
        no trajectory.
      </p>
      <div ref={lists}>
        {value.map(({ topic, reason, selectedBy, trajectories }, at) => (
          <section key={reason} aria-label={reason}>
            {topic !== value[at - 1]?.topic && <h2>{topic}</h2>}
            <h3>{reason}</h3>
            <p class="quiet">selected by: {selectedBy}</p>
            <ul class="selected">
              {trajectories.map((selected) => (
                <Selected key={`${selected.group} ${selected.trajectory}`} {...selected} />
              ))}
            </ul>
          </section>
        ))}
      </div>
    </section>
  );
};

const Selected = ({ group, trajectory, reward, why, prompt }: ReadingList["trajectories"][number]) => (
  <li>
    <a href={useLink()({ group: group + 1, trajectory: trajectory + 1 })}>
      trajectory {trajectory + 1} of group {formatCount(group + 1)}
    </a>
    <Reward value={reward} />
    <b>{why}</b>
    <span class="quiet" title={prompt}>
      {prompt}
    </span>
  </li>
);
