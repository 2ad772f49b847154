// Cards that show an evaluation (tools/evaluation/evaluation.h): scores, confusion matrix, curves, calibration, scores of
// classes, wrong images. Colours are variables of style.css, so that a change of the theme needs no drawing.

const ROWS_SHOWN = 20, CELLS_SHOWN = 5000, PLOT = 100;

const fixed = (value) => (value == null ? "–" : value.toFixed(4));
const between = (low, high) => (low == null ? "" : `${fixed(low)} – ${fixed(high)}`);

function evaluationCard(title, ...children) {
  return html("section", {class: "card", "data-evaluation": title}, html("header", {}, html("h3", {}, title)), ...children);
}

function evaluationTable(titles, rows) {
  const cell = (tag, text, number) => html(tag, {class: number ? "number" : null}, text);
  const numbers = titles.map((title) => title.startsWith(">"));
  return html("div", {class: "scroll"}, html("table", {class: "runs-table"},
    html("thead", {}, html("tr", {}, ...titles.map((title, i) => cell("th", title.replace(/^>/, ""), numbers[i])))),
    html("tbody", {}, ...rows.map((row) => html("tr", {}, ...row.map((text, i) => cell("td", text, numbers[i])))))));
}

// A table of which only the first rows are shown, until the button is pressed.
function longTable(titles, rows) {
  const box = html("div", {}), left = rows.length - ROWS_SHOWN;
  let all = false;
  const more = html("button", {type: "button", class: "small", hidden: left <= 0, onclick: () => {
    all = !all;
    draw();
  }});
  const draw = () => {
    more.textContent = all ? "Show fewer" : `Show ${left} more`;
    box.replaceChildren(evaluationTable(titles, all ? rows : rows.slice(0, ROWS_SHOWN)), more);
  };
  draw();
  return box;
}

// A plot of the square from 0 to 1, or of [low, high], with `parts` drawn in units of PLOT.
function squarePlot(label, xTitle, yTitle, parts, low = 0, high = 1) {
  const ticks = linearAxis(low, high, 4).ticks, axes = svg("g", {class: "axes"});
  const at = (value) => PLOT * (value - low) / (high - low);
  const step = ticks.length > 1 ? ticks[1] - ticks[0] : null;
  for (const tick of ticks) {
    axes.append(svg("line", {x1: 0, x2: PLOT, y1: PLOT - at(tick), y2: PLOT - at(tick)}),
                svg("text", {x: -2, y: PLOT - at(tick) + 1.5, class: "y"}, tickLabel(tick, step)),
                svg("text", {x: at(tick), y: PLOT + 6, class: "x"}, tickLabel(tick, step)));
  }
  axes.append(svg("text", {x: PLOT / 2, y: PLOT + 12, class: "x"}, xTitle),
              svg("text", {x: -PLOT / 2, y: -13, class: "x", transform: "rotate(-90)"}, yTitle));
  return svg("svg", {class: "square", role: "img", "aria-label": label, viewBox: `-18 -4 ${PLOT + 24} ${PLOT + 18}`}, axes, ...parts);
}

const polyline = (x, y, attributes) =>
  svg("polyline", {points: x.map((value, i) => `${(PLOT * value).toFixed(2)},${(PLOT - PLOT * y[i]).toFixed(2)}`).join(" "), ...attributes});
const dashedDiagonal = () => svg("line", {x1: 0, y1: PLOT, x2: PLOT, y2: 0, class: "diagonal"});

class EvaluationView {
  constructor(evaluation) {
    this.e = evaluation;
    this.names = evaluation.class_names || [];
  }

  name(label) {
    return this.names.length ? `${label} ${this.names[label]}` : String(label);
  }

  cards() {
    const {e} = this;
    const cards = [this.scores()];
    if (e.confusion) cards.push(this.matrix(), this.confusions());
    if (e.curves) cards.push(this.curves("ROC", "false positive rate", "recall", "false_positives", "recall", "auc"),
                             this.curves("Precision and recall", "recall", "precision", "recall", "precision", "average_precision"));
    if (e.calibration) cards.push(this.calibration());
    if (e.scatter) cards.push(this.scatter());
    if (e.per_class) cards.push(this.classes());
    if (e.wrong && e.wrong.length) cards.push(this.wrong());
    return cards.filter(Boolean);
  }

