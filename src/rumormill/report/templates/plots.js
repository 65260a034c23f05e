// The plots of a report, each described for the topic that is chosen.

const MOST_COLOURS = 8;
const styleOf = (place) => (place < MOST_COLOURS ? `s${place + 1}` : "s0");

function timeAxis(times, bucket) {
  const low = times[0] - bucket / 2, high = times[times.length - 1] + bucket / 2;
  const days = high - low > 86400;
  return {
    kind: "time", low, high, title: "time, UTC", days,
    ticks: (most) => timeTicks(low, high, most, Math.min(bucket, 60)),
    format: (value) => (days && value % 86400 === 0 ? clock(value, true).slice(0, 5) : clock(value, false)),
  };
}

// The usual distance of two points in time: a larger one is a gap.
function bucketOf(times) {
  let least = Infinity;
  for (let at = 1; at < times.length; at++) least = Math.min(least, times[at] - times[at - 1]);
  return Number.isFinite(least) ? least : 60;
}

const columnWidth = (chart, bucket) => {
  const room = Math.abs(chart.x(bucket) - chart.x(0));
  return Math.max(1, Math.min(28, room - Math.min(3, room * 0.25)));
};

const fromZero = (values, whole) => {
  const most = largest([...values, 0]);
  const high = most > 0 ? most * 1.06 : 1;
  return { low: 0, high, ticks: (count) => ticks(0, high, count, whole) };
};

// ---- latency: which share of the deliveries took at most how long

function latencyPlot(data, state) {
  return () => {
    const topics = data.topics.filter((topic) => topic.cdf);
    if (!topics.length) return null;
    const chosen = topics.find((topic) => topic.label === state.topic);
    const lines = topics.map((topic, place) => ({
      name: topic.label, xs: topic.cdf[0], ys: topic.cdf[1], mine: !chosen || topic === chosen,
      style: styleOf(place),
    }));
    for (const one of [...lines]) {
      const other = data.other && data.other.cdf[one.name];
      if (other && one.mine) {
        lines.push({ name: `${one.name}, the other run`, xs: other[0], ys: other[1], mine: true, style: `${one.style} dashed` });
      }
    }
    const shown = lines.filter((one) => one.mine);
    const high = largest(shown.map((one) => one.xs[one.xs.length - 1])) || 1;
    const positive = shown.flatMap((one) => one.xs.filter((value) => value > 0));
    const least = Math.max(smallest(positive), high / 1e5);
    const log = state.scale === "log" && Number.isFinite(least) && least < high;
    const low = log ? least : Math.min(0, smallest(shown.map((one) => one.xs[0])));
    const shares = (value) => shown.map((one) => {
      const at = placeOf(one.xs, value);
      return at < 0 ? 0 : one.ys[at];
    });
    return {
      label: `Latency: ${shown.slice(0, 8).map((one) => `${one.name}, half within ${milliseconds(one.xs[placeOfShare(one, 0.5)])}, `
        + `99 % within ${milliseconds(one.xs[placeOfShare(one, 0.99)])}`).join("; ")}`,
      x: {
        kind: log ? "log" : "linear", low, high, title: "latency, ms",
        ticks: (most) => (log ? logTicks(low, high, most) : ticks(low, high, most)),
        format: plain,
      },
      numbers: [...new Set(shown.flatMap((one) => [0.1, 0.25, 0.5, 0.75, 0.9, 0.95, 0.99, 0.999, 1]
        .map((share) => one.xs[placeOfShare(one, share)])))].sort((a, b) => a - b),
      strips: [{
        title: chosen && chosen.promise === "newest" ? "share that had it or a newer one within" : "share of the deliveries that took at most so long", height: 240, low: 0, high: 1,
        ticks: () => [0, 0.25, 0.5, 0.75, 0.9, 1], format: (value) => `${Math.round(value * 100)} %`,
        draw: (group, x, y) => {
          for (const one of [...lines].sort((a, b) => a.mine - b.mine)) {
            const d = stairs(one, x, y, low, high);
            group.append(shape("path", { class: `curve ${one.mine ? one.style : "faint"}`, d }));
          }
        },
      }],
      tip: (value) => {
        const found = shares(value);
        return {
          title: `within ${milliseconds(value)}`,
          rows: shown.slice(0, 10).map((one, at) => ({ style: one.style, name: one.name, value: percent(found[at]) })),
          dots: shown.slice(0, 10).map((one, at) => ({ strip: 0, value: found[at], style: one.style })),
        };
      },
    };
  };
}

