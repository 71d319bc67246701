// The page of a skyline: decodes the columns, draws the power, and shows values under the pointer.
//
// Each column has the joules of every layer and the smallest and the largest power. A pixel that shows several columns
// has the sum of their joules and the extremes of all of them.
//
// Note: names come from programs and are inserted only as text, never as HTML. Null values are unknown.
"use strict";

const LEFT = 58, RIGHT = 12, TOP = 12, BELOW = 34, ROW = 18;
const MIN_SPAN_COLUMNS = 8; // the closest zoom
const MIN_COVERAGE = 0.1; // the power of a pixel with less coverage is unknown

const get = (id) => document.getElementById(id);
const facts = JSON.parse(get("facts").textContent);
const canvas = get("power"), context = canvas.getContext("2d");
const duration = facts.columns * facts.column_seconds;
const state = { low: facts.begin_seconds, high: facts.begin_seconds + duration, cursor: null, drag: null, set: 0 };

// --- data --------------------------------------------------------------------------------------------------

function decodeBase64(text) {
  if (Uint8Array.fromBase64) return Uint8Array.fromBase64(text);
  const binary = atob(text), bytes = new Uint8Array(binary.length);
  for (let i = 0; i < binary.length; i++) bytes[i] = binary.charCodeAt(i);
  return bytes;
}

let offset = 0;
const bytes = decodeBase64(get("columns").textContent.trim());

function readNumber() {
  let value = 0, factor = 1;
  for (;;) {
    const byte = bytes[offset++];
    if (byte < 128) return value + byte * factor;
    value += (byte - 128) * factor;
    factor *= 128;
  }
}

// Reads a series of whole numbers (src/joule/picture/series_code.h).
function readSeries(count) {
  const values = new Int32Array(count);
  let value = 0;
  for (let i = 0; i < count;) {
    const code = readNumber();
    value += code % 2 ? -(code + 1) / 2 : code / 2;
    values[i++] = value;
    if (code === 0) { const end = i + readNumber(); values.fill(value, i, end); i = end; }
  }
  return values;
}

// Sums from the begin up to each column, so that the sum of any range is a difference.
function sums(values, unit) {
  const result = new Float64Array(values.length + 1);
  let sum = 0;
  for (let i = 0; i < values.length; i++) { sum += values[i]; result[i + 1] = sum * unit; }
  return result;
}

// Halves a series repeatedly: level k has the extreme of 2^k columns. -1 is unknown.
function pyramid(values, isMax) {
  const levels = [values];
  while (levels[levels.length - 1].length > 1) {
    const below = levels[levels.length - 1], above = new Int32Array(Math.ceil(below.length / 2));
    for (let i = 0; i < above.length; i++) {
      const a = below[2 * i], b = 2 * i + 1 < below.length ? below[2 * i + 1] : -1;
      above[i] = a < 0 ? b : b < 0 ? a : isMax ? Math.max(a, b) : Math.min(a, b);
    }
    levels.push(above);
  }
  return levels;
}

const measured = sums(readSeries(facts.columns), facts.column_seconds / 100);
const covered = sums(readSeries(facts.columns), facts.column_seconds / 100);
const lowest = pyramid(readSeries(facts.columns), false);
const highest = pyramid(readSeries(facts.columns), true);
for (const set of facts.sets)
  for (const layer of set.layers) layer.sums = sums(readSeries(facts.columns), facts.joules_unit);

function extreme(levels, first, end, isMax) {
  let best = -1, level = Math.min(levels.length - 1, Math.max(0, Math.floor(Math.log2((end - first) / 2))));
  for (let i = first >> level; i << level < end; i++) {
    const value = levels[level][i];
    if (value >= 0 && (best < 0 || (isMax ? value > best : value < best))) best = value;
  }
  return best < 0 ? null : best * facts.watts_unit;
}

