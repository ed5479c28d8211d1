// Fills the page from its JSON: scores, explorer, then charts.
"use strict";
(() => {
  const { Charts, Explorer, make, show, showSigned, table } = globalThis.cidery;
  const content = JSON.parse(document.getElementById("data").textContent);
  const at = (id) => document.getElementById(id);
  const { names } = content;
  const metrics = Object.keys(content.comparison.signatures);
  const several = names.length > 1;

  // The systems of an object in their original order, then its other keys.
  function inOrder(found) {
    const given = names.filter((name) => name in found);
    return [...given, ...Object.keys(found).filter((name) => !names.includes(name))];
  }

  function showP(p) {
    return p < 0.001 ? "p < 0.001" : `p = ${show(p, 3)}`;
  }

  function findTest(metric, one, other) {
    return (content.comparison.tests[metric] || []).find(
      ({ systems }) => systems.includes(one) && systems.includes(other),
    );
  }

  function drawHead() {
    at("title").textContent = content.title;
    document.title = content.title;
    const count = content.images.length;
    at("about").textContent = [
      `${count.toLocaleString("en")} image${count === 1 ? "" : "s"}`,
      `${names.length} system${several ? "s" : ""}`,
      `references: ${content.references_name}`,
      `${content.created.slice(0, 10)}, cidery ${content.cidery}`,
    ].join(" · ");
    for (const section of document.querySelectorAll("main > section")) {
      at("contents").append(make("a", { href: `#${section.id}` }, section.querySelector("h2").textContent));
    }
  }

  function drawScores() {
    const { scores, rankings, runs } = content.comparison;
    const rows = metrics.map((metric) => {
      const sign = (content.lower || []).includes(metric) ? -1 : 1;
      const best = names.reduce((a, b) => (sign * scores[b][metric] > sign * scores[a][metric] ? b : a));
      const ranked = rankings && Object.fromEntries(rankings[metric].map((one) => [one.system, one]));
      const cells = names.map((name) => {
        const interval = (content.intervals[name] || {})[metric];
        const test = several && !ranked && name !== best ? findTest(metric, name, best) : null;
        const isBest = ranked ? ranked[name].rank === 1 : several && name === best;
        const count = runs ? runs[name].length : 1;
        return make(
          "td",
          { className: `number${isBest ? " best" : ""}`, title: String(scores[name][metric]) },
          show(scores[name][metric]),
          ranked ? make("sup", {}, ranked[name].cluster) : null,
          interval ? make("small", {}, `${show(interval.low)} to ${show(interval.high)}`) : null,
          count > 1 ? make("small", {}, `mean of ${count} runs`) : null,
          test
            ? make(
                "small",
                {},
                test.verdict.startsWith("different")
                  ? showP(test.adjusted_p)
                  : `${showP(test.adjusted_p)}: ${test.verdict === "equivalent" ? "equivalent" : "no difference found"}`,
              )
            : null,
        );
      });
      return make("tr", {}, make("th", { scope: "row" }, metric), ...cells);
    });
    const first = Object.values(Object.values(content.intervals)[0])[0];
    const legend = rankings
      ? "; bold: no system is significantly better; systems that share a letter were not told apart"
      : "; the best in bold, p of the difference from it";
    const caption = `Scores with ${first ? `${100 * first.confidence} %` : "no"} intervals${several ? legend : ""}`;
    at("scores").append(
      make("div", { className: "means" }, ...content.summary.map((sentence) => make("p", {}, sentence))),
      ...content.warnings.map((warning) => make("p", { className: "note" }, warning)),
      make(
        "div",
        { className: "scroll", tabIndex: 0, role: "group", ariaLabel: "Scores" },
        make(
          "table",
          { id: "score-table" },
          make("caption", {}, caption),
          make(
            "thead",
            {},
            make(
              "tr",
              {},
              make("th", { scope: "col" }, "metric"),
              ...names.map((name) => make("th", { scope: "col", className: "number", dir: "auto" }, name)),
            ),
          ),
          make("tbody", {}, ...rows),
        ),
      ),
    );
    if (several) {
      if (rankings) at("scores").append(drawRankings(rankings));
      const tests = metrics.flatMap((metric) =>
        content.comparison.tests[metric].map((test) => [
          metric,
          `${test.systems[0]} − ${test.systems[1]}`,
          showSigned(test.difference),
          test.low === null ? "–" : `${showSigned(test.low)} to ${showSigned(test.high)}`,
          showP(test.p),
          showP(test.adjusted_p),
          showSigned(test.effect, 2),
          `${show(100 * test.wins, 0)} %`,
          test.method,
        ]),
      );
      at("scores").append(
        make(
          "details",
          {},
          make("summary", {}, "All pairwise tests"),
          table(
            ["metric", "systems", "difference", "interval", "p", "adjusted p", "effect", "wins", "method"],
            tests,
            "Every pair of systems by every metric",
          ),
          make("p", { className: "faint" }, content.comparison.note),
        ),
      );
    }
    if (content.slices) at("scores").append(drawSlices());
    if (content.diversity) at("scores").append(...drawDiversity());
  }

  function drawRankings(rankings) {
    const tables = metrics.map((metric) =>
      table(
        ["", "system", "score", "interval", "cluster", ...rankings[metric].map((_, place) => String(place + 1))],
        rankings[metric].map((one, place) => [
          place + 1,
          one.system,
          one.score,
          one.low === null ? "–" : `${show(one.low)} to ${show(one.high)}`,
          one.cluster,
          ...one.against,
        ]),
        `Ranking by ${metric}`,
      ),
    );
    return make(
      "details",
      { id: "rankings" },
      make("summary", {}, "Rankings"),
      make(
        "p",
        { className: "faint" },
        "Signs compare a system with the others in the order of the ranking: > significantly better, " +
          "< worse, = not told apart.",
      ),
      ...tables,
    );
  }

  function drawSlices() {
    const parts = content.comparison.slices.slices;
    const rows = Object.entries(parts).flatMap(([slice, part]) =>
      metrics.map((metric) => [
        slice,
        content.slices.members[slice].length,
        metric,
        ...names.map((name) => part.scores[name][metric]),
        ...(several
          ? [
              (part.tests[metric] || [])
                .map(({ systems, adjusted_p: p }) =>
                  names.length > 2 ? `${systems.join(" − ")}: ${showP(p)}` : showP(p),
                )
                .join("; "),
            ]
          : []),
      ]),
    );
    return make(
      "details",
      { id: "slices" },
      make("summary", {}, `Scores by ${content.slices.by}`),
      table(
        [content.slices.by, "images", "metric", ...names, ...(several ? ["p"] : [])],
        rows,
        content.slices.note,
      ),
    );
  }

  function drawDiversity() {
    const { scores, notes, signatures } = content.diversity;
    const measures = [...new Set(Object.values(scores).flatMap(Object.keys))];
    const rows = inOrder(scores).map((name) => [
      name,
      ...measures.map((measure) => scores[name][measure] ?? null),
    ]);
    return [
      make("h3", {}, "Diversity"),
      make(
        "p",
        {},
        "Diversity of the captions of each image; humans: the references, each scored against the others.",
      ),
      table(["system", ...measures], rows, "Diversity of sets of captions"),
      ...notes.map((note) => make("p", { className: "faint" }, note)),
      make(
        "details",
        {},
        make("summary", {}, "Signatures of diversity"),
        make("pre", {}, Object.values(signatures).join("\n")),
      ),
    ];
  }

  function drawAudit() {
    const root = at("audit");
    if (!content.findings) {
      root.append(make("p", {}, "The audit was not run."));
      return;
    }
    for (const name of inOrder(content.findings)) {
      const findings = content.findings[name];
      root.append(make("h3", { dir: "auto" }, name));
      if (!findings.length) {
        root.append(make("p", {}, "No problems were found."));
        continue;
      }
      root.append(
        make(
          "ul",
          {},
          ...findings.map((finding) =>
            make(
              "li",
              { className: "finding" },
              make("strong", {}, finding.title),
              ` (${finding.count})`,
              finding.cost === null || finding.cost === undefined
                ? null
                : make(
                    "span",
                    {},
                    ` Repaired, CIDEr-D would change by ${showSigned(finding.cost)}.`,
                  ),
              finding.advice ? make("div", {}, finding.advice) : null,
              finding.examples.length
                ? make("ul", {}, ...finding.examples.map((example) => make("li", { dir: "auto" }, example)))
                : null,
            ),
          ),
        ),
      );
    }
  }

  function drawPaste() {
    const paste = (title, text) => {
      const copy = make(
        "button",
        {
          type: "button",
          className: "copy",
          onclick: async () => {
            try {
              await navigator.clipboard.writeText(text);
              copy.textContent = "Copied";
            } catch {
              const range = document.createRange();
              range.selectNodeContents(block);
              getSelection().removeAllRanges();
              getSelection().addRange(range);
              copy.textContent = "Selected: copy with Ctrl+C";
            }
          },
        },
        "Copy",
      );
      const block = make("pre", {}, text);
      return make("div", { className: "pasted" }, make("h3", {}, title), block, copy);
    };
    at("cite").append(
      paste("Summary", content.summary.join(" ")),
      paste(
        "Signatures",
        Object.values(content.comparison.signatures).join("\n"),
      ),
      paste("Citation (BibTeX)", content.citation),
    );
    at("foot").textContent =
      "All scores are in this file as JSON with all digits, in the element with the id “data”.";
  }

  drawHead();
  const explorer = new Explorer(at("explorer-root"), content);
  drawScores();
  drawAudit();
  drawPaste();
  if (location.hash.startsWith("#/")) at("explorer").scrollIntoView();
  document.documentElement.dataset.ready = "";
  requestAnimationFrame(() => {
    performance.mark("cidery-ready");
    setTimeout(() => new Charts(at("pictures"), content, explorer.model, explorer), 0);
  });
})();
