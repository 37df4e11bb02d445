"use strict";
// The row of filters above the chart.

function valuesOf(key) {
  const values = unique(benchmarks.map(CHOICES[key].value));
  return values.sort((a, b) => levelOrder(a) - levelOrder(b) || a.localeCompare(b));
}

// A drop-down of check boxes; a filter with one value is left out.
function choice(key) {
  const values = valuesOf(key);
  if (values.length < 2) return null;
  const summary = el("summary");
  const boxes = values.map((value) => {
    const input = el("input", {
      type: "checkbox",
      "data-filter": key,
      value,
      onchange: () => {
        const chosen = new Set(state[key]);
        if (input.checked)
          chosen.add(value);
        else
          chosen.delete(value);
        change({[key]: chosen, isolate: ""});
      }
    });
    return input;
  });
  const show = () => {
    for (const box of boxes) box.checked = state[key].has(box.value);
    const chosen = [...state[key]];
    const words = chosen.length === 0 ? "all" :
        chosen.length === 1           ? shorten(chosen[0], 14) :
                                        `${chosen.length} of ${values.length}`;
    summary.replaceChildren(`${CHOICES[key].label}: `, el("b", {}, words));
    summary.classList.toggle("chosen", chosen.length > 0);
  };
  listeners.push(show);
  show();
  const all =
      el("button", {type: "button", onclick: () => change({[key]: new Set(), isolate: ""})}, "All");
  return el(
      "details", {class: "choice", "data-choice": key}, summary,
      el("div", {class: "choices"}, all,
         ...boxes.map((box) => el("label", {}, box, name(box.value, 40)))));
}

// `also`: what else a choice changes.
function select(key, label, options, also = {}) {
  const control =
      el("select", {id: `select-${key}`, onchange: () => change({[key]: control.value, ...also})},
         ...options.map(([value, words]) => el("option", {value}, shorten(words, 30))));
  const show = () => {
    control.value = state[key];
  };
  listeners.push(show);
  show();
  return el("label", {class: "field"}, `${label} `, control);
}

function searchField() {
  const input = el("input", {
    type: "search",
    id: "search",
    placeholder: "part of a name",
    size: 14,
    oninput: () => change({q: input.value, isolate: ""})
  });
  const show = () => {
    if (input.value !== state.q) input.value = state.q;
  };
  listeners.push(show);
  show();
  return el("label", {class: "field"}, "Name ", input);
}

function buildFilters() {
  const levels = unique(benchmarks.flatMap((b) => b.rows.map((r) => r.level)))
                     .filter(Boolean)
                     .sort((a, b) => levelOrder(a) - levelOrder(b));
  const threads =
      unique(benchmarks.map((b) => b.threads)).filter((n) => n != null).sort((a, b) => a - b);
  const clear =
      el("button", {
        type: "button",
        id: "clear",
        onclick: () => change({
          ...Object.fromEntries(Object.keys(CHOICES).map((key) => [key, new Set()])),
          threads: TEXTS.threads,
          level: TEXTS.level,
          q: "",
          isolate: ""
        })
      },
         "Clear");
  document.getElementById("filters").append(
      ...Object.keys(CHOICES).map(choice).filter(Boolean),
      select(
          "level", "Level",
          [
            ["bound", "the one that bounds"], ["all", "all (hierarchical)"],
            ...levels.map((level) => [level, level])
          ]),
      ...(threads.length > 1 ? [select(
                                   "threads", "Threads",
                                   [
                                     ["cores", "all cores"],
                                     ...threads.map((n) => [String(n), String(n)]), ["all", "any"]
                                   ],
                                   {isolate: ""})] :
                               []),
      select("colour", "Colour", Object.entries(COLOURINGS)), searchField(), clear);
  // One drop-down at a time, closed by a click elsewhere or Escape.
  const open = () => document.querySelectorAll("details.choice[open]");
  document.addEventListener("click", (event) => {
    for (const details of open())
      if (!details.contains(event.target)) details.open = false;
  });
  document.addEventListener("keydown", (event) => {
    if (event.key !== "Escape") return;
    for (const details of open()) {
      details.open = false;
      details.querySelector("summary").focus();
    }
  });
}
