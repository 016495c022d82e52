/** The form that sends a request under /v1: the answer is shown as it arrives. */

import { shellQuote } from "./code-samples.js";
import { say } from "./words.js";

const NO_RUN = "00000000-0000-0000-0000-000000000000";
/** More than this of an answer would slow the page down. */
const SHOWN_CHARACTERS = 200_000;
/** How often the time that an answer takes is shown anew. */
const CLOCK_INTERVAL_MS = 100;

const form = document.querySelector("#try");
const request = form.querySelector("#try-request");
const key = form.querySelector("#try-key");
const body = form.querySelector("#try-body");
const error = form.querySelector("#try-error");
const stop = form.querySelector("#try-stop");
const send = form.querySelector("[type=submit]");
const answer = document.querySelector("#try-answer");
const status = document.querySelector("#try-status");
const headers = document.querySelector("#try-headers");
const text = document.querySelector("#try-text");
let sending = null;

/** @returns {{method: string, url: string, hasBody: boolean}} */
function chosen() {
  const [method, path] = request.value.split(" ");
  return { method, url: `${location.origin}${path}`, hasBody: method === "POST" };
}

function choose() {
  body.value = request.selectedOptions[0].dataset.body;
  body.closest(".field").hidden = !chosen().hasBody;
  changed();
}

/** Check the body and write the request as curl. @returns {boolean} whether it can be sent */
function changed() {
  const { method, url, hasBody } = chosen();
  let problem = "";
  try {
    if (hasBody) JSON.parse(body.value);
  } catch (reason) {
    problem = `${say("This is not JSON:")} ${reason.message}`;
  }
  error.textContent = problem;
  error.hidden = !problem;
  body.setAttribute("aria-invalid", String(Boolean(problem)));
  document.querySelector("#try-curl").textContent = [
    `curl ${method === "GET" ? "" : `-X ${method} `}${url} \\`,
    `  -H "Authorization: Bearer $CONDUCTOR_API_KEY"${hasBody ? " \\" : ""}`,
    ...(hasBody ? [`  -H "Content-Type: application/json" \\`, `  -d ${shellQuote(body.value)}`] : []),
  ].join("\n");
  return !problem;
}

/** @param {Response} response @param {number} began */
function tell(response, began, isOver) {
  const took = ((performance.now() - began) / 1000).toLocaleString("en", { maximumFractionDigits: 1 });
  status.replaceChildren(`${response.status} ${response.statusText} · ${isOver ? "" : `${say("receiving")}, `}${took} s`);
  const run = response.headers.get("x-conductor-run-id");
  if (!run) return;
  const link = document.createElement("a");
  link.href = form.dataset.runUrl.replace(NO_RUN, run);
  link.textContent = say("Open run");
  status.append(" · ", link);
}

/** @param {string} piece */
function show(piece) {
  const room = SHOWN_CHARACTERS - text.textContent.length;
  if (room > 0) text.append(piece.length > room ? `${piece.slice(0, room)}\n[…]` : piece);
}

/** @param {string} whole @returns {string} the same, indented if it is JSON */
function indented(whole) {
  try {
    return JSON.stringify(JSON.parse(whole), null, 2);
  } catch {
    return whole;
  }
}

async function receive(response, began) {
  answer.hidden = false;
  headers.textContent = [...response.headers].map(([name, value]) => `${name}: ${value}`).join("\n");
  text.textContent = "";
  tell(response, began, false);
  const clock = setInterval(() => tell(response, began, false), CLOCK_INTERVAL_MS);
  try {
    await readAnswer(response);
  } finally {
    clearInterval(clock);
  }
  tell(response, began, true);
}

/** Show the body of an answer as it arrives. @param {Response} response */
async function readAnswer(response) {
  if (response.headers.get("content-type")?.startsWith("text/event-stream")) {
    const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
    for (let read = await reader.read(); !read.done; read = await reader.read()) show(read.value);
  } else {
    show(indented(await response.text()));
  }
}

form.addEventListener("submit", async (event) => {
  event.preventDefault();
  if (!changed() || sending) return;
  const { method, url, hasBody } = chosen();
  const began = performance.now();
  sending = new AbortController();
  stop.hidden = false;
  send.disabled = true;
  try {
    const response = await fetch(url, {
      method,
      credentials: "omit",
      headers: { Authorization: `Bearer ${key.value.trim()}`, ...(hasBody ? { "Content-Type": "application/json" } : {}) },
      body: hasBody ? body.value : undefined,
      signal: sending.signal,
    });
    await receive(response, began);
  } catch (reason) {
    answer.hidden = false;
    const isStopped = reason.name === "AbortError";
    status.textContent = isStopped ? say("Stopped.") : say("The server could not be reached, or the connection was cut.");
  } finally {
    sending = null;
    stop.hidden = true;
    send.disabled = false;
  }
});
stop.addEventListener("click", () => sending?.abort());
request.addEventListener("change", choose);
body.addEventListener("input", changed);
choose();
