/** Names the members that recorders add to messages, in which repetitions of a prompt differ. */
export const recorderKey =
  /^(?:id|uid|uuid|(?:message|msg|turn|event|tool_call|call)_id|source|recorder|cache_control|date|time|created|turn_idx|timestamp|\w+_(?:at|time|timestamp))$/;
