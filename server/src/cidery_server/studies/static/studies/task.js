// Answers and the next item in one round trip, and keys. Without it the page's forms do the same.
"use strict";
{
  const task = document.getElementById("task");
  const answerForm = document.getElementById("answer");
  const undoForm = document.getElementById("undo");
  const problem = document.getElementById("problem");
  const assignment = answerForm.elements.assignment;
  const token = answerForm.elements.csrfmiddlewaretoken.value;
  // Where keys lead from the button at a place; -1: from none. Up and down scroll the page.
  const MOVES = {
    ArrowRight: (place) => place + 1,
    ArrowLeft: (place, last) => (place < 0 ? last : place - 1),
    Home: (place) => Math.min(place, 0),
    End: (place, last) => (place < 0 ? place : last),
  };
  let waiting = false;

  const tell = (text) => {
    problem.textContent = text;
    problem.hidden = !text;
  };

  // Nobody answers before they see the image: a browser shows the last one until the next is here.
  let image = document.getElementById("image");
  const wait = (coming) => {
    answerForm.querySelectorAll("button:not([value=broken])").forEach((button) => {
      button.disabled = coming;
    });
  };
  const watch = () => {
    const watched = image;
    const seen = (there) => {
      if (watched !== image) return; // taken back meanwhile
      watched.parentElement.style.minHeight = "";
      wait(false);
      if (!there) tell(task.dataset.missing);
    };
    if (!watched) return;
    if (watched.complete) {
      seen(watched.naturalWidth > 0);
      return;
    }
    wait(true);
    watched.addEventListener("load", () => seen(true));
    watched.addEventListener("error", () => seen(false));
  };
  watch();

  const replaceImage = (address) => {
    const next = image.cloneNode();
    image.parentElement.style.minHeight = `${image.offsetHeight}px`; // nothing jumps meanwhile
    next.src = address;
    image.replaceWith(next);
    image = next;
    watch();
  };

  const fill = (shown) => {
    // What has another shape than the page that is here comes from the server.
    const differs = task.querySelector("#practice, #feedback, .part");
    if (shown.parts.length || shown.feedback || shown.is_training || differs) {
      location.reload();
      return;
    }
    const comment = document.getElementById("comment");
    if (comment) {
      comment.value = "";
      comment.closest("details").open = false;
    }
    assignment.value = shown.assignment;
    if (image) replaceImage(shown.image);
    const reference = document.getElementById("reference");
    if (reference) reference.textContent = shown.reference;
    answerForm.querySelectorAll(".choice .text").forEach((text, place) => {
      text.textContent = shown.sentences[place];
    });
    const list = document.getElementById("sentences");
    if (list) {
      list.replaceChildren(...shown.sentences.map((sentence) => {
        const line = document.createElement("li");
        line.className = "sentence";
        line.dir = "auto";
        line.textContent = sentence;
        return line;
      }));
    }
    const sentence = document.getElementById("sentence");
    if (sentence) sentence.value = shown.draft;
    document.getElementById("progress").value = shown.answered;
    document.getElementById("count").textContent = task.dataset.count
      .replace("{answered}", shown.answered).replace("{goal}", shown.goal);
    undoForm.querySelector("button").disabled = !shown.can_undo;
    // Screen readers begin with the question again; a writer goes on writing.
    (sentence || document.getElementById("question")).focus();
  };

  const send = async (address, content) => {
    if (waiting) return;
    waiting = true;
    task.setAttribute("aria-busy", "true");
    try {
      const response = await fetch(address, {
        method: "POST",
        headers: {"Content-Type": "application/json", "X-CSRFToken": token},
        body: JSON.stringify(content),
      });
      const told = await response.json();
      if (response.ok) {
        tell("");
        if (told.state === "task") fill(told); else location.reload();
      } else if (response.status === 400) {
        const reasons = Object.values(told.errors || {}).flat();
        tell(reasons.join(" ") || told.detail);
        if (task.dataset.design !== "collection") setTimeout(() => location.reload(), 2500);
      } else {
        tell(told.detail);
      }
    } catch {
      tell(task.dataset.lost);
    } finally {
      waiting = false;
      task.removeAttribute("aria-busy");
    }
  };

  answerForm.addEventListener("submit", (event) => {
    const choice = event.submitter && event.submitter.name === "choice" ? event.submitter.value : "";
    // Several ratings are sent as a form.
    if (!choice && answerForm.querySelector(".part")) return;
    event.preventDefault();
    const content = {assignment: Number(assignment.value), choice};
    if (answerForm.elements.comment) content.comment = answerForm.elements.comment.value;
    if (!choice) {
      // The value of the pressed button is the text on it.
      const pressed = event.submitter && event.submitter.name === "answer";
      content.answer = pressed ? event.submitter.value : answerForm.elements.answer.value;
    }
    send(task.dataset.answer, content);
  });
  // The second click of a double click is no answer to the item that has come meanwhile.
  answerForm.addEventListener("click", (event) => {
    if (event.detail > 1 && event.target.closest("button")) event.preventDefault();
  });
  undoForm.addEventListener("submit", (event) => {
    event.preventDefault();
    send(task.dataset.undo, {});
  });
  document.addEventListener("keydown", (event) => {
    const writing = event.target instanceof HTMLTextAreaElement;
    if (writing) {
      const sends = event.target.id === "sentence" && event.key === "Enter" && (event.ctrlKey || event.metaKey);
      if (sends) answerForm.requestSubmit();
      return;
    }
    if (event.target instanceof HTMLInputElement) return;
    if (event.ctrlKey || event.metaKey || event.altKey || event.repeat) return;
    if (event.key === "u" || event.key === "U") {
      const takeBack = undoForm.querySelector("button");
      if (!takeBack.disabled) undoForm.requestSubmit(takeBack);
      return;
    }
    const buttons = [...answerForm.querySelectorAll("button[name=answer]")];
    if (buttons.length && event.key in MOVES) {
      const last = buttons.length - 1;
      const here = buttons.indexOf(document.activeElement);
      const place = MOVES[event.key](here, last);
      if (here < 0 && place < 0) return;
      event.preventDefault(); // the page does not scroll
      buttons[Math.max(0, Math.min(last, place))].focus();
      return;
    }
    // A key answers only where it is all that a button shows: on a scale to 10, a 1 may be the
    // beginning of another number.
    if (!buttons.every((button) => button.value.length === 1)) return;
    const chosen = buttons.find((button) => button.value === event.key);
    if (chosen && !chosen.disabled) answerForm.requestSubmit(chosen);
  });
}
