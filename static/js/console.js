/** A team's own pages: show what only works with a script. */

for (const element of document.querySelectorAll("[data-needs-script]")) element.hidden = false;
