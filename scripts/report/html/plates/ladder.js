"use strict";
// Each variant of one piece of work as a share of its roof.

const shareOfRoof = (b) => shareOf(b.t_lower_s, b.time_s);

function ladderChoices(run) {
  const able = run.ran.filter((b) => !b.parent && shareOfRoof(b) != null);
  return titledBy(groupBy(able, sameWork), workWords)
      .filter(({rows}) => rows.length > 1)
      .sort((a, b) => b.rows.length - a.rows.length || b.rows[0].flops - a.rows[0].flops);
}

function drawLadder({rows}) {
  const colours = themeColours();
  const names = shortenApart(rows.map((b) => b.variant || "(none)"), 24);
  const factors = names.map((name, i) => `${i + 1}  ${isolated(name)}`);
  const shares = rows.map(shareOfRoof);
  const plot = figure({
    height: 70 + 30 * rows.length,
    tools: "reset",
    x: {
      type: "linear",
      range: new Range1d({start: 0, end: Math.max(1.02, ...shares)}),
      tick: (v) => `${Math.round(100 * v)} %`,
      label: "share of the roof"
    },
    y: {type: "auto", range: [...factors].reverse()}
  });
  const source = new ColumnDataSource({
    data: {
      factors,
      shares,
      fill: rows.map(
          (b) =>
              (b.refused     ? 0.15 :
                   b.library ? 0.3 :
                               0.85)),
      text: rows.map(
          (b, i) => ` ${percent(shares[i])}  ${quantity(b.time_s, "s")}${
              b.library ? "  library" : ""}${b.refused ? `  ⚠ ${b.refused}` : ""}`)
    }
  });
  const bars = steady(plot.hbar({field: "factors"}, 0.7, {field: "shares"}, 0, {
    source,
    fill_color: colours.series[0],
    fill_alpha: {field: "fill"},
    line_color: colours.series[0]
  }));
  textBeside(plot, source, "shares", "factors", 0);
  besideNames(plot, factors);
  steady(plot.segment(
      [1], [factors.at(-1)], [1], [factors[0]], {line_color: colours.roof, line_width: 2}));
  plot.add_tools(
      hoverTool([bars], (_, i) => tooltip(rows[i].title, describe(rows[i], rows[i].bound))));
  return plot;
}
