"use strict";

const $ = (id) => document.getElementById(id);
const sessionKey = "tandem-session";
const stateEvery = 2000; // milliseconds between two looks at the server's state
let running = null; // AbortController of the request in flight

// api fetches JSON and turns an error answer into an Error with its sentence.
async function api(path, options = {}) {
  const answer = await fetch(path, options);
  if (!answer.ok) {
    throw Object.assign(new Error(await refusal(answer)), { status: answer.status });
  }
  return answer;
}

async function refusal(answer) {
  try {
    return (await answer.json()).error.message;
  } catch {
    return `The server answered ${answer.status}.`;
  }
}

const post = (path, body, options = {}) =>
  api(path, { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(body), ...options });

async function showModel() {
  try {
    const { data } = await (await api("/v1/models")).json();
    const alias = data.find((m) => m.id === "tandem");
    $("model").textContent = !alias
      ? "No model is chosen."
      : `${alias.root}, context ${alias.context_length.toLocaleString()} tokens`;
    $("toy").hidden = alias?.root !== "pocket";
  } catch (e) {
    $("model").textContent = `The models could not be listed: ${e.message}`;
  }
}

// enter spends the code behind # for a session, and shows the state with it.
async function enter() {
  const code = location.hash.slice(1);
  if (code) {
    history.replaceState(null, "", location.pathname);
    try {
      const { session } = await (await post("/app/session", { code })).json();
      sessionStorage.setItem(sessionKey, session);
    } catch (e) {
      $("session").textContent = e.message;
      return;
    }
  }
  await showState();
}

async function showState() {
  const session = sessionStorage.getItem(sessionKey);
  if (!session) {
    $("session").textContent = "Opened without a session, so the server's state is not shown. The command “tandem open” opens this page with one.";
    return;
  }
  try {
    const s = await (await api("/app/state", { headers: { Authorization: `Bearer ${session}` } })).json();
    const loaded = s.loaded ? `${s.loaded.id} on ${s.loaded.device}, ${s.loaded.dtype}` : "no model in memory";
    const mib = Math.round(s.active_bytes / (1 << 20));
    $("session").textContent = `Tandem ${s.version}, ${s.phase}: ${loaded}; ${mib} MiB in use; ${s.active.length === 1 ? "1 request" : `${s.active.length} requests`} in flight.`;
  } catch (e) {
    if (e.status === 401) sessionStorage.removeItem(sessionKey);
    $("session").textContent = e.message;
  }
}

// events yields the data of each server-sent event of an answer.
async function* events(answer) {
  const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
  let buffer = "";
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return;
    buffer += value;
    let end;
    while ((end = buffer.indexOf("\n\n")) >= 0) {
      const event = buffer.slice(0, end);
      buffer = buffer.slice(end + 2);
      if (event.startsWith("data: ")) yield event.slice(6);
    }
  }
}

function request() {
  const prompt = $("prompt").value;
  const common = { model: "tandem", max_tokens: Number($("max").value), stream: true };
  if (new FormData($("form")).get("mode") === "chat") {
    return ["/v1/chat/completions", { ...common, messages: [{ role: "user", content: prompt }] }];
  }
  return ["/v1/completions", { ...common, prompt }];
}

function showTimings(t, finish) {
  const rate = (n) => (n >= 100 ? Math.round(n).toLocaleString() : n.toFixed(1));
  const parts = [`${t.prompt_n + t.cache_n} prompt tokens`];
  if (t.prompt_per_second) parts.push(`read at ${rate(t.prompt_per_second)} a second`);
  parts.push(`first token after ${rate(t.first_token_ms)} ms`, `${t.predicted_n} tokens`);
  if (t.predicted_per_second) parts.push(`written at ${rate(t.predicted_per_second)} a second`);
  if (t.draft_n) parts.push(`${t.draft_n_accepted} of ${t.draft_n} guessed tokens stood`);
  parts.push(finish === "length" ? "stopped by the limit" : "the model ended it");
  $("timings").textContent = parts.join(" · ");
}

async function run() {
  if (running || !$("form").reportValidity()) return;
  running = new AbortController();
  $("run").disabled = true;
  $("stop").disabled = false;
  $("error").hidden = true;
  $("timings").textContent = "";
  $("text").textContent = "";
  $("answer").setAttribute("aria-busy", "true");
  let finish = "";
  let done = false;
  try {
    const [path, body] = request();
    $("given").textContent = body.prompt ?? "";
    const answer = await post(path, body, { signal: running.signal });
    showState();
    for await (const data of events(answer)) {
      if (data === "[DONE]") {
        done = true;
        break;
      }
      const chunk = JSON.parse(data);
      if (chunk.error) throw new Error(chunk.error.message);
      for (const c of chunk.choices) {
        $("text").append(c.text ?? c.delta.content ?? "");
        finish = c.finish_reason ?? finish;
      }
      if (chunk.timings) showTimings(chunk.timings, finish);
      $("answer").scrollTop = $("answer").scrollHeight;
    }
    if (!done) throw new Error("The connection ended before the answer did.");
  } catch (e) {
    if (e.name === "AbortError") {
      $("timings").textContent = "Stopped.";
    } else {
      $("error").textContent = e.message;
      $("error").hidden = false;
    }
  }
  running = null;
  $("run").disabled = false;
  $("stop").disabled = true;
  $("answer").setAttribute("aria-busy", "false");
  showState();
}

const stop = () => running?.abort();

$("endpoint").value = `${location.origin}/v1`;
$("copy").addEventListener("click", async () => {
  try {
    await navigator.clipboard.writeText($("endpoint").value);
    $("copy").textContent = "Copied";
  } catch {
    $("endpoint").select();
    $("copy").textContent = "Press Ctrl+C";
  }
  setTimeout(() => ($("copy").textContent = "Copy"), 2000);
});
$("form").addEventListener("submit", (e) => {
  e.preventDefault();
  run();
});
$("stop").addEventListener("click", stop);
document.addEventListener("keydown", (e) => {
  if (e.key === "Enter" && (e.ctrlKey || e.metaKey)) {
    e.preventDefault();
    run();
  } else if (e.key === "Escape") {
    stop();
  }
});
// The state changes without this page too: other programs ask, a model is unloaded, a request that was stopped ends.
const watchState = () => {
  if (!document.hidden && sessionStorage.getItem(sessionKey)) showState();
};
setInterval(watchState, stateEvery);
document.addEventListener("visibilitychange", watchState);
showModel();
enter();