function placeOfShare(one, share) {
  const at = one.ys.findIndex((value) => value >= share);
  return at < 0 ? one.ys.length - 1 : at;
}

// Steps, not slopes: between two known latencies nothing is claimed.
function stairs(one, x, y, low, high) {
  let text = "";
  let height = y(0);
  one.xs.forEach((value, place) => {
    if (value > high * 1.0001) return;
    const at = x(Math.max(value, low)).toFixed(1);
    text += text ? `H${at}` : `M${at},${height.toFixed(1)}`;
    height = y(one.ys[place]);
    text += `V${height.toFixed(1)}`;
  });
  return `${text}H${x(high).toFixed(1)}`;
}

// ---- over time

function deliveryPlot(data, state) {
  return () => {
    const topic = data.topics.find((one) => one.label === state.topic);
    const minutes = topic && topic.minutes;
    if (!minutes || !minutes.time.length) return null;
    const { time, published, expected, missing, skipped } = minutes;
    const arrived = expected.map((owed, at) => owed - missing[at]);
    const ratio = expected.map((owed, at) => (owed ? arrived[at] / owed : null));
    const newest = topic.promise === "newest";
    const worst = Math.min(1, smallest(ratio));
    const low = [0.98, 0.95, 0.9, 0.8, 0.5].find((bound) => worst >= bound + 0.002) || 0;
    const bucket = bucketOf(time);
    const x = timeAxis(time, bucket);
    return {
      label: `Delivery ratio over time: lowest ${percent(Number.isFinite(worst) ? worst : null)}`,
      x, stops: time,
      strips: [
        {
          title: newest ? "had this value or a newer one in time" : "expected deliveries that happened", height: 150, low, high: 1,
          ticks: (most) => ticks(low, 1, most), format: (value) => percent(value),
          draw: (group, sx, sy, chart) => {
            const width = columnWidth(chart, bucket);
            columns(group, time, ratio.map((value) => (value !== null && value < 1 ? value : null)), sx, sy, width, "lost", 1);
            line(group, time, ratio, sx, sy, "s1", bucket * 1.5);
          },
        },
        {
          title: "messages published", height: 54, ...fromZero(published, true), format: count,
          draw: (group, sx, sy, chart) => columns(group, time, published, sx, sy, columnWidth(chart, bucket), "s0"),
        },
      ],
      tip: (value, at) => ({
        title: span(time[at], bucket, x.days),
        rows: [
          { style: "s1", name: "arrived", value: percent(ratio[at]) },
          { name: newest ? "in time" : "deliveries", value: `${count(arrived[at])} of ${count(expected[at])}` },
          skipped[at] ? { name: "skipped", value: count(skipped[at]) } : null,
          { style: "s0", name: "published", value: count(published[at]) },
        ].filter(Boolean),
        dots: [{ strip: 0, value: ratio[at], style: "s1" }],
      }),
    };
  };
}

function speedPlot(data, state) {
  return () => {
    const topic = data.topics.find((one) => one.label === state.topic);
    const minutes = topic && topic.minutes;
    if (!minutes || !known(minutes.p99).length) return null;
    const { time, p50, p99 } = minutes;
    const bucket = bucketOf(time);
    const x = timeAxis(time, bucket);
    const low = smallest(p50.filter((value) => value > 0)), high = largest(p99);
    const log = low > 0 && high / low > 30;
    const scale = log
      ? { low: low / 1.3, high: high * 1.3, scale: logarithmic, ticks: (most) => logTicks(low / 1.3, high * 1.3, most) }
      : fromZero(p99);
    return {
      label: `Latency over time: p99 at most ${milliseconds(high)}`,
      x, stops: time,
      strips: [{
        title: topic.all ? "latency of the slowest topic, ms" : "latency, ms", height: 232, ...scale, format: plain,
        draw: (group, sx, sy) => {
          line(group, time, p99, sx, sy, "s4", bucket * 1.5);
          line(group, time, p50, sx, sy, "s1", bucket * 1.5);
        },
      }],
      tip: (value, at) => ({
        title: span(time[at], bucket, x.days),
        rows: [
          { style: "s4", name: "p99", value: milliseconds(p99[at]) },
          { style: "s1", name: "p50", value: milliseconds(p50[at]) },
        ],
        dots: [{ strip: 0, value: p99[at], style: "s4" }, { strip: 0, value: p50[at], style: "s1" }],
      }),
    };
  };
}

