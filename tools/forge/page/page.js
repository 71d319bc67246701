// The page of forge serve: sends messages, shows answers while they are computed, and the joules of each answer.
"use strict";
const byId = id => document.getElementById(id);
let key = sessionStorage.getItem("key") || "";
let messages = [], joules = 0, known = false, abort = null;

const headers = () => ({"Content-Type": "application/json", ...(key ? {Authorization: "Bearer " + key} : {})});
const number = (value, unit, digits = 3) => value == null ? "–" : Number(value.toPrecision(digits)).toLocaleString() + " " + unit;
// Writes small energies with a prefix: 0.0021 becomes 2.1 mJ.
const energy = value => value == null ? "–" : value >= 1 ? number(value, "J") : value >= 1e-3 ? number(value * 1e3, "mJ") : number(value * 1e6, "µJ");

function add(role, text) {
  const article = document.createElement("article"), body = document.createElement("div"), figures = document.createElement("p");
  article.className = role;
  body.className = "text";
  body.textContent = text;
  figures.className = "figures";
  article.append(body, figures);
  byId("log").append(article);
  article.scrollIntoView({block: "end"});
  return {article, body, figures};
}

function askForKey() {
  byId("ask").hidden = false;
  byId("key").focus();
}

async function describe() {
  const response = await fetch("v1/models", {headers: headers()});
  if (response.status === 401) return askForKey();
  if (response.status === 503) return setTimeout(describe, 1000);
  const model = (await response.json()).data[0];
  byId("model").textContent = document.title = model.id;
  byId("about").textContent = `${model.architecture}, ${model.parameters.toLocaleString()} weights, ${model.max_model_len.toLocaleString()} tokens`;
}

// Calls use(event) for each event of a stream.
async function readEvents(response, use) {
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  for (;;) {
    const {done, value} = await reader.read();
    if (done) return;
    const parts = (rest + value).split("\n\n");
    rest = parts.pop();
    for (const part of parts)
      if (part.startsWith("data: ") && part !== "data: [DONE]") use(JSON.parse(part.slice(6)));
  }
}

function showFigures(view, event, seconds) {
  const spent = event.energy, tokens = event.usage.completion_tokens;
  const parts = [`${tokens} tokens`, number(tokens / seconds, "tokens/s")];
  parts.push(`${energy(spent.joules)}${spent.class ? ` (${spent.class}, ${energy(spent.low)} to ${energy(spent.high)})` : ""}`);
  parts.push(`${energy(spent.joules_per_token)} per token`);
  if (spent.limited_by) parts.push(`ended by ${spent.limited_by}`);
  view.figures.textContent = parts.join(" · ");
  if (spent.joules == null) return;
  known = true;
  joules += spent.joules;
}

function body(text) {
  const isChat = byId("kind").value === "chat", limit = Number(byId("joules").value);
  const request = {stream: true, stream_options: {include_usage: true}, temperature: Number(byId("temperature").value),
    max_tokens: Number(byId("tokens").value)};
  if (limit > 0) request.max_joules = limit;
  if (isChat) messages.push({role: "user", content: text});
  return isChat ? ["v1/chat/completions", {...request, messages}] : ["v1/completions", {...request, prompt: text}];
}

async function send(text) {
  const [path, request] = body(text);
  add("user", text);
  const view = add("assistant", ""), begin = performance.now();
  let answer = "";
  abort = new AbortController();
  byId("stop").disabled = false;
  byId("submit").disabled = true;
  try {
    const response = await fetch(path, {method: "POST", headers: headers(), body: JSON.stringify(request), signal: abort.signal});
    if (!response.ok) throw new Error((await response.json()).error.message);
    await readEvents(response, event => {
      if (event.error) throw new Error(event.error.message);
      for (const choice of event.choices) answer += (choice.delta ? choice.delta.content : choice.text) || "";
      view.body.textContent = answer;
      if (event.energy) showFigures(view, event, (performance.now() - begin) / 1000);
    });
  } catch (error) {
    if (error.name !== "AbortError") {
      view.article.classList.add("failed");
      view.body.textContent = answer + (answer ? "\n" : "") + error.message;
    }
  }
  if (request.messages && answer) messages.push({role: "assistant", content: answer});
  else if (request.messages) messages.pop(); // without an answer the model would see two messages of the user
  byId("stop").disabled = true;
  byId("submit").disabled = false;
  byId("total").textContent = known ? energy(joules) + " in this conversation" : "";
  view.article.scrollIntoView({block: "end"});
}

function submit(event) {
  event.preventDefault();
  const text = byId("text").value;
  if (!text.trim() || byId("submit").disabled) return;
  byId("text").value = "";
  send(text);
}

byId("send").addEventListener("submit", submit);
byId("text").addEventListener("keydown", event => {
  if (event.key === "Enter" && !event.shiftKey && !event.isComposing) submit(event);
});
byId("stop").addEventListener("click", () => abort && abort.abort());
byId("clear").addEventListener("click", () => {
  if (abort) abort.abort();
  messages = [];
  joules = 0;
  known = false;
  byId("log").replaceChildren();
  byId("total").textContent = "";
});
byId("ask").addEventListener("submit", event => {
  event.preventDefault();
  key = byId("key").value;
  sessionStorage.setItem("key", key);
  byId("ask").hidden = true;
  describe();
});
describe();