  scores() {
    const {e} = this, rows = [];
    const add = (name, value, low, high) => {
      if (value !== undefined) rows.push([name, fixed(value), between(low, high)]);
    };
    if (e.kind === "regression") {
      add("mean absolute error", e.mae);
      add("RMSE", e.rmse);
      add("R²", e.r2);
    } else {
      add("accuracy", e.accuracy.value, e.accuracy.low, e.accuracy.high);
      for (const top of e.top_k || []) add(`top-${top.k} accuracy`, top.value, top.low, top.high);
      add("mean IoU", e.mean_iou);
      for (const [mean, of] of [["macro", e.macro], ["weighted", e.weighted]]) {
        add(`${mean} precision`, of.precision);
        add(`${mean} recall`, of.recall);
        add(`${mean} F1`, of.f1, of.f1_low, of.f1_high);
      }
      if (e.auc) add(e.curves_of === "confidence" ? "AUC of the confidence" : "AUC", e.auc.value, e.auc.low, e.auc.high);
      add("average precision", e.average_precision);
      add("calibration error (ECE)", e.ece);
    }
    const about = [`${whole(e.samples)} ${e.kind === "segmentation" ? "pixels" : "samples"}`,
                   e.ignored ? `${whole(e.ignored)} ignored` : null, e.iteration != null ? `iteration ${whole(e.iteration)}` : null,
                   e.weights || null].filter(Boolean).join(" · ");
    const notes = (e.notes || []).map((note) => html("p", {class: "note faint"}, note));
    return evaluationCard("Scores", html("p", {class: "faint"}, about), evaluationTable(["score", ">value", ">95 % interval"], rows),
                          this.comparison(), ...notes);
  }

  comparison() {
    const b = this.e.baseline;
    if (!b) return null;
    return html("p", {}, `Compared with ${b.weights}: accuracy ${b.difference >= 0 ? "+" : ""}${fixed(b.difference)} ` +
      `(${between(b.low, b.high)}). Only these weights are right for ${whole(b.only_these_right)} samples, only the baseline for ` +
      `${whole(b.only_baseline_right)}; McNemar's test (${b.test}): p = ${short(b.p)}.`);
  }

  // The confusion matrix as a picture: the strength of a cell's colour is its share of the label's samples.
  matrix() {
    const {e} = this, n = e.classes, few = n <= 12, size = Math.max(1, n / 250);
    const cells = [...e.confusion].sort((a, b) => b[2] - a[2]).slice(0, CELLS_SHOWN);
    const unit = 240 / n, left = few ? 70 : 22;
    const picture = svg("svg", {class: "matrix", role: "img", viewBox: `${-left} -14 ${240 + left + 4} ${258}`,
                                "aria-label": `Confusion matrix of ${n} classes: ${percent(e.accuracy.value)} are on its diagonal`});
    picture.append(svg("rect", {x: 0, y: 0, width: 240, height: 240, class: "frame"}));
    for (const [label, predicted, count] of cells) {
      const share = count / Math.max(1, e.per_class[label].support), right = label === predicted;
      const box = svg("rect", {x: predicted * unit, y: label * unit, width: unit * size, height: unit * size, class: right ? "right" : "wrong",
                               style: `opacity:${(0.08 + 0.92 * Math.sqrt(share)).toFixed(3)}`});
      box.append(svg("title", {}, `${whole(count)} of ${this.name(label)} predicted as ${this.name(predicted)} (${percent(share)})`));
      picture.append(box);
      if (few) picture.append(svg("text", {x: (predicted + 0.5) * unit, y: (label + 0.5) * unit + 3, class: "count",
                                           style: `font-size:${Math.min(8.5, 1.5 * unit / whole(count).length).toFixed(1)}px`}, whole(count)));
    }
    const labels = few ? [...Array(n).keys()] : linearAxis(0, n - 1, 5).ticks.filter(Number.isInteger);
    for (const label of labels) {
      const text = few ? this.name(label) : String(label);
      picture.append(svg("text", {x: -3, y: (label + 0.5) * unit + 3, class: "y"}, text.length > 12 ? `${text.slice(0, 11)}…` : text),
                     svg("text", {x: (label + 0.5) * unit, y: -4, class: "x"}, label));
    }
    const left_out = e.confusion.length - cells.length + (e.confusion_left_out || 0);
    return evaluationCard("Confusion matrix", html("p", {class: "faint note"}, "rows: labels, columns: predictions"), picture,
                          left_out > 0 ? html("p", {class: "note faint"}, `${whole(left_out)} of the rarest cells are not drawn`) : null);
  }

  confusions() {
    const {e} = this, wrong = e.confusion.filter(([label, predicted]) => label !== predicted).sort((a, b) => b[2] - a[2]);
    if (!wrong.length) return null;
    return evaluationCard("Most frequent confusions", longTable(["label", "predicted", ">times", ">of"], wrong.slice(0, 200).map(
      ([label, predicted, count]) => [this.name(label), this.name(predicted), whole(count), whole(e.per_class[label].support)])));
  }

