"use strict";
// Which of thousands of marks are seen. Painting them is most of what a change of the filters
// costs, and the greater part lies under others.

// More points than this are a crowd: marks beneath others are not painted, and none has an error
// bar.
const CROWD = 2000;
// Pixels from a mark's middle to the edge of what hides another: less than half its size, as
// corners of triangles and circles are empty.
const REACH = 3;

// For each position, in the order of painting, whether anything of its mark is seen.
function uncovered(positions, width, height) {
  const taken = new Uint8Array(width * height);
  const seen = new Array(positions.length).fill(true);
  for (let i = positions.length - 1; i >= 0; --i) {
    const [x, y] = positions[i].map(Math.round);
    // Beyond the edge it may come into view before it is looked at again.
    if (x < REACH || y < REACH || x >= width - REACH || y >= height - REACH) continue;
    let free = 0;
    for (let row = y - REACH; row <= y + REACH; ++row) {
      for (let at = row * width + x - REACH; at <= row * width + x + REACH; ++at) {
        free += 1 - taken[at];
        taken[at] = 1;
      }
    }
    seen[i] = free > 0;
  }
  return seen;
}
