// Makes pages more convenient; every page works without it. Nothing here builds HTML from texts of users.
"use strict";

const localFormat = new Intl.DateTimeFormat(undefined, { dateStyle: "medium", timeStyle: "short" });

// Beside each time in UTC, the local time of the reader as a tooltip, and as text where the page asks for it.
function showLocalTimes(root) {
  for (const element of root.querySelectorAll("time[data-local]")) {
    const local = localFormat.format(new Date(element.dateTime));
    element.title = `${local} (your time)`;
    if (element.dataset.local === "shown" && !element.nextElementSibling?.classList.contains("local-time")) {
      const text = document.createElement("span");
      text.className = "local-time";
      text.textContent = ` (${local} your time)`;
      element.after(text);
    }
  }
}

function countdownText(left) {
  const seconds = Math.abs(left) / 1000;
  for (const [unit, size, from] of [["year", 31557600, 2], ["day", 86400, 1], ["hour", 3600, 1], ["minute", 60, 1]]) {
    if (seconds >= from * size) {
      const count = Math.floor(seconds / size);
      const words = `${count} ${unit}${count === 1 ? "" : "s"}`;
      return left > 0 ? `in ${words}` : `${words} ago`;
    }
  }
  return left > 0 ? "in less than a minute" : "just now";
}

function updateCountdowns() {
  for (const element of document.querySelectorAll("[data-countdown]")) {
    const text = countdownText(new Date(element.dataset.countdown) - Date.now());
    if (element.textContent !== text) element.textContent = text;
  }
}

// A button that copies a block of code.
function addCopyButtons(root) {
  if (!navigator.clipboard) return;
  for (const figure of root.querySelectorAll("figure[data-copy]")) {
    if (figure.querySelector("button")) continue;
    const button = document.createElement("button");
    button.type = "button";
    button.className = "link";
    button.textContent = "Copy";
    button.addEventListener("click", async () => {
      await navigator.clipboard.writeText(figure.querySelector("code").textContent);
      button.textContent = "Copied";
      setTimeout(() => { button.textContent = "Copy"; }, 2000);
    });
    figure.querySelector("figcaption").append(button);
  }
}

// A form that changes something is sent once, however often its button is pressed.
document.addEventListener("submit", (event) => {
  if (event.target.dataset.sent) event.preventDefault();
  else if (event.target.method === "post") {
    event.target.dataset.sent = "yes";
    setTimeout(() => { delete event.target.dataset.sent; }, 5000);
  }
});

function enhance(root) {
  showLocalTimes(root);
  addCopyButtons(root);
}

enhance(document);
updateCountdowns();
setInterval(updateCountdowns, 10000);
document.getElementById("errors")?.focus();
document.addEventListener("htmx:afterSettle", (event) => enhance(event.target));
