// Puts the page together: draws the plots, follows the chosen topic, remembers light or dark.

const data = JSON.parse(document.getElementById("data").textContent);
const state = { topic: data.topics.length ? data.topics[0].label : null, scale: "linear" };
const links = { kind: "first" };
const charts = {};

function legendOf(plot) {
  const items = [];
  const add = (style, name, mark) => items.push(html("span", { class: style }, html("i", { class: mark || "" }), html("bdi", {}, name)));
  if (plot === "latency") {
    const topics = data.topics.filter((topic) => topic.cdf);
    const chosen = topics.find((topic) => topic.label === state.topic);
    topics.slice(0, MOST_COLOURS).forEach((topic, at) => {
      if (!chosen || topic === chosen) add(styleOf(at), topic.label);
    });
    if (!chosen && topics.length > MOST_COLOURS) add("s0", `${topics.length - MOST_COLOURS} more`);
    if (data.other) add("s0", "the other run", "dash");
  }
  if (plot === "speed") { add("s4", "p99"); add("s1", "p50"); }
  if (plot === "scores") data.scores.series.forEach(([name], at) => add(styleOf(at), name));
  if (plot === "control") data.control.series.forEach(([name], at) => add(styleOf(at), name));
  if (plot === "churn") { add("s2", "opened, joined", "box"); add("s8", "closed, left", "box"); }
  if (plot === "mesh") { add("s1", "degree"); add("s2", "grafts", "box"); add("s8", "prunes", "box"); }
  if (plot === "hops" && data.other) { add("s1", "this run", "box"); add("s1 soft", "the other run", "box"); }
  if (plot === "links" && charts.links.most) items.push(charts.links.legend());
  return items;
}

function drawAll() {
  for (const [name, chart] of Object.entries(charts)) {
    chart.draw();
    const legend = document.querySelector(`[data-legend="${name}"]`);
    if (legend) legend.replaceChildren(...legendOf(name));
    showNumbers(name, chart);
  }
}

// Written when they are looked at: they may be many.
function showNumbers(name, chart) {
  const box = document.querySelector(`[data-numbers="${name}"]`);
  const fill = () => { if (box.open) box.replaceChildren(box.firstElementChild, chart.numbers() || ""); };
  box.ontoggle = fill;
  fill();
}

function choice(name, object, key, after) {
  const buttons = [...document.querySelectorAll(`[data-choice="${name}"] button`)];
  const show = () => buttons.forEach((button) => button.setAttribute("aria-pressed", button.value === object[key]));
  buttons.forEach((button) => button.addEventListener("click", () => { object[key] = button.value; show(); after(); }));
  show();
}

function longTail() {
  const all = data.topics.filter((topic) => topic.cdf);
  return all.some((topic) => {
    const [latencies, shares] = topic.cdf;
    const middle = latencies[Math.max(0, shares.findIndex((share) => share >= 0.5))];
    return middle > 0 && latencies[0] >= 0 && latencies[latencies.length - 1] / middle > 12;
  });
}

function themes() {
  const root = document.documentElement;
  const button = document.getElementById("theme");
  const dark = () => (root.dataset.theme ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches);
  const name = () => { button.textContent = dark() ? "Light" : "Dark"; };
  try {
    const kept = localStorage.getItem("rumormill-theme");
    if (kept === "light" || kept === "dark") root.dataset.theme = kept;
  } catch { /* a page from a file may keep nothing */ }
  button.addEventListener("click", () => {
    root.dataset.theme = dark() ? "light" : "dark";
    try { localStorage.setItem("rumormill-theme", root.dataset.theme); } catch { /* as above */ }
    name();
  });
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", name);
  name();
  button.hidden = false;
}

function start() {
  themes();
  document.querySelectorAll("table.sortable").forEach((table) => { sortable(table); filterable(table); });
  if (longTail()) state.scale = "log";
  const makers = { latency: latencyPlot, delivery: deliveryPlot, speed: speedPlot, hops: hopsPlot, mesh: meshPlot,
    scores: scoresPlot, control: controlPlot, churn: churnPlot, lifetimes: lifetimesPlot };
  document.querySelectorAll("[data-plot]").forEach((box) => {
    const name = box.dataset.plot;
    charts[name] = name === "links" ? new Matrix(box, data, links) : new Chart(box, makers[name](data, state));
  });
  choice("scale", state, "scale", drawAll);
  choice("links", links, "kind", drawAll);
  const select = document.getElementById("topic");
  if (select) select.addEventListener("change", () => { state.topic = data.topics[select.selectedIndex].label; drawAll(); });
  drawAll();
  document.documentElement.dataset.ready = "yes";
}

start();
