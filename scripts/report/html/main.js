"use strict";
// Puts the page together and answers changes of the state.

const FILTERING = [...Object.keys(CHOICES), "threads", "level", "q", "isolate"];
let visible = [];

function showDetail() {
  const section = document.getElementById("detail");
  const b = benchmarkById.get(state.selected);
  section.hidden = !b;
  if (!b) return;
  const alone = state.isolate === b.id;
  section.replaceChildren(
      el("div", {class: "section-head"}, el("h2", {}, name(b.title, 160)),
         el("span", {class: "actions"},
            el("button",
               {type: "button", id: "isolate", onclick: () => change({isolate: alone ? "" : b.id})},
               alone ? "Show all" : "Isolate"),
            el("button",
               {type: "button", id: "unselect", onclick: () => change({selected: "", isolate: ""})},
               "Close"))),
      el("dl", {},
         ...describe(b, b.bound)
             .filter(([, value]) => value)
             .flatMap(([label, value]) => [el("dt", {}, label), el("dd", {}, name(value))])));
}

function applyFilters() {
  visible = benchmarks.filter(matches);
  updateRoofline(visible);
  updateTable(visible);
  document.getElementById("shown").replaceChildren(
      `${visible.length} of ${benchmarks.length} benchmarks shown`,
      state.isolate ?
          el("button", {type: "button", class: "link", onclick: () => change({isolate: ""})},
             " show all again") :
          "");
}

const systemDark = matchMedia("(prefers-color-scheme: dark)");

function applyTheme() {
  const system = systemDark.matches ? "dark" : "light";
  document.documentElement.dataset.theme = state.theme === "system" ? system : state.theme;
  document.getElementById("theme").textContent = `Theme: ${state.theme}`;
}

// One after the other, should the theme be changed meanwhile.
let drawing = Promise.resolve();

function redrawCharts() {
  drawing = drawing.then(async () => {
    for (const panel of panels) {
      forget([panel.entry]);
      await panel.build();
    }
    buildLegend();
    updateRoofline(visible);
    await redrawPlates();
  });
  return drawing;
}

function onChange(keys) {
  const any = (...names) => names.some((key) => keys.has(key));
  if (any("theme")) {
    applyTheme();
    redrawCharts();
  }
  if (any(...FILTERING))
    applyFilters();
  else if (any("sort", "order"))
    updateTable(visible);
  if (any("sort", "order")) markOrder();
  if (any("colour")) {
    buildLegend();
    updateRoofline(visible);
  }
  if (any("selected") && !any(...FILTERING)) {
    for (const panel of panels) panel.select();
    showNotes(visible);
  }
  if (any("selected")) markRow();
  if (any("selected", "isolate")) showDetail();
}

async function start() {
  applyTheme();
  buildVerdicts();
  buildFilters();
  buildTable();
  document.getElementById("panels").append(...panels.map((panel) => panel.element));
  for (const panel of panels) await panel.build();
  buildLegend();
  applyFilters();
  listeners.push(onChange);
  if (state.selected) onChange(new Set(["selected"]));
  document.getElementById("copy-link").addEventListener("click", async (event) => {
    const {target} = event;
    const done = await navigator.clipboard?.writeText(location.href).then(() => true, () => false);
    target.textContent = done ? "Copied" : "See the address bar";
    setTimeout(() => {
      target.textContent = "Copy link";
    }, 2000);
  });
  document.getElementById("theme").addEventListener("click", () => {
    const themes = ["system", "light", "dark"];
    change({theme: themes[(themes.indexOf(state.theme) + 1) % themes.length]});
  });
  document.getElementById("print").addEventListener("click", async () => {
    document.documentElement.dataset.theme = "light";
    await redrawCharts();
    print();
    applyTheme();
    await redrawCharts();
  });
  systemDark.addEventListener("change", () => {
    applyTheme();
    redrawCharts();
  });
  await (drawing = drawing.then(buildPlates));
  document.body.dataset.ready = "yes";
}

start().catch((error) => {
  document.querySelector("main").prepend(
      el("p", {class: "note", role: "alert"},
         `The page could not be drawn: ${
             error.message}. The CSV files beside it hold the same numbers.`));
  throw error;
});
