// The frontier chart of a page: what is new, how much better it is, how far it is from the limit.

import { address, keep, save } from "./state.js";
import { owner, read } from "./columns.js";
import { Plot } from "./plot.js";
import { exact } from "./scale.js";

const USER = "tokens_per_second_per_user", GPU = "tokens_per_second_per_gpu";

/** @typedef {Record<string, any>} Json */

/** A figure with `data-source`, the id of a block of JSON as server/dashboard/frontiers.py makes it. */
class Frontier {
  /** @param {HTMLElement} root */
  constructor(root) {
    this.root = root;
    this.search = root.dataset.search ?? "";
    /** @type {Json} */
    this.data = {};
    /** @type {import("./columns.js").Columns|null} */
    this.columns = null;
    /** @type {{x: number[], y: number[]}|null} */
    this.bound = null;
    this.legendKey = "";
    this.resting = 0;
    root.querySelector(".fallback")?.remove();
    const stage = /** @type {HTMLElement} */ (root.querySelector(".plot"));
    this.plot = new Plot(stage, {
      x: "interactivity, tokens/s/user", y: "throughput, tokens/s/GPU",
      label: "Frontier of throughput against interactivity. Arrow keys walk along it, Enter opens a design, plus and minus zoom, 0 shows all.",
    });
    this.readout = /** @type {HTMLElement} */ (root.querySelector(".readout"));
    this.plot.onhit = (hit, fixed) => this.tell(hit, fixed);
    this.plot.onopen = (hit) => this.open(hit);
    this.plot.onzoom = () => this.remember();
    this.controls();
    this.recall();
    this.refresh();
  }

  /** Read the page's data again, and fetch the points where there are new ones. */
  async refresh() {
    const block = document.getElementById(this.root.dataset.block ?? "");
    this.data = JSON.parse(block?.textContent || "{}");
    this.update();
    if (this.data.designs || !this.search) return;
    try {
      const answer = await fetch(`/searches/${this.search}/points`);
      if (answer.ok) this.columns = read(await answer.arrayBuffer());
      this.update();
      this.select(address().get("point"));
      if (!this.bound) this.limit();
    } catch {
      this.say("Points cannot be loaded now; the lines are from when the page was.");
    }
  }

  async limit() {
    for (let i = 0; i < 20 && !this.bound; i++) {
      const answer = await fetch(`/searches/${this.search}/bound`);
      if (answer.status === 202) {
        await new Promise((done) => setTimeout(done, 2000));
        continue;
      }
      if (!answer.ok) return;
      const found = await answer.json();
      if (!found.x.length) return;
      this.bound = found;
    }
    this.update();
    this.distance();
  }

  /** How far the best point is from the limit, in words. */
  distance() {
    const out = document.getElementById("of-limit");
    const best = this.data.best?.new;
    if (!out || !this.bound) return;
    const front = this.data.frontier ?? [];
    let share = 0;
    for (const p of best ? [best] : front) {
      // Along the ray through the point: how much better could both be at once.
      let most = 0;
      for (let i = 0; i < this.bound.x.length; i++) {
        most = Math.max(most, Math.min(this.bound.x[i] / p[USER], this.bound.y[i] / p[GPU]));
      }
      if (most) share = Math.max(share, 1 / most);
    }
    if (share) out.textContent = `${Math.min(100, Math.round(100 * share))} %`;
  }

  update() {
    const d = this.data;
    /** @type {import("./plot.js").Series[]} */
    const series = [];
    if (d.designs) series.push(...several(d.designs));
    else {
      if (this.bound) {
        series.push({ key: "limit", name: "limit: no design can be above", kind: "line", x: this.bound.x, y: this.bound.y, colour: "--limit", dash: [7, 4], width: 2, end: "limit" });
      }
      if (this.columns) series.push({ key: "all", name: "every point tried", kind: "cloud", x: this.columns.x, y: this.columns.y, colour: "--cloud" });
      const f = d.frontier ?? [], b = d.baseline ?? [];
      series.push({ key: "new", name: "discovered", kind: "stairs", walk: true, shape: "circle", fill: "--new-tint", width: 2.5, x: f.map((/** @type {Json} */ p) => p[USER]), y: f.map((/** @type {Json} */ p) => p[GPU]), colour: "--new", end: f.length ? "discovered" : "" });
      series.push({ key: "old", name: "conventional", kind: "stairs", walk: true, shape: "square", fill: "--old-tint", dash: [4, 3], width: 1.5, x: b.map((/** @type {Json} */ p) => p[USER]), y: b.map((/** @type {Json} */ p) => p[GPU]), colour: "--old", end: b.length ? "conventional" : "" });
      if (d.own) series.push({ key: "own", name: "this design", kind: "stairs", walk: true, shape: "diamond", width: 2, x: d.own.x, y: d.own.y, colour: "--own", end: "this design" });
      const runs = this.measured();
      if (runs.length) series.push({ key: "run", name: "measured", kind: "marks", walk: true, shape: "triangle", x: runs.map((r) => r.x), y: runs.map((r) => r.y), colour: "--run" });
      const best = d.best;
      this.plot.arrow = best ? { from: [best.old[USER], best.old[GPU]], to: [best.new[USER], best.new[GPU]], text: `+${(100 * best.gain).toFixed(1)} % on both` } : null;
    }
    this.plot.show(series);
    this.legend(series);
  }

