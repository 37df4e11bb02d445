"use strict";
// Numbers and names as text, and elements made of text: names are never parsed as HTML.

const unique = (values) => [...new Set(values)];

const PREFIXES = [
  [1e15, "P"], [1e12, "T"], [1e9, "G"], [1e6, "M"], [1e3, "k"], [1, ""], [1e-3, "m"], [1e-6, "µ"],
  [1e-9, "n"], [1e-12, "p"]
];

// 1.79e12, "B/s" -> "1.79 TB/s": three significant digits; "" for an unknown.
function quantity(value, unit) {
  if (value == null) return "";
  if (value === 0) return `0 ${unit}`;
  const rounded = Number(value.toPrecision(3));
  const [scale, prefix] =
      PREFIXES.find(([s]) => Math.abs(rounded) >= s * 0.9999) ?? PREFIXES.at(-1);
  return `${(rounded / scale).toPrecision(3)} ${prefix}${unit}`;
}

// A tick label: as quantity(), without trailing zeros.
function tick(value, unit) {
  const [scale, prefix] = PREFIXES.find(([s]) => value >= s * 0.9999) ?? PREFIXES.at(-1);
  return `${Number((value / scale).toPrecision(6))} ${prefix}${unit}`.trim();
}

// A tick of a ratio: 0.1, 10, 1000.
const plainTick = (value) => String(Number(value.toPrecision(6)));

const SIZES = [[2 ** 40, "TiB"], [2 ** 30, "GiB"], [2 ** 20, "MiB"], [2 ** 10, "KiB"], [1, "B"]];

function size(bytes) {
  if (bytes == null) return "";
  const [scale, unit] = SIZES.find(([s]) => bytes >= s) ?? SIZES.at(-1);
  const value = bytes / scale;
  return `${value < 999.5 ? Number(value.toPrecision(3)) : Math.round(value)} ${unit}`;
}

function percent(fraction) {
  return fraction == null ? "" : `${(100 * fraction).toFixed(fraction < 0.0995 ? 1 : 0)} %`;
}

function overlapWords(overlap) {
  return overlap < 0 ? `lost ${percent(-overlap)}` : percent(overlap);
}

function plainNumber(value) {
  return value == null ? "" : String(Number(value.toPrecision(3)));
}

function rateUnit(dtype) {
  return dtype.includes("f") || dtype.startsWith("e") ? "FLOP/s" : "OP/s";
}

function threadWords(threads) {
  return threads == null ? "" : `${threads} thread${threads === 1 ? "" : "s"}`;
}

// Control characters and those that turn the direction of what follows become visible.
function plain(text) {
  return text.replace(
      /[\u0000-\u001f\u007f-\u009f\u200e\u200f\u202a-\u202e\u2066-\u2069]/g, "\ufffd");
}

// Canvas text has no isolation of its own: a name written right to left stays within its marks.
function isolated(text, limit = Infinity) {
  return `\u2068${shorten(text, limit)}\u2069`;
}

// In the middle: names of works begin alike, and what tells them apart is often last.
function shorten(text, limit) {
  const letters = [...plain(text)];
  if (letters.length <= limit) return letters.join("");
  const tail = Math.floor((limit - 1) * 0.4);
  return letters.slice(0, limit - 1 - tail).join("") + "…" +
      letters.slice(letters.length - tail).join("");
}

// Several names; where two would read alike, all keep more letters, up to 160.
function shortenApart(texts, limit) {
  const count = unique(texts).length;
  const short = (letters) => texts.map((text) => shorten(text, letters));
  while (limit < 160 && unique(short(limit)).length < count) limit += 8;
  return short(limit);
}

// In lines of about `width` letters, broken after spaces and slashes.
function wrapped(text, width) {
  const lines = [""];
  for (const part of text.split(/(?<=[ /])/)) {
    if (lines.at(-1) && lines.at(-1).length + part.trimEnd().length > width) lines.push("");
    lines[lines.length - 1] += part;
  }
  return lines.map((line) => line.trimEnd()).join("\n");
}

// An element: el("td", {class: "number", onclick: f}, "text", another).
function el(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith("on"))
      element.addEventListener(name.slice(2), value);
    else if (value === true)
      element.setAttribute(name, "");
    else if (value !== false && value != null)
      element.setAttribute(name, value);
  }
  element.append(...children.filter((child) => child != null));
  return element;
}

// A name from the data, shown as text in its own direction.
function name(text, limit = Infinity) {
  return el("bdi", limit < text.length ? {title: plain(text)} : {}, shorten(text, limit));
}

function download(fileName, type, content) {
  const link =
      el("a", {href: URL.createObjectURL(new Blob([content], {type})), download: fileName});
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10000);
}
