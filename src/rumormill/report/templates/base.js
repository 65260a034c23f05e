// Small things that all plots share: elements, numbers in words, scales and their ticks.

const SVG = "http://www.w3.org/2000/svg";

function fill(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes || {})) {
    if (value !== null && value !== undefined && value !== false) element.setAttribute(name, value);
  }
  for (const child of children) {
    if (child !== null && child !== undefined) element.append(child); // text is never markup
  }
  return element;
}
const html = (name, attributes, ...children) => fill(document.createElement(name), attributes, children);
const shape = (name, attributes, ...children) => fill(document.createElementNS(SVG, name), attributes, children);

// ---- numbers in words, as the tables have them

const count = (value) => value.toLocaleString("en-US");

const plain = (value) => value.toLocaleString("en-US", { maximumFractionDigits: 3 });

function digits(value) {
  if (value === null || value === undefined) return "-";
  const size = Math.abs(value);
  if (size >= 99.95) return Math.round(value).toLocaleString("en-US");
  if (size >= 0.995) return value.toFixed(1);
  if (!value) return "0";
  return String(Number(value.toFixed(size < 0.0995 ? 3 : 2)));
}

function milliseconds(value) {
  if (value === null || value === undefined) return "-";
  return Math.abs(value) >= 9999.5 ? `${digits(value / 1000)} s` : `${digits(value)} ms`;
}

function percent(share) {
  if (share === null || share === undefined) return "-";
  if (share > 0 && share < 0.0001) return "<0.01 %";
  return `${Math.floor(share * 10000 + 1e-7) / 100} %`; // never whole when it is not
}

// With its seconds, where it has some or where all around it do.
function clock(seconds, withDate, fine) {
  const text = new Date(seconds * 1000).toISOString();
  const time = text.slice(11, fine || seconds % 60 ? 19 : 16);
  return withDate ? `${text.slice(5, 10)} ${time}` : time;
}

// ---- scales

function linear(low, high, from, to) {
  const span = high - low || 1;
  const scale = (value) => from + ((value - low) / span) * (to - from);
  scale.invert = (place) => low + ((place - from) / (to - from || 1)) * span;
  return scale;
}

function logarithmic(low, high, from, to) {
  const inner = linear(Math.log(low), Math.log(high), from, to);
  const scale = (value) => inner(Math.log(Math.max(value, low)));
  scale.invert = (place) => Math.exp(inner.invert(place));
  return scale;
}

// Shows a few next to very many; both sides of zero.
function rooted(low, high, from, to) {
  const root = (value) => Math.sign(value) * Math.sqrt(Math.abs(value));
  const inner = linear(root(low), root(high), from, to);
  return (value) => inner(root(value));
}

function ticks(low, high, most, whole) {
  const rough = (high - low || 1) / Math.max(1, most);
  const power = 10 ** Math.floor(Math.log10(rough));
  let step = [1, 2, 5, 10].map((factor) => factor * power).find((size) => size >= rough * 0.999);
  if (whole) step = Math.max(1, Math.round(step));
  const found = [];
  for (let at = Math.ceil(low / step - 1e-9); at * step <= high + step * 1e-9; at++) {
    found.push(Number((at * step).toPrecision(12)));
  }
  return found;
}

function logTicks(low, high, most) {
  for (const factors of [[1, 2, 5], [1, 3], [1]]) {
    const found = [];
    for (let power = Math.floor(Math.log10(low)); power <= Math.log10(high); power++) {
      for (const factor of factors) {
        const value = Number((factor * 10 ** power).toPrecision(3));
        if (value >= low * 0.999 && value <= high * 1.001) found.push(value);
      }
    }
    if (found.length <= most) return found;
  }
  return [low, high];
}

const STEPS = [1 / 60, 1 / 12, 1 / 6, 1 / 4, 1 / 2, 1, 2, 5, 10, 15, 30, 60, 120, 180, 360, 720, 1440, 2880, 10080, 20160, 43200].map((m) => Math.round(m * 60));

function timeTicks(low, high, most, least) {
  const step = STEPS.find((size) => size >= least && (high - low) / size <= most) || STEPS[STEPS.length - 1];
  const found = [];
  for (let at = Math.ceil(low / step) * step; at <= high; at += step) found.push(at);
  return found.length ? found : [low];
}

// The place of the last value that is at most the one asked for; -1 if there is none.
function placeOf(values, value) {
  let low = 0, high = values.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (values[middle] <= value) low = middle + 1; else high = middle;
  }
  return low - 1;
}

function nearest(values, value) {
  const below = Math.max(0, placeOf(values, value));
  const above = Math.min(values.length - 1, below + 1);
  return Math.abs(values[above] - value) < Math.abs(values[below] - value) ? above : below;
}

const known = (values) => values.filter((value) => value !== null && value !== undefined);
const largest = (values) => known(values).reduce((most, value) => Math.max(most, value), -Infinity);
const smallest = (values) => known(values).reduce((least, value) => Math.min(least, value), Infinity);
