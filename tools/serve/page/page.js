// The page of joule serve: requests the last minutes once, then the current values repeatedly, and draws both.
//
// Power in the charts is the energy between two answers divided by the time, so that no peak is missed.
//
// Note: names come from devices and are inserted only as text, never as HTML. Null values are shown as empty.
"use strict";

const PERIOD_MS = 2000;
const MAX_SPAN_S = 300, MIN_SPAN_S = 60;
const MIN_STEP_S = 0.5; // minimum time between two answers for a mean; shorter means would show the ticks of sensors
const SERIES_COLOURS = 8;
const MAX_LINES = 8;
const MAX_TENANTS = 30;
const NEAR = 0.95;

const history = new Map(); // name ("": the total) -> [[seconds, watts or null], ...], oldest first
let last = null; // the last answer
let cursorX = null;

const get = (id) => document.getElementById(id);

// --- requests ----------------------------------------------------------------------------------------------

async function ask(path) {
  const token = sessionStorage.getItem("token");
  const answer = await fetch(path, { headers: token ? { Authorization: "Bearer " + token } : {} });
  if (answer.status === 401) throw new Error("token");
  if (!answer.ok) throw new Error("HTTP status " + answer.status);
  return answer.json();
}

function begin(past) {
  const put = (name, watts) => history.set(name, watts.map((value, i) =>
    [past.end_unix_seconds - (watts.length - 1 - i) * past.step_seconds, value]));
  put("", past.total);
  for (const [name, watts] of Object.entries(past.domains)) put(name, watts);
}

function append(name, seconds, before, now, elapsed) {
  const known = before !== null && now !== null && elapsed > 0 && now >= before;
  const points = history.get(name) || [];
  points.push([seconds, known ? (now - before) / elapsed : null]);
  while (points.length && points[0][0] < seconds - MAX_SPAN_S) points.shift();
  history.set(name, points);
}

function take(answer) {
  const began = last && last.measuring_seconds <= answer.measuring_seconds;
  if (began && answer.measuring_seconds - last.measuring_seconds < MIN_STEP_S) return;
  if (last && !began) history.clear(); // the server was restarted
  if (began) {
    const elapsed = answer.measuring_seconds - last.measuring_seconds;
    const energies = new Map(last.domains.map((domain) => [domain.name, domain.energy_joules]));
    const seconds = answer.unix_time_seconds;
    append("", seconds, last.totals.all.energy_joules, answer.totals.all.energy_joules, elapsed);
    for (const domain of answer.domains)
      if (domain.reading === "energy" || domain.reading === "power")
        append(domain.name, seconds, energies.get(domain.name) ?? null, domain.energy_joules, elapsed);
  }
  last = answer;
}

async function loop() {
  try {
    if (!last) begin(await ask("api/history"));
    take(await ask("api/devices"));
    get("ask").hidden = true;
    get("readings").hidden = false;
    show();
    say("live", "live");
  } catch (error) {
    if (error.message === "token") {
      get("ask").hidden = false;
      say("", "waiting for a token");
      return;
    }
    say("lost", error instanceof TypeError ? "no answer from joule serve" : error.message);
  }
  setTimeout(loop, PERIOD_MS);
}

function say(state, text) {
  get("status").className = state;
  get("status").textContent = text;
}

// --- formatting --------------------------------------------------------------------------------------------

function quantity(value, unit) {
  if (value === null || value === undefined) return "";
  const prefixes = [["", 1], ["k", 1e3], ["M", 1e6], ["G", 1e9], ["T", 1e12]];
  let [prefix, scale] = value !== 0 && Math.abs(value) < 0.9995 ? ["m", 1e-3] : prefixes[0];
  for (const [name, factor] of prefixes) if (Math.abs(value) >= 0.9995 * factor && factor > 1) [prefix, scale] = [name, factor];
  const scaled = value / scale;
  const digits = Math.abs(scaled) >= 99.95 ? 0 : Math.abs(scaled) >= 9.995 ? 1 : 2;
  return scaled.toFixed(digits) + "\u00a0" + prefix + unit;
}

const bytes = (value) => (value === null ? "" : (value / 2 ** 30).toFixed(1) + "\u00a0GiB");
const share = (value) => (value === null ? "" : (value > 0 && value < 0.005 ? "< 1" : Math.round(100 * value)) + "\u00a0%");
const degrees = (value) => (value === null ? "" : value.toFixed(0) + "\u00a0\u00b0C");
const megahertz = (value) => (value === null ? "" : value.toFixed(0) + "\u00a0MHz");

