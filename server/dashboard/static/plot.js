// A scatter plot with lines: two axes, zoom, hover, keyboard and export. What it shows are series.

import { CanvasPen, SvgPen } from "./pens.js";
import { around, exact, share, tell, ticks, value } from "./scale.js";

/**
 * @typedef {object} Series
 * @property {string} key @property {string} name
 * @property {ArrayLike<number>} x @property {ArrayLike<number>} y
 * @property {string} colour name of a custom property
 * @property {"stairs"|"line"|"cloud"|"marks"} kind
 * @property {string} [shape] circle, square, diamond, triangle, cross
 * @property {number[]} [dash] @property {number} [width] @property {boolean} [walk] whether keys walk along it
 * @property {string} [fill] custom property of the area down to `below`
 * @property {string} [end] label at its end
 */
/** @typedef {{series: Series, index: number, px: number, py: number}} Hit */

/** How far beyond the best speed that was found a bound is shown at first. */
const REACH = 3;
const SIDE = { left: 62, right: 18, top: 16, bottom: 46 };

/** The plot inside of a figure. */
export class Plot {
  /**
   * @param {HTMLElement} root
   * @param {{x: string, y: string, label: string}} names
   */
  constructor(root, names) {
    this.root = root;
    this.names = names;
    /** @type {Series[]} */
    this.series = [];
    /** @type {Set<string>} */
    this.hidden = new Set();
    this.log = { x: true, y: true };
    /** @type {{x: import("./scale.js").Range, y: import("./scale.js").Range}|null} */
    this.zoom = null;
    /** @type {{x: number|null, y: number|null}} */
    this.slo = { x: null, y: null };
    /** @type {{from: [number, number], to: [number, number], text: string}|null} */
    this.arrow = null;
    /** @type {Hit|null} */
    this.hit = null;
    /** @type {Hit|null} the chosen one, shown while nothing is hovered */
    this.kept = null;
    /** @type {[number, number, number, number]|null} the band that is drawn for a zoom */
    this.band = null;
    /** @type {{x: import("./scale.js").Range, y: import("./scale.js").Range}|null} */
    this.full = null;
    this.width = 200;
    this.height = 160;
    this.ratio = 1;
    /** @type {(hit: Hit|null, fixed: boolean) => void} */
    this.onhit = () => {};
    /** @type {(hit: Hit) => void} */
    this.onopen = () => {};
    this.onzoom = () => {};
    this.canvas = document.createElement("canvas");
    this.over = document.createElement("canvas");
    this.stage = document.createElement("div");
    this.stage.className = "stage";
    this.stage.tabIndex = 0;
    this.stage.setAttribute("role", "application");
    this.stage.setAttribute("aria-roledescription", "chart");
    this.stage.setAttribute("aria-label", names.label);
    this.canvas.setAttribute("aria-hidden", "true");
    this.over.setAttribute("aria-hidden", "true");
    this.stage.append(this.canvas, this.over);
    root.append(this.stage);
    this.frame = 0;
    new ResizeObserver(() => this.resize()).observe(this.stage);
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => this.draw());
    document.addEventListener("seis:theme", () => this.draw());
    this.listen();
    this.resize();
  }

  get box() {
    return {
      x: SIDE.left, y: SIDE.top,
      w: Math.max(40, this.width - SIDE.left - SIDE.right), h: Math.max(40, this.height - SIDE.top - SIDE.bottom),
    };
  }

  resize() {
    const r = this.stage.getBoundingClientRect();
    this.width = Math.max(200, r.width);
    this.height = Math.max(160, r.height);
    this.ratio = Math.min(3, devicePixelRatio || 1);
    for (const c of [this.canvas, this.over]) {
      c.width = Math.round(this.width * this.ratio);
      c.height = Math.round(this.height * this.ratio);
    }
    this.draw();
  }

  /** @param {Series[]} series */
  show(series) {
    this.series = series;
    if (this.hit) {
      const same = series.find((s) => s.key === this.hit?.series.key);
      this.hit = same && this.hit.index < same.x.length ? { ...this.hit, series: same } : null;
    }
    this.full = null;
    this.draw();
  }

  visible() {
    return this.series.filter((s) => !this.hidden.has(s.key));
  }

  /** Ranges of both axes: zoomed, or around everything but clouds of poor points. */
  ranges() {
    if (this.zoom) return this.zoom;
    if (!this.full) {
      const shown = this.visible();
      const firm = shown.filter((s) => s.kind !== "cloud" && s.x.length);
      const xs = [], ys = [];
      const most = Math.max(0, ...firm.filter((s) => s.kind !== "line").map((s) => Array.from(s.x).reduce((a, b) => Math.max(a, b), 0)));
      for (const s of firm.length ? firm : shown) {
        for (let i = 0; i < s.x.length; i++) {
          // A bound that reaches far beyond everything found would press the rest together.
          if (s.kind === "line" && most && s.x[i] > REACH * most) continue;
          xs.push(s.x[i]);
          ys.push(s.y[i]);
        }
      }
      this.full = { x: around(xs, this.log.x, 0.04), y: around(ys, this.log.y, 0.06) };
    }
    return this.full;
  }

  /** @param {"x"|"y"} axis @param {boolean} log */
  setLog(axis, log) {
    this.log[axis] = log;
    this.full = null;
    this.zoom = null;
    this.onzoom();
    this.draw();
  }

  /** @param {number} x @param {number} y */
  place(x, y) {
    const { x: rx, y: ry } = this.ranges(), b = this.box;
    return /** @type {[number, number]} */ ([b.x + share(rx, x) * b.w, b.y + (1 - share(ry, y)) * b.h]);
  }

  draw() {
    if (this.frame) return;
    this.frame = requestAnimationFrame(() => {
      this.frame = 0;
      this.paint();
    });
  }

  paint() {
    const c = this.canvas.getContext("2d");
    if (!c) return;
    c.setTransform(this.ratio, 0, 0, this.ratio, 0, 0);
    c.clearRect(0, 0, this.width, this.height);
    this.figure(new CanvasPen(c));
    this.paintOver();
    this.root.dataset.drawn = String(this.series.reduce((n, s) => n + s.x.length, 0));
  }

  /** @param {string} name */
  colour(name) {
    this.style ??= getComputedStyle(this.root);
    return this.style.getPropertyValue(name).trim() || "#888";
  }

  /** @param {CanvasPen|SvgPen} pen */
  figure(pen) {
    this.style = getComputedStyle(this.root);
    const b = this.box, { x: rx, y: ry } = this.ranges();
    const ink = this.colour("--soft"), grid = this.colour("--grid");
    for (const t of ticks(rx, b.w / 80)) {
      const [px] = this.place(t.at, ry.low);
      pen.line([[px, b.y], [px, b.y + b.h]], { stroke: grid });
      pen.text(t.label, px, b.y + b.h + 14, { fill: ink, align: "center" });
    }
    for (const t of ticks(ry, b.h / 46)) {
      const [, py] = this.place(rx.low, t.at);
      pen.line([[b.x, py], [b.x + b.w, py]], { stroke: grid });
      pen.text(t.label, b.x - 8, py, { fill: ink, align: "right" });
    }
    pen.text(this.names.x, b.x + b.w, b.y + b.h + 34, { fill: ink, align: "right" });
    pen.text(this.names.y, 12, b.y, { fill: ink, align: "right", turn: true });
    pen.clip(b.x, b.y, b.w, b.h);
    const shown = this.visible();
    for (const s of shown) if (s.kind === "cloud") this.cloud(pen, s);
    for (const s of shown) if (s.fill) this.area(pen, s);
    for (const s of shown) if (s.kind === "stairs" || s.kind === "line") this.lines(pen, s);
    for (const s of shown) if (s.shape) this.marks(pen, s);
    this.slos(pen);
    pen.unclip();
    pen.line([[b.x, b.y], [b.x, b.y + b.h], [b.x + b.w, b.y + b.h]], { stroke: this.colour("--line") });
    this.pointer(pen);
    this.labels(pen, shown);
  }

  /** @param {CanvasPen|SvgPen} pen @param {Series} s */
  cloud(pen, s) {
    const n = s.x.length, xs = new Float32Array(n), ys = new Float32Array(n);
    const b = this.box, { x: rx, y: ry } = this.ranges();
    let kept = 0;
    for (let i = 0; i < n; i++) {
      const px = b.x + share(rx, s.x[i]) * b.w, py = b.y + (1 - share(ry, s.y[i])) * b.h;
      if (px < b.x || px > b.x + b.w || py < b.y || py > b.y + b.h) continue;
      xs[kept] = px;
      ys[kept++] = py;
    }
    const alpha = n > 20000 ? 0.22 : n > 2000 ? 0.3 : 0.45;
    pen.dots(xs, ys, kept, n > 20000 ? 0.75 : 1.1, { fill: this.colour(s.colour), alpha });
  }

  /** The points of a frontier as steps: what is reached at a speed is reached at every lower one.
   * @param {Series} s */
  path(s) {
    const order = [...Array(s.x.length).keys()].sort((i, j) => s.x[i] - s.x[j]);
    const points = order.map((i) => this.place(s.x[i], s.y[i]));
    if (s.kind === "line") return points;
    /** @type {[number, number][]} */
    const found = [];
    points.forEach(([px, py], i) => {
      found.push(i ? [points[i - 1][0], py] : [this.box.x, py], [px, py]);
    });
    if (points.length) found.push([points[points.length - 1][0], this.box.y + this.box.h]);
    return found;
  }

  /** @param {CanvasPen|SvgPen} pen @param {Series} s */
  area(pen, s) {
    const p = this.path(s), floor = this.box.y + this.box.h;
    if (!p.length) return;
    pen.line([[p[0][0], floor], ...p, [p[p.length - 1][0], floor]], { fill: this.colour(s.fill ?? "") });
  }

  /** @param {CanvasPen|SvgPen} pen @param {Series} s */
  lines(pen, s) {
    pen.line(this.path(s), { stroke: this.colour(s.colour), width: s.width ?? 2, dash: s.dash });
  }

  /** @param {CanvasPen|SvgPen} pen @param {Series} s */
  marks(pen, s) {
    const style = { fill: this.colour(s.colour), stroke: this.colour("--ground"), width: 1 };
    for (let i = 0; i < s.x.length; i++) {
      const [px, py] = this.place(s.x[i], s.y[i]);
      pen.line(mark(s.shape ?? "circle", px, py, s.kind === "marks" ? 6 : 4), style);
    }
  }

  /** @param {CanvasPen|SvgPen} pen */
  slos(pen) {
    const b = this.box, style = { stroke: this.colour("--slo"), width: 1.5, dash: [2, 3] };
    const veil = { fill: this.colour("--veil") };
    if (this.slo.x) {
      const [px] = this.place(this.slo.x, this.ranges().y.low);
      pen.line([[b.x, b.y], [px, b.y], [px, b.y + b.h], [b.x, b.y + b.h]], veil);
      pen.line([[px, b.y], [px, b.y + b.h]], style);
      pen.text(`≥ ${tell(this.slo.x)} per user`, px + 6, b.y + b.h - 12, { fill: this.colour("--slo"), halo: this.colour("--ground") });
    }
    if (this.slo.y) {
      const [, py] = this.place(this.ranges().x.low, this.slo.y);
      pen.line([[b.x, py], [b.x + b.w, py], [b.x + b.w, b.y + b.h], [b.x, b.y + b.h]], veil);
      pen.line([[b.x, py], [b.x + b.w, py]], style);
      pen.text(`≥ ${tell(this.slo.y)} per GPU`, b.x + b.w - 6, py - 10, { fill: this.colour("--slo"), align: "right", halo: this.colour("--ground") });
    }
  }

  /** The one comparison that sums the figure up. @param {CanvasPen|SvgPen} pen */
  pointer(pen) {
    if (!this.arrow) return;
    const from = this.place(...this.arrow.from), to = this.place(...this.arrow.to), b = this.box;
    const inside = [from, to].every(([x, y]) => x >= b.x && x <= b.x + b.w && y >= b.y && y <= b.y + b.h);
    if (!inside) return;
    const ink = this.colour("--ink"), ground = this.colour("--ground");
    const angle = Math.atan2(to[1] - from[1], to[0] - from[0]), long = Math.hypot(to[0] - from[0], to[1] - from[1]);
    if (long > 14) {
      const tip = /** @type {[number, number]} */ ([to[0] - 5 * Math.cos(angle), to[1] - 5 * Math.sin(angle)]);
      pen.line([from, tip], { stroke: ground, width: 5 });
      pen.line([from, tip], { stroke: ink, width: 1.5 });
      const wing = (/** @type {number} */ a) => /** @type {[number, number]} */ ([tip[0] - 7 * Math.cos(angle + a), tip[1] - 7 * Math.sin(angle + a)]);
      pen.line([tip, wing(0.45), wing(-0.45)], { fill: ink });
    }
    const right = to[0] < b.x + b.w - 150;
    pen.text(this.arrow.text, to[0] + (right ? 10 : -10), to[1] - 12, { fill: ink, bold: true, align: right ? "left" : "right", halo: ground });
  }

  /** Names at the left ends of lines, kept apart. @param {CanvasPen|SvgPen} pen @param {Series[]} shown */
  labels(pen, shown) {
    const b = this.box;
    if (b.w < 420) return; // the legend above says it
    const found = shown.filter((s) => s.end && s.x.length).map((s) => ({ s, y: this.path(s)[0][1] - 9 }));
    found.sort((p, q) => p.y - q.y);
    let last = -Infinity;
    for (const l of found) {
      l.y = Math.min(b.y + b.h - 8, Math.max(l.y, last + 15, b.y + 8));
      last = l.y;
      pen.text(l.s.end ?? "", b.x + 8, l.y, { fill: this.colour(l.s.colour), bold: true, halo: this.colour("--ground") });
    }
  }

  paintOver() {
    const c = this.over.getContext("2d");
    if (!c) return;
    c.setTransform(this.ratio, 0, 0, this.ratio, 0, 0);
    c.clearRect(0, 0, this.width, this.height);
    if (this.band) {
      const [x0, y0, x1, y1] = this.band;
      c.fillStyle = this.colour("--veil");
      c.strokeStyle = this.colour("--slo");
      c.fillRect(x0, y0, x1 - x0, y1 - y0);
      c.strokeRect(x0, y0, x1 - x0, y1 - y0);
    }
    if (!this.hit) return;
    const { series, index } = this.hit;
    const [px, py] = this.place(series.x[index], series.y[index]), b = this.box;
    c.strokeStyle = this.colour("--soft");
    c.setLineDash([3, 3]);
    c.beginPath();
    c.moveTo(b.x, py); c.lineTo(px, py); c.lineTo(px, b.y + b.h);
    c.stroke();
    c.setLineDash([]);
    c.lineWidth = 2.5;
    c.strokeStyle = this.colour("--ink");
    c.beginPath();
    c.arc(px, py, 7, 0, 7);
    c.stroke();
  }

  /** The point nearest to a place, frontier points first. @param {number} mx @param {number} my */
  nearest(mx, my) {
    /** @type {Hit|null} */
    let best = null;
    let close = Infinity;
    const b = this.box, { x: rx, y: ry } = this.ranges();
    for (const s of this.visible()) {
      if (s.kind === "line") continue;
      const bonus = s.kind === "cloud" ? 1 : s.fill === "--old-tint" ? 0.35 : 0.2;
      for (let i = 0; i < s.x.length; i++) {
        const dx = b.x + share(rx, s.x[i]) * b.w - mx, dy = b.y + (1 - share(ry, s.y[i])) * b.h - my;
        const d = (dx * dx + dy * dy) * bonus;
        if (d < close) {
          close = d;
          best = { series: s, index: i, px: mx + dx, py: my + dy };
        }
      }
    }
    return close < 900 ? best : null;
  }

  /** @param {Hit|null} hit @param {boolean} fixed chosen, not only hovered */
  take(hit, fixed) {
    this.hit = hit;
    this.paintOver();
    this.onhit(hit, fixed);
  }

  listen() {
    const stage = this.stage;
    /** @type {[number, number]|null} */
    let start = null;
    let moved = false;
    const at = (/** @type {PointerEvent|WheelEvent} */ e) => {
      const r = stage.getBoundingClientRect();
      return /** @type {[number, number]} */ ([e.clientX - r.left, e.clientY - r.top]);
    };
    stage.addEventListener("pointerdown", (e) => {
      if (e.button || e.pointerType === "touch") return;
      start = at(e);
      moved = false;
      stage.setPointerCapture(e.pointerId);
    });
    stage.addEventListener("pointermove", (e) => {
      const [x, y] = at(e);
      if (start && Math.hypot(x - start[0], y - start[1]) > 5) moved = true;
      if (start && moved) {
        this.band = [start[0], start[1], x, y];
        this.paintOver();
        return;
      }
      this.take(this.nearest(x, y), false);
    });
    stage.addEventListener("pointerup", (e) => {
      const p = at(e);
      const [x, y] = p;
      if (start && moved) this.zoomTo(start, p);
      else {
        const hit = this.nearest(x, y);
        this.take(hit, true);
        if (hit && start) this.onopen(hit);
      }
      start = null;
      this.band = null;
      this.paintOver();
    });
    stage.addEventListener("pointerleave", () => { if (!start) this.take(this.kept ?? null, false); });
    stage.addEventListener("dblclick", () => this.reset());
    stage.addEventListener("keydown", (e) => this.key(e));
  }

  /** @param {[number, number]} p @param {[number, number]} q */
  zoomTo(p, q) {
    const b = this.box, { x: rx, y: ry } = this.ranges();
    const t = (/** @type {number} */ v) => Math.min(1, Math.max(0, v));
    const xs = [t((p[0] - b.x) / b.w), t((q[0] - b.x) / b.w)].sort((a, c) => a - c);
    const ys = [t(1 - (p[1] - b.y) / b.h), t(1 - (q[1] - b.y) / b.h)].sort((a, c) => a - c);
    if (xs[1] - xs[0] < 0.01 || ys[1] - ys[0] < 0.01) return;
    this.zoom = {
      x: { low: value(rx, xs[0]), high: value(rx, xs[1]), log: rx.log },
      y: { low: value(ry, ys[0]), high: value(ry, ys[1]), log: ry.log },
    };
    this.onzoom();
    this.draw();
  }

  /** @param {number} factor */
  scaleBy(factor) {
    const b = this.box, [cx, cy] = this.hit
      ? this.place(this.hit.series.x[this.hit.index], this.hit.series.y[this.hit.index])
      : [b.x + b.w / 2, b.y + b.h / 2];
    if (factor < 1 && !this.zoom) return;
    if (factor >= 1) {
      const w = b.w / factor / 2, h = b.h / factor / 2;
      this.zoomTo([cx - w, cy - h], [cx + w, cy + h]);
      return;
    }
    const { x, y } = this.ranges();
    const wide = (/** @type {import("./scale.js").Range} */ r) => ({ low: value(r, -0.25), high: value(r, 1.25), log: r.log });
    this.zoom = { x: wide(x), y: wide(y) };
    this.onzoom();
    this.draw();
  }

  reset() {
    this.zoom = null;
    this.onzoom();
    this.draw();
  }

  /** @param {KeyboardEvent} e */
  key(e) {
    const walks = this.visible().filter((s) => s.walk && s.x.length);
    if (e.ctrlKey || e.metaKey || e.altKey) return;
    const step = { ArrowRight: 1, ArrowLeft: -1 }[e.key];
    const series = this.hit && walks.includes(this.hit.series) ? this.hit.series : walks[0];
    if (step || e.key === "Home" || e.key === "End") {
      if (!series) return;
      const order = [...Array(series.x.length).keys()].sort((i, j) => series.x[i] - series.x[j]);
      let at = this.hit?.series === series ? order.indexOf(this.hit.index) : -1;
      at = e.key === "Home" ? 0 : e.key === "End" ? order.length - 1 : at < 0 ? 0 : at + (step ?? 0);
      const index = order[Math.min(order.length - 1, Math.max(0, at))];
      this.take({ series, index, px: 0, py: 0 }, true);
    } else if (e.key === "ArrowUp" || e.key === "ArrowDown") {
      if (walks.length < 2) return;
      const next = walks[(walks.indexOf(series) + (e.key === "ArrowUp" ? 1 : walks.length - 1)) % walks.length];
      const x = this.hit ? this.hit.series.x[this.hit.index] : next.x[0];
      let index = 0;
      for (let i = 0; i < next.x.length; i++) if (Math.abs(next.x[i] - x) < Math.abs(next.x[index] - x)) index = i;
      this.take({ series: next, index, px: 0, py: 0 }, true);
    } else if (e.key === "Enter" && this.hit) this.onopen(this.hit);
    else if (e.key === "+" || e.key === "=") this.scaleBy(1.6);
    else if (e.key === "-") this.scaleBy(0.6);
    else if (e.key === "0" || e.key === "Escape") this.reset();
    else return;
    e.preventDefault();
  }

  /** @returns {string} the figure as an SVG file */
  svg() {
    const pen = new SvgPen(this.width, this.height, this.colour("--ground"));
    this.figure(pen);
    return pen.end();
  }

  /** @returns {Promise<Blob>} the figure as a PNG file with its ground */
  png() {
    const copy = document.createElement("canvas");
    copy.width = this.width * 2;
    copy.height = this.height * 2;
    const c = /** @type {CanvasRenderingContext2D} */ (copy.getContext("2d"));
    c.scale(2, 2);
    c.fillStyle = this.colour("--ground");
    c.fillRect(0, 0, this.width, this.height);
    this.figure(new CanvasPen(c));
    return new Promise((done, fail) => copy.toBlob((b) => (b ? done(b) : fail(new Error("no picture"))), "image/png"));
  }
}

/** @param {string} shape @param {number} x @param {number} y @param {number} r @returns {[number, number][]} */
function mark(shape, x, y, r) {
  if (shape === "square") return [[x - r, y - r], [x + r, y - r], [x + r, y + r], [x - r, y + r]].map(pair);
  if (shape === "diamond") return [[x, y - r * 1.3], [x + r * 1.3, y], [x, y + r * 1.3], [x - r * 1.3, y]].map(pair);
  if (shape === "triangle") return [[x, y - r * 1.2], [x + r * 1.1, y + r * 0.9], [x - r * 1.1, y + r * 0.9]].map(pair);
  if (shape === "cross") {
    const q = r / 2.5;
    return [[-q, -r], [q, -r], [q, -q], [r, -q], [r, q], [q, q], [q, r], [-q, r], [-q, q], [-r, q], [-r, -q], [-q, -q]].map(
      ([a, b]) => pair([x + a, y + b]),
    );
  }
  return Array.from({ length: 12 }, (_, i) => pair([x + r * Math.cos((i * Math.PI) / 6), y + r * Math.sin((i * Math.PI) / 6)]));
}

/** @param {number[]} p @returns {[number, number]} */
function pair(p) {
  return [p[0], p[1]];
}

export { exact };
