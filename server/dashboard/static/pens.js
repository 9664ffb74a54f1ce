// Two ways to draw the same figure: on a canvas, and as the text of an SVG file.

/**
 * @typedef {object} Style
 * @property {string} [stroke] @property {string} [fill] @property {number} [width]
 * @property {number[]} [dash] @property {number} [alpha]
 */

const FONT = '12px system-ui, "Segoe UI", Roboto, sans-serif';

/** Draws on a canvas. */
export class CanvasPen {
  /** @param {CanvasRenderingContext2D} c */
  constructor(c) {
    this.c = c;
  }

  /** @param {[number, number][]} points @param {Style} style */
  line(points, style) {
    if (!points.length) return;
    const c = this.c;
    c.save();
    c.globalAlpha = style.alpha ?? 1;
    c.beginPath();
    points.forEach(([x, y], i) => (i ? c.lineTo(x, y) : c.moveTo(x, y)));
    if (style.fill) {
      c.closePath();
      c.fillStyle = style.fill;
      c.fill();
    }
    if (style.stroke) {
      c.strokeStyle = style.stroke;
      c.lineWidth = style.width ?? 1;
      c.setLineDash(style.dash ?? []);
      c.stroke();
    }
    c.restore();
  }

  /** @param {Float32Array} xs @param {Float32Array} ys @param {number} n @param {number} r @param {Style} style */
  dots(xs, ys, n, r, style) {
    const c = this.c;
    c.save();
    c.globalAlpha = style.alpha ?? 1;
    c.fillStyle = style.fill ?? "#000";
    for (let i = 0; i < n; i++) c.fillRect(xs[i] - r, ys[i] - r, 2 * r, 2 * r);
    c.restore();
  }

  /** @param {string} text @param {number} x @param {number} y @param {{fill: string, align?: CanvasTextAlign, turn?: boolean, bold?: boolean, halo?: string}} style */
  text(text, x, y, style) {
    const c = this.c;
    c.save();
    c.font = (style.bold ? "600 " : "") + FONT;
    c.textAlign = style.align ?? "left";
    c.textBaseline = "middle";
    c.translate(x, y);
    if (style.turn) c.rotate(-Math.PI / 2);
    if (style.halo) {
      c.strokeStyle = style.halo;
      c.lineWidth = 4;
      c.lineJoin = "round";
      c.strokeText(text, 0, 0);
    }
    c.fillStyle = style.fill;
    c.fillText(text, 0, 0);
    c.restore();
  }

  /** @param {number} x @param {number} y @param {number} w @param {number} h */
  clip(x, y, w, h) {
    this.c.save();
    this.c.beginPath();
    this.c.rect(x, y, w, h);
    this.c.clip();
  }

  unclip() {
    this.c.restore();
  }
}

/** Writes SVG. */
export class SvgPen {
  /** @param {number} width @param {number} height @param {string} ground */
  constructor(width, height, ground) {
    this.parts = [
      `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}" viewBox="0 0 ${width} ${height}">`,
      `<rect width="100%" height="100%" fill="${ground}"/>`,
    ];
    this.clips = 0;
  }

  /** @param {[number, number][]} points @param {Style} s */
  line(points, s) {
    if (!points.length) return;
    const d = points.map(([x, y], i) => `${i ? "L" : "M"}${x.toFixed(1)} ${y.toFixed(1)}`).join("");
    const dash = s.dash?.length ? ` stroke-dasharray="${s.dash.join(" ")}"` : "";
    this.parts.push(
      `<path d="${d}${s.fill ? "Z" : ""}" fill="${s.fill ?? "none"}" stroke="${s.stroke ?? "none"}" ` +
        `stroke-width="${s.width ?? 1}" opacity="${s.alpha ?? 1}"${dash}/>`,
    );
  }

  /** @param {Float32Array} xs @param {Float32Array} ys @param {number} n @param {number} r @param {Style} s */
  dots(xs, ys, n, r, s) {
    const step = Math.max(1, Math.ceil(n / 20000)); // a drawing with more would not open anywhere
    let d = "";
    for (let i = 0; i < n; i += step) d += `M${xs[i].toFixed(1)} ${ys[i].toFixed(1)}h.01`;
    this.parts.push(
      `<path d="${d}" stroke="${s.fill}" stroke-width="${2 * r}" stroke-linecap="square" opacity="${s.alpha ?? 1}"/>`,
    );
  }

  /** @param {string} text @param {number} x @param {number} y @param {{fill: string, align?: string, turn?: boolean, bold?: boolean}} s */
  text(text, x, y, s) {
    const anchor = { left: "start", center: "middle", right: "end" }[s.align ?? "left"] ?? "start";
    const turn = s.turn ? ` transform="rotate(-90 ${x} ${y})"` : "";
    const safe = text.replace(/[&<>]/g, (m) => ({ "&": "&amp;", "<": "&lt;", ">": "&gt;" })[m] ?? m);
    this.parts.push(
      `<text x="${x.toFixed(1)}" y="${y.toFixed(1)}" dy="0.35em" font-family="system-ui, sans-serif" font-size="12" ` +
        `font-weight="${s.bold ? 600 : 400}" text-anchor="${anchor}" fill="${s.fill}"${turn}>${safe}</text>`,
    );
  }

  /** @param {number} x @param {number} y @param {number} w @param {number} h */
  clip(x, y, w, h) {
    const id = `c${this.clips++}`;
    this.parts.push(
      `<clipPath id="${id}"><rect x="${x}" y="${y}" width="${w}" height="${h}"/></clipPath><g clip-path="url(#${id})">`,
    );
  }

  unclip() {
    this.parts.push("</g>");
  }

  end() {
    return this.parts.join("\n") + "</svg>\n";
  }
}
