// Who handed what to whom: a row for each giver, a column for each taker, darker for more.

const LEVELS = 7;
const KINDS = {
  first: (link) => link[2],
  repeated: (link) => link[3],
  both: (link) => link[2] + link[3],
};

class Matrix {
  constructor(box, data, state) {
    this.box = box;
    this.data = data;
    this.state = state;
    this.tip = html("div", { class: "tip" });
    this.words = html("div", { class: "hidden-words", "aria-live": "polite" });
    this.cells = new Map(data.links.map((link) => [link[0] * data.peers.length + link[1], link]));
    onResize(box, this);
  }

  draw() {
    this.width = Math.round(this.box.clientWidth);
    const peers = this.data.peers;
    if (!this.width) return;
    if (!peers.length) {
      this.box.replaceChildren(html("p", { class: "empty" }, "Nobody handed anything on, or the links are not known."));
      return;
    }
    this._measure(peers);
    const total = this.top + this.tall * peers.length + 4;
    const svg = shape("svg", {
      viewBox: `0 0 ${this.width} ${total}`, height: total, role: "img", tabindex: 0,
      "aria-label": `Who handed what to whom, among ${peers.length} peers; the table of numbers below names the busiest links`,
    });
    this._names(svg, peers);
    this._cells(svg, peers);
    this._sums(svg, peers);
    this.hover = shape("g", { "aria-hidden": "true" });
    svg.append(this.hover);
    this._listen(svg);
    this.tip.classList.remove("shown");
    this.box.replaceChildren(svg, this.tip, this.words);
  }

  _measure(peers) {
    const longest = Math.min(16, Math.max(...peers.map((peer) => peer.length)));
    const spare = this.width < 520 ? 44 : 120;
    const names = Math.min(longest * 6.6 + 10, this.width * 0.3);
    const fits = (this.width - names - spare) / peers.length >= 11;
    this.named = fits;
    this.left = fits ? names : 18;
    this.top = fits ? Math.min(longest * 5 + 16, 96) : 18;
    const room = this.width - this.left - spare;
    this.size = Math.max(1, Math.min(52, room / peers.length));
    this.tall = Math.max(1, Math.min(26, this.size, 640 / peers.length));
    this.right = this.left + this.size * peers.length;
  }

  _names(svg, peers) {
    if (!this.named) {
      svg.append(shape("text", { x: this.left, y: 12, class: "strip" }, `to, ${peers.length} peers →`));
      svg.append(shape("text", { class: "strip", transform: `translate(12 ${this.top}) rotate(90)` }, "from →"));
      return;
    }
    const cut = (text) => (text.length > 16 ? `${text.slice(0, 15)}…` : text);
    peers.forEach((peer, at) => {
      const middle = (at + 0.5) * this.size;
      svg.append(shape("text", { x: this.left - 7, y: this.top + (at + 0.5) * this.tall + 4, "text-anchor": "end" }, cut(peer)));
      svg.append(shape("text", {
        transform: `translate(${this.left + middle + 3} ${this.top - 7}) rotate(-52)`,
      }, cut(peer)));
    });
  }

  _cells(svg, peers) {
    const value = KINDS[this.state.kind];
    const most = Math.max(1, ...this.data.links.map(value));
    const paths = Array.from({ length: LEVELS }, () => "");
    const gap = this.tall > 7 ? 1 : 0;
    const across = (this.size - gap).toFixed(2), down = (this.tall - gap).toFixed(2);
    for (const link of this.data.links) {
      const many = value(link);
      if (!many) continue;
      const level = Math.min(LEVELS, Math.ceil((LEVELS * many) / most));
      const x = (this.left + link[1] * this.size).toFixed(2), y = (this.top + link[0] * this.tall).toFixed(2);
      paths[level - 1] += `M${x},${y}h${across}v${down}h-${across}z`;
    }
    svg.append(shape("rect", {
      class: "frame", x: this.left - 0.5, y: this.top - 0.5,
      width: this.size * peers.length + 1, height: this.tall * peers.length + 1,
    }));
    paths.forEach((d, level) => { if (d) svg.append(shape("path", { class: `heat${level + 1}`, d })); });
    this.most = most;
  }

