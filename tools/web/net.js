// A net as boxes and arrows: wheel or pinch to zoom, drag to move, a click or Enter for all about a layer.
//
// {title, note, rankdir, nodes: [{name, lines, kind, layer}], edges: [{from, to, blob, shape}]}. A node without `layer` is a
// blob that nobody makes or reads; `layer` has type, text (its prototxt), outputs [{blob, shape}], params [shapes], count.

const NODE_HEIGHT = 44, GAP_ALONG = 34, GAP_ACROSS = 26;

const shapeText = (shape) => (shape ? shape.join("×") : "");

// Rows of nodes: each one below all that it reads, as deep as its longest way from the start.
function rowsOf(nodes, edges) {
  const depth = nodes.map(() => 0), reads = nodes.map(() => []), degree = nodes.map(() => 0), ready = [];
  for (const {from, to} of edges) {
    reads[from].push(to);
    ++degree[to];
  }
  degree.forEach((count, i) => count || ready.push(i));
  for (let k = 0; k < ready.length; ++k) {
    for (const to of reads[ready[k]]) {
      depth[to] = Math.max(depth[to], depth[ready[k]] + 1);
      if (--degree[to] === 0) ready.push(to);
    }
  }
  // A node without inputs is placed directly above its first reader, not at the top of the page.
  nodes.forEach((node, i) => {
    if (edges.some((edge) => edge.to === i) || !reads[i].length) return;
    depth[i] = Math.max(0, Math.min(...reads[i].map((to) => depth[to])) - 1);
  });
  return depth;
}

// Puts the points of a row, in their order and with gaps, as near to their wishes as all together can be: least squares, in which
// a box counts more than a bend. Neighbours that push each other move as one block, to the mean of what they want.
function settle(row) {
  const blocks = [];
  let offset = 0;
  row.forEach((point, i) => {
    if (i) offset += (row[i - 1].wide + point.wide) / 2 + GAP_ACROSS;
    point.offset = offset;
    const weight = point.bend ? 0.02 : 1;
    let block = {sum: weight * (point.wish - offset), weight, points: [point]};
    while (blocks.length && blocks[blocks.length - 1].sum / blocks[blocks.length - 1].weight > block.sum / block.weight) {
      const before = blocks.pop();
      block = {sum: before.sum + block.sum, weight: before.weight + block.weight, points: [...before.points, ...block.points]};
    }
    blocks.push(block);
  });
  for (const {sum, weight, points} of blocks) {
    for (const point of points) point.across = sum / weight + point.offset;
  }
}

// Places nodes; an edge over several rows gets a bend in each, so that it goes around boxes. Edges of one blob share their
// bends: labels that many layers read are one line. Returns {points, along, across}.
function layout(nodes, edges, sideways) {
  const depth = rowsOf(nodes, edges), rows = [];
  const points = nodes.map((node) => ({wide: sideways ? NODE_HEIGHT : node.width, deep: sideways ? node.width : NODE_HEIGHT}));
  const trunks = new Map();
  const put = (point, row) => {
    (rows[row] = rows[row] || []).push(point);
    point.up = [];
    point.down = [];
  };
  points.forEach((point, i) => put(point, depth[i]));
  for (const edge of edges) {
    let last = points[edge.from];
    edge.way = [last];
    for (let row = depth[edge.from] + 1; row <= depth[edge.to]; ++row) {
      const trunk = `${edge.from} ${edge.blob} ${row}`;
      let next = points[edge.to];
      if (row < depth[edge.to]) {
        next = trunks.get(trunk) || {wide: 8, deep: 0, bend: true};
        if (!trunks.has(trunk)) put(next, row);
        trunks.set(trunk, next);
      }
      edge.way.push(next);
      if (!last.down.includes(next)) {
        last.down.push(next);
        next.up.push(last);
      }
      last = next;
    }
  }
  const spread = (row) => {
    let at = 0;
    row.forEach((point) => {
      point.across = at + point.wide / 2;
      at += point.wide + GAP_ACROSS;
    });
    row.forEach((point) => { point.across -= (at - GAP_ACROSS) / 2; });
  };
  rows.forEach(spread);
  // Boxes stand by boxes; what only passes by hardly moves them.
  const weight = (point, tied) => (tied.bend && !point.bend ? 0.05 : 1);
  const mean = (point, list) => list.reduce((sum, tied) => sum + weight(point, tied) * tied.across, 0) /
    list.reduce((sum, tied) => sum + weight(point, tied), 0);
  // Each row in the order of what it is tied to, down and up again: few lines cross then.
  for (let round = 0; round < 8; ++round) {
    const down = round % 2 === 0;
    for (const row of down ? rows : [...rows].reverse()) {
      for (const point of row) {
        const tied = down ? point.up : point.down;
        point.wish = tied.length ? mean(point, tied) : point.across;
      }
      row.sort((a, b) => a.wish - b.wish);
      spread(row);
    }
  }
  // Then to where they wish to be, as near as their neighbours let them.
  for (let round = 0; round < 40; ++round) {
    for (const row of round % 2 ? [...rows].reverse() : rows) {
      for (const point of row) {
        const tied = [...point.up, ...point.down];
        point.wish = tied.length ? mean(point, tied) : point.across;
      }
      settle(row);
    }
  }
  let along = 0;
  for (const row of rows) {
    const deepest = Math.max(...row.map((point) => point.deep));
    for (const point of row) point.along = along + deepest / 2;
    along += deepest + GAP_ALONG;
  }
  const all = rows.flat(), least = Math.min(...all.map((point) => point.across - point.wide / 2));
  for (const point of all) point.across -= least;
  const widest = Math.max(...all.map((point) => point.across + point.wide / 2));
  return {points, along: along - GAP_ALONG, across: widest};
}

