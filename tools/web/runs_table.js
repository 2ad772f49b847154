// The runs: what became of them, what they were asked for, and which are shown.

const SMALLER_IS_BETTER = /loss|error|perplexity/i;
const SHOWN_SETTINGS = 12;

const lastOf = (curve) => (curve ? curve.y.findLast((y) => y != null) ?? null : null);

function bestOf(curve) {
  const values = curve ? curve.y.filter((y) => y != null) : [];
  if (!values.length) return null;
  return SMALLER_IS_BETTER.test(curve.name) ? Math.min(...values) : Math.max(...values);
}

const curveOf = (run, kind, name, net = 0) =>
  (run.curves || []).find((curve) => curve.kind === kind && curve.name === name && curve.net === net);

const scoreName = (name, net) => (net ? `${name} (test net ${net})` : name);
const bestName = (name, net) => `best ${scoreName(name, net)}${name === "loss" && !net ? " (test)" : ""}`;

// Scores of tests that any run has: [{name, net}].
function scoresOf(runs) {
  const seen = new Map();
  for (const run of runs) {
    for (const curve of run.curves || []) {
      if (curve.kind === "test") seen.set(`${curve.net} ${curve.name}`, {name: curve.name, net: curve.net});
    }
  }
  return [...seen.values()].sort((a, b) => a.net - b.net);
}

// Names of settings with different values.
function differing(runs) {
  const known = runs.filter((run) => run.settings);
  const names = new Set(known.flatMap((run) => Object.keys(run.settings)));
  const differs = [...names].filter((name) => new Set(known.map((run) => run.settings[name])).size > 1);
  // Every run has places of its own, and seeds say the least.
  return known.length < 2 ? [] : differs.filter((name) => !/snapshot_prefix|^weights$|^snapshot$/.test(name))
    .sort((a, b) => /seed/.test(a) - /seed/.test(b) || (a < b ? -1 : 1));
}

class RunsTable {
  // `onShow(run, shown)`, `onPick(name or null)`.
  constructor(view, onShow, onPick) {
    Object.assign(this, {view, onShow, onPick, sort: null, runs: []});
    this.table = html("table", {class: "runs-table"});
    this.all = html("details", {class: "all-settings"}, html("summary", {}, "All settings"));
    this.allBody = html("div", {class: "scroll"});
    this.all.append(this.allBody);
    this.all.addEventListener("toggle", () => this.drawSettings());
    this.toggle = html("button", {type: "button", class: "small", onclick: () => {
      const show = this.runs.some((run) => view.hidden.has(run.name));
      for (const run of this.runs) this.onShow(run, show);
    }});
    this.card = html("section", {class: "card wide", id: "runs"}, html("header", {}, html("h3", {}, "Runs"), this.toggle),
                     html("div", {class: "scroll"}, this.table), this.all);
  }

  columns() {
    const settings = differing(this.runs);
    const scores = scoresOf(this.runs).map(({name, net}) => ({
      title: bestName(name, net), value: (run) => bestOf(curveOf(run, "test", name, net)), best: !SMALLER_IS_BETTER.test(name),
      hint: "best of all tests; the last one in the tooltip", last: (run) => short(lastOf(curveOf(run, "test", name, net)))}));
    return [
      {title: "Run", text: true, value: (run) => run.name, node: (run) => this.nameCell(run)},
      {title: "Status", text: true, value: (run) => run.status, node: (run) => this.statusCell(run)},
      {title: "Iterations", value: (run) => run.iter, node: (run) => this.progressCell(run)},
      {title: "Time", value: (run) => run.seconds, node: (run) => duration(run.seconds)},
      {title: "last loss", value: (run) => lastOf(curveOf(run, "train", "loss")), best: false, hint: "of training"},
      ...scores,
      {title: "images/s", value: speedOf, best: true, hint: "median", node: (run) => rate(speedOf(run))},
      ...settings.slice(0, SHOWN_SETTINGS).map((name) => ({
        title: name.replace(/^net\./, ""), setting: true, value: (run) => number((run.settings || {})[name]),
        node: (run) => (run.settings || {})[name] ?? "–"})),
    ].filter((column) => column.text || column.setting || this.runs.some((run) => column.value(run) != null));
  }

  nameCell(run) {
    const box = html("input", {type: "checkbox", "aria-label": `show ${run.name}`, onchange: () => this.onShow(run, box.checked)});
    box.checked = !this.view.hidden.has(run.name);
    const about = [run.net, run.host, run.started ? new Date(run.started * 1000).toLocaleString() : null].filter(Boolean);
    return html("label", {class: "name", title: [...about, run.command].filter(Boolean).join("\n")}, box, swatch(run), html("span", {}, run.name));
  }