  // How much each peer handed on in all, as bars beside its row.
  _sums(svg, peers) {
    const value = KINDS[this.state.kind];
    this.given = peers.map(() => 0);
    this.taken = peers.map(() => 0);
    for (const link of this.data.links) {
      this.given[link[0]] += value(link);
      this.taken[link[1]] += value(link);
    }
    const most = Math.max(1, ...this.given);
    const room = Math.min(100, this.width - this.right - 14);
    if (room < 24) return;
    const thick = Math.max(1, Math.min(12, this.tall - 2));
    this.given.forEach((sum, at) => svg.append(shape("rect", {
      class: "column s1", x: this.right + 10, y: this.top + (at + 0.5) * this.tall - thick / 2,
      width: (room * sum) / most, height: thick, rx: Math.min(2, thick / 2),
    })));
    svg.append(shape("text", { x: this.right + 10, y: this.top - 8, class: "strip" }, "in all"));
  }

  _listen(svg) {
    const point = (event) => {
      const bounds = svg.getBoundingClientRect();
      const scale = this.width / bounds.width;
      const column = Math.floor(((event.clientX - bounds.left) * scale - this.left) / this.size);
      const row = Math.floor(((event.clientY - bounds.top) * scale - this.top) / this.tall);
      this.point(row, column);
    };
    svg.addEventListener("pointermove", point);
    svg.addEventListener("pointerdown", point);
    svg.addEventListener("pointerleave", () => this.leave());
    svg.addEventListener("blur", () => this.leave());
    svg.addEventListener("keydown", (event) => {
      const step = { ArrowLeft: [0, -1], ArrowRight: [0, 1], ArrowUp: [-1, 0], ArrowDown: [1, 0] }[event.key];
      if (event.key === "Escape") this.leave();
      if (!step) return;
      event.preventDefault();
      const [row, column] = this.at || [0, 0];
      const last = this.data.peers.length - 1;
      const inside = (value) => Math.min(last, Math.max(0, value));
      this.point(this.at ? inside(row + step[0]) : 0, this.at ? inside(column + step[1]) : 0);
      this.words.textContent = this.tip.textContent;
    });
  }

  point(row, column) {
    const peers = this.data.peers;
    if (!(row in peers) || !(column in peers)) return this.leave();
    this.at = [row, column];
    const link = this.cells.get(row * peers.length + column) || [row, column, 0, 0];
    const x = this.left + column * this.size, y = this.top + row * this.tall;
    this.hover.replaceChildren(shape("rect", { class: "aim", x, y, width: this.size, height: this.tall }));
    const rows = row === column ? [["itself", "nothing"]] : [["first copies", count(link[2])], ["duplicates", count(link[3])]];
    this.tip.replaceChildren(
      html("b", {}, `${peers[row]} → ${peers[column]}`),
      ...rows.map(([name, value]) => html("div", {}, html("i", {}), html("bdi", {}, name), html("span", {}, value))),
    );
    this.tip.classList.add("shown");
    placeTip(this.tip, this.box, x + this.size / 2, Math.max(0, y - 20));
  }

  numbers() {
    const busiest = [...this.data.links].sort((one, other) => other[2] + other[3] - one[2] - one[3]).slice(0, 200);
    return tableOf(busiest.map(([from, to, first, again]) => ({
      title: `${this.data.peers[from]} → ${this.data.peers[to]}`,
      rows: [{ name: "first copies", value: count(first) }, { name: "duplicates", value: count(again) }],
    })));
  }

  leave() {
    this.at = null;
    this.hover.replaceChildren();
    this.tip.classList.remove("shown");
  }

  legend() {
    const swatches = shape("svg", { viewBox: "0 0 98 10", "aria-hidden": "true" });
    for (let level = 0; level < LEVELS; level++) {
      swatches.append(shape("rect", { class: `heat${level + 1}`, x: level * 14, width: 13, height: 10, rx: 2 }));
    }
    return html("span", {}, "1", swatches, count(this.most || 0));
  }
}