const columnOf = (seconds) => Math.min(facts.columns - 1, Math.max(0, Math.floor((seconds - facts.begin_seconds) / facts.column_seconds)));

// Returns the figures of the columns from one that contains `low` to one that contains `high`.
function figures(low, high) {
  const first = columnOf(low), end = Math.max(first + 1, Math.min(facts.columns, Math.ceil((high - facts.begin_seconds) / facts.column_seconds - 1e-9)));
  const known = measured[end] - measured[first], all = covered[end] - covered[first];
  const seconds = (end - first) * facts.column_seconds;
  const joules = facts.sets[state.set].layers.map((layer) => layer.sums[end] - layer.sums[first]);
  const isKnown = known >= MIN_COVERAGE * seconds;
  return {
    joules, seconds, isKnown, hasAll: all >= MIN_COVERAGE * seconds, isWhole: all >= 0.99 * seconds,
    watts: joules.map((value) => (isKnown ? value / known : null)),
    total: isKnown ? joules.reduce((sum, value) => sum + value, 0) / known : null,
    min: extreme(lowest, first, end, false), max: extreme(highest, first, end, true),
  };
}

// --- formatting --------------------------------------------------------------------------------------------

function quantity(value, unit, digits = 3) {
  if (value === null || value === undefined) return "unknown";
  const prefixes = [["n", 1e-9], ["\u00b5", 1e-6], ["m", 1e-3], ["", 1], ["k", 1e3], ["M", 1e6], ["G", 1e9]];
  const rounded = Number(value.toPrecision(digits));
  let [prefix, scale] = ["", 1];
  if (rounded !== 0)
    for (const [name, factor] of prefixes)
      if (Math.abs(rounded) >= factor * (1 - 1e-12) && (unit !== "s" || factor <= 1)) [prefix, scale] = [name, factor];
  const scaled = rounded / scale, before = scaled === 0 ? 1 : Math.floor(Math.log10(Math.abs(scaled)) + 1e-9) + 1;
  return scaled.toFixed(Math.min(12, Math.max(0, digits - before))) + "\u00a0" + prefix + unit;
}

function clock(seconds, decimals) {
  if (facts.begin_seconds + duration < 120) return seconds.toFixed(decimals) + "\u00a0s";
  const sign = seconds < 0 ? "-" : "", size = Math.abs(seconds);
  const scale = 10 ** decimals, whole = Math.round(size * scale) / scale;
  const hours = Math.floor(whole / 3600), minutes = Math.floor(whole / 60) % 60;
  const rest = (whole % 60).toFixed(decimals).padStart(decimals ? decimals + 3 : 2, "0");
  return sign + (hours ? hours + ":" + String(minutes).padStart(2, "0") : minutes) + ":" + rest;
}

// Returns round steps of a scale: 1, 2 or 5 times a power of ten; above a minute the steps of a clock.
function roundStep(step, isTime) {
  if (isTime && step > 5)
    for (const value of [10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 14400, 21600, 43200, 86400]) if (value >= step) return value;
  const power = 10 ** Math.floor(Math.log10(step));
  for (const factor of [1, 2, 5]) if (factor * power >= step * (1 - 1e-9)) return factor * power;
  return 10 * power;
}

const decimalsOf = (step) => Math.max(0, -Math.floor(Math.log10(step) + 1e-9));

// --- drawing -----------------------------------------------------------------------------------------------

let colours = {};
function readColours() {
  const style = getComputedStyle(document.documentElement);
  colours = {};
  for (const name of ["ground", "ink", "soft", "grid", "unknown", "bad"]) colours[name] = style.getPropertyValue("--" + name).trim();
  for (let i = 0; i < facts.colours; i++) colours[i] = style.getPropertyValue("--c" + i).trim();
}

