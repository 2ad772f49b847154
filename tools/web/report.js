// The page of runs. In `doppio report` it contains all data; in `doppio dash` it polls the server for them.

const POLL_MS = 2000, LOADED_AT_FIRST = 6;

// The state that all charts share.
class View {
  constructor() {
    Object.assign(this, {hidden: new Set(), smoothing: 0, axis: "iteration", range: null, cursor: null, active: null,
                         charts: [], unit: 1, onZoom: () => {}});
  }

  // Returns the position of a run's iteration on the x axis, or null if it is unknown.
  position(run, iteration) {
    if (this.axis === "epoch") return run.epochs_per_iter ? iteration * run.epochs_per_iter : null;
    if (this.axis === "time") return run.clock && run.clock.x.length ? interpolate(run.clock, iteration) / this.unit : null;
    return iteration;
  }

  tick(value, step) {
    const unit = this.axis === "time" ? {1: " s", 60: " min", 3600: " h"}[this.unit] : "";
    return tickLabel(value, step) + unit;
  }

  readout(value) {
    if (this.axis === "time") return duration(value * this.unit);
    return this.axis === "epoch" ? `epoch ${short(value)}` : `iteration ${whole(value)}`;
  }

  point(chart, x) {
    this.active = chart;
    this.cursor = x;
    for (const one of this.charts) one.showCursor();
  }

  zoom(range) {
    this.range = range;
    this.onZoom();
    this.draw();
  }

  setAxis(axis, runs) {
    this.axis = axis;
    const longest = Math.max(0, ...runs.map((run) => (run.clock && run.clock.y.length ? run.clock.y[run.clock.y.length - 1] : 0)));
    this.unit = longest < 180 ? 1 : longest < 3 * 3600 ? 60 : 3600;
    this.cursor = null;
    this.zoom(null);
  }

  draw() {
    for (const chart of this.charts) chart.draw();
  }
}

function interpolate({x, y}, at) {
  const i = nearest(x, at);
  const j = x[i] > at ? i - 1 : i + 1;
  if (j < 0 || j >= x.length || x[i] === x[j]) return y[i];
  return y[i] + (y[j] - y[i]) * (at - x[i]) / (x[j] - x[i]);
}

// Returns the charts of all runs: [{title, format, log, curves}].
function chartsOf(runs) {
  const charts = new Map();
  const add = (title, format, run, curve) => {
    if (!charts.has(title)) charts.set(title, {title, format, curves: []});
    const test = curve.kind === "test", exact = test || curve.name === "lr" || curve.name === "gpu_mem";
    charts.get(title).curves.push({run, test, exact, x: curve.x, y: curve.y, label: run.name});
  };
  const titles = {loss: ["Loss", short], lr: ["Learning rate", short], images_per_s: ["Images/s", rate],
                  data_wait: ["Waiting for data", percent], gpu_mem: ["Memory on the device", bytes]};
  const outputs = new Set(runs.flatMap((run) => run.curves).filter((curve) => curve.kind === "output").map((curve) => curve.name));
  for (const run of runs) {
    for (const curve of run.curves) {
      // A net with one output repeats its loss there, without the mean over iterations.
      if (curve.kind === "output" && outputs.size === 1) continue;
      if (curve.kind === "train") add(...titles[curve.name], run, curve);
      else if (curve.kind === "output") add(`Output ${curve.name}`, short, run, curve);
      else if (curve.name === "loss" && curve.net === 0) add("Loss", short, run, curve);
      else if (outputs.size > 1 && outputs.has(curve.name) && curve.net === 0) add(`Output ${curve.name}`, short, run, curve);
      else add(`Test ${scoreName(curve.name, curve.net)}`, short, run, curve);
    }
  }
  // The curves of a test are told from those of training only where they share a chart.
  for (const chart of charts.values()) {
    const mixed = new Set(chart.curves.map((curve) => curve.test)).size === 2;
    for (const curve of chart.curves) {
      curve.dashed = mixed && curve.test;
      if (mixed) curve.label += curve.test ? " test" : " train";
    }
  }
  const rank = (title) => (title === "Loss" ? 0 : title.startsWith("Test") ? 1 : title.startsWith("Output") ? 2 : 3);
  return [...charts.values()].sort((a, b) => rank(a.title) - rank(b.title));
}

