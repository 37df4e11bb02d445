"use strict";
// What is shown: filters, level, selection, order. The address's fragment holds what differs from
// the defaults, so that a copied link shows the same.

// Filters that let through any of the chosen values; none chosen lets all through.
const CHOICES = {
  run: {label: "Run", value: (b) => b.run.label},
  device: {label: "Device", value: (b) => b.device},
  scope: {label: "Scope", value: (b) => b.scope || "(unknown)"},
  kernel: {label: "Kernel", value: (b) => b.kernel},
  variant: {label: "Variant", value: (b) => b.variant || "(none)"},
  dtype: {label: "dtype", value: (b) => b.dtype},
  bound: {label: "Bound by", value: (b) => b.bound_by || "(unknown)"},
  verdict: {label: "Verdict", value: (b) => verdictOf(b) || "(unknown)"},
  source: {label: "Bytes from", value: (b) => b.bytes_source || "(unknown)"},
};
// What marks may be coloured by, and how the drop-down calls it.
const COLOURINGS = {
  kernel: "kernel and device",
  dtype: "dtype",
  bound: "bound by",
  variant: "variant"
};
const TEXTS = {
  threads: "cores",
  level: "bound",
  q: "",
  colour: "kernel",
  selected: "",
  isolate: "",
  sort: "total_time",
  order: "down",
  theme: "system"
};

const state = {};
const listeners = [];

function readAddress() {
  const address = new URLSearchParams(location.hash.slice(1));
  for (const key of Object.keys(CHOICES)) state[key] = new Set(address.getAll(key));
  for (const [key, usual] of Object.entries(TEXTS)) state[key] = address.get(key) ?? usual;
  if (!Object.hasOwn(COLOURINGS, state.colour)) state.colour = TEXTS.colour;
}

function writeAddress() {
  const address = new URLSearchParams();
  for (const key of Object.keys(CHOICES))
    for (const value of state[key]) address.append(key, value);
  for (const [key, usual] of Object.entries(TEXTS)) {
    if (state[key] !== usual) address.set(key, state[key]);
  }
  const fragment = String(address);
  try {
    history.replaceState(null, "", fragment ? `#${fragment}` : location.pathname + location.search);
  } catch {  // too often for the browser, or a page without an address of its own
  }
}

// Changes the state, tells everyone which keys changed and notes it in the address.
function change(changes) {
  Object.assign(state, changes);
  writeAddress();
  for (const listener of listeners) listener(new Set(Object.keys(changes)));
}

function threadsMatch(b) {
  if (state.threads === "all" || b.threads == null) return true;
  const wanted = state.threads === "cores" ? b.shownThreads : Number(state.threads);
  return b.threads === wanted;
}

function matches(b) {
  if (state.isolate) return b.id === state.isolate;
  for (const key in CHOICES) {
    if (state[key].size && !state[key].has(CHOICES[key].value(b))) return false;
  }
  if (!threadsMatch(b) || !b.search.includes(state.q.toLowerCase())) return false;
  return state.level === "bound" || state.level === "all" ||
      b.rows.some((r) => r.level === state.level);
}

// The rows whose points are drawn for a benchmark: that of the bounding level, all, or of one
// level.
function pointRows(b) {
  const rows = state.level === "bound" ? [b.bound ?? {}] : b.rows;
  return rows.filter(
      (row) =>
          isPlaced(row) && (["bound", "all"].includes(state.level) || row.level === state.level));
}

readAddress();
addEventListener("hashchange", () => {
  readAddress();
  for (const listener of listeners)
    listener(new Set([...Object.keys(CHOICES), ...Object.keys(TEXTS)]));
});