function span(time, bucket, days) {
  const fine = bucket < 60;
  return bucket > 60 ? `${clock(time, days)} to ${clock(time + bucket, days)} UTC` : `${clock(time, days, fine)} UTC`;
}

// ---- hops

function hopsPlot(data, state) {
  return (width) => {
    const topic = data.topics.find((one) => one.label === state.topic);
    if (!topic || !topic.hops[0].length) return null;
    const [hops, deliveries, medians] = topic.hops;
    const all = deliveries.reduce((sum, value) => sum + value, 0);
    const other = data.other && data.other.hops[topic.label];
    const otherAll = other ? other[1].reduce((sum, value) => sum + value, 0) : 0;
    const there = other && otherAll ? other : null;
    const last = Math.max(largest(hops), there ? largest(there[0]) : 0);
    const shares = deliveries.map((value) => value / all);
    const otherShares = there ? there[1].map((value) => value / otherAll) : [];
    const first = Math.min(1, smallest(hops));
    const low = first - 0.5, high = last + 0.5;
    const every = Math.max(1, Math.ceil((last * 26) / width));
    const most = largest([...shares, ...otherShares]) * 1.06;
    const strips = [{
      title: "share of the deliveries", height: known(medians).length ? 150 : 232, low: 0, high: most,
      ticks: (room) => ticks(0, most, room), format: (value) => percent(value),
      draw: (group, x, y) => {
        const room = Math.min(64, Math.abs(x(1) - x(0)) * 0.78);
        if (!there) return columns(group, hops, shares, x, y, room, "s1");
        const shift = room / 4 / Math.abs(x(1) - x(0));
        columns(group, hops.map((hop) => hop - shift), shares, x, y, room / 2 - 1, "s1");
        columns(group, there[0].map((hop) => hop + shift), otherShares, x, y, room / 2 - 1, "s1 soft");
      },
    }];
    if (known(medians).length) {
      strips.push({
        title: "median latency, ms", height: 62, ...fromZero(medians), format: plain,
        draw: (group, x, y) => line(group, hops, medians, x, y, "s2"),
      });
    }
    return {
      label: `Deliveries by hops from the publisher: ${hops.map((hop, at) => `${hop}: ${deliveries[at]}`).join(", ")}`,
      x: {
        kind: "band", low, high, title: "hops from the publisher",
        ticks: () => Array.from({ length: last - first + 1 }, (_, at) => first + at).filter((hop) => (hop - first) % every === 0),
        format: String,
      },
      stops: hops, strips,
      tip: (value, at) => ({
        title: `${hops[at]} ${hops[at] === 1 ? "hop" : "hops"}`,
        rows: [
          { style: "s1", name: "deliveries", value: count(deliveries[at]) },
          { name: "share", value: percent(shares[at]) },
          there ? { name: "the other run", value: percent(otherShares[there[0].indexOf(hops[at])] || 0) } : null,
          known([medians[at]]).length ? { style: "s2", name: "median latency", value: milliseconds(medians[at]) } : null,
        ].filter(Boolean),
        dots: known(medians).length ? [{ strip: 1, value: medians[at], style: "s2" }] : [],
      }),
    };
  };
}

// ---- the mesh

