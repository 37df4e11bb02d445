"use strict";
// All panels of the roofline, the legend and the notes beneath.

const panels = runs.flatMap((run) => run.devices.map((device) => new Panel(run, device)));

const MOST_KEYS = 16;  // colours that the legend names

const isAlone = (kernel) => state.kernel.size === 1 && state.kernel.has(kernel);

function buildLegend() {
  const colours = themeColours().series;
  const entries = KERNELS.map((kernel) => {
    const index = colourKeys.kernel.get(kernel);
    const style = state.colour === "kernel" && index != null ? `color:${colours[index % 8]}` : "";
    return el(
        "button", {
          type: "button",
          class: "legend-item",
          value: kernel,
          title: "Shows this one alone, or all again",
          onclick: () => change({kernel: new Set(isAlone(kernel) ? [] : [kernel]), isolate: ""})
        },
        el("span", {style}, markOf(kernel)[1]), " ", name(kernel, 30));
  });
  if (state.colour !== "kernel" || DEVICES.length > 1) {
    const keys = [...colourKeys[state.colour]];
    for (const [value, i] of keys.slice(0, MOST_KEYS)) {
      entries.push(
          el("span", {class: "legend-item"}, el("span", {style: `color:${colours[i % 8]}`}, "▬"),
             " ", name(value, 24)));
    }
    if (keys.length > MOST_KEYS)
      entries.push(el("span", {class: "legend-item"}, `and ${keys.length - MOST_KEYS} more`));
  }
  const keys = colourKeys[state.colour].size;
  if (keys > colours.length)
    entries.push(el(
        "span", {class: "legend-item"},
        `${keys} share ${colours.length} colours: filter, or point at a mark to tell them apart`));
  const note = (mark, words) => el("span", {class: "legend-item"}, mark, " ", words);
  entries.push(
      note("□", "hollow: a library"), note("━", "measured"), note("╌", "theory at clock"),
      note("┈", "advertised"), note("○", "ridge point"), note("faint", "binds nothing shown"));
  document.getElementById("legend").replaceChildren(...entries);
  markLegend();
}

function markLegend() {
  for (const button of document.querySelectorAll("button.legend-item"))
    button.setAttribute("aria-pressed", String(isAlone(button.value)));
}

function showNotes(visible) {
  const notes = [
    ...runs.flatMap(
        (run) =>
            run.notes.map((note) => `${shorten(run.label, 60)}: ${note}: that part is left out.`)),
    ...panels.filter((p) => !p.element.hidden).flatMap((panel) => panel.notes(visible))
  ];
  document.getElementById("roofline-notes")
      .replaceChildren(...notes.map((note) => el("li", {}, note)));
}

function updateRoofline(visible) {
  for (const panel of panels) panel.update(visible);
  showNotes(visible);
  markLegend();
}
