"use strict";
// The embedded tables as objects: runs, their ceilings, and benchmarks with a row per memory level.
// Which rows stand for a device and which level for a benchmark: as in select_rows.py.

const EMBEDDED = JSON.parse(document.getElementById("data").textContent);
// Levels from the core outwards, what names of libraries begin with, verdicts that refuse a point
// and those that cast doubt on it.
const {levels: LEVELS, libraries: LIBRARIES, refused: REFUSED, doubts: DOUBTS} = EMBEDDED.words;
// What an observed clock is worth, as in roofline/ceilings/ceiling.hpp.
const CLOCK_UNCERTAINTY = 0.03;

const levelOrder = (level) => (LEVELS.includes(level) ? LEVELS.indexOf(level) : LEVELS.length);
const largest = (values) =>
    values.reduce((a, b) => (b != null && (a == null || b > a) ? b : a), null);

const shareOf = (part, whole) => (part == null || !whole ? null : part / whole);

function groupBy(items, key) {
  const groups = new Map();
  for (const item of items) {
    const k = key(item);
    if (groups.has(k))
      groups.get(k).push(item);
    else
      groups.set(k, [item]);
  }
  return groups;
}

function objects(table) {
  if (!table) return [];
  return table.rows.map(
      (row) => Object.fromEntries(row.map((value, i) => [table.columns[i], value])));
}

// As roofline.csv's column `roof` names a row of ceilings.csv.
function ceilingId(c) {
  const what = c.resource === "compute" ? c.dtype : c.level;
  return [c.resource, what, c.operation, c.exec_unit, `threads:${c.threads ?? 1}`].join("/");
}

// Random data, warmed up and not for long: zeros, a rested chip and seconds of load are no roof.
const isRoof = (c) => !/\b(zeros|burst|sustained)\b/.test(c.condition);

// One row for each ceiling: what quiet moments gave where there were any, else as lived. A quiet
// row keeps the other as `lived`.
function quietBeforeLived(ceilings) {
  const same = groupBy(ceilings.filter(isRoof), (c) => JSON.stringify([c.device, c.id]));
  return [...same.values()].map((rows) => {
    const quiet = rows.find((c) => c.condition.endsWith("quiet"));
    return quiet ? {...quiet, lived: rows.find((c) => c !== quiet)} : rows[0];
  });
}

// Logarithmic axes have no place for 0.
const isPlaced = (row) => Boolean(row.intensity && row.achieved_flops_per_s);

// The row of the level that bounds; where arithmetic does, of the outermost.
function boundingRow(rows) {
  const placed = rows.filter(isPlaced);
  const roof = (row) => row.roof_flops_per_s ?? Infinity;
  return rows.find((row) => row.level && row.level === row.bound_by) ??
      placed.sort((a, b) => roof(a) - roof(b) || levelOrder(b.level) - levelOrder(a.level))[0] ??
      null;
}

// Of the whole benchmark: what makes it refused, else that of the row that bounds it.
const verdictOf = (b) => b.refused || (b.bound ?? b.rows[0]).verdict;

// The ceilings row that limits a benchmark, by id; "" if none is known.
function bindingRoof(rows, boundBy) {
  const row = boundBy === "compute" ? rows.find((r) => r.roof.startsWith("compute/")) :
                                      rows.find((r) => r.level === boundBy);
  return row?.roof ?? "";
}

// C and W of a row, from min(C, I W) and the ridge C / W.
function limits(row) {
  if (!row || row.roof_flops_per_s == null || !row.ridge_intensity)
    return {peak: null, bandwidth: null};
  if (row.roof.startsWith("compute/")) {
    return {peak: row.roof_flops_per_s, bandwidth: row.roof_flops_per_s / row.ridge_intensity};
  }
  // Without arithmetic the roof is 0 FLOP/s, and a share of it one of bytes.
  const bandwidth = row.intensity ? row.roof_flops_per_s / row.intensity :
                                    shareOf(row.achieved_bytes_per_s, row.fraction_of_roof);
  return {peak: bandwidth * row.ridge_intensity, bandwidth};
}

// T_upper of the whole kernel: all its bounds, one after another. Null if one is unknown.
function allBoundsTime(rows) {
  const {peak} = limits(rows.find((r) => r.ridge_intensity));
  const math = rows[0].flops ? shareOf(rows[0].flops, peak) : 0;
  if (math == null || rows.some((r) => r.t_upper_s == null)) return null;
  const launch = rows[0].bound_by === "launch" ? rows[0].t_lower_s : 0;
  return rows.reduce((sum, r) => sum + r.t_upper_s - math, math + launch);
}