const rows = facts.rows.length;
const size = () => ({ width: canvas.clientWidth, height: canvas.clientHeight });
const bottom = () => size().height - BELOW - rows * ROW - (rows ? 4 : 0);
const xOf = (seconds) => LEFT + ((seconds - state.low) / (state.high - state.low)) * (size().width - LEFT - RIGHT);
const secondsAt = (x) => state.low + ((x - LEFT) / (size().width - LEFT - RIGHT)) * (state.high - state.low);

let shown = []; // the figures of each pixel
let topWatts = 1; // watts at the upper end of the axis

function draw() {
  const { width, height } = size(), ratio = window.devicePixelRatio || 1;
  canvas.width = Math.round(width * ratio);
  canvas.height = Math.round(height * ratio);
  context.setTransform(ratio, 0, 0, ratio, 0, 0);
  context.fillStyle = colours.ground;
  context.fillRect(0, 0, width, height);
  const end = width - RIGHT;
  shown = [];
  let peak = facts.idle_watts || 0;
  for (let x = LEFT; x < end; x++) {
    const pixel = figures(secondsAt(x), secondsAt(x + 1));
    shown.push(pixel);
    peak = Math.max(peak, pixel.max || 0, pixel.total || 0);
  }
  const step = roundStep((peak || 1) / 6, false);
  topWatts = Math.ceil((peak || 1) / step - 1e-9) * step;
  drawGrid(step, end);
  drawPixels();
  drawMarks();
  drawIdle(end);
  drawPhases(end);
  drawPointer();
  const all = figures(state.low, state.high);
  get("window").textContent = clock(state.low, 3) + " to " + clock(state.high, 3) + ": " +
    quantity(all.joules.reduce((sum, value) => sum + value, 0), "J") + (all.isWhole ? ", mean " + quantity(all.total, "W") : ", with gaps");
}

const yOf = (watts) => bottom() - (watts / topWatts) * (bottom() - TOP);

function line(x1, y1, x2, y2) {
  context.beginPath();
  context.moveTo(x1, y1);
  context.lineTo(x2, y2);
  context.stroke();
}

function drawGrid(step, end) {
  context.font = "12px system-ui, 'Liberation Sans', sans-serif";
  context.lineWidth = 1;
  context.strokeStyle = colours.grid;
  context.fillStyle = colours.soft;
  context.textAlign = "right";
  for (let watts = 0; watts <= topWatts * (1 + 1e-9); watts += step) {
    const y = Math.round(yOf(watts)) + 0.5;
    line(LEFT, y, end, y);
    context.fillText(quantity(watts, "W", 2), LEFT - 6, y + 4);
  }
  const timeStep = roundStep((state.high - state.low) / Math.max(2, (end - LEFT) / 100), true);
  context.textAlign = "center";
  for (let i = Math.ceil(state.low / timeStep - 1e-9); i * timeStep <= state.high + 1e-9 * timeStep; i++) {
    const x = Math.round(xOf(i * timeStep)) + 0.5;
    line(x, TOP, x, size().height - BELOW);
    context.fillText(clock(i * timeStep, decimalsOf(timeStep)), Math.min(Math.max(x, LEFT), end - 12), size().height - BELOW + 16);
  }
}

function drawPixels() {
  const base = bottom();
  const layers = facts.sets[state.set].layers;
  shown.forEach((pixel, i) => {
    const x = LEFT + i;
    if (!pixel.hasAll) {
      context.globalAlpha = 0.35;
      context.fillStyle = colours.unknown;
      context.fillRect(x, TOP, 1, base - TOP);
    }
    if (!pixel.isKnown) return;
    let watts = 0;
    context.globalAlpha = 0.72;
    layers.forEach((layer, k) => {
      if (!(pixel.watts[k] > 0)) return;
      const y = yOf(watts);
      watts += pixel.watts[k];
      context.fillStyle = colours[layer.colour];
      context.fillRect(x, yOf(watts), 1, y - yOf(watts));
    });
    if (pixel.min !== null) {
      context.globalAlpha = 0.22;
      context.fillStyle = colours.ink;
      context.fillRect(x, yOf(pixel.max), 1, yOf(pixel.min) - yOf(pixel.max));
    }
  });
  context.globalAlpha = 0.75;
  context.strokeStyle = colours.ink;
  context.beginPath();
  let isDrawing = false;
  shown.forEach((pixel, i) => {
    if (!pixel.isKnown) { isDrawing = false; return; }
    const y = yOf(pixel.total);
    if (isDrawing) context.lineTo(LEFT + i, y); else context.moveTo(LEFT + i, y);
    context.lineTo(LEFT + i + 1, y);
    isDrawing = true;
  });
  context.stroke();
  context.globalAlpha = 1;
  context.strokeStyle = colours.soft;
  line(LEFT, base + 0.5, size().width - RIGHT, base + 0.5);
}