function interval(low, high) {
  return low === null ? "" : quantity(low, "W") + " \u2013 " + quantity(high, "W");
}

function duration(seconds) {
  const [days, hours, minutes] = [Math.floor(seconds / 86400), Math.floor(seconds / 3600) % 24, Math.floor(seconds / 60) % 60];
  if (days) return `${days} d ${hours} h`;
  if (hours) return `${hours} h ${minutes} min`;
  return minutes ? `${minutes} min` : `${Math.floor(seconds)} s`;
}

// --- elements ----------------------------------------------------------------------------------------------

function make(name, attributes, ...children) {
  const isDrawing = ["svg", "path", "line", "text"].includes(name);
  const element = isDrawing ? document.createElementNS("http://www.w3.org/2000/svg", name) : document.createElement(name);
  for (const [key, value] of Object.entries(attributes || {})) element.setAttribute(key, value);
  element.append(...children);
  return element;
}

const cell = (text, kind) => make("td", kind ? { class: kind } : {}, text);

function evidence(kind) {
  return cell(kind ? make("span", { class: "evidence " + kind }, kind) : "");
}

function state(row) {
  const text = make("td", { class: row.state === "ok" ? "ok" : "bad" }, row.state);
  if (row.remedy) text.title = row.remedy;
  return text;
}

// Makes a cell with a bar. The width is set through the style object, which the page's content policy allows.
function barred(text, value, isLimit) {
  const td = cell(text, "number");
  if (value === null || value === undefined || !Number.isFinite(value)) return td;
  const inner = make("i", isLimit && value >= NEAR ? { class: "near" } : {});
  inner.style.width = 100 * Math.min(1, Math.max(0, value)) + "%";
  td.append(make("span", { class: "bar" }, inner));
  return td;
}

// --- charts ------------------------------------------------------------------------------------------------

// Seconds that the charts show: whole minutes, as far as the server has measured.
const span = () => Math.min(MAX_SPAN_S, Math.max(MIN_SPAN_S, 60 * Math.ceil(last.measuring_seconds / 60)));

// Returns an SVG path through the known points, with gaps at unknown ones.
function line(points, x, y) {
  let path = "", isOpen = false;
  for (const [seconds, watts] of points) {
    if (watts !== null) path += (isOpen ? "L" : "M") + x(seconds).toFixed(1) + " " + y(watts).toFixed(1);
    isOpen = watts !== null;
  }
  return path;
}

function highest(lists) {
  let most = 0;
  for (const points of lists) for (const [, watts] of points) if (watts > most) most = watts;
  return most || 1;
}

function spark(name) {
  const points = (history.get(name) || []).filter(([seconds]) => seconds >= last.unix_time_seconds - span());
  const td = cell("", "spark");
  if (points.filter(([, watts]) => watts !== null).length < 2) return td;
  const end = last.unix_time_seconds, most = highest([points]);
  const path = line(points, (s) => 120 + (s - end) * 120 / span(), (w) => 22 - 20 * w / most);
  td.append(make("svg", { viewBox: "0 0 120 24", preserveAspectRatio: "none", "aria-hidden": "true" }, make("path", { d: path })));
  return td;
}

// Returns the step of the grid: 1, 2 or 5 times a power of ten, at most five steps up to `most`.
function step(most) {
  const power = 10 ** Math.floor(Math.log10(most / 5));
  return [1, 2, 5, 10].map((factor) => factor * power).find((size) => most / size <= 5);
}

// Returns the lines to draw: the total, and its largest terms.
function lines() {
  const terms = last.domains.filter((domain) => domain.in_total && history.has(domain.name))
    .sort((a, b) => (b.energy_joules ?? 0) - (a.energy_joules ?? 0));
  const chosen = terms.slice(0, MAX_LINES).map((domain, i) => ({ name: domain.name, kind: "series-" + i % SERIES_COLOURS }));
  return [{ name: "", kind: "total" }, ...(terms.length > 1 ? chosen : [])];
}