function meshPlot(data, state) {
  return () => {
    const topic = data.topics.find((one) => one.label === state.topic);
    const mesh = topic && topic.mesh;
    if (!mesh || !mesh.time.length) return null;
    const { time, mean, least, most, components, grafts, prunes, nodes } = mesh;
    const bucket = bucketOf(time);
    const x = timeAxis(time, bucket);
    const torn = components.map((pieces) => (pieces > 1 ? pieces : null));
    const whole = components.map((pieces) => (pieces > 1 ? null : pieces));
    const down = prunes.map((value) => -value);
    const churn = Math.max(1, largest([...grafts, ...prunes])) * 1.06;
    return {
      label: `Mesh over time: degree ${digits(smallest(mean))} to ${digits(largest(mean))}, at most ${largest(components)} pieces`,
      x, stops: time,
      strips: [
        {
          title: "degree: mean, and from least to most", height: 130, ...fromZero(most, true), format: plain,
          draw: (group, sx, sy) => {
            group.append(shape("path", { class: "band s1", d: bandPath(time, least, most, sx, sy, bucket) }));
            line(group, time, mean, sx, sy, "s1", bucket * 1.5);
          },
        },
        {
          title: "pieces", height: 40, ...fromZero(components, true), ticks: () => [0, Math.max(1, largest(components))], format: count,
          draw: (group, sx, sy, chart) => {
            const width = columnWidth(chart, bucket);
            columns(group, time, whole, sx, sy, width, "sgood soft");
            columns(group, time, torn, sx, sy, width, "sbad");
          },
        },
        {
          title: "grafts above, prunes below (root scale)", height: 96, low: -churn, high: churn, zero: 0, scale: rooted,
          format: (value) => count(Math.abs(value)), ticks: () => churnTicks(churn),
          draw: (group, sx, sy, chart) => {
            const width = columnWidth(chart, bucket);
            columns(group, time, grafts, sx, sy, width, "s2");
            columns(group, time, down, sx, sy, width, "s8");
          },
        },
      ],
      tip: (value, at) => ({
        title: span(time[at], bucket, x.days),
        rows: [
          { style: "s1", name: "degree, mean", value: digits(mean[at]) },
          { name: "least to most", value: known([least[at], most[at]]).map(plain).join(" to ") },
          { style: components[at] > 1 ? "sbad" : "sgood", name: "pieces", value: count(components[at] || 0) },
          { style: "s2", name: "grafts", value: count(grafts[at]) },
          { style: "s8", name: "prunes", value: count(prunes[at]) },
          { name: "peers in it", value: count(nodes[at] || 0) },
        ],
        dots: [{ strip: 0, value: mean[at], style: "s1" }],
      }),
    };
  };
}

// Zero, the largest round number, and about a quarter of it: on a root scale that is half way.
function churnTicks(high) {
  const top = [1, 2, 5, 10, 20, 50].flatMap((base) => [1, 100, 1e4, 1e6].map((power) => base * power))
    .filter((value) => value <= high).reduce((most, value) => Math.max(most, value), 1);
  const middle = top >= 8 ? Math.round(top / 4) : null;
  return known([-top, middle && -middle, 0, middle, top]);
}

function bandPath(xs, low, high, x, y, bucket) {
  const half = xs.length === 1 ? bucket / 3 : 0;
  const parts = [];
  let run = [];
  xs.forEach((at, place) => {
    const gap = place && at - xs[place - 1] > bucket * 1.5;
    if (gap || low[place] === null) { parts.push(run); run = []; }
    if (low[place] !== null) run.push(place);
  });
  parts.push(run);
  return parts.filter((places) => places.length).map((places) => {
    const over = places.flatMap((p) => (half ? [[xs[p] - half, high[p]], [xs[p] + half, high[p]]] : [[xs[p], high[p]]]));
    const under = places.flatMap((p) => (half ? [[xs[p] - half, low[p]], [xs[p] + half, low[p]]] : [[xs[p], low[p]]])).reverse();
    return `M${[...over, ...under].map(([at, value]) => `${x(at).toFixed(1)},${y(value).toFixed(1)}`).join("L")}Z`;
  }).join("");
}

// ---- what others think of the peers that fell lowest

function scoresPlot(data) {
  return () => {
    const { time, series } = data.scores;
    if (!series.length) return null;
    const bucket = bucketOf(time);
    const x = timeAxis(time, bucket);
    const every = series.flatMap(([, values]) => known(values));
    const room = Math.max(1, largest(every) - smallest(every)) * 0.06;
    const low = Math.min(0, smallest(every) - room), high = Math.max(0, largest(every) + room);
    return {
      label: `Scores over time: ${series.map(([name, values]) => `${name}, at least ${digits(smallest(known(values)))}`).join("; ")}`,
      x, stops: time,
      strips: [{
        title: "lowest score that others give", height: 200, low, high, zero: 0, format: plain,
        ticks: (most) => ticks(low, high, most),
        draw: (group, sx, sy) => series.forEach(([, values], at) => line(group, time, values, sx, sy, styleOf(at), bucket * 1.5)),
      }],
      tip: (value, at) => ({
        title: span(time[at], bucket, x.days),
        rows: series.map(([name, values], place) => ({ style: styleOf(place), name, value: digits(values[at]) })),
        dots: series.map(([, values], place) => ({ strip: 0, value: values[at], style: styleOf(place) })),
      }),
    };
  };
}