  // Ten curves or fewer are drawn together; of more, one is chosen.
  curves(title, xTitle, yTitle, x, y, area) {
    const {curves} = this.e;
    if (!curves.length) return null;
    const label = (curve) => `${curve.class == null ? "confidence" : this.name(curve.class)}: ${fixed(curve[area])}`;
    const box = html("div", {});
    const draw = (shown) => {
      const lines = shown.map((curve, i) => polyline(curve[x], curve[y], {class: "curve", style: `stroke:var(--line-${i % COLORS})`}));
      box.replaceChildren(squarePlot(`${title}. ${shown.map(label).join("; ")}`, xTitle, yTitle, area === "auc" ? [dashedDiagonal(), ...lines] : lines),
        html("p", {class: "note"}, ...shown.map((curve, i) => html("span", {class: "curve-name"},
          html("span", {class: "swatch", style: `background:var(--line-${i % COLORS})`}), label(curve)))));
    };
    let choice = null;
    if (curves.length > COLORS) {
      const order = [...curves].sort((a, b) => a[area] - b[area]);
      choice = html("select", {"aria-label": `class of the curve: ${title}`, onchange: () => draw([order[choice.value]])},
                    ...order.map((curve, i) => html("option", {value: i}, label(curve))));
      draw([order[0]]);
    } else {
      draw(curves);
    }
    return evaluationCard(title, choice, box);
  }

  calibration() {
    const bars = this.e.calibration.filter((bin) => bin.samples > 0).map((bin) => {
      const bar = svg("rect", {x: PLOT * bin.low, width: PLOT * (bin.high - bin.low) - 0.6, y: PLOT - PLOT * bin.accuracy, height: PLOT * bin.accuracy, class: "bin"});
      bar.append(svg("title", {}, `confidence ${fixed(bin.confidence)}, accuracy ${fixed(bin.accuracy)}, ${whole(bin.samples)} samples`));
      return bar;
    });
    return evaluationCard("Calibration", squarePlot(`Reliability diagram; calibration error ${fixed(this.e.ece)}`, "confidence", "accuracy",
                                                    [...bars, dashedDiagonal()]),
                          html("p", {class: "note faint"}, "bars below the line: the net is surer than it is right"));
  }

  scatter() {
    const {target, predicted} = this.e.scatter, all = [...target, ...predicted].filter((value) => value != null);
    if (!all.length) return null;
    let low = Infinity, high = -Infinity;
    for (const value of all) [low, high] = [Math.min(low, value), Math.max(high, value)];
    if (low === high) high = low + 1;
    const at = (value) => PLOT * (value - low) / (high - low);
    const points = target.flatMap((value, i) => (value == null || predicted[i] == null ? [] :
      [svg("circle", {cx: at(value).toFixed(2), cy: (PLOT - at(predicted[i])).toFixed(2), r: 0.9, class: "point"})]));
    return evaluationCard("Predictions and targets", squarePlot("Predictions by target", "target", "prediction", [dashedDiagonal(), ...points], low, high));
  }

  classes() {
    const {e} = this, pixels = e.kind === "segmentation", last = pixels ? "iou" : "auc";
    const rows = [...e.per_class].sort((a, b) => (a.f1 ?? 2) - (b.f1 ?? 2)).map((row) => [
      this.name(row.class), fixed(row.precision), fixed(row.recall), between(row.recall_low, row.recall_high), fixed(row.f1), fixed(row[last]), whole(row.support)]);
    return evaluationCard("Classes, the lowest F1 first", longTable(
      ["class", ">precision", ">recall", ">95 % interval", ">F1", pixels ? ">IoU" : ">AUC", pixels ? ">pixels" : ">support"], rows));
  }

  wrong() {
    const {e} = this, title = (one) => one.name || `sample ${one.sample}`;
    const figures = e.wrong.filter((one) => one.image).map((one) => html("figure", {}, html("img", {src: one.image, alt: title(one), title: title(one)}),
      html("figcaption", {}, html("b", {}, this.name(one.predicted)), ` ${percent(one.confidence)}`, html("br"), html("span", {class: "faint"}, `is ${this.name(one.label)}`))));
    return evaluationCard("Wrong with the greatest confidence", html("p", {class: "faint"}, `${whole(e.wrong_count)} of ${whole(e.samples)} samples are wrong`),
      figures.length ? html("div", {class: "thumbnails"}, ...figures) : null,
      longTable(["sample", "label", "predicted", ">confidence"],
                e.wrong.map((one) => [title(one), this.name(one.label), this.name(one.predicted), fixed(one.confidence)])));
  }
}

// Returns the cards of an evaluation. A damaged one, such as a file that was edited, gives none.
function evaluationCards(evaluation) {
  try {
    return new EvaluationView(evaluation).cards();
  } catch (error) {
    return [evaluationCard("Scores", html("p", {class: "bad"}, `evaluation.json cannot be shown: ${error.message}`))];
  }
}
