// Numbers as people read them, and the ticks of axes.

function short(value) {
  if (value == null || Number.isNaN(value)) return "–";
  const size = Math.abs(value);
  if (size !== 0 && (size >= 1e7 || size < 1e-4)) return value.toExponential(3).replace(/\.?0+e/, "e").replace("e+", "e");
  const digits = Number(value.toPrecision(4));
  return size >= 1000 ? digits.toLocaleString("en-US") : String(digits);
}

const whole = (value) => Math.round(value).toLocaleString("en-US");

function bytes(value) {
  if (value == null) return "–";
  const units = ["B", "KiB", "MiB", "GiB", "TiB"];
  let unit = 0;
  for (; Math.abs(value) >= 1024 && unit < units.length - 1; ++unit) value /= 1024;
  return `${Number(value.toPrecision(3))} ${units[unit]}`;
}

const percent = (value) => (value == null ? "–" : `${Number((100 * value).toPrecision(3))} %`);

function duration(seconds) {
  if (seconds == null || !Number.isFinite(seconds)) return "–";
  // Rounded before it is split, or 119.7 seconds would be 1 min 60 s.
  const all = Math.round(seconds), minutes = Math.floor(all / 60), hours = Math.floor(minutes / 60), days = Math.floor(hours / 24);
  if (all < 60) return `${Number(seconds.toPrecision(3))} s`;
  if (minutes < 60) return `${minutes} min ${all % 60} s`;
  return days ? `${days} d ${hours % 24} h` : `${hours} h ${minutes % 60} min`;
}

// Returns the number closest to `rough` among 1, 2 and 5 times powers of ten.
function niceStep(rough) {
  const power = 10 ** Math.floor(Math.log10(rough)), lead = rough / power;
  return power * (lead < 1.5 ? 1 : lead < 3.5 ? 2 : lead < 7.5 ? 5 : 10);
}

// An axis from `low` to `high`: {low, high, at(value) in 0..1, value(position), ticks}.
function linearAxis(low, high, count, binary) {
  if (low === 0 && high === 0) high = 1;
  if (low === high) {
    const room = Math.abs(low) * 0.1;
    low -= room;
    high += room;
  }
  const scale = binary ? 1024 ** Math.max(0, Math.floor(Math.log(Math.max(high, 1)) / Math.log(1024))) : 1;
  const step = niceStep((high - low) / scale / count) * scale;
  const ticks = [];
  // Multiplied, not added up: 0.1 + 0.2 is not 0.3.
  for (let i = Math.ceil(low / step - 1e-9); i * step <= high + step * 1e-9; ++i) ticks.push(i * step);
  return {low, high, step, ticks, at: (v) => (v - low) / (high - low), value: (p) => low + p * (high - low)};
}

function logAxis(low, high, count) {
  if (low === high) {
    low /= 2;
    high *= 2;
  }
  const from = Math.log10(low), to = Math.log10(high), ticks = [];
  const every = Math.max(1, Math.ceil((to - from) / count));
  const leads = to - from < 1.2 ? [1, 2, 3, 5, 7] : to - from < 3 ? [1, 2, 5] : [1];
  for (let power = Math.floor(from); power <= to; ++power) {
    if (power % every !== 0) continue;
    for (const lead of leads) {
      const tick = lead * 10 ** power;
      if (tick >= low * 0.999 && tick <= high * 1.001) ticks.push(tick);
    }
  }
  // Less than half a decade holds hardly any of these.
  if (ticks.length < 3) ticks.splice(0, ticks.length, ...linearAxis(low, high, count).ticks.filter((tick) => tick >= low));
  return {low, high, ticks, at: (v) => (Math.log10(v) - from) / (to - from), value: (p) => 10 ** (from + p * (to - from))};
}

// Returns a label with the fewest digits that distinguish the ticks: 0.25, 1,000, 20k.
function tickLabel(value, step) {
  if (value === 0) return "0";
  const size = Math.abs(value);
  if (size >= 1e9 || size < 1.5e-4) {
    const digits = step ? Math.max(0, Math.floor(Math.log10(size) + 1e-9) - Math.floor(Math.log10(step) + 1e-9)) : 1;
    return value.toExponential(Math.min(digits, 6)).replace(/\.?0*e\+?/, "e");
  }
  if (size >= 1e6 && (!step || step >= 1e4)) return `${Number((value / 1e6).toPrecision(4))}M`;
  if (size >= 1e4 && (!step || step >= 10)) return `${Number((value / 1e3).toPrecision(5))}k`;
  const digits = step ? Math.max(0, -Math.floor(Math.log10(step) + 1e-9)) : null;
  return digits == null ? String(Number(value.toPrecision(3))) : value.toFixed(digits);
}
