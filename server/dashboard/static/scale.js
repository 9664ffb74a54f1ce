// Scales of an axis, linear and logarithmic, with ticks that fall on round numbers.

/** @typedef {{low: number, high: number, log: boolean}} Range */

/**
 * Position of a value on 0…1.
 * @param {Range} r @param {number} v
 */
export function share(r, v) {
  if (!r.log) return (v - r.low) / (r.high - r.low || 1);
  return Math.log(Math.max(v, 1e-12) / r.low) / Math.log(r.high / r.low || 1.0000001);
}

/**
 * Value at a position on 0…1.
 * @param {Range} r @param {number} t
 */
export function value(r, t) {
  return r.log ? r.low * (r.high / r.low) ** t : r.low + t * (r.high - r.low);
}

/**
 * A range around values, with a margin.
 * @param {number[]} values @param {boolean} log @param {number} [margin]
 * @returns {Range}
 */
export function around(values, log, margin = 0.05) {
  let low = Infinity, high = -Infinity;
  for (const v of values) {
    if (!Number.isFinite(v) || (log && v <= 0)) continue;
    if (v < low) low = v;
    if (v > high) high = v;
  }
  if (low > high) return { low: 1, high: 10, log };
  if (log) {
    const f = Math.max(1.05, (high / low) ** margin);
    return { low: low / f, high: high * f, log };
  }
  return { low: 0, high: (high || 1) * (1 + margin), log };
}

/**
 * Ticks within a range: value and whether it has a label.
 * @param {Range} r @param {number} about how many labels are wanted
 * @returns {{at: number, label: string}[]}
 */
export function ticks(r, about) {
  const found = [];
  if (r.log) {
    const decades = Math.log10(r.high / r.low);
    if (decades > 0.7) {
      const steps = decades > about ? [1] : decades * 3 > about ? [1, 3] : [1, 2, 5];
      const every = Math.max(1, Math.ceil(decades / about));
      for (let e = Math.floor(Math.log10(r.low)); e <= Math.ceil(Math.log10(r.high)); e++) {
        if (e % every) continue;
        for (const s of steps) {
          const at = s * 10 ** e;
          if (at >= r.low && at <= r.high) found.push({ at, label: tell(at) });
        }
      }
      return found;
    }
  }
  const step = nice((r.high - r.low) / Math.max(2, about));
  for (let at = Math.ceil(r.low / step) * step; at <= r.high * 1.0000001; at += step) {
    found.push({ at, label: tell(Math.abs(at) < step / 1e6 ? 0 : at) });
  }
  return found;
}

/** @param {number} v */
function nice(v) {
  const power = 10 ** Math.floor(Math.log10(v || 1));
  const lead = v / power;
  return power * (lead <= 1 ? 1 : lead <= 2 ? 2 : lead <= 5 ? 5 : 10);
}

/**
 * A number in few characters: 1,200, 12 k, 0.05.
 * @param {number} v
 */
export function tell(v) {
  const a = Math.abs(v);
  if (a >= 1e12) return trim(v / 1e12) + " T";
  if (a >= 1e9) return trim(v / 1e9) + " G";
  if (a >= 1e6) return trim(v / 1e6) + " M";
  if (a >= 1e4) return trim(v / 1e3) + " k";
  if (a >= 100) return Math.round(v).toLocaleString("en-GB");
  return trim(v);
}

/** @param {number} v */
function trim(v) {
  return String(Number(v.toPrecision(3)));
}

/**
 * A number with three significant digits and commas.
 * @param {number} v
 */
export function exact(v) {
  return Math.abs(v) >= 100 ? Math.round(v).toLocaleString("en-GB") : String(Number(v.toPrecision(3)));
}
