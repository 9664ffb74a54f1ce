// What every page does: local times, the theme, pages that wait for work, and forms sent once.

const root = document.documentElement;

/** Times are written in UTC; show them in the reader's zone, the same on all pages. */
function times() {
  const day = new Intl.DateTimeFormat("en-GB", { dateStyle: "medium", timeStyle: "short" });
  for (const t of document.querySelectorAll("time[datetime]")) {
    const when = new Date(t.getAttribute("datetime") ?? "");
    if (!Number.isNaN(when.getTime()) && t instanceof HTMLElement) t.title = `${day.format(when)} (${Intl.DateTimeFormat().resolvedOptions().timeZone})`;
  }
}

const theme = document.getElementById("theme");
theme?.addEventListener("click", () => {
  const dark = root.dataset.theme ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
  root.dataset.theme = dark ? "light" : "dark";
  localStorage.setItem("seis-theme", root.dataset.theme);
  document.dispatchEvent(new CustomEvent("seis:theme"));
});

// A page whose work goes on asks again for its middle until it is there.
async function await_work() {
  const place = document.querySelector("[data-pending]");
  if (!place) return;
  await new Promise((done) => setTimeout(done, 1200));
  try {
    const answer = await fetch(location.href, { headers: { Accept: "text/html" } });
    const fresh = new DOMParser().parseFromString(await answer.text(), "text/html").getElementById("middle");
    const mine = document.getElementById("middle");
    if (fresh && mine) {
      const still = fresh.querySelector("[data-pending]");
      if (!still || fresh.textContent !== mine.textContent) {
        if (!still) {
          location.reload();
          return;
        }
        const at = scrollY;
        mine.replaceChildren(...fresh.childNodes);
        scrollTo(0, at);
      }
    }
  } catch {
    await new Promise((done) => setTimeout(done, 3000));
  }
  await_work();
}

for (const form of document.querySelectorAll("form[method=post]:not([data-quiet])")) {
  form.addEventListener("submit", () => {
    for (const b of form.querySelectorAll("button[type=submit], button:not([type])")) setTimeout(() => { b.setAttribute("disabled", ""); b.setAttribute("data-sent", ""); }, 0);
  });
}
addEventListener("pageshow", () => document.querySelectorAll("button[data-sent]").forEach((b) => { b.removeAttribute("disabled"); b.removeAttribute("data-sent"); }));

// Filters are applied as they are changed; without scripts by their button.
for (const form of document.querySelectorAll("form[data-auto]")) {
  form.addEventListener("change", () => /** @type {HTMLFormElement} */ (form).requestSubmit());
}

const copy = document.querySelectorAll("[data-copy]");
for (const b of copy) {
  b.addEventListener("click", async () => {
    await navigator.clipboard?.writeText(b.getAttribute("data-copy") ?? "");
    b.textContent = "Copied";
  });
}

// A table of discoveries lets at most six be marked.
const marks = /** @type {HTMLInputElement[]} */ ([...document.querySelectorAll("input[name=design]")]);
const compare = /** @type {HTMLButtonElement|null} */ (document.querySelector("button[data-marks]"));
function marked() {
  const n = marks.filter((m) => m.checked).length;
  if (compare) {
    compare.disabled = n < 1 || n > 6;
    compare.textContent = n ? `Compare ${n} marked` : "Compare marked";
  }
}
marks.forEach((m) => m.addEventListener("change", marked));
if (compare) marked();

times();
document.addEventListener("seis:updated", times);
await_work();
