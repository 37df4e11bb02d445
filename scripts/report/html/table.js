"use strict";
// The table of benchmarks, with the columns of XProf's statistics table, and its export as CSV.

// level -> row of a benchmark
const rowAt = (b, level) => b.rows.find((r) => r.level === level);
// What ran, once each: counters' rows repeat the model's.
const ran = runs.flatMap((run) => run.ran);
const timed = ran.reduce((sum, b) => sum + (b.total_time ?? 0), 0);

// head, what it means, value (a number in base units, or a text), how a number is written.
function column(key, head, meaning, value, words) {
  return {key, head, meaning, value, words};
}

const COLUMNS = [
  column("rank", "rank", "by time in all calls", (b) => b.rank ?? null, String),
  ...(runs.length > 1 ? [column("run", "run", "results folder", (b) => b.run.label)] : []),
  ...(DEVICES.length > 1 ? [column("device", "device", "cpu or gpu", (b) => b.device)] : []),
  column("kernel", "category", "the operation", (b) => b.kernel),
  column("variant", "variant", "how it is done, or the library", (b) => b.variant),
  column("dtype", "dtype", "element type", (b) => b.dtype),
  column("shape", "shape", "what changes the work", (b) => b.shape),
  column("temperature", "warm", "working set warm or cold", (b) => b.temperature),
  column("threads", "threads", "CPU threads", (b) => b.threads, String),
  column("exec_unit", "unit", "execution unit that it issues to", (b) => b.exec_unit),
  column(
      "calls", "occurrences", "calls while timed, over all samples (from bench/*.json)",
      (b) => b.calls, String),
  column(
      "total_time", "total time", "of all those calls", (b) => b.total_time,
      (v) => quantity(v, "s")),
  column("time_s", "time", "median of one call", (b) => b.time_s, (v) => quantity(v, "s")),
  column(
      "time_low_s", "low", "lower end of the median's 95 % interval", (b) => b.time_low_s,
      (v) => quantity(v, "s")),
  column(
      "time_high_s", "high", "upper end of the median's 95 % interval", (b) => b.time_high_s,
      (v) => quantity(v, "s")),
  column("samples", "samples", "behind the median", (b) => b.samples, String),
  column(
      "samples_rejected", "rejected", "samples left out, by a rule that does not look at them",
      (b) => b.samples_rejected, String),
  column(
      "share", "time share", "of the program it is part of, else of all timed calls here",
      (b) => (b.whole ? shareOf(b.time_s, b.whole.time_s) : shareOf(b.total_time, timed)), percent),
  column(
      "rate", "FLOP rate", "measured: operations of the cost model over time", (b) => b.rate,
      (v, b) => quantity(v, rateUnit(b.dtype))),
  ...unique(benchmarks.flatMap((b) => b.rows.map((r) => r.level)))
      .filter(Boolean)
      .sort((a, b) => levelOrder(a) - levelOrder(b))
      .flatMap(
          (level) =>
              [column(
                   `bandwidth_${level}`, `${level} bandwidth`,
                   `bytes that cross ${level} over time`,
                   (b) => rowAt(b, level)?.achieved_bytes_per_s ?? null, (v) => quantity(v, "B/s")),
               column(
                   `intensity_${level}`, `${level} intensity`,
                   `FLOP per byte that crosses ${level}`, (b) => rowAt(b, level)?.intensity ?? null,
                   plainNumber),
]),
  column(
      "bound_intensity", "bottleneck intensity", "at the level that bounds it, FLOP per byte",
      (b) => b.bound?.intensity ?? null, plainNumber),
  column("bound_by", "bound by", "compute, or the level with the largest time", (b) => b.bound_by),
  column(
      "roof_flops_per_s", "optimal FLOP rate", "its roof at that level",
      (b) => b.bound?.roof_flops_per_s ?? null, (v, b) => quantity(v, rateUnit(b.dtype))),
  column(
      "fraction_of_roof", "roofline efficiency", "achieved over that roof",
      (b) => b.bound?.fraction_of_roof ?? null, percent),
  column(
      "of_peak", "FLOP rate to peak", "achieved over the peak of its unit",
      (b) => shareOf(b.rate, limits(b.bound).peak), percent),
  column(
      "of_bandwidth", "bandwidth to peak",
      "achieved over the bandwidth of the level that bounds it",
      (b) => shareOf(b.bound?.achieved_bytes_per_s, limits(b.bound).bandwidth), percent),
  column(
      "fraction_of_advertised", "of advertised", "achieved over the advertised roof",
      (b) => b.bound?.fraction_of_advertised ?? null, percent),
  column(
      "t_lower_s", "T_lower", "least time that the ceilings allow", (b) => b.t_lower_s,
      (v) => quantity(v, "s")),
  column(
      "overlap", "overlap",
      "of the bounds: 100 % if all hide behind the largest; lost: beyond all of them one after " +
          "another",
      overlapOf, overlapWords),
  column("clock_hz", "clock", "observed", (b) => b.clock_hz, (v) => quantity(v, "Hz")),
  column("peer", "library", "the fastest on the same work", (b) => b.peer),
  column(
      "peer_ratio", "to library", "above 1, this one is faster", (b) => b.peer_ratio, plainNumber),
  column("scope", "scope", "operation, program, or what is part of one", (b) => b.scope),
  column("parent", "part of", "the program", (b) => b.parent),
  column("bytes_source", "bytes from", "model or counter", (b) => b.bytes_source),
  column("verdict", "verdict", "ok, or what is wrong", verdictOf),
];

ran.filter((b) => b.total_time != null)
    .sort((a, b) => b.total_time - a.total_time)
    .forEach((b, i) => {
      b.rank = i + 1;
    });

