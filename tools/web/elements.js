// Elements of the page, made in one line each.
const SVG = "http://www.w3.org/2000/svg";

function fill(node, attributes, children) {
  for (const [name, value] of Object.entries(attributes || {})) {
    if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
    else if (name === "style") node.style.cssText = value;  // the dashboard's policy allows no attribute
    else if (value === true) node.setAttribute(name, "");
    else if (value !== false && value != null) node.setAttribute(name, value);
  }
  node.append(...children.filter((child) => child != null));
  return node;
}

const html = (tag, attributes, ...children) => fill(document.createElement(tag), attributes, children);
const svg = (tag, attributes, ...children) => fill(document.createElementNS(SVG, tag), attributes, children);

// Colours are variables of style.css, so that a change of the theme needs no drawing.
const COLORS = 10;
const colorOf = (run) => `var(--line-${run.index % COLORS})`;
const swatch = (run) => html("span", {class: "swatch", style: `background:${colorOf(run)}`});

// Calls `draw` when the width of `node` has changed, and once at first.
function onResize(node, draw) {
  let width = -1;
  new ResizeObserver(() => {
    if (node.clientWidth === width) return;
    width = node.clientWidth;
    draw();
  }).observe(node);
}