// Returns a text shortened to a width.
function fit(text, width) {
  if (context.measureText(text).width <= width) return text;
  let short = Array.from(text);
  while (short.length && context.measureText(short.join("") + "\u2026").width > width) short.pop();
  return short.length > 1 ? short.join("") + "\u2026" : "";
}

function drawMarks() {
  const base = bottom() + 4, end = size().width - RIGHT;
  context.font = "11px system-ui, 'Liberation Sans', sans-serif";
  context.textAlign = "left";
  for (const [row, from, length, name, colour] of facts.marks) {
    const begin = facts.begin_seconds + from * 1e-6, left = Math.max(LEFT, xOf(begin)), right = Math.min(end, xOf(begin + length * 1e-6));
    if (right < LEFT || left > end) continue;
    const width = Math.max(0.6, right - left);
    context.globalAlpha = 0.4;
    context.fillStyle = colours[facts.sets[state.set].by === "region" ? colour : facts.other_colour];
    context.fillRect(left, base + row * ROW, width, ROW - 3);
    context.globalAlpha = 1;
    context.fillStyle = colours.ink;
    if (width > 26) context.fillText(fit(facts.names[name], width - 8), left + 4, base + row * ROW + 11.5);
  }
  const threads = new Set(facts.rows);
  context.fillStyle = colours.soft;
  context.textAlign = "right";
  facts.rows.forEach((thread, row) => {
    if (threads.size > 1 && (row === 0 || facts.rows[row - 1] !== thread)) context.fillText("thread " + thread, LEFT - 6, base + row * ROW + 11.5);
  });
}

function drawIdle(end) {
  if (!facts.idle_watts) return;
  context.setLineDash([5, 4]);
  context.strokeStyle = colours.ink;
  line(LEFT, yOf(facts.idle_watts), end, yOf(facts.idle_watts));
  context.setLineDash([]);
  context.fillStyle = colours.ink;
  context.textAlign = "right";
  context.fillText("idle " + quantity(facts.idle_watts, "W"), end - 4, yOf(facts.idle_watts) - 5);
}

// Draws a line at the begin of each guessed phase, and its number and mean power.
function drawPhases(end) {
  context.font = "11px system-ui, 'Liberation Sans', sans-serif";
  context.textAlign = "left";
  facts.phases.forEach(([begin, watts], i) => {
    const left = xOf(begin), right = Math.min(end, i + 1 < facts.phases.length ? xOf(facts.phases[i + 1][0]) : end);
    if (right < LEFT || left > end) return;
    context.strokeStyle = context.fillStyle = colours.bad;
    context.setLineDash([5, 4]);
    if (i > 0 && left >= LEFT) line(left, TOP, left, bottom());
    context.setLineDash([]);
    const text = i + 1 + ": " + quantity(watts, "W") + " (guess)", start = Math.max(LEFT, left) + 4;
    if (context.measureText(text).width < right - start) context.fillText(text, start, TOP + 11);
  });
}

