// Fills a field with what follows the # of a link, such as a code, and takes it from the address bar and the history.
"use strict";

const secret = decodeURIComponent(location.hash.slice(1));
const field = document.querySelector("[data-fragment] input:not([type=hidden])");
if (field && secret && !document.getElementById(secret)) {
  field.value = secret;
  history.replaceState(null, "", location.pathname + location.search);
  field.form.querySelector("button")?.focus();
}