function metricsOf(runs) {
  const scores = scoresOf(runs).map(({name, net}) => ({
    name: bestName(name, net), less: SMALLER_IS_BETTER.test(name), value: (run) => bestOf(curveOf(run, "test", name, net))}));
  scores.sort((a, b) => a.less - b.less);
  return [...scores, {name: "last loss", less: true, value: (run) => lastOf(curveOf(run, "train", "loss"))},
          {name: "images/s", less: false, value: speedOf}]
    .filter((metric) => runs.some((run) => metric.value(run) != null));
}

class Report {
  constructor(data) {
    Object.assign(this, {live: data.live, runs: [], charts: new Map(), view: new View()});
    const pick = (name) => {
      this.table.highlight(name);
      this.parallel.highlight(name);
      for (const line of document.querySelectorAll("svg.chart .line")) line.classList.toggle("faded", name != null && line.dataset.run !== name && !this.view.hidden.has(name));
    };
    this.table = new RunsTable(this.view, (run, shown) => this.show(run, shown), pick);
    this.parallel = new Parallel(pick, (names) => {
      for (const run of this.runs) this.setHidden(run, names != null && !names.has(run.name));
      this.draw();
    });
    this.bars = new LayerBars(this.view);
    this.evaluations = html("div", {});
    this.grid = html("div", {class: "grid"});
    this.status = html("p", {class: "faint", role: "status"});
    document.body.append(html("header", {class: "top"}, html("div", {}, html("h1", {}, data.title), this.status), themeButton()),
                         this.controls(), html("main", {}, this.table.card, this.grid, this.parallel.card, this.bars.card, this.evaluations));
  }

  controls() {
    const axis = html("select", {id: "axis", onchange: () => this.view.setAxis(axis.value, this.runs)},
                      ...["iteration", "epoch", "time"].map((name) => html("option", {value: name}, name)));
    const said = html("output", {for: "smoothing"}, "0");
    const slider = html("input", {id: "smoothing", type: "range", min: "0", max: "0.99", step: "0.01", value: "0", oninput: () => {
      this.view.smoothing = Number(slider.value);
      said.textContent = Number(slider.value).toFixed(2).replace(/\.?0+$/, "");
      this.view.draw();
    }});
    const log = html("button", {type: "button", "aria-pressed": "false", onclick: () => {
      const on = log.getAttribute("aria-pressed") !== "true";
      log.setAttribute("aria-pressed", String(on));
      // Accuracies stay linear, because their upper end matters.
      for (const chart of this.charts.values()) chart.setLog(on && /loss|error|learning rate|output/i.test(chart.title));
    }}, "Log scale");
    const reset = html("button", {type: "button", hidden: true, onclick: () => this.view.zoom(null)}, "Reset zoom");
    this.view.onZoom = () => { reset.hidden = this.view.range == null; };
    this.legend = html("div", {class: "legend", role: "group", "aria-label": "Runs that are shown"});
    return html("div", {class: "controls"},
                html("div", {class: "row"}, html("label", {for: "axis"}, "x axis"), axis, html("label", {for: "smoothing"}, "smoothing"),
                     slider, said, log, reset,
                     html("span", {class: "faint help"}, "drag to zoom, double-click to see all; in a chart: ← → Home End, + −, Esc")),
                this.legend);
  }

  setHidden(run, hidden) {
    if (hidden) this.view.hidden.add(run.name);
    else this.view.hidden.delete(run.name);
  }

  show(run, shown) {
    this.setHidden(run, !shown);
    if (this.live && shown && run.stale !== false) this.load(run).then(() => this.draw());
    this.draw();
  }

  // A run of the same name gets new data and keeps its colour and place.
  setRun(data) {
    const old = this.runs.find((run) => run.name === data.name);
    if (old) Object.assign(old, data);
    else this.runs.push({...data, index: this.runs.length});
  }

