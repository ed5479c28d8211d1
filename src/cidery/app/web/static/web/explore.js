// Fetches the columns of a page's explorer and opens it.
(async () => {
  const root = document.getElementById("explorer-root");
  const say = (words) => {
    root.querySelector("[role=status]").textContent = words;
  };
  try {
    const answer = await fetch(root.dataset.endpoint, { headers: { Accept: "application/json" } });
    if (!answer.ok) {
      say(`The captions cannot be shown: ${(await answer.json()).detail}`);
      return;
    }
    const { content } = await answer.json();
    if (content.images.length) new globalThis.cidery.Explorer(root, content);
    else say("There is nothing to show yet.");
  } catch {
    say("The captions cannot be loaded now. Reload the page to try again.");
  }
})();