function drawChart() {
  get("span").textContent = span() === 60 ? "the last minute" : `the last ${span() / 60} minutes`;
  const box = get("chart"), width = box.clientWidth, height = box.clientHeight;
  if (!width) return;
  const left = 56, bottom = 22, end = last.unix_time_seconds, shownSpan = span(), minutes = shownSpan / 60;
  const shown = lines(), top = highest(shown.map(({ name }) => history.get(name) || [])) * 1.05;
  const x = (s) => left + (width - left) * (1 + (s - end) / shownSpan);
  const y = (w) => (height - bottom) * (1 - w / top) + 6;
  const svg = make("svg", { viewBox: `0 0 ${width} ${height}` });
  for (let watts = 0; watts <= top; watts += step(top)) {
    svg.append(make("line", { class: "grid", x1: left, x2: width, y1: y(watts), y2: y(watts) }));
    svg.append(make("text", { x: left - 8, y: y(watts) + 4, "text-anchor": "end" }, watts ? quantity(watts, "W") : "0"));
  }
  for (let minute = minutes; minute >= 0; minute--)
    svg.append(make("text", { x: x(end - 60 * minute), y: height, "text-anchor": minute === 0 ? "end" : minute === minutes ? "start" : "middle" },
      minute ? `\u2212${minute} min` : "now"));
  for (const { name, kind } of shown.slice().reverse())
    svg.append(make("path", { class: kind, d: line(history.get(name) || [], x, y) }));
  if (cursorX !== null && cursorX > left)
    svg.append(make("line", { class: "cursor", x1: cursorX, x2: cursorX, y1: 6, y2: height - bottom + 6 }));
  box.replaceChildren(svg);
  drawLegend(shown, cursorX > left ? end - shownSpan * (width - cursorX) / (width - left) : null);
}

// Draws the legend with the current values, or those at the time under the pointer.
function drawLegend(shown, seconds) {
  get("legend").replaceChildren(...shown.map(({ name, kind }) => {
    const points = (history.get(name) || []).filter(([, watts]) => watts !== null);
    const near = (a, b) => (Math.abs(b[0] - seconds) < Math.abs(a[0] - seconds) ? b : a);
    const point = points.length ? (seconds === null ? points[points.length - 1] : points.reduce(near)) : null;
    const sample = make("svg", { viewBox: "0 0 20 10", "aria-hidden": "true" }, make("path", { class: kind, d: "M0 5L20 5" }));
    return make("li", {}, sample, (name || "total") + "  " + (point ? quantity(point[1], "W") : ""));
  }));
}

// --- tables and page ---------------------------------------------------------------------------------------

function figure(name, value, note) {
  return make("div", {}, make("div", { class: "name" }, name), make("div", { class: "figure" }, value || "\u2013"),
    make("div", { class: "note" }, ...[note].flat()));
}

function showTotals() {
  const { all, cpu, gpu } = last.totals;
  const kind = all.power_class ? make("span", { class: "evidence " + all.power_class }, all.power_class) : "unknown";
  const parts = [figure("power now", quantity(all.power_watts, "W"), [kind, " " + interval(all.power_low_watts, all.power_high_watts)]),
    figure("energy", quantity(all.energy_joules, "J"), `${quantity((all.energy_joules ?? 0) / 3600, "Wh")} in ${duration(last.measuring_seconds)}`)];
  if (gpu.power_watts !== null) {
    parts.push(figure("processors and memory", quantity(cpu.power_watts, "W"), quantity(cpu.energy_joules, "J")));
    parts.push(figure("GPUs and accelerators", quantity(gpu.power_watts, "W"), quantity(gpu.energy_joules, "J")));
  }
  if (all.energy_joules === null) parts[1].lastChild.textContent = "unknown";
  const covers = all.cover ? all.cover.split(" + ") : [];
  const text = covers.length > 6 ? `${covers.slice(0, 5).join(" + ")} and ${covers.length - 5} more` : all.cover || "no sensor can be read";
  parts.push(figure("domains in the total", String(covers.length || ""), text));
  get("totals").replaceChildren(...parts);
}

function showDevices() {
  get("devices-section").hidden = !last.devices.length;
  get("devices").tBodies[0].replaceChildren(...last.devices.map((device) => {
    const limit = device.power_limit_enforced_watts ?? device.power_limit_watts;
    const ofLimit = limit && device.power_watts !== null ? device.power_watts / limit : null;
    const used = device.memory_used_bytes, total = device.memory_total_bytes;
    const own = last.domains.filter((domain) => domain.device === device.name && domain.energy_joules === device.energy_joules);
    return make("tr", {}, cell(device.name), cell(device.model || device.vendor || ""),
      cell(quantity(device.power_watts, "W"), "number"), own.length && device.energy_joules !== null ? spark(own[0].name) : cell(""),
      barred(ofLimit === null ? "" : share(ofLimit) + " of " + quantity(limit, "W"), ofLimit, true), barred(share(device.busy), device.busy),
      barred(used === null ? "" : total === null ? bytes(used) : bytes(used).split("\u00a0")[0] + " of " + bytes(total), used === null || total === null ? null : used / total, true),
      cell(degrees(device.temperature_celsius), "number"), cell(megahertz(device.clock_megahertz), "number"),
      cell(quantity(device.energy_joules, "J"), "number"), evidence(device.energy_class), state(device));
  }));
}

