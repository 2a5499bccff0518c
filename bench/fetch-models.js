/** What `rollcall models` is measured against: a script that lists the models with Node's own `fetch`. */
const reply = await fetch(`${process.env.ROLLCALL_INFERENCE_BASE_URL}/v1/models`, {
  headers: { Authorization: `Bearer ${process.env.ROLLCALL_API_KEY}`, "Content-Type": "application/json" },
});
const { data } = await reply.json();
for (const { id, created, owned_by, root } of data) console.log([id, created, owned_by, root].join("\t"));
