"use strict";
// Where the names of the roofs stand: along the slopes, and beside the peaks in the right margin.

const LABEL_LINE = 13;  // pixels

const doubtSign = (ceiling) => (ceiling.verdict && ceiling.verdict !== "ok" ? " ⚠" : "");

// As style.spread() of the pictures: sorted positions, moved apart to at least `gap` as little as
// possible; within `lowest` and `highest`, if those have room for all.
function spread(positions, gap, lowest, highest) {
  const blocks = [];
  const half = (members) => (members.length - 1) * gap / 2;
  for (const position of positions) {
    blocks.push({members: [position], at: position});
    while (blocks.length > 1) {
      const [low, high] = blocks.slice(-2);
      if (high.at - half(high.members) >= low.at + half(low.members) + gap) break;
      const members = [...low.members, ...high.members];
      // Where each member wants the middle of the block.
      const wishes = members.map((p, i) => p - i * gap + half(members));
      blocks.splice(-2, 2, {members, at: wishes.reduce((a, b) => a + b) / wishes.length});
    }
  }
  return blocks.flatMap(({members, at}) => members.map((_, i) => at - half(members) + i * gap))
      .map((at, i, all) => Math.min(at, highest - (all.length - 1 - i) * gap))
      .map((at, i) => Math.max(at, lowest + i * gap));
}

// The frame: its size in pixels, the decades at its left and lower edge, pixels a decade.
function frameOf(plot, {width, height}) {
  const {x_range, y_range} = plot;
  const [x0, x1, y0, y1] = [x_range.start, x_range.end, y_range.start, y_range.end].map(Math.log10);
  return {width, height, x0, y0, perX: width / (x1 - x0), perY: height / (y1 - y0)};
}

// Along a slope from where it enters; behind a label of a slope that is too near.
function slopeLabels({x0, y0, perX, perY}, levels) {
  const angle = Math.atan2(perY, perX), taken = [];
  return levels.map(({level, text}) => {
    const rise = (Math.log10(level.measured) + x0 - y0) * perY;  // at the left edge
    const off = rise * Math.cos(angle), length = widthOf(text) + 8;
    let start = Math.max(0, -rise * perX / perY) / Math.cos(angle) + rise * Math.sin(angle) + 14;
    for (const t of taken) {
      if (Math.abs(t.off - off) < 14 && start < t.start + t.length && t.start < start + length)
        start = t.start + t.length;
    }
    taken.push({off, start, length});
    const x = 10 ** (x0 + (start - rise * Math.sin(angle)) * Math.cos(angle) / perX);
    return {x, y: x * level.measured, text, angle, level};
  });
}

// Peaks of one unit that can hardly be told apart share a label: [{peak, dtypes, from}], lowest
// first; `from`: the intensity from which the peak is a roof.
function labelledPeaks(drawn) {
  const peaks = [];
  for (const {memory, compute, threads} of drawn) {
    const fastest = largest(memory.map((m) => m.measured));
    for (const c of [...compute].reverse()) {
      const same = peaks.find(
          ({peak}) => c.measured <= peak.measured * 1.01 && c.exec_unit === peak.exec_unit &&
              c.threads === peak.threads);
      if (same)
        same.dtypes.push(c.dtype);
      else
        peaks.push({peak: c, dtypes: [c.dtype], threads, from: fastest ? c.measured / fastest : 0});
    }
  }
  return peaks.sort((a, b) => a.peak.measured - b.peak.measured);
}

// In two lines each where the frame is high enough for all; with the width that they need.
function peakLabels({width, height, x0, y0, perX, perY}, peaks, suffix) {
  const gapOf = (rows) => rows * LABEL_LINE + (rows - 1) * 6;
  const rows = peaks.length * gapOf(2) <= height ? 2 : 1;
  const all = peaks.map(({peak, dtypes, threads, from}) => {
    const what = `${isolated(dtypes.join(", "), 24)} ${isolated(peak.exec_unit, 16)}`;
    const rate = quantity(peak.measured, rateUnit(peak.dtype)) + suffix(threads) + doubtSign(peak);
    const at = (Math.log10(peak.measured) - y0) * perY;
    return {peak, from, at, text: what + (rows === 2 ? "\n" : " ") + rate};
  });
  const inFrame = all.filter(
      ({at, from}) => at >= 0 && at <= height && (Math.log10(from || 1e-300) - x0) * perX < width);
  const gap = gapOf(rows);
  const places = spread(inFrame.map(({at}) => at), gap, gap / 2, height - gap / 2);
  const margin = Math.max(0, ...all.map(({text}) => widthOf(text))) + 26;
  return {margin, labels: inFrame.map((label, i) => ({...label, place: places[i]}))};
}
