// What a page remembers is in its address, so that a link shows the same.

/** @returns {URLSearchParams} */
export function address() {
  return new URLSearchParams(location.search);
}

/** Change parameters of the address without a step in the history; null takes one away.
 * @param {Record<string, string|number|null>} values */
export function save(values) {
  const query = address();
  for (const [name, value] of Object.entries(values)) {
    if (value === null || value === "") query.delete(name);
    else query.set(name, String(value));
  }
  const text = query.toString().replaceAll("%2C", ",").replaceAll("%3B", ";");
  history.replaceState(null, "", location.pathname + (text ? `?${text}` : "") + location.hash);
}

/** Call only when nothing more came for a moment.
 * @template T @param {(value: T) => void} act @param {number} [ms] @returns {(value: T) => void} */
export function keep(act, ms = 250) {
  let timer = 0;
  return (value) => {
    clearTimeout(timer);
    timer = window.setTimeout(() => act(value), ms);
  };
}

/** The secret that changes must carry where there is a session. */
export function secret() {
  return document.querySelector("meta[name=csrf]")?.getAttribute("content") ?? "";
}
