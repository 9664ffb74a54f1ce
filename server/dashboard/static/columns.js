// All points of a search as binary columns; the layout is said in server/dashboard/frontiers.py.

/**
 * @typedef {object} Columns
 * @property {[string, string, number, number][]} designs hash, summary, gain, round
 * @property {Float32Array} x @property {Float32Array} y
 * @property {Uint32Array} batch @property {Uint32Array} of
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
    x: next(Float32Array), y: next(Float32Array), batch: next(Uint32Array), of: next(Uint32Array),
  };
}