class NetView {
  constructor(data) {
    this.data = data;
    this.sideways = data.rankdir === "LR" || data.rankdir === "RL";
    this.backward = data.rankdir === "BT" || data.rankdir === "RL";
    this.picture = svg("svg", {class: "net", role: "group", "aria-label": `Layers of ${data.title}`});
    this.world = svg("g", {});
    this.picture.append(svg("defs", {}, svg("marker", {id: "arrow", viewBox: "0 0 8 8", refX: 7, refY: 4, markerUnits: "userSpaceOnUse", markerWidth: 9, markerHeight: 9, orient: "auto"},
                                            svg("path", {d: "M0 0L8 4L0 8z", class: "arrow"}))), this.world);
    this.about = html("aside", {class: "about card", hidden: true, "aria-live": "polite"});
    this.find = html("input", {type: "search", placeholder: "find a layer", "aria-label": "Find a layer or blob", oninput: () => this.search(false),
                               onkeydown: (event) => { if (event.key === "Enter") this.search(true); }});
    const layers = data.nodes.filter((node) => node.layer);
    const count = layers.reduce((sum, node) => sum + (node.layer.count || 0), 0);
    const said = [`${layers.length} layers`, count ? `${whole(count)} parameters` : null, data.note].filter(Boolean).join(" · ");
    const button = (text, label, act) => html("button", {type: "button", "aria-label": label, title: label, onclick: act}, text);
    document.body.classList.add("net-page");
    document.body.append(
      html("header", {class: "top"}, html("div", {}, html("h1", {}, data.title), html("p", {class: "faint"}, said)), themeButton()),
      html("div", {class: "controls"}, html("div", {class: "row"}, this.find, button("+", "Zoom in", () => this.zoom(1.3)),
           button("−", "Zoom out", () => this.zoom(1 / 1.3)), button("Fit", "Show the whole net", () => this.fit()),
           button("1:1", "Natural size", () => this.start()),
           html("span", {class: "faint help"}, "wheel to zoom, drag to move, Tab from layer to layer"))),
      html("main", {}, this.picture, this.about));
    this.draw();
    this.listen();
    this.start();
  }

  draw() {
    const {nodes, edges} = this.data;
    for (const node of nodes) node.width = 24 + Math.max(40, 7.6 * node.lines[0].length, 6.6 * (node.lines[1] || "").length);
    const {points, along, across} = layout(nodes, edges, this.sideways);
    const place = (point) => {
      const depth = this.backward ? along - point.along : point.along;
      return this.sideways ? [depth, point.across] : [point.across, depth];
    };
    this.size = this.sideways ? [along, across] : [across, along];
    this.boxes = nodes.map((node, i) => {
      const [x, y] = place(points[i]);
      return {x, y, width: node.width};
    });
    const wires = svg("g", {class: "wires"});
    for (const edge of edges) wires.append(this.wire(edge, place));
    this.world.append(wires);
    nodes.forEach((node, i) => this.world.append(this.box(node, i)));
  }

