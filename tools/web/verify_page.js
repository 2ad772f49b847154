// The page that `doppio verify --html` writes.
{
  const data = JSON.parse(document.getElementById("data").textContent);
  const exact = (value) => (value == null ? "infinite" : short(value));
  const both = (own, other) => (own === other ? own : `${own} / ${other}`);
  const shapeOf = (row) => row.unlike || row.shape.join("×");
  const place = (row) => (row.at ? `${row.at} in run ${row.run + 1}: ${row.values.map(exact).join(", ")}` : "");
  const numbers = (row) => (row.unlike ? ["–", "–"] : [exact(row.difference), exact(row.relative)]);

  const files = (form) => form.files.map((file) => [form.argument, file.path, bytes(file.bytes), file.sha256]);
  const cards = [evaluationCard("Result",
    html("p", {class: data.equal ? "" : "bad"}, data.equal ? "The forms agree." : "The forms differ."),
    html("p", {}, `${data.inputs.random} random inputs (seed ${data.inputs.seed}), ${data.inputs.images} images; tolerance `,
         `${data.tolerance} of the largest value of each blob`),
    html("p", {}, "Run it again: ", html("code", {}, data.command)),
    evaluationTable(["form", "file", ">size", "SHA-256"], [...files(data.a), ...files(data.b)]))];
  for (const one of data.comparisons) {
    const first = one.first;
    cards.push(evaluationCard(`${one.witness} and ${one.reference}`,
      html("p", {class: one.equal ? "" : "bad"}, one.equal ? "equal" : "different"),
      first ? html("p", {}, `First difference: layer ${both(first.layer, first.other_layer)} (${first.type}) ${first.place}`) : null,
      ...one.causes.map((cause) => html("p", {}, `Likely cause: ${cause}`)),
      ...one.lone_outputs.map((output) => html("p", {class: "bad"}, `Only one form has the output ${output}.`)),
      evaluationTable(["output", "shape", ">difference", ">relative", "at", ">same top class"], one.outputs.map((row) => [
        both(row.blob, row.other_blob), shapeOf(row), ...numbers(row), place(row),
        row.top_class ? `${row.top_class.same} of ${row.top_class.of}` : ""])),
      longTable(["layer", "type", "shape", "matched by", ">difference", ">relative", "at", ""], one.layers.map((row) => [
        both(row.layer, row.other_layer), row.type, shapeOf(row), row.matched_by, ...numbers(row), place(row),
        row.agrees ? "" : "differs"])),
      one.weights.length ? longTable(["layer", "weights that differ", ">difference", ">relative", ""], one.weights.map((row) => [
        row.layer, row.array, exact(row.difference), exact(row.relative),
        row.text + (row.results_agree ? " (results within tolerance)" : "")])) : null));
  }
  document.body.append(html("header", {class: "top"}, html("h1", {}, document.title), themeButton()),
                       html("main", {}, ...cards));
}
