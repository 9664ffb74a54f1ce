// All points of a search as binary columns; the layout is said in server/dashboard/frontiers.py.

/**
 * @typedef {object} Columns
 * @property {[string, string, number, number][]} designs hash, summary, gain, round
 * @property {Float32Array} x @property {Float32Array} y
 * @property {number[]} starts @property {number[]} front
 */

/** @param {ArrayBuffer} buffer @returns {Columns} */
export function read(buffer) {
  const long = new DataView(buffer).getUint32(0, true);
  const head = JSON.parse(new TextDecoder().decode(new Uint8Array(buffer, 4, long)));
  const n = head.points;
  let at = 4 + long;
  const next = (/** @type {any} */ Kind) => {
    const found = new Kind(buffer, at, n);
    at += 4 * n;
    return found;
  };
  return {
    designs: head.designs, starts: head.starts, front: head.front,
    x: next(Float32Array), y: next(Float32Array),
  };
}

/** The position of the design that a point belongs to. @param {Columns} c @param {number} index */
export function owner(c, index) {
  let low = 0, high = c.starts.length - 1;
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    if (c.starts[middle] <= index) low = middle;
    else high = middle - 1;
  }
  return low;
}
