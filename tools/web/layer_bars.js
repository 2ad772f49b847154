// Bars of the time that each layer takes, forward and backward, in the runs that are shown.

const LAYERS_SHOWN = 15, RUNS_COMPARED = 4;

class LayerBars {
  constructor(view) {
    Object.assign(this, {view, runs: [], all: false, byTime: true});
    this.body = html("div", {class: "bars"});
    this.order = html("button", {type: "button", class: "small", "aria-pressed": "true", onclick: () => {
      this.byTime = !this.byTime;
      this.order.setAttribute("aria-pressed", String(this.byTime));
      this.draw();
    }}, "longest first");
    this.more = html("button", {type: "button", class: "small", onclick: () => {
      this.all = !this.all;
      this.draw();
    }});
    this.card = html("section", {class: "card wide", "data-chart": "Layer times"},
                     html("header", {}, html("h3", {}, "Layer times"),
                          html("span", {class: "key"}, html("i", {class: "forward"}), "forward", html("i", {class: "backward"}), "backward"),
                          this.order), this.body, this.more);
  }

  setRuns(runs) {
    this.runs = runs.filter((run) => (run.layers || []).length > 0);
    this.draw();
  }

  draw() {
    const shown = this.runs.filter((run) => !this.view.hidden.has(run.name)).slice(0, RUNS_COMPARED);
    this.card.hidden = shown.length === 0;
    const time = (layer) => (layer.forward_ms || 0) + (layer.backward_ms || 0);
    // Layers in the order of the net, each with its row of every run.
    const layers = new Map();
    for (const run of shown) {
      for (const layer of run.layers) {
        if (!layers.has(layer.layer)) layers.set(layer.layer, {name: layer.layer, type: layer.type, times: []});
        layers.get(layer.layer).times.push({run, layer});
      }
    }
    let rows = [...layers.values()];
    const longest = (row) => Math.max(...row.times.map(({layer}) => time(layer)));
    if (this.byTime) rows.sort((a, b) => longest(b) - longest(a));
    const most = Math.max(1e-9, ...rows.map(longest));
    const left = rows.length - LAYERS_SHOWN;
    this.more.hidden = left <= 0;
    this.more.textContent = this.all ? "Show fewer" : `Show ${left} more`;
    if (!this.all) rows = rows.slice(0, LAYERS_SHOWN);
    const bar = ({run, layer}) => {
      const part = (ms, kind) => html("span", {class: kind, style: `width:${100 * (ms || 0) / most}%;background:${colorOf(run)}`});
      const values = `${run.name}: forward ${short(layer.forward_ms)} ms, backward ${short(layer.backward_ms)} ms` +
        (layer.params ? `, ${whole(layer.params)} parameters` : "") + (layer.bytes ? `, ${bytes(layer.bytes)}` : "");
      return html("div", {class: "bar", title: values},
                  html("span", {class: "track"}, part(layer.forward_ms, "forward"), part(layer.backward_ms, "backward")),
                  html("span", {class: "number"}, `${short(time(layer))} ms`));
    };
    this.body.replaceChildren(...rows.map((row) => html("div", {class: "bar-row"},
      html("div", {class: "bar-name", title: `${row.name} ${row.type}`}, html("b", {}, row.name), " ", html("span", {class: "faint"}, row.type)),
      html("div", {}, ...row.times.map(bar)))));
  }
}