const PAGE = 30;
const tableView = {
  rows: [],
  page: 0
};

function sorted(rows) {
  const by =
      COLUMNS.find((c) => c.key === state.sort) ?? COLUMNS.find((c) => c.key === "total_time");
  const sign = state.order === "up" ? 1 : -1;
  const keyed = rows.map((b) => [by.value(b), b]);
  keyed.sort(([a], [b]) => {  // unknowns last, whichever way
    if (a == null || a === "" || b == null || b === "")
      return (a == null || a === "") - (b == null || b === "");
    return sign * (typeof a === "number" ? a - b : String(a).localeCompare(String(b)));
  });
  return keyed.map(([, b]) => b);
}

// Rows are made once and filled anew: making them is what a change of the filters would wait for.
function emptyRow() {
  return el(
      "tr", {tabindex: -1},
      ...COLUMNS.map(
          (c) => el("td", {"data-column": c.key, class: c.words ? "number" : null}, el("bdi"))));
}

function fillCell(td, c, b) {
  const value = c.value(b) ?? "", shown = td.firstChild;
  const full = c.key === "verdict" ? verdictWords(value) :
      c.words && value !== ""      ? c.words(value, b) :
                                     value;
  const words = shorten(full, 60);
  if (shown.textContent !== words) shown.textContent = words;
  if (c.key === "verdict") shown.className = verdictLook(value);
  td.title = c.words ? value : words === full ? "" : plain(full);
  if (c.words) td.dataset.value = value;
}

function fillRow(tr, b) {
  tr.dataset.id = b.id;
  tr.tabIndex = -1;
  tr.setAttribute("aria-selected", String(b.id === state.selected));
  COLUMNS.forEach((c, i) => fillCell(tr.cells[i], c, b));
}

function heading(c) {
  const turn = () =>
      change({sort: c.key, order: state.sort === c.key && state.order === "down" ? "up" : "down"});
  return el(
      "th", {scope: "col", "data-column": c.key, title: c.meaning},
      el("button", {type: "button", class: "link", onclick: turn}, plain(c.head),
         el("span", {"aria-hidden": "true"})));
}

function markOrder() {
  for (const th of document.querySelectorAll("#table th")) {
    const current = th.dataset.column === state.sort, up = state.order === "up";
    if (current)
      th.setAttribute("aria-sort", up ? "ascending" : "descending");
    else
      th.removeAttribute("aria-sort");
    th.querySelector("span").textContent = current ? (up ? " ▲" : " ▼") : "";
  }
}

function renderTable() {
  const {rows} = tableView;
  const pages = Math.max(1, Math.ceil(rows.length / PAGE));
  tableView.page = Math.min(Math.max(0, tableView.page), pages - 1);
  const from = tableView.page * PAGE, part = rows.slice(from, from + PAGE);
  const body = document.querySelector("#table tbody");
  while (body.rows.length > part.length) body.lastChild.remove();
  while (body.rows.length < part.length) body.append(emptyRow());
  part.forEach((b, i) => fillRow(body.rows[i], b));
  const first = body.querySelector("tr[aria-selected=true]") ?? body.rows[0];
  if (first) first.tabIndex = 0;
  document.getElementById("previous").disabled = tableView.page === 0;
  document.getElementById("next").disabled = tableView.page === pages - 1;
  document.getElementById("rows-shown").textContent =
      `${rows.length ? from + 1 : 0}–${from + part.length} of ${rows.length}`;
}

function updateTable(visible) {
  tableView.rows = sorted(visible);
  tableView.page = 0;
  renderTable();
}

// Marks the selected row, turning to its page.
function markRow() {
  const at = tableView.rows.findIndex((b) => b.id === state.selected);
  if (at >= 0) tableView.page = Math.floor(at / PAGE);
  renderTable();
  const row = document.querySelector("#table tr[aria-selected=true]");
  if (row) {  // only within the table: the page itself stays where the reader is
    const scroll = document.getElementById("table-scroll");
    scroll.scrollTop = row.offsetTop - scroll.clientHeight / 2;
  }
}

function csvField(value) {
  const text = value == null ? "" : String(value);
  return /[",\r\n]/.test(text) ? `"${text.replaceAll("\"", "\"\"")}"` : text;
}

function tableCsv() {
  const lines =
      [COLUMNS.map((c) => c.key), ...tableView.rows.map((b) => COLUMNS.map((c) => c.value(b)))];
  return lines.map((line) => line.map(csvField).join(",")).join("\n") + "\n";
}

function buildTable() {
  const table = document.getElementById("table");
  table.append(el("thead", {}, el("tr", {}, ...COLUMNS.map(heading))), el("tbody"));
  markOrder();
  for (const [id, by] of [["previous", -1], ["next", 1]]) {
    document.getElementById(id).addEventListener("click", () => {
      tableView.page += by;
      renderTable();
    });
  }
  table.addEventListener("click", (event) => {
    const row = event.target.closest("tr[data-id]");
    if (row) change({selected: row.dataset.id});
  });
  table.addEventListener("keydown", (event) => {
    const row = event.target.closest("tr[data-id]");
    if (!row) return;
    const to = {ArrowDown: row.nextElementSibling, ArrowUp: row.previousElementSibling}[event.key];
    if (to) {
      row.tabIndex = -1;
      to.tabIndex = 0;
      to.focus();
    } else if (event.key === "Enter" || event.key === " ") {
      change({selected: row.dataset.id});
      document.querySelector("#table tr[aria-selected=true]")?.focus();
    } else {
      return;
    }
    event.preventDefault();
  });
  document.getElementById("export-csv")
      .addEventListener("click", () => download("benchmarks.csv", "text/csv", tableCsv()));
}
