// Fetches the columns of a page's explorer and opens it.
(async () => {
  const root = document.getElementById("explorer-root");
  const { say } = globalThis.cidery;
  const tell = (words) => {
    root.querySelector("[role=status]").textContent = words;
  };
  try {
    const answer = await fetch(root.dataset.endpoint, { headers: { Accept: "application/json" } });
    if (!answer.ok) {
      tell(say("The captions cannot be shown: {detail}", await answer.json()));
      return;
    }
    const { content } = await answer.json();
    if (content.images.length) new globalThis.cidery.Explorer(root, content);
    else tell(say("There is nothing to show yet."));
  } catch {
    tell(say("The captions cannot be loaded now. Reload the page to try again."));
  }
})();