  wire(edge, place) {
    const half = (point) => (point.bend ? 0 : point.deep / 2) * (this.backward ? -1 : 1);
    let path = "";
    for (let i = 1; i < edge.way.length; ++i) {
      const [a, b] = [edge.way[i - 1], edge.way[i]];
      const [from, to] = [place(a), place(b)];
      const k = this.sideways ? 0 : 1;
      from[k] += half(a);
      to[k] -= half(b);
      const middle = (from[k] + to[k]) / 2;
      const bends = k ? [[from[0], middle], [to[0], middle]] : [[middle, from[1]], [middle, to[1]]];
      if (i === 1) path = `M${from.map((v) => v.toFixed(1)).join(" ")}`;
      path += `C${[...bends, to].map((point) => point.map((v) => v.toFixed(1)).join(" ")).join(",")}`;
    }
    const label = edge.blob + (edge.shape ? ` ${shapeText(edge.shape)}` : "");
    return svg("path", {d: path, class: "wire", "marker-end": "url(#arrow)", "data-from": edge.from, "data-to": edge.to},
               svg("title", {}, label));
  }

  box(node, i) {
    const {x, y, width} = this.boxes[i];
    const round = node.layer ? 6 : NODE_HEIGHT / 2;
    const output = node.layer && node.layer.outputs.find((one) => one.shape);
    const group = svg("g", {class: `node ${node.kind}`, tabindex: "0", role: "button", "data-node": node.name,
                            "aria-label": node.lines.join(", ") + (output ? `, ${shapeText(output.shape)}` : ""),
                            transform: `translate(${(x - width / 2).toFixed(1)} ${(y - NODE_HEIGHT / 2).toFixed(1)})`},
      svg("rect", {width, height: NODE_HEIGHT, rx: round}),
      svg("text", {x: width / 2, y: node.lines.length > 1 ? 18 : 27, class: "title"}, node.lines[0]),
      node.lines.length > 1 ? svg("text", {x: width / 2, y: 35}, node.lines[1]) : null);
    const show = () => this.show(i);
    group.addEventListener("pointerenter", () => { if (!this.pinned) show(); });
    group.addEventListener("pointerleave", () => { if (!this.pinned) this.show(null); });
    group.addEventListener("focus", () => { if (group.matches(":focus-visible")) { show(); this.reveal(i); } });
    group.addEventListener("click", () => {
      if (this.moved) return;
      this.pinned = this.pinned === group ? null : group;
      show();
    });
    group.addEventListener("keydown", (event) => {
      if (event.key !== "Enter" && event.key !== " ") return;
      event.preventDefault();
      this.pinned = this.pinned === group ? null : group;
      show();
    });
    node.group = group;
    return group;
  }

  show(i) {
    for (const wire of this.world.querySelectorAll(".wire")) {
      wire.classList.toggle("near", i != null && (wire.dataset.from === String(i) || wire.dataset.to === String(i)));
    }
    for (const [k, node] of this.data.nodes.entries()) node.group.classList.toggle("picked", k === i);
    this.about.hidden = i == null;
    if (i == null) return;
    const node = this.data.nodes[i], {layer} = node;
    const rows = [];
    const row = (name, value) => value && rows.push(html("tr", {}, html("th", {scope: "row"}, name), html("td", {}, value)));
    if (layer) {
      row("type", layer.type);
      for (const edge of this.data.edges.filter((one) => one.to === i)) row("reads", `${edge.blob} ${shapeText(edge.shape)}`);
      for (const output of layer.outputs) row("makes", `${output.blob} ${shapeText(output.shape)}`);
      row("parameters", layer.count ? `${whole(layer.count)} in ${layer.params.map(shapeText).join(", ")}` : null);
      row("multiply-adds", layer.macs ? whole(layer.macs) : null);
    }
    this.about.replaceChildren(html("header", {}, html("h3", {}, node.name),
                                    this.pinned ? html("button", {type: "button", class: "small", "aria-label": "Close", onclick: () => {
                                      this.pinned = null;
                                      this.show(null);
                                    }}, "×") : html("span", {class: "faint note"}, "click to keep")),
                               html("table", {}, ...rows), layer ? html("pre", {}, layer.text) : html("p", {class: "faint"}, "a blob"));
  }

  // The part of the world that is seen: scale and place of its corner.
  move(scale, x, y) {
    Object.assign(this, {scale, x, y});
    this.world.setAttribute("transform", `translate(${x.toFixed(2)} ${y.toFixed(2)}) scale(${scale.toFixed(4)})`);
  }

  zoom(factor, at) {
    const {clientWidth, clientHeight} = this.picture;
    const [px, py] = at || [clientWidth / 2, clientHeight / 2];
    const scale = Math.min(4, Math.max(0.02, this.scale * factor)), by = scale / this.scale;
    this.move(scale, px - (px - this.x) * by, py - (py - this.y) * by);
  }

  fit() {
    const {clientWidth, clientHeight} = this.picture, [width, height] = this.size;
    const scale = Math.min(1.2, (clientWidth - 30) / width, (clientHeight - 30) / height);
    this.move(scale, (clientWidth - width * scale) / 2, (clientHeight - height * scale) / 2);
  }

