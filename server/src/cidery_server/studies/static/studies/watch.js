// Keeps the numbers of an open study fresh.
"use strict";
{
  const progress = document.getElementById("progress");
  const answers = document.getElementById("answers");
  const refresh = async () => {
    if (document.hidden) return;
    const response = await fetch(progress.dataset.watch);
    if (!response.ok) return;
    const told = await response.json();
    progress.value = told.answered;
    progress.max = told.needed;
    answers.textContent = answers.dataset.text
      .replace("{answered}", told.answered).replace("{needed}", told.needed);
    for (const field of document.querySelectorAll("[data-field]")) {
      field.textContent = told[field.dataset.field];
    }
  };
  setInterval(() => refresh().catch(() => {}), 5000);
}
