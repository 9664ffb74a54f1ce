// Forms that are checked in words while they are filled in, with an estimate or the next fires.

import { keep, secret } from "./state.js";

const form = /** @type {HTMLFormElement} */ (document.querySelector("form[data-check]"));
const touched = new Set();

/** @param {string} name @param {string} text */
function mark(name, text) {
  const field = form.elements.namedItem(name);
  const place = document.getElementById(`wrong-${name}`);
  if (place && place.textContent !== text) place.textContent = text;
  if (field instanceof HTMLElement) {
    if (text) field.setAttribute("aria-invalid", "true");
    else field.removeAttribute("aria-invalid");
  }
}

const check = keep(async () => {
  try {
    const answer = await fetch(form.dataset.check ?? "", { method: "POST", body: new URLSearchParams(/** @type {any} */ (new FormData(form))), headers: { "X-CSRF-Token": secret() } });
    if (!answer.ok) return;
    const { errors, estimate, fires } = await answer.json();
    for (const name of touched) mark(name, errors[name] ?? "");
    const out = document.getElementById("estimate");
    if (out && estimate) out.textContent = estimate.text;
    if (fires) coming(fires);
  } catch {
    // The server checks again when the form is sent.
  }
}, 300);

/** The next fires: local time, offset, and what is done to the clocks. @param {{local: string, utc_offset: string, clock_change_seconds: number}[]} fires */
function coming(fires) {
  const place = document.getElementById("coming");
  if (!place) return;
  const table = document.createElement("table");
  table.className = "narrow fires";
  table.createCaption().textContent = fires.length ? "Next fires" : "No fires: the expression or the time zone is not complete";
  const body = table.createTBody();
  for (const f of fires) {
    const row = body.insertRow();
    row.insertCell().textContent = f.local.slice(0, 16).replace("T", " ");
    row.insertCell().textContent = `UTC${f.utc_offset.slice(0, 3)}:${f.utc_offset.slice(3)}`;
    const mark = row.insertCell();
    if (f.clock_change_seconds) {
      const hours = Math.abs(f.clock_change_seconds) / 3600;
      mark.append(Object.assign(document.createElement("span"), { className: "chip warn", textContent: `clocks go ${f.clock_change_seconds > 0 ? "forward" : "back"} ${hours} h` }));
    }
  }
  place.replaceChildren(table);
}

function source() {
  const choice = form.elements.namedItem("source");
  if (!(choice instanceof RadioNodeList)) return;
  const chosen = choice.value;
  for (const part of form.querySelectorAll("[data-source]")) {
    /** @type {HTMLElement} */ (part).hidden = !(part.getAttribute("data-source") ?? "").split(" ").includes(chosen);
  }
}

form.addEventListener("input", (e) => {
  touched.add(/** @type {HTMLInputElement} */ (e.target).name);
  source();
  check(undefined);
});
for (const input of form.querySelectorAll("input[type=file]")) {
  input.addEventListener("change", async () => {
    const file = /** @type {HTMLInputElement} */ (input).files?.[0];
    const target = form.elements.namedItem(input.getAttribute("data-into") ?? "");
    if (file && target instanceof HTMLTextAreaElement) {
      target.value = await file.text();
      touched.add(target.name);
      check(undefined);
    }
  });
}
source();
