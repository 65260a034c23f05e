// One plot: strips above each other that share the horizontal axis, and what is under the pointer.
//
// describe(width) returns {label, x, strips, stops?, tip}:
//   x       {low, high, kind: "linear" | "log" | "time" | "band", ticks(most), format, title}
//   strips  [{title, height, low, high, ticks(most), format, scale, draw(group, x, y)}]
//   stops   the values of x that one can point at; without them any value
//   tip     (value, index) -> {title, rows: [{style, name, value}], dots: [{strip, at, value, style}]}

const GAP = 30, FOOT = 34, TOP = 20;

class Chart {
  constructor(box, describe) {
    this.box = box;
    this.describe = describe;
    this.width = 0;
    this.tip = html("div", { class: "tip" });
    this.words = html("div", { class: "hidden-words", "aria-live": "polite" });
    onResize(box, this);
  }

  draw() {
    this.width = Math.round(this.box.clientWidth);
    if (!this.width) return; // not shown yet
    const model = this.model = this.describe(this.width);
    if (!model) {
      this.box.replaceChildren(html("p", { class: "empty" }, "Nothing of this is known here."));
      return;
    }
    this._measure(model);
    const height = this.bottom + FOOT;
    const svg = shape("svg", {
      viewBox: `0 0 ${this.width} ${height}`, height, role: "img", tabindex: 0, "aria-label": model.label,
    });
    this._axisBelow(svg, model);
    model.strips.forEach((strip, at) => this._strip(svg, strip, this.tops[at]));
    this.hover = shape("g", { "aria-hidden": "true" });
    svg.append(this.hover);
    this._listen(svg, model);
    this.tip.classList.remove("shown");
    this.box.replaceChildren(svg, this.tip, this.words);
  }

  _measure(model) {
    this.tops = [];
    let top = TOP;
    let widest = 0;
    for (const strip of model.strips) {
      this.tops.push(top);
      strip.marks = strip.ticks(Math.max(2, Math.floor(strip.height / 34)));
      for (const mark of strip.marks) widest = Math.max(widest, strip.format(mark).length);
      top += strip.height + GAP;
    }
    this.bottom = top - GAP;
    this.left = Math.max(30, 12 + widest * 6.8);
    this.right = this.width - 10;
    const x = model.x;
    const make = x.kind === "log" ? logarithmic : linear;
    this.x = make(x.low, x.high, this.left, this.right);
    model.strips.forEach((strip, at) => {
      const scale = strip.scale || linear;
      strip.y = scale(strip.low, strip.high, this.tops[at] + strip.height, this.tops[at]);
    });
  }

  _axisBelow(svg, model) {
    const y = this.bottom;
    const most = Math.max(2, Math.floor((this.right - this.left) / (model.x.kind === "time" ? 76 : 62)));
    for (const value of model.x.ticks(most)) {
      const at = this.x(value);
      if (model.x.kind !== "band") {
        this.tops.forEach((top, place) => svg.append(shape("line", {
          class: "gridline", x1: at, x2: at, y1: top, y2: top + model.strips[place].height,
        })));
      }
      const anchor = at > this.right - 8 ? "end" : "middle";
      svg.append(shape("text", { x: at, y: y + 16, "text-anchor": anchor }, model.x.format(value)));
    }
    svg.append(shape("text", { x: this.right, y: y + 31, "text-anchor": "end", class: "strip" }, model.x.title));
  }

  _strip(svg, strip, top) {
    const bottom = top + strip.height;
    svg.append(shape("text", { x: 0, y: top - 8, class: "strip" }, strip.title));
    for (const mark of strip.marks) {
      const y = strip.y(mark);
      svg.append(shape("line", { class: "gridline", x1: this.left, x2: this.right, y1: y, y2: y }));
      svg.append(shape("text", { x: this.left - 7, y: y + 4, "text-anchor": "end" }, strip.format(mark)));
    }
    const group = shape("g", {});
    strip.draw(group, this.x, strip.y, this);
    svg.append(group);
    const base = strip.zero === undefined ? bottom : strip.y(strip.zero);
    svg.append(shape("line", { class: "baseline", x1: this.left, x2: this.right, y1: base, y2: base }));
  }

  _listen(svg, model) {
    const point = (event) => {
      const bounds = svg.getBoundingClientRect();
      const place = ((event.clientX - bounds.left) / bounds.width) * this.width;
      this.point(this.x.invert(Math.min(this.right, Math.max(this.left, place))));
    };
    svg.addEventListener("pointermove", point);
    svg.addEventListener("pointerdown", point);
    svg.addEventListener("pointerleave", () => this.leave());
    svg.addEventListener("blur", () => this.leave());
    svg.addEventListener("keydown", (event) => {
      const step = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
      if (event.key === "Escape") this.leave();
      if (!step) return;
      event.preventDefault();
      this.step(step, model);
    });
  }

  // The same as a table: what one would read off at each place.
  numbers() {
    const { model } = this;
    if (!model) return null;
    return tableOf((model.numbers || model.stops).map((value, at) => model.tip(value, at)));
  }

