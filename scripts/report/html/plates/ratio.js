"use strict";
// This suite against the fastest library on the same work.

const MOST_RATIOS = 60;  // rows that a plate has room for

// Of each work that a library did as well, the fastest kernel of ours: all of them, or as many of
// the highest and of the lowest ratios.
function ratioChoices(run) {
  const able = run.ran.filter((b) => b.time_s && !b.library && !b.refused && !b.parent);
  const fastest = [...groupBy(able, sameWork).values()]
                      .filter((rows) => rows.some((b) => b.peer))
                      .map((rows) => rows.reduce((a, b) => (b.time_s < a.time_s ? b : a)));
  const compared = fastest.filter((b) => b.peer_ratio).sort((a, b) => b.peer_ratio - a.peer_ratio);
  if (!compared.length) return [];
  const without = fastest.length - compared.length;
  const also = without ? `; of ${without} more no ratio is known` : "";
  const what = "fastest kernel of each shape";
  if (compared.length <= MOST_RATIOS) return [{words: what + also, rows: compared}];
  const half = MOST_RATIOS / 2;
  return [{
    words: `${what}: ${half} highest, ${half} lowest of ${compared.length}${also}`,
    rows: [...compared.slice(0, half), ...compared.slice(-half)]
  }];
}

function drawRatio({rows}) {
  const colours = themeColours();
  const factors = rowNames(rows.map(workWords));
  const ratios = rows.map((b) => b.peer_ratio);
  const plot = figure({
    height: 80 + rowHeight(factors, 22) * rows.length,
    tools: "reset",
    x: {
      range: new Range1d({
        start: Math.min(0.4, Math.min(...ratios) / 1.3),
        end: Math.max(2, Math.max(...ratios) * 1.2)
      }),
      tick: (v) => `${plainNumber(v)}x`,
      label: "library's time over ours"
    },
    y: {type: "auto", range: [...factors].reverse()}
  });
  setTicker(
      plot, "x",
      new Bokeh.FixedTicker({ticks: [0.01, 0.03, 0.1, 0.2, 0.5, 1, 2, 5, 10, 30, 100, 1000]}));
  steady(plot.segment(
      [1], [factors.at(-1)], [1], [factors[0]], {line_color: colours.roof, line_width: 2}));
  const source = new ColumnDataSource({
    data: {
      factors,
      ratios,
      // Without its version, which pointing tells: together they would leave no room.
      text:
          rows.map((b) => `  ${plainNumber(b.peer_ratio)}x ${isolated(b.peer.split(" ")[0], 16)}`),
      marker: rows.map((b) => b.marker),
      colour: ratios.map((r) => colours.series[r >= 1 ? 0 : 1])
    }
  });
  const points = steady(plot.scatter({field: "ratios"}, {field: "factors"}, {
    source,
    marker: {field: "marker"},
    size: 9,
    fill_color: {field: "colour"},
    line_color: {field: "colour"}
  }));
  textBeside(plot, source, "ratios", "factors", 4);
  besideNames(plot, factors);
  plot.add_tools(
      hoverTool([points], (_, i) => tooltip(rows[i].title, describe(rows[i], rows[i].bound))));
  return plot;
}
