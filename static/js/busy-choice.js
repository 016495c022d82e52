/** A prompt that is written during a run: its writer says when it is sent. */

/**
 * @param {{send: (options?: {isNew: boolean}) => void, stop: () => Promise<void>, isLive: () => boolean, field: HTMLTextAreaElement}} page
 * @returns {{ask: () => void, runEnded: () => void}}
 */
export function setUpBusyChoice({ send, stop, isLive, field }) {
  const choice = document.querySelector("#busy");
  const queued = document.querySelector("#queued");
  const ways = {
    queue: () => { queued.hidden = false; },
    stop: async () => {
      queued.hidden = false;
      await stop();
    },
    new: () => send({ isNew: true }),
    "": () => { queued.hidden = true; },
  };
  for (const part of [choice, queued]) {
    part.addEventListener("click", (event) => {
      const button = event.target.closest("[data-send]");
      if (!button) return;
      choice.hidden = true;
      field.focus();
      ways[button.dataset.send]();
      // The run may have ended while the question was open.
      if (!isLive()) runEnded();
    });
  }

  // A queued prompt is sent by this page alone: the browser asks before it is left.
  addEventListener("beforeunload", (event) => {
    if (!queued.hidden) event.preventDefault();
  });

  function runEnded() {
    choice.hidden = true;
    if (queued.hidden) return;
    queued.hidden = true;
    send();
  }

  return {
    ask() {
      queued.hidden = true;
      choice.hidden = false;
      choice.querySelector("button").focus();
    },
    runEnded,
  };
}
