/** One trajectory: its conversation, its values, what is wrong with it, and its JSON as it stands. */
import type { GroupDetail } from "../shapes.ts";
import { askJson, askText, useAnswer } from "./ask.ts";
import { LogCommand, PlaceShown } from "./copy.tsx";
import { conversationIn } from "./entries.ts";
import { Reader } from "./reader.tsx";
import { groupAddress, trajectoryAddress } from "./routes.ts";
import { measure } from "./text.ts";

export const Trajectory = ({ group, trajectory }: { readonly group: number; readonly trajectory: number }) => {
  const detail = useAnswer(`api/groups/${group}`, askJson<GroupDetail>);
  const json = useAnswer(`api/groups/${group}/${trajectory}`, askText);
  if (detail.state === "waiting" || json.state === "waiting") return <p class="quiet">reading…</p>;
  if (detail.state === "trouble") return <p role="alert">{detail.text}</p>;
  if (json.state === "trouble") return <p role="alert">{json.text}</p>;
  return <Shown detail={detail.value} trajectory={trajectory} json={json.value} />;
};

const Shown = ({
  detail,
  trajectory,
  json,
}: {
  readonly detail: GroupDetail;
  readonly trajectory: number;
  readonly json: string;
}) => {
  const { group, members, findings, command } = detail;
  const member = members[trajectory];
  const address = (to: number) => (members[to] === undefined ? undefined : trajectoryAddress(group, to));
  return (
    <article>
      <p class="way">
        <a href={groupAddress(group)}>group {group + 1}</a> › trajectory {trajectory + 1} of {members.length}
      </p>
      <h1>reward {measure(member?.reward)}</h1>
      {member !== undefined && <PlaceShown place={member.place} />}
      <Metrics metrics={member?.metrics ?? {}} />
      <Reader
        json={json}
        conversation={conversationIn(json)}
        findings={findings.filter((finding) => finding.trajectory === trajectory)}
        next={address(trajectory + 1)}
        previous={address(trajectory - 1)}
      />
      <LogCommand command={command} />
    </article>
  );
};

const Metrics = ({ metrics }: { readonly metrics: Readonly<Record<string, number>> }) => {
  const all = Object.entries(metrics);
  if (all.length === 0) return null;
  return (
    <dl class="metrics">
      {all.map(([name, value]) => (
        <div key={name}>
          <dt>{name}</dt>
          <dd>{measure(value)}</dd>
        </div>
      ))}
    </dl>
  );
};
