/** Files and images of a prompt: by button, paste and drop, as chips that can be removed. */

import { say } from "./words.js";

/**
 * @param {HTMLFormElement} form
 * @param {HTMLElement} place the list of chips; its data says where to upload, and limits
 * @param {{onError: (message: string) => void, onChange: () => void}} hooks
 * @returns {() => boolean} whether a file is still on its way
 */
export function setUpAttachments(form, place, { onError, onChange }) {
  const picker = form.querySelector("#attachment-files");
  const button = form.querySelector("#attach");
  const token = form.querySelector("[name=csrfmiddlewaretoken]").value;
  const most = Number(place.dataset.most);
  const mostBytes = Number(place.dataset.mostBytes);
  let onTheWay = 0;

  /** @param {Iterable<File>} files */
  function add(files) {
    onError("");
    for (const file of files) {
      if (place.children.length >= most) {
        onError(say("At most {number} files can be attached to a prompt.").replace("{number}", most));
        return;
      }
      if (file.size > mostBytes) onError(`${file.name}: ${say("the file is too large (limit {limit}).").replace("{limit}", `${mostBytes / 1e6} MB`)}`);
      else upload(file);
    }
  }

  /** @param {File} file */
  function upload(file) {
    const chip = newChip(file);
    const request = new XMLHttpRequest();
    const body = new FormData();
    body.append("file", file, file.name || "pasted.png");
    const drop = () => {
      request.abort();
      chip.remove();
      onChange();
    };
    chip.querySelector("button").addEventListener("click", drop);
    request.upload.addEventListener("progress", (event) => {
      const part = event.lengthComputable ? Math.round((100 * event.loaded) / event.total) : 0;
      show(chip, part < 100 ? `${part} %` : say("reading …"));
    });
    request.addEventListener("loadend", () => {
      onTheWay -= 1;
      if (chip.isConnected) finish(request, chip, file, drop);
      onChange();
    });
    request.open("POST", place.dataset.url);
    request.setRequestHeader("Accept", "application/json");
    request.setRequestHeader("X-CSRFToken", token);
    onTheWay += 1;
    request.send(body);
    onChange();
  }

  function finish(request, chip, file, drop) {
    const answer = parsed(request.responseText);
    if (request.status !== 201) {
      chip.remove();
      onError(answer?.error?.message ?? say("{name} could not be uploaded. Try again.").replace("{name}", () => file.name));
      return;
    }
    show(chip, [answer.extent, answer.cut].filter(Boolean).join(" · "));
    hold(chip, answer.id);
    chip.querySelector("button").removeEventListener("click", drop);
    removable(chip, answer.id);
  }

  /** @param {HTMLElement} chip @param {string} id */
  function removable(chip, id) {
    chip.querySelector("button").addEventListener("click", () => {
      chip.remove();
      // One that a run has stays with the run; the others go.
      fetch(`${place.dataset.url}${id}/delete/`, { method: "POST", headers: { "X-CSRFToken": token, Accept: "application/json" } }).catch(() => {});
      onChange();
    });
  }

  for (const chip of place.children) removable(chip, chip.querySelector("[name=attachment]").value);
  button.hidden = false;
  button.addEventListener("click", () => picker.click());
  picker.addEventListener("change", () => {
    add(picker.files);
    picker.value = "";
  });
  form.addEventListener("paste", (event) => {
    const files = [...event.clipboardData.files];
    if (!files.length) return;
    event.preventDefault();
    add(files);
  });
  form.addEventListener("dragover", (event) => {
    if (!event.dataTransfer.types.includes("Files")) return;
    event.preventDefault();
    form.toggleAttribute("data-drop", true);
  });
  form.addEventListener("dragleave", () => form.removeAttribute("data-drop"));
  form.addEventListener("drop", (event) => {
    form.removeAttribute("data-drop");
    if (!event.dataTransfer.files.length) return;
    event.preventDefault();
    add(event.dataTransfer.files);
  });
  return () => onTheWay > 0;

  /** @param {File} file @returns {HTMLElement} */
  function newChip(file) {
    const chip = place.appendChild(document.querySelector("#attachment-chip").content.firstElementChild.cloneNode(true));
    chip.querySelector(".file__name").textContent = file.name || say("Pasted image");
    chip.querySelector("button").setAttribute("aria-label", say("Remove {name}").replace("{name}", () => file.name));
    if (/^image\/(png|jpeg|gif|webp)$/.test(file.type)) preview(chip, file);
    return chip;
  }
}

/** @param {HTMLElement} chip @param {File} file */
function preview(chip, file) {
  const image = document.createElement("img");
  image.alt = "";
  image.className = "file__preview";
  image.src = URL.createObjectURL(file);
  image.addEventListener("load", () => URL.revokeObjectURL(image.src));
  image.addEventListener("error", () => image.remove());
  chip.prepend(image);
}

/** @param {HTMLElement} chip @param {string} id */
function hold(chip, id) {
  const field = document.createElement("input");
  Object.assign(field, { type: "hidden", name: "attachment", value: id });
  chip.append(field);
}

/** @param {HTMLElement} chip @param {string} words */
const show = (chip, words) => {
  chip.querySelector(".file__state").textContent = words;
};

/** @param {string} text */
function parsed(text) {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}
