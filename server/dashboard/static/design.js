// The page of a design: the operating-point slider, the roofline's operators, and the replay.

import { address, save, secret } from "./state.js";
import { exact } from "./scale.js";

/** @typedef {Record<string, any>} Json */

const block = document.getElementById("operating-data");
const slider = /** @type {HTMLInputElement|null} */ (document.getElementById("operating"));

if (block && slider) {
  /** @type {Json[]} */
  const points = JSON.parse(block.textContent ?? "[]");
  const most = Math.max(...points.map((p) => p.clocks.overlapped));
  const show = () => {
    const p = points[Number(slider.value)];
    const began = performance.now();
    put("op-user", exact(p.tokens_per_second_per_user));
    put("op-gpu", exact(p.tokens_per_second_per_gpu));
    put("op-batch", exact(p.batch));
    put("op-step", seconds(p.clocks.overlapped));
    put("op-limit", `${Math.round((100 * p.clocks.limit) / p.clocks.overlapped)} %`);
    put("op-binding", p.binding);
    put("op-sizes", Object.entries(p.configuration).filter(([k, v]) => Number(v) > (k === "drafted" || k === "overlap" ? 0 : 1)).map(([k, v]) => `${k} ${v}`).join(", ") || "one device");
    bars("op-sections", p.sections, most);
    bars("op-resources", p.resources, most);
    for (const [pool, m] of Object.entries(p.memory)) memory(pool, m);
    slider.setAttribute("aria-valuetext", `${exact(p.tokens_per_second_per_user)} tokens per second per user, ${exact(p.tokens_per_second_per_gpu)} per GPU`);
    slider.dataset.ms = (performance.now() - began).toFixed(1);
  };
  slider.addEventListener("input", () => { show(); save({ point: slider.value }); });
  show();
}

/** @param {string} id @param {string} text */
function put(id, text) {
  const out = document.getElementById(id);
  if (out) out.textContent = text;
}

/** @param {number} s */
function seconds(s) {
  return s < 1e-3 ? `${exact(s * 1e6)} µs` : s < 1 ? `${exact(s * 1e3)} ms` : `${exact(s)} s`;
}

/** @param {string} id @param {Record<string, number>} parts @param {number} most */
function bars(id, parts, most) {
  const table = document.getElementById(id);
  if (!table) return;
  for (const row of table.querySelectorAll("tr[data-name]")) {
    const v = parts[row.getAttribute("data-name") ?? ""] ?? 0;
    row.querySelector("rect.fill")?.setAttribute("width", String((100 * v) / most));
    const out = row.querySelector(".v");
    if (out) out.textContent = v ? seconds(v) : "–";
  }
}

/** @param {string} pool @param {Json} m */
function memory(pool, m) {
  const row = document.querySelector(`[data-pool="${CSS.escape(pool)}"]`);
  if (!row) return;
  let at = 0;
  for (const kind of ["weights", "kv", "activations"]) {
    const wide = (100 * m[kind]) / m.capacity;
    const rect = row.querySelector(`rect.m-${kind}`);
    rect?.setAttribute("x", String(at));
    rect?.setAttribute("width", String(wide));
    at += wide;
  }
  const out = row.querySelector(".v");
  if (out) out.textContent = `${Math.round(at)} % full`;
}

// Operators of the roofline: the one under the pointer or the focus is told in words.
const tip = document.getElementById("roofline-tip");
for (const dot of document.querySelectorAll(".roofline [data-tip]")) {
  const tell = () => { if (tip) tip.textContent = dot.getAttribute("data-tip"); };
  dot.addEventListener("pointerenter", tell);
  dot.addEventListener("focus", tell);
}

const replay = /** @type {HTMLFormElement|null} */ (document.getElementById("replay"));
replay?.addEventListener("submit", async (e) => {
  e.preventDefault();
  const out = /** @type {HTMLElement} */ (document.getElementById("replayed"));
  const button = /** @type {HTMLButtonElement} */ (replay.querySelector("button"));
  button.disabled = true;
  out.textContent = "Verifying again…";
  try {
    const answer = await fetch(replay.action, { method: "POST", headers: { Accept: "application/json", "X-CSRF-Token": secret() } });
    const found = await answer.json();
    if (found.stands === true) out.textContent = `It stands: the same verdict, trials and bound, found again in ${found.seconds.toFixed(1)} s.`;
    else if (found.stands === false) out.textContent = `It does not stand: ${found.differences.join("; ")}.`;
    else out.textContent = found.detail ?? found.problem ?? found.differences?.join("; ") ?? "It could not be replayed.";
    out.dataset.stands = String(found.stands);
  } catch {
    out.textContent = "The server was not reached; try again.";
  }
  button.disabled = false;
});

address();