// As Google Benchmark calls one of ours.
function benchmarkName(row) {
  const parts = [
    row.kernel, row.variant, row.dtype, row.shape, row.temperature && `temp:${row.temperature}`,
    row.threads && `threads:${row.threads}`
  ];
  return parts.filter(Boolean).join("/");
}

// A GPU's work is not done by threads of the CPU, of which one waits for it.
const threadsOf = (row) => (row.device === "gpu" ? null : row.threads);

// What a row may be called: a user's own name holds neither dtype nor, on one thread, their number.
function namesOf(row) {
  const own = [row.kernel, row.shape].filter(Boolean).join("/");
  const stems = [own, `${own}/temp:${row.temperature}`];
  return [benchmarkName(row), ...stems.flatMap((stem) => [`${stem}/threads:${row.threads}`, stem])];
}

function callsOf(run, row) {
  const known = namesOf(row).find((name) => Object.hasOwn(run.calls, name));
  return known === undefined ? [null, null] : run.calls[known];
}

function makeBenchmark(run, rows) {
  const first = rows[0];
  const [calls, totalTime] = callsOf(run, first);
  const title = [
    first.kernel, first.variant, first.dtype, first.shape, first.temperature
  ].filter(Boolean).join("/");
  const threads = threadsOf(first);
  const onThreads = threads ? `/threads:${threads}` : "";
  return {
    run,
    rows,
    title,
    calls,
    total_time: totalTime,
    id: [run.index, first.device, title + onThreads, first.parent, first.bytes_source].join("|"),
    search: title.toLowerCase(),
    bound: boundingRow(rows),
    roof: bindingRoof(rows, first.bound_by),
    library: LIBRARIES.some((library) => first.variant.startsWith(library)),
    refused:
        rows.map((r) => r.verdict).find((v) => v.split("+").some((w) => REFUSED.includes(w))) ?? "",
    device: first.device,
    scope: first.scope,
    parent: first.parent,
    kernel: first.kernel,
    variant: first.variant,
    dtype: first.dtype,
    exec_unit: first.exec_unit,
    shape: first.shape,
    temperature: first.temperature,
    threads,
    samples: first.samples,
    samples_rejected: first.samples_rejected,
    time_s: first.time_s,
    time_low_s: first.time_low_s,
    time_high_s: first.time_high_s,
    clock_hz: first.clock_hz,
    power_w: first.power_w,
    throttle: first.throttle,
    flops: first.flops,
    rate: first.achieved_flops_per_s,
    bytes_source: first.bytes_source,
    // What counters counted of a benchmark that is there by the model as well.
    counted: first.bytes_source === "counter",
    bound_by: first.bound_by,
    t_lower_s: first.t_lower_s,
    t_all_s: allBoundsTime(rows),
    peer: first.peer,
    peer_ratio: first.peer_ratio,
  };
}

const BENCHMARK_KEYS = [
  "device", "scope", "parent", "kernel", "variant", "dtype", "shape", "temperature", "threads",
  "bytes_source"
];

function makeRun(embedded, index) {
  const run = {
    index,
    folder: embedded.folder,
    date: embedded.date,
    machine: embedded.machine,
    check: embedded.check,
    batchCurves: embedded.batch_curves,
    notes: embedded.notes,
    calls: embedded.calls,
    ceilings: objects(embedded.tables.ceilings),
    sweep: objects(embedded.tables.sweep),
    trace: objects(embedded.tables.trace),
  };
  const rows = objects(embedded.tables.roofline);
  run.name = [...run.ceilings, ...rows, ...run.sweep][0]?.machine ?? run.folder;
  run.label = run.folder === run.name ? run.name : `${run.name} ${run.folder}`;
  for (const ceiling of run.ceilings) ceiling.id = ceilingId(ceiling);
  for (const row of [...run.ceilings, ...run.sweep]) row.threads = threadsOf(row);
  run.ceilings = quietBeforeLived(run.ceilings);
  run.benchmarks =
      [...groupBy(rows, (row) => JSON.stringify(BENCHMARK_KEYS.map((k) => row[k]))).values()].map(
          (group) => makeBenchmark(run, group));
  run.ran = run.benchmarks.filter((b) => !b.counted);
  for (const part of run.benchmarks.filter((b) => b.parent)) {
    part.whole = run.benchmarks.find(
        (b) => b.scope === "program" && b.device === part.device && b.threads === part.threads &&
            namesOf(b.rows[0]).includes(part.parent));
  }
  for (const [whole, parts] of groupBy(run.benchmarks.filter((b) => b.whole), (b) => b.whole)) {
    const times = parts.map((b) => b.t_all_s);
    whole.t_all_s = times.includes(null) ? null : times.reduce((sum, time) => sum + time);
  }
  run.machineOf = new Map(
      [...run.sweep, ...rows, ...run.ceilings].map(({device, machine}) => [device, machine]));
  run.devices = unique([...run.ceilings, ...run.benchmarks].map((item) => item.device))
                    .sort((a, b) => (b === "cpu") - (a === "cpu") || a.localeCompare(b));
  return run;
}

