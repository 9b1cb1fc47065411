// Keys and a quicker look for the page on which a worker answers. The page works without this file.
"use strict";

(() => {
  const ANSWERS = { y: "yes", n: "no", s: "skip", c: "skip" };

  const form = () => document.querySelector("form[data-work]");
  const questions = () => [...document.querySelectorAll("form[data-work] fieldset")];
  const isAnswered = (question) => question.querySelector("input:checked") !== null;

  const current = () => {
    const all = questions();
    return all.find((each) => each.contains(document.activeElement)) || all.find((each) => !isAnswered(each)) || all[0];
  };

  const focusOn = (question) => {
    const input = question.querySelector("input:checked") || question.querySelector("input");
    input.focus();
    question.scrollIntoView({ block: "nearest" });
  };

  const answer = (value) => {
    const question = current();
    const input = question && question.querySelector(`input[value="${value}"]`);
    if (!input) return;
    input.checked = true;
    const next = questions().find((each) => !isAnswered(each));
    if (next) focusOn(next);
    else form().querySelector("button[data-send]").focus();
  };

  const isTyping = (target) => target.matches("textarea, select, input:not([type=radio])");

  document.addEventListener("keydown", (event) => {
    if (!form() || event.ctrlKey || event.altKey || event.metaKey || event.repeat || isTyping(event.target)) return;
    const key = event.key.toLowerCase();
    if (/^[1-9]$/.test(key)) {
      const question = questions()[Number(key) - 1];
      if (question) focusOn(question);
    } else if (key in ANSWERS) {
      answer(ANSWERS[key]);
    } else if (key === "enter" && !event.target.closest("a, button, summary, audio, input")) {
      form().requestSubmit(form().querySelector("button[data-send]")); // in a radio group, Enter sends by itself
    } else {
      return;
    }
    event.preventDefault();
  });

  // A second click while the first is under way sends nothing; the server would not count it either.
  document.addEventListener("submit", (event) => {
    const sent = event.target;
    if (sent.dataset.sent) event.preventDefault();
    sent.dataset.sent = "yes";
    const note = sent.querySelector("[data-busy]");
    if (note) note.textContent = note.dataset.busy;
  });

  // Back to this page by the browser's "back": it may be sent again.
  window.addEventListener("pageshow", () => {
    document.querySelectorAll("form[data-sent]").forEach((each) => delete each.dataset.sent);
  });

  // A page that could not be sent may be sent again.
  document.addEventListener("htmx:sendError", (event) => {
    const sent = event.target.closest("form");
    if (!sent) return;
    delete sent.dataset.sent;
    const note = sent.querySelector("[data-busy]");
    if (note) note.textContent = note.dataset.failed;
  });

  // Refusals are pages for people, too.
  document.addEventListener("htmx:beforeSwap", (event) => {
    if (event.detail.xhr.status >= 400 && event.detail.xhr.getResponseHeader("Content-Type").startsWith("text/html")) {
      event.detail.shouldSwap = true;
      event.detail.isError = false;
    }
  });

  document.addEventListener("htmx:afterSwap", () => {
    window.scrollTo({ top: 0 });
    const heading = document.querySelector("[data-first]");
    if (heading) heading.focus({ preventScroll: true });
  });
})();