  // By keyboard: from stop to stop, or by hundredths of the axis.
  step(step, model) {
    if (model.stops) {
      const next = this.at === undefined ? 0 : this.index + step;
      this.point(model.stops[Math.min(model.stops.length - 1, Math.max(0, next))]);
    } else {
      const place = this.at === undefined ? this.left : this.x(this.at) + (step * (this.right - this.left)) / 100;
      this.point(this.x.invert(Math.min(this.right, Math.max(this.left, place))));
    }
    this.words.textContent = this.tip.textContent;
  }

  point(value) {
    const { stops, tip, strips } = this.model;
    this.index = stops ? nearest(stops, value) : -1;
    this.at = stops ? stops[this.index] : value;
    const told = tip(this.at, this.index);
    if (!told) return this.leave();
    const x = this.x(this.at);
    this.hover.replaceChildren(shape("line", { class: "cross", x1: x, x2: x, y1: this.tops[0], y2: this.bottom }));
    for (const dot of told.dots || []) {
      if (dot.value === null || dot.value === undefined) continue;
      const at = dot.at === undefined ? x : this.x(dot.at);
      this.hover.append(shape("circle", { class: `dot ${dot.style}`, cx: at, cy: strips[dot.strip].y(dot.value), r: 4.5 }));
    }
    this.tip.replaceChildren(html("b", {}, told.title), ...told.rows.map((row) => html(
      "div", {}, html("i", { class: row.style || "" }), html("bdi", {}, row.name), html("span", {}, row.value))));
    this.tip.classList.add("shown");
    placeTip(this.tip, this.box, x, this.tops[0] + 6);
  }

  leave() {
    this.at = undefined;
    this.hover.replaceChildren();
    this.tip.classList.remove("shown");
  }
}

// Drawn anew in the next frame: a plot that changes its box while boxes are measured is a complaint.
function onResize(box, chart) {
  new ResizeObserver(() => requestAnimationFrame(() => {
    if (Math.round(box.clientWidth) !== chart.width) chart.draw();
  })).observe(box);
}

// Beside the pointer, on the side where there is room.
function placeTip(tip, box, x, y) {
  const width = tip.offsetWidth;
  const left = x + 14 + width > box.clientWidth ? x - 14 - width : x + 14;
  tip.style.transform = `translate(${Math.max(0, left)}px, ${y}px)`;
}

// ---- marks

// A line that breaks where nothing is known; a value alone between two gaps is a dot.
function path(xs, ys, x, y, gap) {
  let text = "", pen = false, previous = null;
  xs.forEach((at, place) => {
    const value = ys[place];
    if (value === null || value === undefined) { pen = false; return; }
    if (gap && previous !== null && at - previous > gap) pen = false;
    text += `${pen ? "L" : "M"}${x(at).toFixed(1)},${y(value).toFixed(1)}`;
    pen = true;
    previous = at;
  });
  return text;
}

function line(group, xs, ys, x, y, style, gap) {
  group.append(shape("path", { class: `curve ${style}`, d: path(xs, ys, x, y, gap) }));
  xs.forEach((at, place) => {
    if (ys[place] === null || ys[place] === undefined) return;
    const joined = (other) => other >= 0 && other < xs.length && known([ys[other]]).length
      && !(gap && Math.abs(xs[other] - at) > gap);
    if (!joined(place - 1) && !joined(place + 1)) {
      group.append(shape("circle", { class: `dot ${style}`, cx: x(at), cy: y(ys[place]), r: 4 }));
    }
  });
}

function columns(group, xs, ys, x, y, width, style, zero = 0) {
  const base = y(zero);
  let text = "";
  xs.forEach((at, place) => {
    const value = ys[place];
    if (!value) return;
    const top = y(value), left = x(at) - width / 2;
    const round = Math.min(3, width / 3, Math.abs(base - top));
    const turn = top < base ? round : -round;
    text += `M${left.toFixed(1)},${base.toFixed(1)}V${(top + turn).toFixed(1)}q0,${-turn} ${round},${-turn}`
      + `h${(width - 2 * round).toFixed(1)}q${round},0 ${round},${turn}V${base.toFixed(1)}z`;
  });
  group.append(shape("path", { class: `column ${style}`, d: text }));
}

const MOST_NUMBERS = 1000;

// A table from what the tips say: a row for each tip, a column for each name in them.
function tableOf(tips) {
  const shown = tips.slice(0, MOST_NUMBERS);
  const names = [...new Set(shown.flatMap((tip) => tip.rows.map((row) => row.name)))];
  const values = (tip) => names.map((name) => (tip.rows.find((row) => row.name === name) || { value: "-" }).value);
  const head = html("tr", {}, html("th", { class: "text" }), ...names.map((name) => html("th", { scope: "col" }, name)));
  const body = shown.map((tip) => html("tr", {}, html("th", { class: "text", scope: "row" }, tip.title),
    ...values(tip).map((value) => html("td", {}, value))));
  return html("div", { class: "scroll", tabindex: 0 }, html("table", {}, html("thead", {}, head), html("tbody", {}, ...body)));
}