function showDomains() {
  const rows = [];
  for (const domain of last.domains.filter((d) => d.reading === "energy" || d.reading === "power")) {
    rows.push(make("tr", {}, cell(domain.name, domain.in_total ? "in-total" : ""), cell(domain.scope.replace("_", " ")),
      cell(domain.source), cell(quantity(domain.power_watts, "W"), "number"),
      cell(interval(domain.power_low_watts, domain.power_high_watts), "number"), spark(domain.name),
      cell(quantity(domain.energy_joules, "J"), "number"), evidence(domain.energy_class), state(domain)));
    if (domain.remedy && domain.state !== "ok")
      rows.push(make("tr", {}, make("td", { colspan: 9, class: "remedy" }, domain.remedy)));
  }
  get("domains").tBodies[0].replaceChildren(...rows);
}

// Lists the tenants with the highest energy. Shares include unattributed energy.
function showTenants() {
  const shares = last.shares;
  get("tenants-section").hidden = !shares;
  if (!shares) return;
  const own = (row) => row.cpu_joules + row.gpu_joules;
  const others = [{ kind: "unattributed", name: "idle time and unlisted processes", cpu_joules: shares.unattributed_cpu_joules, gpu_joules: shares.unattributed_gpu_joules },
    { kind: "ended", name: "ended more than five minutes ago", cpu_joules: shares.ended_cpu_joules, gpu_joules: shares.ended_gpu_joules }];
  const sum = [...shares.tenants, ...others].reduce((total, row) => total + own(row), 0);
  const most = shares.tenants.slice().sort((a, b) => own(b) - own(a)).slice(0, MAX_TENANTS);
  const left = shares.tenants.length - most.length;
  get("tenants-note").textContent = left > 0 ? `the top ${most.length} of ${shares.tenants.length}` : "";
  get("tenants").tBodies[0].replaceChildren(...[...most, ...others].filter((row) => row.path || own(row) > 0).map((row) => make("tr", {},
    cell(row.kind), cell(row.name || (row.slurm_job ? "job " + row.slurm_job : (row.pod && [row.namespace, row.pod, row.container].filter(Boolean).join("/")) || row.unit || (row.container_id || "").slice(0, 12) || "user " + row.user)),
    cell(row.cpu_seconds === undefined ? "" : quantity(row.cpu_seconds, "s"), "number"),
    cell(shares.cpu_class ? quantity(row.cpu_joules, "J") : "", "number"), cell(shares.gpu_class ? quantity(row.gpu_joules, "J") : "", "number"),
    barred(sum > 0 ? share(own(row) / sum) : "", sum > 0 ? own(row) / sum : null))));
}

function showSensors() {
  const gauges = last.domains.filter((d) => d.reading !== "energy" && d.reading !== "power");
  get("sensors-section").hidden = !gauges.length;
  get("sensors").tBodies[0].replaceChildren(...gauges.map((domain) => make("tr", {}, cell(domain.name), cell(domain.label || ""),
    cell(domain.device || ""), cell(domain.source),
    cell(degrees(domain.temperature_celsius) || megahertz(domain.clock_megahertz) || share(domain.utilisation), "number"), state(domain))));
}

function show() {
  get("hostname").textContent = last.hostname || "Joule";
  document.title = `${quantity(last.totals.all.power_watts, "W") || "Joule"} \u00b7 ${last.hostname || "Joule"}`;
  get("about").textContent = `Joule ${last.joule_version}, one reading every ${last.period_seconds * 1000} ms, running for ${duration(last.measuring_seconds)}`;
  showTotals();
  showDevices();
  showDomains();
  showTenants();
  showSensors();
  drawChart();
}

get("ask").addEventListener("submit", (event) => {
  event.preventDefault();
  sessionStorage.setItem("token", get("token").value.trim());
  get("token").value = "";
  loop();
});
get("chart").addEventListener("pointermove", (event) => {
  cursorX = event.clientX - get("chart").getBoundingClientRect().left;
  drawChart();
});
get("chart").addEventListener("pointerleave", () => {
  cursorX = null;
  drawChart();
});
window.addEventListener("resize", () => last && drawChart());
loop();