  // The net's start in letters that can be read.
  start() {
    const [width, height] = this.size, {clientWidth, clientHeight} = this.picture;
    this.fit();
    if (this.scale >= 0.6) return;
    const scale = Math.min(1, this.sideways ? (clientHeight - 30) / height : (clientWidth - 30) / width);
    const readable = Math.max(0.6, scale);
    const first = this.boxes.reduce((a, b) => ((this.sideways ? a.x < b.x : a.y < b.y) !== this.backward ? a : b));
    const [px, py] = this.sideways ? [this.backward ? clientWidth - 30 - first.width * readable / 2 : 20 + first.width * readable / 2, clientHeight / 2]
                                   : [clientWidth / 2, this.backward ? clientHeight - 45 : 45];
    this.move(readable, px - first.x * readable, py - first.y * readable);
  }

  reveal(i) {
    const {x, y} = this.boxes[i], {clientWidth, clientHeight} = this.picture;
    const [px, py] = [this.x + x * this.scale, this.y + y * this.scale];
    if (px > 60 && px < clientWidth - 60 && py > 40 && py < clientHeight - 40) return;
    this.move(this.scale, clientWidth / 2 - x * this.scale, clientHeight / 2 - y * this.scale);
  }

  // Marks what has the text in its name, type or blobs; with `go` the next one comes into view.
  search(go) {
    const text = this.find.value.toLowerCase();
    const matches = [];
    this.data.nodes.forEach((node, i) => {
      const all = [node.name, ...node.lines, ...(node.layer ? [node.layer.type, ...node.layer.outputs.map((one) => one.blob)] : [])];
      const match = text !== "" && all.some((one) => one.toLowerCase().includes(text));
      node.group.classList.toggle("found", match);
      node.group.classList.toggle("dim", text !== "" && !match);
      if (match) matches.push(i);
    });
    if (!go || !matches.length) return;
    this.next = matches.find((i) => i > (this.next ?? -1)) ?? matches[0];
    const {x, y} = this.boxes[this.next];
    const scale = Math.max(this.scale, 0.7);
    this.move(scale, this.picture.clientWidth / 2 - x * scale, this.picture.clientHeight / 2 - y * scale);
    this.show(this.next);
  }

  listen() {
    const {picture} = this, held = new Map();
    const at = (event) => {
      const frame = picture.getBoundingClientRect();
      return [event.clientX - frame.left, event.clientY - frame.top];
    };
    picture.addEventListener("wheel", (event) => {
      event.preventDefault();
      this.zoom(Math.exp(-event.deltaY / (event.deltaMode === 1 ? 20 : 400)), at(event));
    }, {passive: false});
    picture.addEventListener("pointerdown", (event) => {
      held.set(event.pointerId, at(event));
      this.moved = false;
    });
    picture.addEventListener("pointermove", (event) => {
      const before = held.get(event.pointerId);
      if (!before) return;
      const now = at(event), others = [...held.entries()].filter(([id]) => id !== event.pointerId);
      if (others.length) {
        // Two fingers: apart or together.
        const [, [ox, oy]] = others[0];
        const far = ([x, y]) => Math.hypot(x - ox, y - oy) || 1;
        this.zoom(far(now) / far(before), [ox, oy]);
      } else {
        if (!this.moved && Math.hypot(now[0] - before[0], now[1] - before[1]) < 4) return;
        this.move(this.scale, this.x + now[0] - before[0], this.y + now[1] - before[1]);
      }
      this.moved = true;
      held.set(event.pointerId, now);
    });
    for (const end of ["pointerup", "pointercancel", "pointerleave"]) picture.addEventListener(end, (event) => held.delete(event.pointerId));
    document.addEventListener("keydown", (event) => {
      if (event.target === this.find || event.ctrlKey || event.metaKey || event.altKey) return;
      const step = 60;
      const moves = {ArrowLeft: [step, 0], ArrowRight: [-step, 0], ArrowUp: [0, step], ArrowDown: [0, -step]};
      if (event.key in moves) this.move(this.scale, this.x + moves[event.key][0], this.y + moves[event.key][1]);
      else if (event.key === "+" || event.key === "=") this.zoom(1.3);
      else if (event.key === "-") this.zoom(1 / 1.3);
      else if (event.key === "0") this.fit();
      else if (event.key === "Escape") {
        this.pinned = null;
        this.show(null);
      } else return;
      event.preventDefault();
    });
  }
}

new NetView(JSON.parse(document.getElementById("data").textContent));