  /** @returns {{x: number, y: number, label: string}[]} */
  measured() {
    const text = address().get("measured") ?? "";
    return text.split(";").map((part) => part.split(",")).filter((p) => p.length > 1 && Number(p[0]) > 0 && Number(p[1]) > 0)
      .map((p) => ({ x: Number(p[0]), y: Number(p[1]), label: p.slice(2).join(",").trim() }));
  }

  /** @param {import("./plot.js").Series[]} series */
  legend(series) {
    const list = this.root.querySelector(".legend");
    if (!list) return;
    const key = series.map((s) => s.key + s.name).join();
    if (this.legendKey === key) return;
    this.legendKey = key;
    list.replaceChildren(...series.map((s) => {
      const button = document.createElement("button");
      button.type = "button";
      button.className = `key key-${s.kind} shape-${s.shape ?? "none"}`;
      button.dataset.colour = s.colour.slice(2);
      button.setAttribute("aria-pressed", String(!this.plot.hidden.has(s.key)));
      button.append(Object.assign(document.createElement("i"), { ariaHidden: "true" }), s.name);
      button.addEventListener("click", () => {
        if (!this.plot.hidden.delete(s.key)) this.plot.hidden.add(s.key);
        button.setAttribute("aria-pressed", String(!this.plot.hidden.has(s.key)));
        this.plot.full = null;
        save({ hide: [...this.plot.hidden].join(",") || null });
        this.plot.draw();
      });
      const item = document.createElement("li");
      item.append(button);
      return item;
    }));
  }

  /** @param {import("./plot.js").Hit} hit @returns {Json} */
  about(hit) {
    const { series, index } = hit, d = this.data;
    const at = { x: series.x[index], y: series.y[index] };
    if (series.key === "new") return { ...at, ...d.frontier[index], what: "discovered" };
    if (series.key === "old") return { ...at, ...d.baseline[index], what: "conventional" };
    if (series.key === "run") return { ...at, what: "measured", summary: this.measured()[index].label };
    if (series.key === "own") return { ...at, what: "this design", design: d.own.structure, at: index };
    if (series.key === "all" && this.columns) {
      const c = this.columns, of = owner(c, index);
      return { ...at, what: "tried", design: c.designs[of][0], summary: c.designs[of][1], at: index - c.starts[of] };
    }
    return { ...at, what: series.name };
  }

  /** @param {import("./plot.js").Hit|null} hit @param {boolean} fixed */
  tell(hit, fixed) {
    if (!hit) {
      this.readout.textContent = this.readout.dataset.hint ?? "";
      return;
    }
    const a = this.about(hit);
    const parts = [`${a.what}: ${exact(a.x)} tokens/s/user, ${exact(a.y)} tokens/s/GPU`];
    if (a.batch) parts.push(`${exact(a.batch)} sequences`);
    const sizes = Object.entries(a.configuration ?? {}).filter(([, v]) => Number(v) > 1).map(([k, v]) => `${k} ${v}`).join(" ");
    if (sizes) parts.push(sizes);
    if (a.summary) parts.push(a.summary);
    const better = this.ahead(a);
    if (better) parts.push(better);
    this.readout.textContent = parts.join(" · ");
    if (hit.series.key === "all") this.more(hit.index);
    if (fixed && (hit.series.key === "new" || hit.series.key === "old")) {
      this.plot.kept = hit;
      save({ point: `${hit.series.key}.${hit.index}` });
    }
  }

  /** What the columns leave out of a point: its sequences and sizes, once the pointer rests on it. @param {number} index */
  more(index) {
    clearTimeout(this.resting);
    this.resting = window.setTimeout(async () => {
      const answer = await fetch(`/searches/${this.search}/points/${index}`);
      if (!answer.ok || this.plot.hit?.index !== index) return;
      const p = await answer.json();
      const sizes = Object.entries(p.configuration).filter(([, v]) => Number(v) > 1).map(([k, v]) => `${k} ${v}`).join(" ");
      this.readout.textContent += ` · ${exact(p.batch)} sequences${sizes ? ` · ${sizes}` : ""}${p.summary ? ` · ${p.summary}` : ""}`;
    }, 200);
  }

  /** How much more throughput than the conventional frontier at the same interactivity. @param {Json} a */
  ahead(a) {
    if (a.what === "conventional" || !this.data.baseline) return "";
    const best = Math.max(0, ...this.data.baseline.filter((/** @type {Json} */ p) => p[USER] >= a.x * 0.999999).map((/** @type {Json} */ p) => p[GPU]));
    if (!best) return "faster per user than any conventional design";
    const share = 100 * (a.y / best - 1);
    return `${share >= 0 ? "+" : "−"}${Math.abs(share).toFixed(1)} % throughput at this interactivity`;
  }

