// Curves over iterations, epochs or time. All charts of a page share `view`: what is hidden, how smooth, which part, where the
// cursor is.
//
// A curve: {run, label, dashed, exact (never smoothed), x: [iterations], y: [values or null]}.

const HEIGHT = 230, TOP = 10, BOTTOM = 26, RIGHT = 14;

// An exponential mean that starts right, as if it had always seen its first values; gaps stay gaps.
function smooth(values, weight) {
  if (weight <= 0) return values;
  let sum = 0, norm = 0;
  return values.map((value) => {
    if (value == null) return null;
    sum = weight * sum + (1 - weight) * value;
    norm = weight * norm + (1 - weight);
    return sum / norm;
  });
}

// Returns the index of the value closest to `wanted` in an ascending list.
function nearest(list, wanted) {
  let low = 0, high = list.length - 1;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (list[middle] < wanted) low = middle + 1;
    else high = middle;
  }
  return low > 0 && wanted - list[low - 1] < list[low] - wanted ? low - 1 : low;
}

class LineChart {
  constructor(title, format, view) {
    Object.assign(this, {title, format, view, curves: [], shown: [], log: false});
    this.key = html("span", {class: "key"});
    this.logButton = html("button", {type: "button", class: "small log", "aria-pressed": "false", title: "Logarithmic axis",
                                     hidden: format !== short, onclick: () => this.setLog(!this.log)}, "log");
    this.plot = html("div", {class: "plot"});
    this.picture = svg("svg", {class: "chart", tabindex: "0", role: "img", height: HEIGHT});
    this.tip = html("div", {class: "tip", hidden: true});
    this.spoken = html("div", {class: "spoken", "aria-live": "polite"});
    this.plot.append(this.picture, this.tip, this.spoken);
    this.card = html("section", {class: "card", "data-chart": title},
                     html("header", {}, html("h3", {}, title), this.key, this.logButton), this.plot);
    this.listen();
    onResize(this.plot, () => this.draw());
  }

  setLog(log) {
    this.log = log && !this.logButton.hidden;
    this.logButton.setAttribute("aria-pressed", String(this.log));
    this.draw();
  }

  setCurves(curves) {
    this.curves = curves;
    const kinds = new Set(curves.map((curve) => curve.dashed));
    this.key.replaceChildren();
    if (kinds.size === 2) this.key.append(html("i", {class: "solid"}), "train", html("i", {class: "dashed"}), "test");
    this.draw();
  }

  // Computes the visible curves and both axes. Returns false if there is nothing to draw.
  prepare() {
    const {view} = this;
    this.shown = this.curves.filter((curve) => !view.hidden.has(curve.run.name)).map((curve) => {
      const x = curve.x.map((iteration) => view.position(curve.run, iteration));
      return {...curve, x, raw: curve.y, y: curve.exact ? curve.y : smooth(curve.y, view.smoothing)};
    }).filter((curve) => curve.x.length > 0 && curve.x[0] != null);
    let [low, high] = [Infinity, -Infinity];
    for (const curve of this.shown) {
      low = Math.min(low, curve.x[0]);
      high = Math.max(high, curve.x[curve.x.length - 1]);
    }
    if (view.range) [low, high] = view.range;
    this.xAxis = low <= high ? linearAxis(low, high, Math.max(2, this.plot.clientWidth / 90)) : null;
    // The y axis covers the values inside the visible range of the x axis.
    [low, high] = [Infinity, -Infinity];
    for (const curve of this.shown) {
      for (let i = 0; i < curve.x.length; ++i) {
        const inside = !view.range || (curve.x[i] >= view.range[0] && curve.x[i] <= view.range[1]);
        for (const value of [curve.y[i], curve.raw[i]]) {
          if (!inside || value == null || (this.log && value <= 0)) continue;
          low = Math.min(low, value);
          high = Math.max(high, value);
        }
      }
    }
    if (!(low <= high)) return false;
    // Treats unreadably small differences as equal, so that they do not fill the chart.
    if (high - low < 1e-6 * Math.abs(high)) low = high;
    if (this.log) {
      this.yAxis = logAxis(low, high, 5);
    } else {
      const room = (high - low) * 0.05;
      const floor = low >= 0 && low - room < 0 ? 0 : low - room;
      this.yAxis = linearAxis(floor, low === high ? floor : high + room, 5, this.format === bytes);
    }
    return this.xAxis != null;
  }

