// Runs as lines across axes of what they were asked for, and what came of it. A drag along an axis keeps only the runs there.

const PARALLEL_HEIGHT = 300, PARALLEL_TOP = 44, PARALLEL_BOTTOM = 22;

// Violet is the worst, green the best; of middle lightness, to be seen on light and dark.
const gradeColor = (grade) => (grade == null ? "var(--faint)" : `hsl(${270 - 130 * grade} 62% ${52 - 6 * grade}%)`);

// {name, label, position(run) -> 0..1 or null, ticks: [[position, text]], text(run)}
function makeAxis(name, label, valueOf, runs) {
  const texts = runs.map(valueOf).filter((value) => value != null && value !== "");
  const numbers = texts.map(Number);
  const text = (run) => {
    const value = valueOf(run);
    return typeof value === "number" ? short(value) : value ?? "–";
  };
  if (numbers.length && numbers.every(Number.isFinite)) {
    const [low, high] = [Math.min(...numbers), Math.max(...numbers)];
    const log = low > 0 && high / low >= 30;
    const axis = log ? logAxis(low, high, 5) : linearAxis(low, high, 5);
    const position = (run) => {
      const value = valueOf(run);
      return value == null || value === "" ? null : axis.at(Number(value));
    };
    // If there are at most six values, they are the ticks.
    const few = [...new Set(numbers)].sort((a, b) => a - b);
    const ticks = few.length <= 6 ? few.map((value) => [axis.at(value), short(value)])
                                  : axis.ticks.map((tick) => [axis.at(tick), tickLabel(tick, axis.step)]);
    return {name, label, position, text, ticks};
  }
  const names = [...new Set(texts)].sort();
  const place = (value) => (names.length === 1 ? 0.5 : names.indexOf(value) / (names.length - 1));
  return {name, label, text, position: (run) => (valueOf(run) == null ? null : place(valueOf(run))),
          ticks: names.map((value) => [place(value), value.length > 14 ? value.slice(0, 13) + "…" : value])};
}

class Parallel {
  // `onPick(name or null)`: a run is pointed at. `onFilter(names or null)`: only these are to be seen.
  constructor(onPick, onFilter) {
    Object.assign(this, {onPick, onFilter, runs: [], settings: [], metrics: [], brushes: new Map()});
    this.select = html("select", {"aria-label": "Result", onchange: () => this.draw()});
    this.clear = html("button", {type: "button", class: "small", hidden: true, onclick: () => {
      this.brushes.clear();
      this.filter();
    }}, "Show all");
    this.plot = html("div", {class: "plot scroll"});
    this.picture = svg("svg", {class: "parallel", height: PARALLEL_HEIGHT, role: "img"});
    this.note = html("p", {class: "faint note"});
    this.plot.append(this.picture);
    this.card = html("section", {class: "card wide", "data-chart": "Settings and results"},
                     html("header", {}, html("h3", {}, "Settings and results"), this.clear, this.select), this.plot, this.note);
    onResize(this.plot, () => this.draw());
  }

  // `settings`: names of those that differ. `metrics`: [{name, less, value(run)}].
  setRuns(runs, settings, metrics) {
    Object.assign(this, {runs, settings, metrics});
    const chosen = this.select.value;
    this.select.replaceChildren(...metrics.map((metric) => html("option", {value: metric.name}, metric.name)));
    if (metrics.some((metric) => metric.name === chosen)) this.select.value = chosen;
    this.card.hidden = runs.length < 2 || settings.length === 0 || metrics.length === 0;
    this.draw();
  }

  passes(run) {
    return [...this.brushes].every(([name, [low, high]]) => {
      const axis = this.axes.find((one) => one.name === name);
      const at = axis ? axis.position(run) : null;
      return !axis || (at != null && at >= low && at <= high);
    });
  }

  filter() {
    this.clear.hidden = this.brushes.size === 0;
    this.draw();
    this.onFilter(this.brushes.size ? new Set(this.runs.filter((run) => this.passes(run)).map((run) => run.name)) : null);
  }