  statusCell(run) {
    const said = [];
    if (run.error) said.push(html("div", {class: "bad note"}, run.error));
    if ((run.nonfinite || []).length) said.push(html("div", {class: "bad note"}, `loss not finite at ${whole(run.nonfinite[0])}`));
    const worlds = run.worlds || [];
    const changes = worlds.map((w) => [`${w.ranks} from iteration ${whole(w.iter)}`, w.left && `left: ${w.left}`, w.came && `came: ${w.came}`].filter(Boolean).join("; "));
    if (worlds.length > 1) said.push(html("div", {class: "faint note", title: changes.join("\n")}, `ranks: ${worlds.map((w) => whole(w.ranks)).join(" → ")}`));
    if (run.resume && run.status !== "running") said.push(html("div", {class: "faint note", title: run.resume}, "can be resumed"));
    return html("div", {}, html("span", {class: `badge ${run.status}`}, run.status), ...said);
  }

  progressCell(run) {
    const part = run.max_iter > 0 ? Math.min(1, run.iter / run.max_iter) : null;
    return html("div", {class: "progress"}, run.max_iter > 0 ? `${whole(run.iter)} / ${whole(run.max_iter)}` : whole(run.iter || 0),
                part != null && run.status === "running" ? html("div", {class: "meter"}, html("i", {style: `width:${100 * part}%`})) : null);
  }

  setRuns(runs) {
    this.runs = runs;
    const columns = this.columns();
    const rows = [...runs];
    const sorted = this.sort && columns.find((column) => column.title === this.sort.title);
    if (sorted) {
      // Runs without a value stay at the end.
      rows.sort((a, b) => {
        const [x, y] = [sorted.value(a), sorted.value(b)];
        if (x == null || y == null) return (x == null) - (y == null);
        return (x < y ? -1 : x > y ? 1 : 0) * (this.sort.down ? -1 : 1);
      });
    }
    const head = columns.map((column) => {
      const mine = sorted === column;
      return html("th", {class: column.setting ? "differs" : column.text ? "" : "number", title: column.hint, scope: "col",
                         "aria-sort": mine ? (this.sort.down ? "descending" : "ascending") : null},
                  html("button", {type: "button", onclick: () => {
                    this.sort = {title: column.title, down: mine ? !this.sort.down : column.best === true};
                    this.setRuns(this.runs);
                  }}, column.title, mine ? (this.sort.down ? " ↓" : " ↑") : ""));
    });
    const bests = new Map(columns.filter((column) => column.best != null && runs.length > 1).map((column) => {
      const values = runs.map(column.value).filter((value) => value != null);
      return [column, column.best ? Math.max(...values) : Math.min(...values)];
    }));
    const cell = (column, run) => {
      const value = column.value(run);
      const classes = [column.setting ? "differs" : column.text ? "" : "number", value != null && bests.get(column) === value ? "best" : ""];
      return html("td", {class: classes.join(" ").trim(), title: column.last ? `last: ${column.last(run)}` : null},
                  column.node ? column.node(run) : short(value));
    };
    const focused = this.table.contains(document.activeElement) ? document.activeElement.getAttribute("aria-label") : null;
    this.table.replaceChildren(html("thead", {}, html("tr", {}, ...head)), html("tbody", {}, ...rows.map((run) =>
      html("tr", {"data-run": run.name, class: this.view.hidden.has(run.name) ? "off" : "",
                  onpointerenter: () => this.onPick(run.name), onpointerleave: () => this.onPick(null)},
           ...columns.map((column) => cell(column, run))))));
    // A table that is drawn again while somebody walks through it.
    if (focused) this.table.querySelector(`[aria-label="${CSS.escape(focused)}"]`)?.focus();
    this.toggle.textContent = runs.some((run) => this.view.hidden.has(run.name)) ? "Show all" : "Hide all";
    this.toggle.hidden = runs.length < 2;
    this.drawSettings();
  }

  drawSettings() {
    const known = this.runs.filter((run) => run.settings && !this.view.hidden.has(run.name));
    this.all.hidden = known.length === 0;
    if (!this.all.open || !known.length) return;
    const names = [...new Set(known.flatMap((run) => Object.keys(run.settings)))].sort();
    this.allBody.replaceChildren(html("table", {class: "runs-table"},
      html("thead", {}, html("tr", {}, html("th", {scope: "col"}, "Setting"), ...known.map((run) => html("th", {scope: "col"}, swatch(run), run.name)))),
      html("tbody", {}, ...names.map((name) => {
        const values = known.map((run) => run.settings[name]);
        return html("tr", {class: new Set(values).size > 1 ? "differs" : ""}, html("th", {scope: "row"}, name),
                    ...values.map((value) => html("td", {}, value ?? "–")));
      }))));
  }

  highlight(name) {
    for (const row of this.table.querySelectorAll("tbody tr")) row.classList.toggle("picked", row.dataset.run === name);
  }
}

// A setting as a number where it is one, so that 10 comes behind 9.
function number(text) {
  return text != null && text !== "" && Number.isFinite(Number(text)) ? Number(text) : text ?? null;
}

function median(curve) {
  const values = curve ? curve.y.filter((y) => y != null).sort((a, b) => a - b) : [];
  return values.length ? values[Math.floor(values.length / 2)] : null;
}

// A run that has just begun has only what its heartbeat tells.
const speedOf = (run) => median(curveOf(run, "train", "images_per_s")) ?? run.images_per_s ?? null;

const rate = (value) => (value == null ? "–" : value >= 100 ? whole(value) : short(value));
