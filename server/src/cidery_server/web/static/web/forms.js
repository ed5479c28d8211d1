// Sends a form with files and shows what is wrong in place, so that chosen files stay chosen; shows
// its preview as it is filled in.
// Without it the page comes back whole, and files must be chosen again.
"use strict";
for (const form of document.querySelectorAll("form[data-keep]")) {
  const preview = document.getElementById("preview");
  let asked = 0;
  const refresh = async (content) => {
    const number = (asked += 1);
    content.set("preview", "true");
    const answer = await fetch(form.action, {method: "POST", body: content});
    const told = new DOMParser().parseFromString(await answer.text(), "text/html");
    const fresh = told.getElementById("preview");
    // An older answer that comes late is not shown.
    if (fresh && number === asked) preview.replaceChildren(...fresh.childNodes);
  };
  if (preview) {
    form.addEventListener("change", (event) => {
      if (event.target.type === "file") return;
      const content = new FormData(form);
      for (const file of form.querySelectorAll("input[type=file]")) content.delete(file.name);
      refresh(content).catch(() => {});
    });
  }
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    if (preview && event.submitter && event.submitter.name === "preview") {
      await refresh(new FormData(form)).catch(() => {});
      preview.focus();
      return;
    }
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
      for (const wrong of form.querySelectorAll("details:has([data-problem])")) wrong.open = true;
      const first = form.querySelector("[aria-invalid]") || form.querySelector("[data-problem]");
      if (first) first.focus();
    } catch {
      const note = document.createElement("p");
      note.className = "note bad";
      note.dataset.problem = "";
      note.setAttribute("role", "alert");
      note.textContent = form.dataset.lost;
      form.prepend(note);
    } finally {
      buttons.forEach((button) => { button.disabled = false; });
      form.removeAttribute("aria-busy");
    }
  });
}
