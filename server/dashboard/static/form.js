// The form of a new search: checked in words while it is filled in, with an estimate.

import { keep, secret } from "./state.js";

const form = /** @type {HTMLFormElement} */ (document.getElementById("search-form"));
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
    const answer = await fetch("/new/check", { method: "POST", body: new URLSearchParams(/** @type {any} */ (new FormData(form))), headers: { "X-CSRF-Token": secret() } });
    if (!answer.ok) return;
    const { errors, estimate } = await answer.json();
    for (const name of touched) mark(name, errors[name] ?? "");
    const out = document.getElementById("estimate");
    if (out) out.textContent = estimate.text;
  } catch {
    // The server checks again when the form is sent.
  }
}, 300);

function source() {
  const chosen = /** @type {RadioNodeList} */ (form.elements.namedItem("source")).value;
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