function drawPointer() {
  if (state.drag) {
    const [a, b] = [state.drag.from, state.drag.to].map(xOf);
    context.globalAlpha = 0.15;
    context.fillStyle = colours.ink;
    context.fillRect(Math.min(a, b), TOP, Math.abs(b - a), bottom() - TOP);
    context.globalAlpha = 1;
  }
  if (state.cursor === null || state.cursor < state.low || state.cursor > state.high) return;
  context.strokeStyle = colours.ink;
  context.setLineDash([2, 3]);
  line(xOf(state.cursor), TOP, xOf(state.cursor), size().height - BELOW);
  context.setLineDash([]);
}

// --- texts -------------------------------------------------------------------------------------------------

function make(name, attributes, ...children) {
  const element = document.createElement(name);
  for (const [key, value] of Object.entries(attributes || {})) element.setAttribute(key, value);
  element.append(...children);
  return element;
}

// Returns the names of the regions at a time, outermost first.
function regionsAt(seconds) {
  const at = (seconds - facts.begin_seconds) * 1e6;
  return facts.marks.filter(([, from, length]) => from <= at && at < from + length)
    .sort((a, b) => a[0] - b[0]).map(([, , , name]) => facts.names[name]);
}

function say(seconds) {
  const width = (state.high - state.low) / Math.max(1, size().width - LEFT - RIGHT);
  const pixel = figures(seconds, seconds + width);
  const layers = facts.sets[state.set].layers.map((layer, i) => [layer.name, pixel.watts[i]]).filter(([, watts]) => watts > 0);
  let text = clock(seconds, decimalsOf(width)) + ": " + quantity(pixel.total, "W");
  if (pixel.isKnown && pixel.min !== null && pixel.max - pixel.min > 0.005 * pixel.max)
    text += " (" + quantity(pixel.min, "W") + " to " + quantity(pixel.max, "W") + ")";
  if (layers.length > 1 || facts.sets[state.set].layers.length > 1)
    text += " \u2013 " + layers.map(([name, watts]) => name + " " + quantity(watts, "W")).join(", ");
  const regions = regionsAt(seconds);
  if (regions.length) text += " \u2013 in " + regions.join(" \u203a ");
  get("readout").textContent = text;
}

function cell(text, kind) {
  return make("td", kind ? { class: kind } : {}, text);
}

function table(id, heads, lines) {
  const head = make("thead", {}, make("tr", {}, ...heads.map(([name, kind]) => make("th", kind ? { class: kind, scope: "col" } : { scope: "col" }, name))));
  get(id).replaceChildren(head, make("tbody", {}, ...lines));
}

const evidence = (kind) => cell(kind && kind !== "none" ? make("span", { class: "evidence " + kind }, kind) : "");
const interval = (low, high) => (low === null ? "unknown" : quantity(low, "J") + " to " + quantity(high, "J"));

function fillTables() {
  table("regions", [["name"], ["device"], ["calls", "number"], ["time", "number"], ["energy", "number"], ["90 % interval", "number"], ["class"], ["of total", "number"]],
    facts.functions.map((row) => make("tr", {}, cell(row.name), cell(row.device), cell(String(row.count), "number"),
      cell(quantity(row.seconds, "s"), "number"), cell(quantity(row.joules, "J"), "number"), cell(interval(row.low, row.high), "number"),
      evidence(row.class), cell(row.joules === null || !facts.total.joules ? "unknown" : (100 * row.joules / facts.total.joules).toFixed(1) + "\u00a0%", "number"))));
  get("regions-note").textContent = facts.functions.length ? "of the whole record; each with the regions inside it; the plot shows the innermost region" : "none: the program has no marks";
  table("devices", [["device"], ["model"], ["source"], ["energy", "number"], ["90 % interval", "number"], ["class"]],
    facts.devices.map((row) => make("tr", {}, cell(row.device), cell(row.model || ""), cell(row.measurement || ""),
      cell(quantity(row.joules, "J"), "number"), cell(interval(row.low, row.high), "number"), evidence(row.class))));
}

