"use strict";
// The first screen's words: the machine in a line, and what it delivers as a table.

function cpuWords(machine) {
  const cpu = machine.cpu ?? {};
  const design = cpu.per_core_cycle?.name;
  const model = [cpu.model, design && `(${design})`].filter(Boolean).join(" ");
  const caches = (machine.caches ?? []).map((c) => `L${c.level} ${size(c.bytes)}`).join(", ");
  const hypervisor = machine.state?.hypervisor;
  return [
    model, cpu.physical_cores && `${cpu.physical_cores} cores`,
    cpu.logical_cpus > cpu.physical_cores && `${cpu.logical_cpus} threads`, caches,
    machine.memory?.bytes && `${size(machine.memory.bytes)} memory`,
    hypervisor && "virtual machine", machine.state?.container && "in a container"
  ].filter(Boolean);
}

function gpuWords(machine) {
  return (machine.gpu?.devices ?? []).map((gpu) => gpu.name).filter(Boolean);
}

function machineLine(run) {
  const clockWords = (device) => {
    const clock = largest(run.ceilings.filter((c) => c.device === device).map((c) => c.clock_hz));
    return clock ? [`${quantity(clock, "Hz")} observed`] : [];
  };
  const known = run.machine ? {cpu: cpuWords(run.machine), gpu: gpuWords(run.machine)} : {};
  // What was measured comes first: of a GPU alone, before its host.
  const alone = run.devices.length === 1 && run.devices[0] === "gpu";
  const words = (alone ? ["gpu", "cpu"] : ["cpu", "gpu"])
                    .flatMap((device) => [...(known[device] ?? []), ...clockWords(device)])
                    .map(String);
  if (!Object.values(known).flat().length) words.unshift(run.name);
  if (runs.length > 1)
    words.push(run.folder);
  else if (run.date)
    words.push(run.date);
  const [first, ...others] = words;
  return el(
      "p", {class: "machine"}, el("b", {}, name(first, 90)),
      ...others.flatMap((word) => [" · ", name(word, 60)]),
      run.machine ? null : el("span", {class: "note"}, " (no machine.json: nothing more is known)"),
      ...(run.check?.run ?? []).map((line) => el("span", {class: "note run-note"}, ` · ${line}`)));
}

// The fastest benchmark on a ceiling: on a dtype and unit by FLOP/s, on a level by bytes/s there.
function bestOn(run, ceiling) {
  const ours = run.ran.filter(
      (b) => b.device === ceiling.device && !b.refused &&
          (b.threads == null || ceiling.threads == null || b.threads === ceiling.threads));
  let best = null;
  for (const b of ours) {
    let rate = null;
    if (ceiling.resource === "compute") {
      const onUnit = b.dtype === ceiling.dtype && b.exec_unit === ceiling.exec_unit;
      if (onUnit || b.rows.some((row) => row.roof === ceiling.id)) rate = b.rate;
    } else {
      rate = largest(b.rows.filter((row) => row.level === ceiling.level)
                         .map((row) => row.achieved_bytes_per_s));
    }
    if (rate != null && (best == null || rate > best.rate)) best = {benchmark: b, rate};
  }
  return best;
}

const verdictLook = (verdict) => (verdict === "ok" ? "badge good" : verdict ? "badge doubt" : "");

function verdictWords(verdict) {
  return verdict === "ok" ? "✓ ok" : verdict ? `⚠ ${plain(verdict)}` : "";
}

const GRADES = {
  PASS: ["good", "✓"],
  WARN: ["doubt", "⚠"],
  FAIL: ["bad", "✗"]
};

function gradeBadge(grade, title) {
  const [look, sign] = GRADES[grade] ?? ["unknown", ""];
  return el(
      "span", {class: `badge ${look}`, title: title || null}, `${sign} ${plain(grade)}`.trim());
}

// What `roofline check` says of a ceiling.
function judged(run, ceiling) {
  return run.check?.resources.find((r) => r.device === ceiling.device && r.id === ceiling.id);
}

function gapWords(resource) {
  const parts = resource.gap.map((factor) => `${percent(factor.share)} ${factor.text}`);
  return parts.length ? `${percent(resource.of_advertised)} of advertised = ${parts.join(" × ")}` :
                        "";
}

// A ceiling, or what `check` says of one.
const limitWords = (row) => (
    row.resource === "compute" ? `${row.dtype} ${row.exec_unit}` : `${row.level} ${row.operation}`);

function verdictCell(run, ceiling) {
  const resource = judged(run, ceiling);
  if (!resource) {
    const {verdict, cause} = ceiling;
    return el(
        "td", {},
        el("span", {class: verdictLook(verdict), title: cause || null}, verdictWords(verdict)));
  }
  const why = [resource.causes.join(", "), ceiling.cause, gapWords(resource)].filter(Boolean);
  return el("td", {}, gradeBadge(resource.verdict, why.join("; ")));
}

