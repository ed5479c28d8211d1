// Sends a form with files and shows what is wrong in place, so that chosen files stay chosen.
// Without it the page comes back whole, and files must be chosen again.
"use strict";
for (const form of document.querySelectorAll("form[data-keep]")) {
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    const buttons = form.querySelectorAll("button");
    buttons.forEach((button) => { button.disabled = true; });
    form.setAttribute("aria-busy", "true");
    try {
      const answer = await fetch(form.action, {method: "POST", body: new FormData(form)});
      if (answer.redirected) {
        location.assign(answer.url);
        return;
      }
      const told = new DOMParser().parseFromString(await answer.text(), "text/html");
      const found = told.querySelector("form[data-keep]");
      if (answer.status !== 400 || !found) {
        // Another page, such as "too many requests": there is nothing to keep.
        document.querySelector("main").replaceWith(told.querySelector("main"));
        return;
      }
      form.querySelectorAll("[data-problem]").forEach((old) => old.remove());
      for (const fresh of found.querySelectorAll("[data-problem]")) {
        const place = fresh.dataset.problem && form.querySelector(`[name="${fresh.dataset.problem}"]`);
        if (place) place.closest(".field").append(fresh); else form.prepend(fresh);
      }
      for (const fresh of found.querySelectorAll("[name]")) {
        const old = form.querySelector(`[name="${fresh.name}"]`);
        for (const name of ["aria-invalid", "aria-describedby"]) {
          if (!old) continue;
          if (fresh.hasAttribute(name)) old.setAttribute(name, fresh.getAttribute(name));
          else old.removeAttribute(name);
        }
      }
      const first = form.querySelector("[aria-invalid]") || form.querySelector("[data-problem]");
      if (first) first.focus();
    } catch {
      const note = document.createElement("p");
      note.className = "note bad";
      note.dataset.problem = "";
      note.setAttribute("role", "alert");
      note.textContent = "The form did not get through. Please try again.";
      form.prepend(note);
    } finally {
      buttons.forEach((button) => { button.disabled = false; });
      form.removeAttribute("aria-busy");
    }
  });
}