// ---- counts by minute: what packets held, who came and went

function controlPlot(data) {
  return () => {
    const { time, series } = data.control;
    if (!series.length) return null;
    const bucket = bucketOf(time);
    const x = timeAxis(time, bucket);
    const high = largest(series.flatMap(([, values]) => values)) * 1.06;
    return {
      label: `Sent over time: ${series.map(([name, values]) => `${name}, at most ${count(largest(values))}`).join("; ")}`,
      x, stops: time,
      strips: [{
        title: "sent in all (root scale)", height: 232, low: 0, high, scale: rooted, format: count,
        ticks: () => churnTicks(high).filter((value) => value >= 0),
        draw: (group, sx, sy) => series.forEach(([, values], at) => line(group, time, values, sx, sy, styleOf(at), bucket * 1.5)),
      }],
      tip: (value, at) => ({
        title: span(time[at], bucket, x.days),
        rows: series.map(([name, values], place) => ({ style: styleOf(place), name, value: count(values[at]) })),
        dots: series.map(([, values], place) => ({ strip: 0, value: values[at], style: styleOf(place) })),
      }),
    };
  };
}

const PAIRS = [["connection opened", "connection closed", "connections"], ["peer joined", "peer left", "peers"]];

function churnPlot(data) {
  return () => {
    const { time, series } = data.churn;
    const of = Object.fromEntries(series);
    const shown = PAIRS.filter(([came, went]) => of[came] || of[went]);
    if (!shown.length) return null;
    const bucket = bucketOf(time);
    const x = timeAxis(time, bucket);
    const nothing = time.map(() => 0);
    return {
      label: `Over time: ${series.map(([name, values]) => `${name} ${count(values.reduce((sum, value) => sum + value, 0))} times`).join(", ")}`,
      x, stops: time,
      strips: shown.map(([came, went, what]) => {
        const up = of[came] || nothing, down = (of[went] || nothing).map((value) => -value);
        const most = Math.max(1, largest(up), -smallest(down)) * 1.06;
        return {
          title: `${what} that came above, that went below (root scale)`, height: 232 / shown.length - 15, low: -most, high: most,
          zero: 0, scale: rooted, format: (value) => count(Math.abs(value)), ticks: () => churnTicks(most),
          draw: (group, sx, sy, chart) => {
            const width = columnWidth(chart, bucket);
            columns(group, time, up, sx, sy, width, "s2");
            columns(group, time, down, sx, sy, width, "s8");
          },
        };
      }),
      tip: (value, at) => ({
        title: span(time[at], bucket, x.days),
        rows: series.map(([name, values]) => ({ style: /opened|joined/.test(name) ? "s2" : "s8", name, value: count(values[at]) })),
      }),
    };
  };
}

// ---- how long things lasted

function lifetimesPlot(data) {
  return (width) => {
    const { bins, names, series } = data.lifetimes;
    if (!bins.length) return null;
    const every = Math.max(1, Math.ceil((bins.length * 62) / width));
    return {
      label: `How long it lasted: ${series.map(([name, ended]) => `${name}: ${bins.map((_, at) => `${ended[at]} within ${names[at]}`).join(", ")}`).join("; ")}`,
      x: {
        kind: "band", low: bins[0] - 0.5, high: bins[bins.length - 1] + 0.5, title: "ended within",
        ticks: () => bins.filter((bin) => (bin - bins[0]) % every === 0), format: (bin) => names[bin - bins[0]],
      },
      stops: bins,
      strips: series.map(([name, ended], place) => ({
        title: name === "mesh" ? "links of the mesh" : `${name}s`, height: 232 / series.length - 15, ...fromZero(ended, true), format: count,
        draw: (group, x, y) => columns(group, bins, ended, x, y, Math.min(56, Math.abs(x(1) - x(0)) * 0.78), styleOf(place)),
      })),
      tip: (value, at) => ({
        title: `within ${names[at]}, not sooner`,
        rows: series.map(([name, ended], place) => ({ style: styleOf(place), name, value: count(ended[at]) })),
      }),
    };
  };
}
