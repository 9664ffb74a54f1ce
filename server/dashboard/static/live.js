// Live pages: events over one connection for all tabs of a browser; regions are replaced where they changed.
//
// A browser holds few connections to one server, so one tab (the holder of a lock) listens and tells the others.

const SUBJECT = document.body.dataset.live ?? "";
const CHANNEL = "seis-events";
const status = document.getElementById("live-status");
let last = Number(document.body.dataset.lastEvent ?? 0);
let busy = false, again = false;

/** @param {string} text @param {string} state */
function say(text, state) {
  if (!status) return;
  status.dataset.state = state;
  const said = /** @type {HTMLElement} */ (status.querySelector("span"));
  if (said.textContent !== text) said.textContent = text;
}

/** Fetch the live parts of this page and put in what is different. */
async function refresh() {
  if (busy) {
    again = true;
    return;
  }
  busy = true;
  try {
    const place = new URL(location.href);
    place.searchParams.set("part", "live");
    const answer = await fetch(place, { headers: { Accept: "text/html" } });
    if (answer.redirected) {
      say("Your session has ended; load the page to sign in", "off");
      return;
    }
    if (!answer.ok) throw new Error(String(answer.status));
    replace(new DOMParser().parseFromString(await answer.text(), "text/html"));
    say("Live", "on");
  } catch {
    say("Not reached; trying again", "off");
    setTimeout(refresh, 3000);
  } finally {
    busy = false;
    if (again) {
      again = false;
      setTimeout(refresh, 400);
    }
  }
}

/** @type {Map<string, string>} */
const before = new Map();

/** Regions keep their place, what is open in them, and the focus. @param {Document} fresh */
function replace(fresh) {
  let changed = false;
  for (const region of fresh.querySelectorAll("[data-region]")) {
    const mine = document.getElementById(region.id);
    if (!mine) continue;
    const text = region.innerHTML;
    if ((before.get(region.id) ?? mine.innerHTML) === text) continue;
    before.set(region.id, text);
    const open = [...mine.querySelectorAll("details")].map((d) => d.open);
    const active = mine.contains(document.activeElement) ? document.activeElement?.getAttribute("data-key") : null;
    mine.innerHTML = text;
    mine.querySelectorAll("details").forEach((d, i) => { d.open = open[i] ?? d.open; });
    if (active) /** @type {HTMLElement|null} */ (mine.querySelector(`[data-key="${CSS.escape(active)}"]`))?.focus({ preventScroll: true });
    changed = true;
  }
  if (changed) document.dispatchEvent(new CustomEvent("seis:updated"));
}

let waiting = 0;
/** @param {{subject: string, number: number}} event */
function heard(event) {
  last = Math.max(last, event.number);
  if (SUBJECT !== "*" && event.subject !== SUBJECT) return;
  clearTimeout(waiting);
  waiting = window.setTimeout(refresh, 250);
}

const channel = "BroadcastChannel" in window ? new BroadcastChannel(CHANNEL) : null;
channel?.addEventListener("message", (e) => {
  if (e.data.state) say(e.data.text, e.data.state);
  else heard(e.data);
});

/** @type {EventSource|null} */
let source = null;

function listen() {
  source?.close();
  source = new EventSource(`/api/v1/events?after=${last}`);
  const tell = (/** @type {MessageEvent} */ e) => {
    const found = JSON.parse(e.data);
    const event = { subject: found.subject, number: found.number };
    channel?.postMessage(event);
    heard(event);
  };
  for (const kind of ["queued", "started", "freed", "progress", "done", "failed", "cancelled", "paused", "running", "priority"]) {
    source.addEventListener(`job.${kind}`, tell);
  }
  for (const kind of ["added", "changed", "removed"]) source.addEventListener(`schedule.${kind}`, tell);
  source.addEventListener("open", () => {
    if (status?.dataset.state === "off") refresh();
    both("Live", "on");
  });
  source.addEventListener("error", () => {
    both("Not reached; trying again", "off");
    if (source?.readyState === EventSource.CLOSED) setTimeout(listen, 3000);
  });
}

/** @param {string} text @param {string} state */
function both(text, state) {
  say(text, state);
  channel?.postMessage({ text, state });
}

if (SUBJECT) {
  if (navigator.locks && channel) {
    navigator.locks.request(CHANNEL, () => new Promise(() => listen())); // held until this tab ends
    say("Live", "on");
  } else listen();
  document.addEventListener("visibilitychange", () => { if (!document.hidden) refresh(); });
}

// Buttons of a live page act without a new page.
document.addEventListener("submit", async (e) => {
  const form = /** @type {HTMLFormElement} */ (e.target);
  if (!form.matches("form[data-quiet]")) return;
  e.preventDefault();
  const button = /** @type {HTMLButtonElement|null} */ (form.querySelector("button"));
  if (button) button.disabled = true;
  try {
    const answer = await fetch(form.action, { method: "POST", body: new URLSearchParams(/** @type {any} */ (new FormData(form))), headers: { "X-CSRF-Token": document.querySelector("meta[name=csrf]")?.getAttribute("content") ?? "" } });
    if (!answer.ok) say((await answer.json().catch(() => null))?.detail ?? "The server did not do it; load the page again", "off");
  } catch {
    say("Not reached; nothing was changed", "off");
  }
  if (button) button.disabled = false;
  refresh();
});

export { refresh };
