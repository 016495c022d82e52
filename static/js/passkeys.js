/** Passkeys: shows their buttons where the browser has them, and says what went wrong. */

import { say } from "./words.js";

const MISSING = say("Passkeys do not work in this browser or at this address. They need https or localhost.");

/** @param {unknown} fault @returns {string} */
function inWords(fault) {
  const name = fault instanceof Error || fault instanceof DOMException ? fault.name : "";
  if (name === "NotAllowedError" || name === "AbortError") return say("That was cancelled, or took too long. Nothing has changed.");
  if (name === "InvalidStateError") return say("This device has a passkey for your account already.");
  if (name === "SecurityError") return MISSING;
  return say("That did not work. Try again, or use another way.");
}

// Not before: by then django-allauth's script, which comes first, listens to the buttons.
document.addEventListener("DOMContentLoaded", () => {
  const shown = window.PublicKeyCredential ? "[data-needs-passkeys]" : "[data-without-passkeys]";
  for (const part of document.querySelectorAll(shown)) part.hidden = false;
});
document.addEventListener("allauth.error", (event) => {
  const place = document.querySelector("[data-passkey-error]");
  if (!place) return;
  event.preventDefault();
  place.textContent = window.PublicKeyCredential ? inWords(event.detail.exception) : MISSING;
  place.hidden = false;
});
