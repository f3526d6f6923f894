// Live pages: a stream says that something has changed, and the page then fetches itself. See data-live in templates.
"use strict";

const MAX_DELAY = 1000; // milliseconds; each reader draws a delay, so that not all fetch at the same moment
const ANNOUNCE_EVERY = 60000;
let announcedAt = 0;

function whenVisible(act) {
  if (!document.hidden) return act();
  document.addEventListener("visibilitychange", () => whenVisible(act), { once: true });
}

// Several changes while one fetch waits need only that fetch.
document.addEventListener("htmx:confirm", (event) => {
  const element = event.target;
  if (!element.matches("[data-live]")) return;
  event.preventDefault();
  if (element.dataset.waiting) return;
  element.dataset.waiting = "yes";
  whenVisible(() => setTimeout(() => {
    delete element.dataset.waiting;
    event.detail.issueRequest(true);
  }, Math.random() * MAX_DELAY));
});

// What was opened stays open, and a table stays where the reader has scrolled it.
let opened = [], scrolled = [];
document.addEventListener("htmx:beforeSwap", (event) => {
  const target = event.detail.target;
  opened = [...target.querySelectorAll("details[open][id]")].map((details) => details.id);
  scrolled = [...target.querySelectorAll(".scroll")].map((region) => region.scrollLeft);
});

document.addEventListener("htmx:afterSettle", (event) => {
  for (const id of opened) document.getElementById(id)?.setAttribute("open", "");
  event.target.querySelectorAll(".scroll").forEach((region, place) => { region.scrollLeft = scrolled[place] ?? 0; });
  const status = document.querySelector("[data-live-status]");
  if (status && Date.now() - announcedAt > ANNOUNCE_EVERY) {
    announcedAt = Date.now();
    status.textContent = status.dataset.liveStatus;
  }
});