function measuredCell(ceiling, unit) {
  const of =
      ceiling.advertised ? ["advertised", ceiling.advertised] : ["theory", ceiling.theory_at_clock];
  const {lived, samples, samples_rejected: rejected} = ceiling;
  return el(
      "td", {
        class: "number",
        title: `median of ${samples} samples, ${rejected ?? 0} rejected; ${ceiling.condition}` +
            (lived ? `; as lived ${quantity(lived.measured, unit)}` : "")
      },
      quantity(ceiling.measured, unit),
      of[1] ? el("small", {}, `${percent(ceiling.measured / of[1])} of ${of[0]}`) : null,
      lived ? el("small", {class: "lived", title: "with all samples, quiet or not"},
                 `as lived ${quantity(lived.measured, unit)}`) :
              null);
}

const VERDICT_HEADS =
    ["limit", "advertised", "theory at clock", "measured", "best kernel", "verdict"];

function verdictRow(run, ceiling) {
  const compute = ceiling.resource === "compute";
  const unit = compute ? rateUnit(ceiling.dtype) : "B/s";
  const best = bestOn(run, ceiling);
  const bestCell = el("td", {class: "number"});
  if (best) {
    const b = best.benchmark;
    bestCell.append(
        el("button", {
          type: "button",
          class: "link",
          title: plain(b.title),
          onclick: () => change({selected: b.id})
        },
           quantity(best.rate, unit)),
        el("small", {}, `${percent(best.rate / ceiling.measured)} of measured`),
        el("small", {class: "who"}, name([b.kernel, b.variant].filter(Boolean).join(" "), 40)));
  }
  const row = el(
      "tr", {"data-ceiling": ceiling.id}, el("th", {scope: "row"}, name(limitWords(ceiling), 40)),
      el("td", {class: "number", title: ceiling.advertised_source || null},
         quantity(ceiling.advertised, unit)),
      el("td", {class: "number"}, quantity(ceiling.theory_at_clock, unit)),
      measuredCell(ceiling, unit), bestCell, verdictCell(run, ceiling));
  [...row.cells].forEach((cell, i) => {
    cell.dataset.head = VERDICT_HEADS[i];
  });
  return row;
}

// [grade, limit, why] of what fails or warns; where nothing judged, of every verdict but ok.
function doubts(run, device, shown) {
  if (!run.check) {
    return shown.filter((c) => c.verdict && c.verdict !== "ok")
        .map(
            (c) => ["WARN", limitWords(c), [plain(c.verdict), c.cause].filter(Boolean).join(": ")]);
  }
  return run.check.resources
      .filter((r) => r.device === device && ["FAIL", "WARN"].includes(r.verdict))
      .map((r) => {
        const cause = shown.find((ceiling) => ceiling.id === r.id)?.cause;
        const why = [r.causes.join(", "), cause, gapWords(r)].filter(Boolean).join("; ");
        return [r.verdict, limitWords(r), why];
      });
}

// All that is wrong, in words that need no pointing: limits of the same cause together, and what
// was found in the machine's state.
function findings(run, device, shown) {
  const same = groupBy(doubts(run, device, shown), ([grade, , why]) => `${grade} ${why}`);
  const limits = [...same.values()].map((some) => {
    const [grade, , why] = some[0];
    return [grade, some.map(([, limit]) => limit).join(", ") + (why ? `: ${why}` : "")];
  });
  const state =
      (run.check?.findings ?? [])
          .filter((f) => f.device === device && ["NOTE", "WARN", "FAIL"].includes(f.grade))
          .map((f) => [f.grade, f.text]);
  const lines = [...limits, ...state].map(
      ([grade, text]) => el("li", {}, gradeBadge(grade), " ", name(text, 400)));
  return lines.length ? el("ul", {class: "findings"}, ...lines) : null;
}

function verdictTable(run, device) {
  const {memory, compute} = roofsOf(run, device, run.cores.get(device));
  const shown = [...compute, ...memory];
  const threads = run.cores.get(device);
  const title = [
    runs.length > 1 ? run.label : null,
    runs.length > 1 || run.devices.length > 1 ? deviceWords(run, device) : null,
    device === "cpu" && threads ? `all ${threads} cores` : null
  ].filter(Boolean).join(" · ");
  return el(
      "div", {class: "verdict"},
      el("h2", {}, "What it delivers", title ? el("small", {}, " ", name(title, 70)) : null),
      shown.length === 0 ?
          el("p", {class: "note"},
             `No measured ceilings of ${plain(device)}: ceilings.csv has none.`) :
          el("div", {class: "scroll"},
             el("table", {},
                el("thead", {},
                   el("tr", {}, ...VERDICT_HEADS.map((head) => el("th", {scope: "col"}, head)))),
                el("tbody", {}, ...shown.map((ceiling) => verdictRow(run, ceiling))))),
      findings(run, device, shown),
      el("p", {class: "hint"},
         "Empty: unknown. Point at a number or a verdict to read how it came about."));
}

function buildVerdicts() {
  document.getElementById("machines")
      .append(el("h1", {}, "Roofline report"), ...runs.map(machineLine));
  const tables = runs.flatMap((run) => run.devices.map((device) => verdictTable(run, device)));
  document.getElementById("verdicts").append(...(tables.length ? tables : [
    el("p", {class: "note"}, "No ceilings and no kernels: nothing to judge.")
  ]));
  document.getElementById("first").classList.toggle("several", tables.length > 1);
  document.body.classList.toggle("several-runs", runs.length > 1);
}
