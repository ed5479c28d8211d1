// Charts of a report. Each has a description and a table with the same data for screen readers;
// plotly.js draws it when the rest of the page is ready.
"use strict";
(() => {
  const { make, show, showSigned } = globalThis.cidery;
  const COLORS = ["#0072b2", "#d55e00", "#009e73", "#b8578f", "#8a7a00", "#56748f"];
  const SYMBOLS = ["circle", "square", "diamond", "triangle-up", "x", "star"];
  const MOST_POINTS = 6000; // of a picture: browsers draw each as an element
  const BINS = 30;
  const MOST_GROUPS = 8;

  // plotly.js is compressed in the page; it is decompressed and run when first needed.
  let library = null;
  function loadLibrary() {
    library ??= (async () => {
      const packed = document.getElementById("plotly").textContent.trim();
      if (!packed || !globalThis.DecompressionStream) return null;
      const bytes = Uint8Array.from(atob(packed), (character) => character.charCodeAt(0));
      const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
      const source = await new Response(stream).text();
      const script = document.createElement("script");
      script.textContent = source;
      document.head.append(script);
      return globalThis.Plotly || null;
    })();
    return library;
  }

  function idle(work) {
    if (globalThis.requestIdleCallback) requestIdleCallback(work, { timeout: 2000 });
    else setTimeout(work, 50);
  }

  function quantile(sorted, share) {
    const place = share * (sorted.length - 1);
    const low = Math.floor(place);
    const high = Math.ceil(place);
    return sorted[low] + (sorted[high] - sorted[low]) * (place - low);
  }

  function mean(values) {
    return values.reduce((sum, value) => sum + value, 0) / values.length;
  }

  // Mean and 95 % interval of the mean of some captions.
  function summarize(values) {
    const middle = mean(values);
    const squares = values.reduce((sum, value) => sum + (value - middle) ** 2, 0);
    const wide =
      values.length > 1 ? (1.96 * Math.sqrt(squares / (values.length - 1))) / Math.sqrt(values.length) : null;
    return { count: values.length, mean: middle, wide };
  }

  function pearson(a, b) {
    const [ma, mb] = [mean(Array.from(a)), mean(Array.from(b))];
    let [ab, aa, bb] = [0, 0, 0];
    for (let i = 0; i < a.length; i += 1) {
      ab += (a[i] - ma) * (b[i] - mb);
      aa += (a[i] - ma) ** 2;
      bb += (b[i] - mb) ** 2;
    }
    return aa && bb ? ab / Math.sqrt(aa * bb) : null;
  }

  // Every k-th image, if there are too many to draw.
  function thin(count) {
    const step = Math.ceil(count / MOST_POINTS);
    return Array.from({ length: Math.ceil(count / step) }, (_, i) => i * step);
  }

  function color(names, name) {
    return COLORS[names.indexOf(name) % COLORS.length];
  }

  function marker(names, name, others = {}) {
    return { color: color(names, name), symbol: SYMBOLS[names.indexOf(name) % SYMBOLS.length], ...others };
  }

  class Charts {
    constructor(root, content, model, explorer) {
      Object.assign(this, { root, content, model, explorer });
      const ranked = explorer.defaults;
      this.state = { metric: model.lead, against: ranked.against, one: ranked.one, other: ranked.other };
      this.run = 0;
      this.figures = make("div", { className: "figures" });
      root.append(this.choices(), this.figures);
      if (!content.charts) {
        root.append(
          make(
            "p",
            { className: "faint" },
            "Charts are shown as tables, because Plotly was not installed when this page was written (pip install 'cidery[report]').",
          ),
        );
      }
      matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => this.draw());
      this.draw();
    }

    choices() {
      const { names, metrics } = this.model;
      const choose = (name, label, values) => {
        const field = make(
          "select",
          {
            onchange: () => {
              this.state[name] = field.value;
              this.draw();
            },
          },
          ...values.map((value) => make("option", { value }, value)),
        );
        field.value = this.state[name];
        return make("label", {}, label, field);
      };
      const fields = [choose("metric", "Metric", metrics)];
      if (metrics.length > 1) fields.push(choose("against", "Other metric", metrics));
      fields.push(choose("one", "System", names));
      if (names.length > 1) fields.push(choose("other", "Other system", names));
      return make("div", { className: "choices" }, ...fields);
    }

    list() {
      const { names, metrics } = this.model;
      const counts = new Set(this.content.references.map((references) => references.length));
      return [
        this.intervals(),
        this.distribution(),
        names.length > 1 && this.state.one !== this.state.other ? this.systems() : null,
        this.byLength(),
        counts.size > 1 ? this.byReferences() : null,
        this.content.slices ? this.bySlice() : null,
        metrics.length > 1 && this.state.metric !== this.state.against ? this.metrics() : null,
      ].filter(Boolean);
    }

    // Writes descriptions and tables at once, and draws the charts one by one when idle.
    draw() {
      this.run += 1;
      const run = this.run;
      const figures = this.list().map((figure) => {
        const plot = make("div", { className: "plot", role: "img", ariaLabel: figure.says });
        const box = make(
          "figure",
          {},
          make("h3", {}, figure.title),
          make("figcaption", {}, figure.says),
          this.content.charts ? plot : null,
          make(
            "details",
            { open: !this.content.charts },
            make("summary", {}, "Data"),
            ...figure.tables.map((t) => table(...t)),
          ),
        );
        return { ...figure, plot, box };
      });
      this.figures.replaceChildren(...figures.map((figure) => figure.box), ...this.contrasts());
      if (!this.content.charts) return;
      const next = async () => {
        const figure = figures.shift();
        if (!figure || run !== this.run) return;
        const plotly = await loadLibrary();
        if (run !== this.run) return;
        if (!plotly) {
          for (const other of [figure, ...figures]) {
            other.plot.remove();
            other.box.querySelector("details").open = true;
          }
          return;
        }
        await plotly.newPlot(figure.plot, figure.data, this.layout(figure.layout), {
          displayModeBar: false,
          responsive: true,
        });
        if (figure.click) figure.plot.on("plotly_click", (event) => figure.click(event.points[0]));
        figure.plot.dataset.drawn = "";
        idle(next);
      };
      idle(next);
    }

    layout(own) {
      const style = getComputedStyle(document.documentElement);
      const [ink, line] = ["--ink", "--line"].map((name) => style.getPropertyValue(name).trim());
      const axis = { gridcolor: line, zerolinecolor: line, linecolor: line, automargin: true };
      const still = matchMedia("(prefers-reduced-motion: reduce)").matches
        ? { transition: { duration: 0 } }
        : {};
      return {
        font: { color: ink, family: "system-ui, sans-serif", size: 13 },
        paper_bgcolor: "rgba(0,0,0,0)",
        plot_bgcolor: "rgba(0,0,0,0)",
        margin: { l: 50, r: 15, t: 10, b: 45 },
        height: 320,
        hovermode: "closest",
        legend: { orientation: "h", y: 1.12 },
        ...still,
        ...own,
        xaxis: { ...axis, ...own.xaxis },
        yaxis: { ...axis, ...own.yaxis },
      };
    }

    intervals() {
      const { metric } = this.state;
      const { names } = this.model;
      const { scores } = this.content.comparison;
      const rows = names.map((name) => [
        name,
        scores[name][metric],
        (this.content.intervals[name] || {})[metric],
      ]);
      const share = rows[0][2] ? `${100 * rows[0][2].confidence} % ` : "";
      return {
        title: `${metric} with intervals`,
        says: `Scores of ${names.length === 1 ? "the system" : `${names.length} systems`} by ${metric} with ${share}bootstrap intervals. Intervals that overlap can still differ: the tests compare image by image.`,
        tables: [
          [
            ["system", metric, "low", "high"],
            rows.map(([name, score, i]) => [name, score, i ? i.low : null, i ? i.high : null]),
          ],
        ],
        data: rows.map(([name, score, i]) => ({
          x: [score],
          y: [name],
          name: text(name),
          type: "scatter",
          mode: "markers",
          marker: marker(names, name, { size: 11 }),
          error_x: i
            ? {
                type: "data",
                symmetric: false,
                array: [i.high - score],
                arrayminus: [score - i.low],
                thickness: 2.5,
              }
            : undefined,
          hovertemplate: "%{x:.4f}<extra></extra>",
        })),
        layout: {
          showlegend: false,
          height: 130 + 45 * names.length,
          xaxis: { title: { text: metric } },
          yaxis: { type: "category", autorange: "reversed", tickvals: names, ticktext: names.map(text) },
        },
      };
    }

    distribution() {
      const { metric } = this.state;
      const { names } = this.model;
      const columns = names.map((name) =>
        this.content.systems[name].scores[metric].filter((value) => value !== null),
      );
      const all = columns.flat();
      const [low, high] = all.reduce(
        ([a, b], value) => [Math.min(a, value), Math.max(b, value)],
        [Infinity, -Infinity],
      );
      const width = (high - low) / BINS || 1;
      const edges = Array.from({ length: BINS + 1 }, (_, i) => low + i * width);
      const rows = names.map((name, i) => {
        const sorted = [...columns[i]].sort((a, b) => a - b);
        return [name, sorted.length, ...[0, 0.25, 0.5, 0.75, 1].map((share) => quantile(sorted, share))];
      });
      return {
        title: `Distribution of ${metric}`,
        says: `Number of captions by score. Quartiles: ${rows.map((row) => `${row[0]} ${show(row[3], 3)} to ${show(row[5], 3)}`).join("; ")}.`,
        tables: [[["system", "captions", "lowest", "quartile", "median", "quartile", "highest"], rows]],
        data: names.map((name, i) => {
          const counts = new Array(BINS + 1).fill(0);
          for (const value of columns[i]) counts[Math.min(BINS - 1, Math.floor((value - low) / width))] += 1;
          return {
            x: edges,
            y: counts,
            name: text(name),
            type: "scatter",
            mode: "lines",
            line: {
              shape: "hv",
              color: color(names, name),
              width: 2,
              dash: ["solid", "dash", "dot", "dashdot"][i % 4],
            },
            hovertemplate: "%{y} captions from %{x:.3f}<extra></extra>",
          };
        }),
        layout: {
          showlegend: names.length > 1,
          xaxis: { title: { text: `${metric} of a caption` } },
          yaxis: { title: { text: "captions" }, rangemode: "tozero" },
        },
      };
    }

    systems() {
      const { metric, one, other } = this.state;
      const { images } = this.model;
      const [a, b] = [this.model.scores(one, metric), this.model.scores(other, metric)];
      const places = thin(images.length);
      const wins = images.reduce((sum, _, i) => sum + (a[i] > b[i]), 0);
      const losses = images.reduce((sum, _, i) => sum + (a[i] < b[i]), 0);
      const top = places.reduce((most, i) => Math.max(most, a[i], b[i]), 0);
      return {
        title: `${one} against ${other}`,
        says: `Each point is an image; click it to open it. ${one} is better on ${wins}, ${other} on ${losses}, equal on ${images.length - wins - losses} of ${images.length} images${places.length < images.length ? `; ${places.length} of them are drawn` : ""}.`,
        tables: [
          [
            ["image", one, other, "difference"],
            [...images.keys()]
              .sort((i, j) => Math.abs(a[j] - b[j]) - Math.abs(a[i] - b[i]))
              .slice(0, 20)
              .map((i) => [images[i], a[i], b[i], a[i] - b[i]]),
            "The 20 images with the largest differences",
          ],
        ],
        data: [
          {
            x: [0, top],
            y: [0, top],
            mode: "lines",
            type: "scatter",
            line: { color: "#888", width: 1, dash: "dot" },
            hoverinfo: "skip",
          },
          {
            x: places.map((i) => b[i]),
            y: places.map((i) => a[i]),
            customdata: places,
            text: places.map((i) => text(images[i])),
            mode: "markers",
            type: "scatter",
            marker: { color: COLORS[0], size: 5, opacity: 0.45 },
            hovertemplate: "%{text}: %{y:.3f} against %{x:.3f}<extra></extra>",
          },
        ],
        layout: {
          showlegend: false,
          height: 420,
          xaxis: { title: { text: text(`${metric} of ${other}`) } },
          yaxis: { title: { text: text(`${metric} of ${one}`) } },
        },
        click: (point) => {
          if (point.customdata !== undefined)
            this.explorer.show(point.customdata, { metric, one, other, sort: "difference" });
        },
      };
    }

    // A figure of mean scores in groups of captions.
    grouped(title, says, axis, groupOf, label) {
      const { metric } = this.state;
      const { names } = this.model;
      const rows = [];
      const data = names.map((name) => {
        const groups = new Map();
        this.content.systems[name].scores[metric].forEach((value, row) => {
          const key = groupOf(name, row);
          if (value === null || key === null) return;
          if (!groups.has(key)) groups.set(key, []);
          groups.get(key).push(value);
        });
        const keys = [...groups.keys()].sort((a, b) => a - b);
        const found = keys.map((key) => summarize(groups.get(key)));
        keys.forEach((key, i) =>
          rows.push([
            label(key),
            name,
            found[i].count,
            found[i].mean,
            found[i].wide === null ? null : found[i].mean - found[i].wide,
            found[i].wide === null ? null : found[i].mean + found[i].wide,
          ]),
        );
        return {
          x: keys.map(label),
          y: found.map((f) => f.mean),
          name: text(name),
          type: "scatter",
          mode: "lines+markers",
          marker: marker(names, name, { size: 8 }),
          line: { color: color(names, name) },
          error_y: { type: "data", array: found.map((f) => f.wide || 0) },
          hovertemplate: "%{x}: %{y:.4f}<extra></extra>",
        };
      });
      return {
        title,
        says,
        data,
        tables: [[[axis, "system", "captions", `mean ${metric}`, "low", "high"], rows]],
        layout: {
          showlegend: names.length > 1,
          xaxis: { title: { text: axis }, type: "category" },
          yaxis: { title: { text: `mean ${metric}` }, rangemode: "tozero" },
        },
      };
    }

    byLength() {
      const { systems } = this.content;
      const lengths = Object.values(systems)
        .flatMap((system) => system.lengths)
        .sort((a, b) => a - b);
      const edges = [
        ...new Set(
          Array.from(
            { length: MOST_GROUPS + 1 },
            (_, i) => lengths[Math.round((i * (lengths.length - 1)) / MOST_GROUPS)],
          ),
        ),
      ];
      const starts = edges.length > 1 ? edges.slice(0, -1) : edges;
      const label = (i) => {
        const [from, to] = [starts[i], i + 1 < starts.length ? starts[i + 1] - 1 : edges[edges.length - 1]];
        return from === to ? String(from) : `${from}–${to}`;
      };
      const groupOf = (name, row) => starts.findLastIndex((start) => start <= systems[name].lengths[row]);
      return this.grouped(
        `${this.state.metric} by length`,
        "Mean score of captions by number of words, with 95 % intervals of the mean.",
        "words of the caption",
        groupOf,
        label,
      );
    }

    byReferences() {
      const { systems, references } = this.content;
      return this.grouped(
        `${this.state.metric} by number of references`,
        "Mean score of captions by number of references, with 95 % intervals of the mean.",
        "references",
        (name, row) => references[systems[name].images ? systems[name].images[row] : row].length,
        String,
      );
    }

    bySlice() {
      const { metric } = this.state;
      const { names } = this.model;
      const { slices, comparison } = this.content;
      const keys = Object.keys(slices.members);
      const rows = keys.flatMap((key) =>
        names.map((name) => {
          const i = (slices.intervals[key][name] || {})[metric];
          const part = comparison.slices.slices[key];
          return [
            key,
            slices.members[key].length,
            name,
            part.scores[name][metric],
            i ? i.low : null,
            i ? i.high : null,
          ];
        }),
      );
      return {
        title: `${metric} by ${slices.by}`,
        says: `Scores by ${metric} in each slice with bootstrap intervals; ${slices.note}.`,
        tables: [[[slices.by, "images", "system", metric, "low", "high"], rows]],
        data: names.map((name) => {
          const own = rows.filter((row) => row[2] === name);
          return {
            y: own.map((row) => row[0]),
            x: own.map((row) => row[3]),
            name: text(name),
            type: "scatter",
            mode: "markers",
            marker: marker(names, name, { size: 9 }),
            error_x: {
              type: "data",
              symmetric: false,
              array: own.map((row) => (row[5] === null ? 0 : row[5] - row[3])),
              arrayminus: own.map((row) => (row[4] === null ? 0 : row[3] - row[4])),
            },
            hovertemplate: "%{x:.4f}<extra></extra>",
          };
        }),
        layout: {
          showlegend: names.length > 1,
          height: 140 + 30 * keys.length,
          xaxis: { title: { text: metric } },
          yaxis: { type: "category", autorange: "reversed", tickvals: keys, ticktext: keys.map(text) },
        },
      };
    }

    metrics() {
      const { metric, against, one } = this.state;
      const { images, metrics } = this.model;
      const places = thin(images.length);
      const [a, b] = [this.model.scores(one, metric), this.model.scores(one, against)];
      const ranks = metrics.map((name) => this.model.ranks(one, name));
      const found = metrics.map((_, i) => metrics.map((__, j) => pearson(ranks[i], ranks[j])));
      const rho = found[metrics.indexOf(metric)][metrics.indexOf(against)];
      return {
        title: `${metric} and ${against}`,
        says: `Each point is an image of ${one}; click it to open it. Spearman's ρ between the two metrics is ${show(rho, 3)}.`,
        tables: [[["Spearman's ρ", ...metrics], metrics.map((name, i) => [name, ...found[i]])]],
        data: [
          {
            x: places.map((i) => b[i]),
            y: places.map((i) => a[i]),
            customdata: places,
            text: places.map((i) => text(images[i])),
            mode: "markers",
            type: "scatter",
            marker: { color: COLORS[2], size: 5, opacity: 0.45 },
            hovertemplate: "%{text}: %{y:.3f}, %{x:.3f}<extra></extra>",
          },
        ],
        layout: {
          showlegend: false,
          height: 420,
          xaxis: { title: { text: against } },
          yaxis: { title: { text: metric } },
        },
        click: (point) =>
          this.explorer.show(point.customdata, { metric, against, one, sort: "disagreement" }),
      };
    }

    // Words and objects as buttons, each with its number of images, which search the explorer.
    contrasts() {
      const { one } = this.state;
      const found = this.content.contrasts[one];
      const figure = (title, says, pairs) =>
        make(
          "figure",
          { className: "contrast" },
          make("h3", {}, title),
          make("figcaption", {}, says),
          pairs.length
            ? make(
                "ul",
                { className: "words" },
                ...pairs.map(([word, count]) =>
                  make(
                    "li",
                    {},
                    make(
                      "button",
                      { type: "button", dir: "auto", onclick: () => this.explorer.search(word) },
                      word,
                      make("small", {}, ` ${count}`),
                    ),
                  ),
                ),
              )
            : make("p", { className: "faint" }, "None in at least two images."),
        );
      const search = "with the number of images; click to search";
      return [
        figure(
          `Words in captions of ${one}, not in references`,
          `Words of its captions that no reference of the image has, ${search}.`,
          found.words.added,
        ),
        figure(
          `Words in references, not in captions of ${one}`,
          `Words of at least half of an image's references that its captions lack, ${search}.`,
          found.words.left_out,
        ),
        figure(
          `Objects in captions of ${one}, not in references`,
          `Of COCO's 80 categories of objects, by their names and frequent synonyms, ${search}.`,
          found.objects.added,
        ),
        figure(
          `Objects in references, not in captions of ${one}`,
          `Of COCO's 80 categories of objects, mentioned in at least half of the references, ${search}.`,
          found.objects.left_out,
        ),
      ];
    }
  }

  // Plotly reads some HTML in labels; here they are only text.
  function text(value) {
    return String(value).replace(/&/g, "&amp;").replace(/</g, "&lt;").replace(/>/g, "&gt;");
  }

  function table(header, rows, caption = null) {
    const cell = (value) =>
      typeof value === "number" && !Number.isInteger(value)
        ? make("td", { className: "number", title: String(value) }, show(value))
        : typeof value === "number" || value === null
          ? make("td", { className: "number" }, value === null ? "–" : String(value))
          : make("td", { dir: "auto" }, String(value));
    return make(
      "div",
      { className: "scroll", tabIndex: 0, role: "group", ariaLabel: caption || "Numbers" },
      make(
        "table",
        {},
        caption ? make("caption", {}, caption) : null,
        make("thead", {}, make("tr", {}, ...header.map((name) => make("th", { scope: "col" }, name)))),
        make("tbody", {}, ...rows.map((row) => make("tr", {}, ...row.map(cell)))),
      ),
    );
  }

  Object.assign(globalThis.cidery, { Charts, table, showSigned });
})();
