/** The report of a run: a button prints it. */

document.querySelector("#print").addEventListener("click", () => print());
