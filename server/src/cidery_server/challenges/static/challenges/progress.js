// Follows a submission while it is scored. Without scripts the page reloads itself instead.
const shown = document.getElementById("progress");
const bar = shown.querySelector("progress");
const words = shown.querySelector("[role=status]");

async function follow() {
  const answer = await fetch(shown.dataset.endpoint, { headers: { Accept: "application/json" } });
  if (answer.ok) {
    const { submission } = await answer.json();
    if (submission.state === "scored" || submission.state === "failed") {
      location.reload();
      return;
    }
    if (submission.state === "scoring") {
      bar.max = submission.steps || 1;
      bar.value = submission.steps_done;
      words.textContent = shown.dataset.step
        .replace("{done}", submission.steps_done).replace("{steps}", submission.steps);
    }
  }
  setTimeout(follow, 1000);
}
setTimeout(follow, 500);