  draw() {
    const width = this.plot.clientWidth;
    this.picture.replaceChildren();
    this.picture.setAttribute("width", width);
    this.picture.setAttribute("viewBox", `0 0 ${width} ${HEIGHT}`);
    this.cursor = null;
    if (width === 0) return;
    if (!this.prepare()) {
      this.xAxis = null;
      this.tip.hidden = true;
      const why = this.log && this.shown.length ? "Nothing here is above zero" : "Nothing to show";
      this.picture.append(svg("text", {class: "empty", x: width / 2, y: HEIGHT / 2}, why));
      this.picture.setAttribute("aria-label", `${this.title}: ${why}`);
      return;
    }
    const labels = this.yAxis.ticks.map((tick) => this.tick(tick));
    this.left = 14 + 6.7 * Math.max(2, ...labels.map((label) => label.length));
    this.width = width;
    this.drawAxes(labels);
    const lines = svg("g", {class: "lines"});
    for (const curve of this.shown) this.drawCurve(curve, lines);
    // The frame of the plot cuts what is zoomed out of it.
    const id = `clip-${this.title.replace(/\W/g, "-")}`;
    lines.setAttribute("clip-path", `url(#${id})`);
    this.picture.append(svg("clipPath", {id}, svg("rect", {
      x: this.left, y: TOP - 4, width: Math.max(0, width - this.left - RIGHT + 4), height: HEIGHT - TOP - BOTTOM + 8})), lines);
    this.cursor = svg("g", {class: "cursor"});
    this.picture.append(this.cursor);
    this.picture.setAttribute("aria-label", `${this.title}. ` + this.shown.slice(0, 8).map((curve) =>
      `${curve.label}: ${this.format(curve.y[curve.y.length - 1])} at the end`).join("; "));
    this.showCursor();
  }

  tick(value) {
    if (this.format === bytes) return bytes(value);
    if (this.format === percent) return percent(value);
    return tickLabel(value, this.yAxis.step);
  }

  px(x) { return this.left + this.xAxis.at(x) * (this.width - this.left - RIGHT); }
  py(y) { return HEIGHT - BOTTOM - this.yAxis.at(y) * (HEIGHT - TOP - BOTTOM); }

  drawAxes(labels) {
    const axes = svg("g", {class: "axes"});
    this.yAxis.ticks.forEach((tick, i) => {
      const y = this.py(tick);
      axes.append(svg("line", {x1: this.left, x2: this.width - RIGHT, y1: y, y2: y}),
                  svg("text", {x: this.left - 7, y: y + 4, class: "y"}, labels[i]));
    });
    for (const tick of this.xAxis.ticks) {
      const x = this.px(tick);
      axes.append(svg("line", {x1: x, x2: x, y1: HEIGHT - BOTTOM, y2: HEIGHT - BOTTOM + 4, class: "tick"}));
      // A label at the edge would be cut.
      if (x < this.width - 12) {
        axes.append(svg("text", {x, y: HEIGHT - 7, class: "x"}, this.view.tick(tick, this.xAxis.step)));
      }
    }
    axes.append(svg("line", {x1: this.left, x2: this.width - RIGHT, y1: HEIGHT - BOTTOM, y2: HEIGHT - BOTTOM, class: "base"}));
    this.picture.append(axes);
  }

  // A path with gaps where there is no value; of many points in one column of pixels the least and the largest.
  path(x, y) {
    let path = "", open = false, column = NaN, low = 0, high = 0, last = 0;
    const flush = () => {
      if (!Number.isNaN(column) && low !== high) path += `V${low.toFixed(1)}V${high.toFixed(1)}V${last.toFixed(1)}`;
      column = NaN;
    };
    for (let i = 0; i < x.length; ++i) {
      if (y[i] == null || (this.log && y[i] <= 0)) {
        flush();
        open = false;
        continue;
      }
      const px = this.px(x[i]), py = this.py(y[i]);
      if (open && Math.round(px) === column) {
        low = Math.min(low, py);
        high = Math.max(high, py);
        last = py;
        continue;
      }
      flush();
      path += `${open ? "L" : "M"}${px.toFixed(1)} ${py.toFixed(1)}`;
      open = true;
      column = Math.round(px);
      low = high = last = py;
    }
    flush();
    return path;
  }

  drawCurve(curve, lines) {
    const style = `stroke:${colorOf(curve.run)}`;
    if (curve.y !== curve.raw) lines.append(svg("path", {d: this.path(curve.x, curve.raw), style, class: "raw"}));
    lines.append(svg("path", {d: this.path(curve.x, curve.y), style, class: curve.dashed ? "line dashed" : "line",
                              "data-run": curve.run.name}));
    const points = curve.y.filter((y) => y != null).length;
    // A single point has no line, and tests are few and far between.
    if (points === 1 || (curve.exact && points <= 40)) {
      curve.x.forEach((x, i) => {
        if (curve.y[i] == null || (this.log && curve.y[i] <= 0)) return;
        lines.append(svg("circle", {cx: this.px(x), cy: this.py(curve.y[i]), r: 2.5, style: `fill:${colorOf(curve.run)}`}));
      });
    }
  }