  draw() {
    this.table.setRuns(this.runs);
    const loaded = this.runs.filter((run) => run.curves);
    // With a hundred runs the table is the legend.
    this.legend.replaceChildren(...this.runs.slice(0, 30).map((run) => html("button", {
      type: "button", "aria-pressed": String(!this.view.hidden.has(run.name)), onclick: () => {
        this.show(run, this.view.hidden.has(run.name));
        [...this.legend.children].find((button) => button.dataset.run === run.name)?.focus();
      }, "data-run": run.name}, swatch(run), run.name)));
    this.legend.hidden = this.runs.length < 2;
    const wanted = chartsOf(loaded);
    for (const [title, chart] of this.charts) {
      if (wanted.some((one) => one.title === title)) continue;
      chart.card.remove();
      this.charts.delete(title);
    }
    for (const {title, format, curves} of wanted) {
      if (!this.charts.has(title)) this.charts.set(title, new LineChart(title, format, this.view));
      const chart = this.charts.get(title);
      chart.setCurves(curves);
    }
    this.view.charts = wanted.map(({title}) => this.charts.get(title));
    const cards = this.view.charts.map((chart) => chart.card);
    // Moving a card would take the focus from it.
    if (cards.some((card, i) => this.grid.children[i] !== card)) this.grid.replaceChildren(...cards);
    this.parallel.setRuns(loaded, differing(loaded), metricsOf(loaded));
    this.bars.setRuns(loaded);
    this.drawEvaluations(loaded);
    const running = this.runs.filter((run) => run.status === "running").length;
    this.status.textContent = [`${this.runs.length} ${this.runs.length === 1 ? "run" : "runs"}`, running ? `${running} running` : null,
                               this.live ? `as of ${new Date().toLocaleTimeString()}` : null].filter(Boolean).join(" · ");
  }

  // Draws the evaluations of the runs that are shown, unless they are drawn already.
  drawEvaluations(loaded) {
    const shown = loaded.filter((run) => run.evaluation && !this.view.hidden.has(run.name));
    const key = JSON.stringify(shown.map((run) => [run.name, run.evaluation.iteration, run.status]));
    if (key === this.evaluated) return;
    this.evaluated = key;
    this.evaluations.replaceChildren(...shown.flatMap((run) => [
      html("h2", {class: "evaluation"}, swatch(run), `Evaluation of ${run.name}`), html("div", {class: "grid"}, ...evaluationCards(run.evaluation))]));
  }

  // Fetches a run. For a hidden run only the numbers in the table are needed, so it fetches few points.
  async load(run) {
    const stale = this.view.hidden.has(run.name);
    const answer = await fetch(`api/run?name=${encodeURIComponent(run.name)}${stale ? "&points=few" : ""}`);
    if (answer.ok) this.setRun({...await answer.json(), stale});
  }

  // Asks which runs there are, and for those that have changed: first for those that are shown.
  async poll() {
    const answer = await fetch("api/runs");
    if (!answer.ok) throw new Error(answer.status === 403 ? "the link is no longer valid: open the one that dash prints" : `dash answers ${answer.status}`);
    const {runs} = await answer.json();
    const first = this.runs.length === 0;
    const names = new Set(runs.map((run) => run.name));
    const gone = this.runs.filter((run) => !names.has(run.name));
    this.runs = this.runs.filter((run) => names.has(run.name));
    const changed = [];
    for (const [i, listed] of runs.entries()) {
      let run = this.runs.find((one) => one.name === listed.name);
      if (!run) {
        this.setRun({...listed, mark: null});
        run = this.runs.find((one) => one.name === listed.name);
        if (first && i >= LOADED_AT_FIRST && listed.status !== "running") this.setHidden(run, true);
      }
      if (run.mark !== listed.mark) changed.push([run, listed]);
    }
    const hidden = ([run]) => this.view.hidden.has(run.name);
    for (const part of [changed.filter((one) => !hidden(one)), changed.filter(hidden)]) {
      for (const [run, listed] of part) {
        Object.assign(run, listed, {mark: null});
        await this.load(run);
        run.mark = listed.mark;
      }
      if (part.length || gone.length) this.draw();
    }
  }

  async follow() {
    for (;;) {
      try {
        if (!document.hidden) await this.poll();
        this.status.classList.remove("bad");
      } catch (error) {
        this.status.classList.add("bad");
        this.status.textContent = error instanceof TypeError ? "dash does not answer; it may have ended" : error.message;
      }
      await new Promise((resolve) => setTimeout(resolve, POLL_MS));
    }
  }
}

{
  const data = JSON.parse(document.getElementById("data").textContent);
  const report = new Report(data);
  for (const run of data.runs || []) report.setRun(run);
  report.draw();
  if (data.live) report.follow();
}