  draw() {
    if (this.card.hidden || this.plot.clientWidth === 0) return;
    const metric = this.metrics.find((one) => one.name === this.select.value) || this.metrics[0];
    this.axes = this.settings.slice(0, 8).map((name) => makeAxis(name, name.replace(/^net\./, ""), (run) => run.settings[name], this.runs));
    const result = makeAxis("=" + metric.name, metric.name, metric.value, this.runs);
    this.axes.push(result);
    this.note.textContent = this.settings.length > 8 ? `8 of ${this.settings.length} settings that differ` : "";
    const width = Math.max(this.plot.clientWidth, 110 * this.axes.length + 60);
    this.picture.setAttribute("width", width);
    this.picture.setAttribute("viewBox", `0 0 ${width} ${PARALLEL_HEIGHT}`);
    this.picture.setAttribute("aria-label", `${this.runs.length} runs: ${this.axes.map((axis) => axis.label).join(", ")}`);
    this.x = (i) => 60 + i * (width - 130) / (this.axes.length - 1);
    this.y = (position) => PARALLEL_HEIGHT - PARALLEL_BOTTOM - position * (PARALLEL_HEIGHT - PARALLEL_TOP - PARALLEL_BOTTOM);
    const at = this.runs.map(result.position).filter((p) => p != null);
    const [low, high] = [Math.min(...at), Math.max(...at)];
    const grade = (run) => {
      const p = result.position(run);
      if (p == null) return null;
      const part = high > low ? (p - low) / (high - low) : 1;
      return metric.less ? 1 - part : part;
    };
    this.picture.replaceChildren();
    const lines = svg("g", {class: "runs"});
    // The best are drawn last, over the others.
    for (const run of [...this.runs].sort((a, b) => (grade(a) ?? -1) - (grade(b) ?? -1))) lines.append(this.line(run, grade(run)));
    this.picture.append(lines);
    this.axes.forEach((axis, i) => this.drawAxis(axis, i));
  }

  line(run, grade) {
    let path = "", open = false;
    this.axes.forEach((axis, i) => {
      const at = axis.position(run);
      if (at != null) path += `${open ? "L" : "M"}${this.x(i).toFixed(1)} ${this.y(at).toFixed(1)}`;
      open = at != null;
    });
    const values = this.axes.map((axis) => `${axis.label} ${axis.text(run)}`).join("\n");
    const line = svg("path", {d: path, class: this.passes(run) ? "run" : "run out", style: `stroke:${gradeColor(grade)}`,
                              "data-run": run.name}, svg("title", {}, `${run.name}\n${values}`));
    line.addEventListener("pointerenter", () => this.onPick(run.name));
    line.addEventListener("pointerleave", () => this.onPick(null));
    return line;
  }

  drawAxis(axis, i) {
    const x = this.x(i), [top, bottom] = [this.y(1), this.y(0)];
    const label = axis.label.length > 22 ? "…" + axis.label.slice(-21) : axis.label;
    const group = svg("g", {class: "axis"},
      svg("text", {class: "name", x, y: i % 2 ? 30 : 16}, label, svg("title", {}, axis.label)),
      svg("line", {x1: x, x2: x, y1: top, y2: bottom}));
    let above = Infinity;
    for (const [at, text] of axis.ticks) {
      // They would lie over each other.
      if (above - this.y(at) < 14) continue;
      above = this.y(at);
      group.append(svg("text", {x: x + 6, y: above + 4}, text));
    }
    const brush = this.brushes.get(axis.name);
    if (brush) group.append(svg("rect", {class: "brush", x: x - 7, width: 14, y: this.y(brush[1]), height: this.y(brush[0]) - this.y(brush[1])}));
    const handle = svg("rect", {class: "handle", x: x - 12, width: 24, y: top - 4, height: bottom - top + 8},
                       svg("title", {}, "Drag to keep only runs with these values"));
    const place = (event) => {
      const y = event.clientY - this.picture.getBoundingClientRect().top;
      return Math.min(1.02, Math.max(-0.02, (bottom - y) / (bottom - top)));
    };
    handle.addEventListener("pointerdown", (event) => {
      const from = place(event);
      handle.setPointerCapture(event.pointerId);
      handle.addEventListener("pointerup", (end) => {
        const [low, high] = [from, place(end)].sort((a, b) => a - b);
        if (high - low < 0.02) this.brushes.delete(axis.name);
        else this.brushes.set(axis.name, [low, high]);
        this.filter();
      }, {once: true});
    });
    group.append(handle);
    this.picture.append(group);
  }

  highlight(name) {
    for (const line of this.picture.querySelectorAll(".run")) line.classList.toggle("picked", line.dataset.run === name);
  }
}
