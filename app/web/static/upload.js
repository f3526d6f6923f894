// Sends the form of the submit page with progress, and shows what the service answers on the same page.
// Without this script the browser sends the form itself and goes on to the same answers.
"use strict";

const form = document.getElementById("upload");
const input = document.getElementById("field-file");
const drop = document.getElementById("drop");
const progress = document.getElementById("progress");
const bar = document.getElementById("progress-bar");
const label = document.getElementById("progress-text");
const announced = document.getElementById("upload-status");
const outcome = document.getElementById("outcome");

function say(text) {
  label.textContent = text;
  announced.textContent = text;
}

// A file that is dropped on the page is chosen, as by the input.
if (form) {
  document.getElementById("drop-hint").hidden = false;
  for (const name of ["dragenter", "dragover"]) {
    drop.addEventListener(name, (event) => { event.preventDefault(); drop.classList.add("over"); });
  }
  for (const name of ["dragleave", "drop"]) {
    drop.addEventListener(name, () => drop.classList.remove("over"));
  }
  drop.addEventListener("drop", (event) => {
    event.preventDefault();
    if (event.dataTransfer.files.length === 1) {
      input.files = event.dataTransfer.files;
      input.focus();
    } else {
      announced.textContent = "Drop one file.";
    }
  });
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    event.stopImmediatePropagation();
    if (!form.dataset.sending) send(event.submitter?.hasAttribute("formaction") ? event.submitter.formAction : form.action);
  });
}

function send(address) {
  const request = new XMLHttpRequest();
  const buttons = form.querySelectorAll("button");
  form.dataset.sending = "yes";
  buttons.forEach((button) => { button.disabled = true; });
  progress.hidden = false;
  bar.value = 0;
  say("Sending the file");
  request.open("POST", address);
  request.responseType = "document";
  request.setRequestHeader("Accept", "text/html");
  request.setRequestHeader("X-CSRF-Token", form.dataset.token);
  request.upload.addEventListener("progress", (event) => {
    if (!event.lengthComputable) return;
    const percent = Math.floor(100 * event.loaded / event.total);
    bar.value = percent;
    label.textContent = `Sending the file: ${percent} %`;
  });
  request.upload.addEventListener("load", () => {
    bar.removeAttribute("value");
    say("The file has arrived. It is being checked and stored.");
  });
  request.addEventListener("loadend", () => {
    delete form.dataset.sending;
    buttons.forEach((button) => { button.disabled = false; });
    progress.hidden = true;
    show(request);
  });
  request.send(new FormData(form));
}

// The answer is a page: that of the submission, or this one with faults or with the result of a check.
function show(request) {
  const answer = request.response;
  const found = answer && (answer.getElementById("submission") || answer.getElementById("errors")
    || answer.querySelector("#outcome > *") || answer.querySelector("main > .head"));
  document.getElementById("errors")?.remove();
  outcome.replaceChildren();
  if (!found) {
    const text = document.createElement("p");
    text.className = "errors";
    text.textContent = "The connection broke. Send the file again: it is stored once, even if it had arrived.";
    outcome.append(text);
  } else {
    outcome.append(document.importNode(found, true));
    announced.textContent = found.querySelector("h2")?.textContent ?? "";
    // A page that a script has sent keeps the chosen file.
    for (const element of outcome.querySelectorAll("[data-still-chosen]")) element.textContent = element.dataset.stillChosen;
    if (found.id === "submission") {
      const title = document.createElement("h2");
      const link = document.createElement("a");
      link.href = new URL(request.responseURL).pathname;
      link.textContent = "Your submission";
      title.append(link);
      outcome.prepend(title);
      input.value = "";
      renewKey();
      renewQuota();
    }
    window.htmx?.process(outcome);
  }
  outcome.focus();
  outcome.scrollIntoView({ block: "start" });
}

// What is left of the quota stands above the form. It changes with a submission, and again when that is rejected.
async function renewQuota() {
  const answer = await fetch(location.href, { headers: { Accept: "text/html" } }).catch(() => null);
  if (!answer?.ok) return;
  const page = new DOMParser().parseFromString(await answer.text(), "text/html");
  const facts = page.getElementById("expected-facts");
  if (facts) document.getElementById("expected-facts")?.replaceWith(document.importNode(facts, true));
}

outcome?.addEventListener("htmx:afterSwap", renewQuota);

// The next file is another submission; the key tells a repetition of the same one from it.
function renewKey() {
  const key = Array.from(crypto.getRandomValues(new Uint8Array(18)), (byte) => byte.toString(16).padStart(2, "0")).join("");
  for (const [element, name] of [[form, "action"], [form.querySelector("[formaction]"), "formaction"]]) {
    element.setAttribute(name, element.getAttribute(name).replace(/([?&]key=)[^&]*/, `$1${key}`));
  }
}