function fillLegend() {
  get("legend").replaceChildren(...facts.sets[state.set].layers.map((layer) => {
    const swatch = make("i");
    swatch.style.background = "var(--c" + layer.colour + ")";
    return make("li", {}, swatch, layer.name + " " + quantity(layer.joules, "J"));
  }));
}

// --- zoom --------------------------------------------------------------------------------------------------

function show(low, high) {
  const begin = facts.begin_seconds, end = begin + duration;
  const span = Math.min(duration, Math.max(high - low, MIN_SPAN_COLUMNS * facts.column_seconds));
  state.low = Math.min(Math.max(low, begin), end - span);
  state.high = state.low + span;
  requestAnimationFrame(draw);
}

function zoom(factor, around) {
  show(around - (around - state.low) * factor, around + (state.high - around) * factor);
}

const middle = () => (state.cursor !== null && state.cursor >= state.low && state.cursor <= state.high ? state.cursor : (state.low + state.high) / 2);
const all = () => show(facts.begin_seconds, facts.begin_seconds + duration);
const inside = (event) => Math.min(state.high, Math.max(state.low, secondsAt(event.clientX - canvas.getBoundingClientRect().left)));

function moveCursor(seconds) {
  state.cursor = Math.min(state.high, Math.max(state.low, seconds));
  say(state.cursor);
  requestAnimationFrame(draw);
}

canvas.addEventListener("pointermove", (event) => {
  if (state.drag) state.drag.to = inside(event);
  moveCursor(inside(event));
});
canvas.addEventListener("pointerdown", (event) => {
  if (event.button !== 0) return;
  canvas.setPointerCapture(event.pointerId);
  state.drag = { from: inside(event), to: inside(event), x: event.clientX };
});
canvas.addEventListener("pointerup", (event) => {
  const drag = state.drag;
  state.drag = null;
  if (drag && Math.abs(event.clientX - drag.x) > 4) show(Math.min(drag.from, drag.to), Math.max(drag.from, drag.to));
  else requestAnimationFrame(draw);
});
canvas.addEventListener("pointercancel", () => { state.drag = null; requestAnimationFrame(draw); });
canvas.addEventListener("pointerleave", () => { if (!state.drag) { state.cursor = null; requestAnimationFrame(draw); } });
canvas.addEventListener("dblclick", all);
canvas.addEventListener("wheel", (event) => { event.preventDefault(); zoom(Math.exp(event.deltaY * 0.002), inside(event)); }, { passive: false });
canvas.addEventListener("keydown", (event) => {
  const span = state.high - state.low, step = event.key === "ArrowLeft" ? -1 : event.key === "ArrowRight" ? 1 : 0;
  if (step && event.shiftKey) show(state.low + step * span * 0.1, state.high + step * span * 0.1);
  else if (step) moveCursor(middle() + step * span * 0.01);
  else if (event.key === "+" || event.key === "=") zoom(0.5, middle());
  else if (event.key === "-") zoom(2, middle());
  else if (event.key === "0" || event.key === "Home") all();
  else return;
  event.preventDefault();
});
get("in").addEventListener("click", () => zoom(0.5, middle()));
get("out").addEventListener("click", () => zoom(2, middle()));
get("all").addEventListener("click", all);
get("by").addEventListener("change", (event) => { state.set = Number(event.target.value); fillLegend(); draw(); });
window.addEventListener("resize", () => requestAnimationFrame(draw));
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => { readColours(); draw(); });

document.title = facts.title || "Power over time";
get("title").textContent = facts.title || "Power over time";
get("caption").textContent = facts.caption;
get("detail").textContent = facts.detail;
canvas.setAttribute("aria-label", "Power over time. " + facts.caption);
facts.sets.forEach((set, i) => get("by").append(make("option", { value: i }, set.by)));
readColours();
fillTables();
fillLegend();
draw();