// "gpu: NVIDIA H200": a device and, where the run's name is another's, its own.
function deviceWords(run, device) {
  const machine = run.machineOf.get(device);
  if (!machine || machine === run.name) return device;
  const plainName = (gpu) =>
      String(gpu.name).toLowerCase().replace(/[^a-z0-9]+/g, "-").replace(/^-|-$/g, "");
  const known = (run.machine?.gpu?.devices ?? []).find((gpu) => plainName(gpu) === machine);
  return `${device}: ${known?.name ?? machine}`;
}

// How far a benchmark's bounds overlap, 1 where all hide behind the largest; below 0 the share of
// its time that lies beyond all of them one after another. Null where that is not known.
function overlapOf(b) {
  if (!b.t_lower_s || !(b.t_all_s > b.t_lower_s) || !b.time_s || b.refused) return null;
  if (b.time_s > b.t_all_s * (1 + CLOCK_UNCERTAINTY)) return b.t_all_s / b.time_s - 1;
  const share = (b.t_all_s - b.time_s) / (b.t_all_s - b.t_lower_s);
  return Math.min(1, Math.max(0, share));
}

const runs = EMBEDDED.runs.map(makeRun);
const benchmarks = runs.flatMap((run) => run.benchmarks);
const benchmarkById = new Map(benchmarks.map((b) => [b.id, b]));

// The thread count that stands for a whole device, null if no row has one.
function coresOf(run, device) {
  const most = (rows) => largest(rows.filter((r) => r.device === device).map((r) => r.threads));
  return most(run.ceilings.filter((c) => c.resource !== "latency")) ?? most(run.benchmarks);
}
for (const run of runs)
  run.cores = new Map(run.devices.map((device) => [device, coresOf(run, device)]));

// The thread count that a kernel is shown on: all cores, or the most where it has not run on all.
for (const run of runs) {
  for (const group of groupBy(run.benchmarks, (b) => `${b.device} ${b.kernel}`).values()) {
    const whole = run.cores.get(group[0].device);
    const shown =
        group.some((b) => b.threads === whole) ? whole : largest(group.map((b) => b.threads));
    for (const b of group) b.shownThreads = shown;
  }
}

// Measured ceilings of a device on these threads: the fastest read of each level (another
// operation, but no pages at random, only where no read was measured), and the best rate of each
// dtype and unit; one that is flat and below its own theory before a higher one.
function roofsOf(run, device, threads) {
  const ours = run.ceilings.filter(
      (c) => c.device === device && c.measured && (c.threads == null || c.threads === threads));
  const best = (rows, key, better) => [...groupBy(rows, key).values()].map(
      (group) => group.reduce((a, b) => (better(b, a) ? b : a)));
  const read = (c) => c.operation === "read";
  const doubtful = (c) => /no-plateau|above-theory/.test(c.verdict);
  const higher = (a, b) => doubtful(a) !== doubtful(b) ? doubtful(b) : a.measured > b.measured;
  const memory = best(
      ours.filter((c) => c.resource === "bandwidth" && !c.operation.startsWith("pages_")),
      (c) => c.level, (a, b) => (read(a) !== read(b) ? read(a) : higher(a, b)));
  const compute = best(
      ours.filter((c) => c.resource === "compute"), (c) => `${c.dtype} ${c.exec_unit}`, higher);
  return {
    memory: memory.sort((a, b) => levelOrder(a.level) - levelOrder(b.level)),
    compute: compute.sort((a, b) => b.measured - a.measured)
  };
}

// Variants of the same work compete.
const sameWork = (b) => [b.device, b.kernel, b.dtype, b.shape, b.temperature, b.threads].join("\n");
const workWords =
    (b) => [b.kernel, b.dtype, b.shape, b.temperature, threadWords(b.threads)].filter(Boolean).join(
        " ");

// Groups as entries of a drop-down: their words, and what is drawn.
function titledBy(groups, words) {
  return [...groups.values()].map((rows) => ({words: words(rows[0]), rows}));
}