  // The values next to the cursor, and, in the chart that is pointed at, what they are.
  showCursor() {
    const {view} = this;
    if (!this.cursor) return;
    this.cursor.replaceChildren();
    const at = view.cursor;
    if (at == null || at < this.xAxis.low || at > this.xAxis.high) {
      this.tip.hidden = true;
      return;
    }
    const x = this.px(at);
    this.cursor.append(svg("line", {x1: x, x2: x, y1: TOP, y2: HEIGHT - BOTTOM}));
    const rows = [];
    for (const curve of this.shown) {
      if (at > curve.x[curve.x.length - 1] + this.gap(curve) || at < curve.x[0] - this.gap(curve)) continue;
      const i = nearest(curve.x, at), value = curve.y[i];
      rows.push({curve, value, raw: curve.raw[i]});
      if (value == null || (this.log && value <= 0)) continue;
      this.cursor.append(svg("circle", {cx: this.px(curve.x[i]), cy: this.py(value), r: 3.5,
                                        style: `fill:${colorOf(curve.run)}`}));
    }
    if (view.active !== this) {
      this.tip.hidden = true;
      return;
    }
    this.showTip(x, rows);
  }

  // Returns how far beyond its ends a curve still reacts to the pointer: half the mean distance of two points.
  gap(curve) {
    const n = curve.x.length;
    return n > 1 ? (curve.x[n - 1] - curve.x[0]) / (n - 1) / 2 : (this.xAxis.high - this.xAxis.low) / 50;
  }

  showTip(x, rows) {
    const most = 14;
    rows.sort((a, b) => (b.value ?? -Infinity) - (a.value ?? -Infinity));
    const line = ({curve, value, raw}) => html("tr", {}, html("td", {}, swatch(curve.run)), html("td", {}, curve.label),
      html("td", {class: "number"}, this.format(value)),
      raw !== value ? html("td", {class: "number faint"}, this.format(raw)) : null);
    this.tip.replaceChildren(html("strong", {}, this.view.readout(this.view.cursor)),
                             html("table", {}, ...rows.slice(0, most).map(line)));
    if (rows.length > most) this.tip.append(html("span", {class: "faint"}, `and ${rows.length - most} more`));
    this.tip.hidden = false;
    const room = this.plot.clientWidth - this.tip.offsetWidth;
    const beside = x + 14 > room ? x - this.tip.offsetWidth - 14 : x + 14;
    this.tip.style.left = `${Math.max(0, Math.min(room, beside))}px`;
    if (document.activeElement === this.picture) {
      this.spoken.textContent = `${this.view.readout(this.view.cursor)}: ` +
        rows.slice(0, 4).map((row) => `${row.curve.label} ${this.format(row.value)}`).join(", ");
    }
  }

  listen() {
    const {view, picture} = this;
    const place = (event) => {
      const inside = (event.clientX - picture.getBoundingClientRect().left - this.left) / (this.width - this.left - RIGHT);
      return this.xAxis.value(Math.min(1, Math.max(0, inside)));
    };
    let from = null, band = null;
    const drop = () => {
      if (band) band.remove();
      from = band = null;
    };
    picture.addEventListener("pointermove", (event) => {
      if (!this.xAxis) return;
      const to = place(event);
      view.point(this, to);
      if (from == null || !this.cursor) return;
      if (!band) band = svg("rect", {class: "band", y: TOP, height: HEIGHT - TOP - BOTTOM});
      const [left, right] = [this.px(Math.min(from, to)), this.px(Math.max(from, to))];
      band.setAttribute("x", left);
      band.setAttribute("width", right - left);
      picture.append(band);
    });
    picture.addEventListener("pointerdown", (event) => {
      if (this.xAxis && event.pointerType === "mouse" && event.button === 0) from = place(event);
    });
    picture.addEventListener("pointerup", (event) => {
      if (from == null) return;
      const range = [from, place(event)].sort((a, b) => a - b);
      const wide = band && Number(band.getAttribute("width")) > 5;
      drop();
      if (wide) view.zoom(range);
    });
    picture.addEventListener("pointerleave", () => {
      drop();
      view.point(null, null);
    });
    picture.addEventListener("dblclick", () => view.zoom(null));
    picture.addEventListener("blur", () => view.point(null, null));
    picture.addEventListener("keydown", (event) => {
      if (!this.xAxis || event.ctrlKey || event.metaKey || event.altKey) return;
      const {low, high} = this.xAxis, step = (high - low) / (event.shiftKey ? 10 : 100);
      const at = view.cursor ?? low;
      const half = (high - low) / 4;
      const moves = {ArrowLeft: at - step, ArrowRight: at + step, Home: low, End: high};
      if (event.key in moves) {
        view.point(this, Math.min(high, Math.max(low, moves[event.key])));
      } else if (event.key === "+" || event.key === "=") {
        view.zoom([Math.max(low, at - half), Math.min(high, at + half)]);
      } else if (event.key === "-" || event.key === "Escape") {
        view.zoom(null);
        if (event.key === "Escape") view.point(null, null);
      } else {
        return;
      }
      event.preventDefault();
    });
  }
}
