"use strict";
// The further plates: each is drawn for every run side by side, or says why it is not there.

// absent: what is said where there is nothing to choose.
const PLATES = [
  {
    key: "ladder",
    title: "Ladder: what each idea is worth, as T_lower over its time",
    choices: ladderChoices,
    draw: drawLadder,
    absent: "no work here was done by two variants with a known roof."
  },
  {
    key: "sweep",
    title: "Bandwidth and latency against the working set",
    choices: sweepChoices,
    draw: drawSweep,
    absent: "sweep.csv has no rows."
  },
  {
    key: "batch",
    title: "FLOP/s against batch, predicted and measured",
    choices: batchChoices,
    draw: drawBatch,
    absent:
        "no matmul was measured on all cores with weights from memory (temp:cold) and known ceilings."
  },
  {
    key: "decode",
    title: "Decode step: predicted from T_lower to T_upper (bar), measured (point)",
    choices: decodeChoices,
    draw: drawDecode,
    absent: "this run has no program-level rows (scope program in roofline.csv)."
  },
  {
    key: "ratio",
    title: "Against the best library, per shape: above 1x, ours is faster",
    choices: ratioChoices,
    draw: drawRatio,
    absent: "no library was measured beside the fastest kernel of any work."
  },
  {
    key: "trace",
    title: "Clock, power and load during the run",
    choices: traceChoices,
    draw: drawTrace,
    absent: "trace.csv has nothing recorded."
  },
];

async function buildPlate(plate, run) {
  const choices = plate.choices(run);
  if (!choices.length) {
    return el(
        "p", {class: "note"},
        `${runs.length > 1 ? `${shorten(run.label, 60)}: ` : ""}Left out: ${plate.absent}`);
  }
  const target = el("div", {class: "plot"});
  const buttons = el("span");
  const box = el("figure", {class: "panel"});
  let entry = null, drawing = Promise.resolve();
  const drawNow = async () => {
    if (entry) forget([entry]);
    const choice = choices[picker.selectedIndex];
    const plot = plate.draw(choice);
    // Said in the chart as well: printed and exported, it stands alone.
    const whose = runs.length > 1 ? `, ${shorten(run.folder, 30)}` : "";
    plot.title.text = wrapped(isolated(choice.words, 180) + whose, 56);
    entry = await show(plot, target, `${plate.key}-${run.folder}`);
    buttons.replaceChildren(exportButtons(entry));
  };
  const draw = () => (drawing = drawing.then(drawNow));
  const picker = el(
      "select", {"aria-label": `What ${plate.title} shows`, onchange: draw},
      ...shortenApart(choices.map(({words}) => words), 90).map((words) => el("option", {}, words)));
  box.append(
      el("div", {class: "plot-head"}, runs.length > 1 ? name(run.label, 60) : null, picker,
         buttons),
      target);
  box.redraw = draw;
  return box;
}

async function buildPlates() {
  for (const plate of PLATES) {
    const boxes = await Promise.all(runs.map((run) => buildPlate(plate, run)));
    document.getElementById("plates").append(
        el("section", {class: "plate", id: `plate-${plate.key}`}, el("h3", {}, plate.title),
           el("div", {class: "side-by-side"}, ...boxes)));
    for (const box of boxes) await box.redraw?.();
  }
}

async function redrawPlates() {
  for (const box of document.querySelectorAll("#plates figure")) await box.redraw();
}