  /** @param {import("./plot.js").Hit} hit */
  open(hit) {
    const a = this.about(hit);
    if (!a.design || hit.series.key === "old" || !this.search) return;
    location.href = `/discoveries/${this.search}/${a.design}?point=${a.at ?? 0}`;
  }

  /** @param {string|null} text `new.12` */
  select(text) {
    const [key, index] = (text ?? "").split(".");
    const series = this.plot.series.find((s) => s.key === key);
    if (!series || !(Number(index) < series.x.length)) return;
    const [px, py] = this.plot.place(series.x[Number(index)], series.y[Number(index)]);
    this.plot.kept = { series, index: Number(index), px, py };
    this.plot.take(this.plot.kept, false);
  }

  remember() {
    const z = this.plot.zoom;
    const text = z ? [z.x.low, z.x.high, z.y.low, z.y.high].map((v) => Number(v.toPrecision(5))).join(",") : null;
    save({ zoom: text, scale: this.plot.log.x ? null : "linear" });
  }

  recall() {
    const query = address();
    if (query.get("scale") === "linear") this.plot.log = { x: false, y: false };
    const z = (query.get("zoom") ?? "").split(",").map(Number);
    const fine = z.length === 4 && z.every(Number.isFinite) && z[0] < z[1] && z[2] < z[3];
    if (fine && !(this.plot.log.x && Math.min(...z) <= 0)) {
      this.plot.zoom = { x: { low: z[0], high: z[1], log: this.plot.log.x }, y: { low: z[2], high: z[3], log: this.plot.log.y } };
    }
    for (const name of (query.get("hide") ?? "").split(",").filter(Boolean)) this.plot.hidden.add(name);
    for (const axis of /** @type {const} */ (["x", "y"])) {
      const input = /** @type {HTMLInputElement|null} */ (this.root.querySelector(`[name=slo_${axis}]`));
      const given = query.get(`slo_${axis}`) ?? input?.value;
      this.plot.slo[axis] = Number(given) > 0 ? Number(given) : null;
      if (input && given) input.value = given;
    }
    const area = /** @type {HTMLTextAreaElement|null} */ (this.root.querySelector("[name=measured]"));
    if (area) area.value = (query.get("measured") ?? "").split(";").join("\n");
    const log = /** @type {HTMLInputElement|null} */ (this.root.querySelector("[name=log]"));
    if (log) log.checked = this.plot.log.x;
  }

  controls() {
    const on = (/** @type {string} */ name, /** @type {string} */ event, /** @type {(e: any) => void} */ act) =>
      this.root.querySelector(name)?.addEventListener(event, act);
    on("[name=log]", "change", (e) => {
      this.plot.log = { x: e.target.checked, y: e.target.checked };
      this.plot.full = null;
      this.plot.reset();
    });
    on("[data-do=all]", "click", () => this.plot.reset());
    on("[data-do=in]", "click", () => this.plot.scaleBy(1.6));
    on("[data-do=out]", "click", () => this.plot.scaleBy(0.6));
    on("[data-do=png]", "click", async () => give("frontier.png", await this.plot.png()));
    on("[data-do=svg]", "click", () => give("frontier.svg", new Blob([this.plot.svg()], { type: "image/svg+xml" })));
    for (const axis of /** @type {const} */ (["x", "y"])) {
      on(`[name=slo_${axis}]`, "input", (e) => {
        this.plot.slo[axis] = Number(e.target.value) > 0 ? Number(e.target.value) : null;
        save({ [`slo_${axis}`]: this.plot.slo[axis] });
        this.plot.draw();
      });
    }
    on("[name=measured]", "input", keep((e) => {
      save({ measured: e.target.value.split("\n").map((/** @type {string} */ l) => l.trim()).filter(Boolean).join(";") || null });
      this.plot.full = null;
      this.update();
    }));
  }

  /** @param {string} text */
  say(text) {
    this.readout.textContent = text;
  }
}

/** Designs side by side, each with a colour and a shape of its own. @param {Json[]} designs @returns {import("./plot.js").Series[]} */
function several(designs) {
  const shapes = ["circle", "square", "diamond", "triangle", "cross", "circle"];
  const dashes = [[], [6, 3], [2, 3], [8, 3, 2, 3], [], [4, 2]];
  return designs.map((d, i) => ({
    key: `d${i}`, name: `${i + 1}. ${d.name}`, kind: "stairs", walk: true, shape: shapes[i], dash: dashes[i],
    x: d.x, y: d.y, colour: `--series-${i + 1}`, end: String(i + 1),
  }));
}

/** @param {string} name @param {Blob} blob */
function give(name, blob) {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(blob);
  link.download = `seis-${name}`;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 1000);
}

/** @type {Frontier[]} */
const found = [];
for (const root of document.querySelectorAll("figure.frontier")) found.push(new Frontier(/** @type {HTMLElement} */ (root)));
document.addEventListener("seis:updated", () => found.forEach((f) => f.refresh()));
