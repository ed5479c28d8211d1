// The explorer of images: a list that is sorted and filtered, and the captions of one image.
// One code for the report (put into the page) and the web app (a static file): text goes into the
// page as text only, and nothing needs inline styles or handlers, which the app's policy forbids.
"use strict";
(() => {
  const { Model, SORTS, WORD, say } = globalThis.cidery;
  const ROW = 64; // pixels of a row of the list, as in explorer.css
  const LEVELS = 4; // of color

  // Makes an element; children are elements or texts.
  function make(tag, attributes = {}, ...children) {
    const element = document.createElement(tag);
    for (const [name, value] of Object.entries(attributes)) {
      if (value === null || value === undefined || value === false) continue;
      if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
      else if (name in element && name !== "list" && name !== "form") element[name] = value;
      else element.setAttribute(name, value === true ? "" : value);
    }
    element.append(...children.filter((child) => child !== null && child !== undefined));
    return element;
  }

  // As the language of the page writes numbers.
  function write(text) {
    return document.documentElement.lang === "de" ? text.replace(".", ",") : text;
  }

  function show(value, digits = 4) {
    return value === null || value === undefined || Number.isNaN(value) ? "–" : write(value.toFixed(digits));
  }

  function showSigned(value, digits = 4) {
    return (value > 0 ? "+" : "") + show(value, digits);
  }

  class Explorer {
    constructor(root, content, options = {}) {
      this.root = root;
      this.model = new Model(content);
      this.options = options;
      this.order = [];
      this.values = [];
      this.defaults = this.makeDefaults();
      this.state = this.readAddress() || { ...this.defaults };
      this.build();
      this.select();
      if (!this.options.quiet) window.addEventListener("hashchange", () => this.follow());
    }

    makeDefaults() {
      const { names, metrics, lead } = this.model;
      const ranked = this.model.content.comparison
        ? [...names].sort((a, b) => this.model.sign(lead) * (this.corpus(b, lead) - this.corpus(a, lead)))
        : names;
      return {
        metric: lead,
        against: metrics.find((metric) => metric !== lead) || lead,
        one: ranked[0],
        other: ranked[1] || ranked[0],
        sort: names.length > 1 ? "difference" : "low",
        text: "",
        slice: "",
        from: "",
        to: "",
        image: "",
      };
    }

    corpus(name, metric) {
      return this.model.content.comparison.scores[name][metric];
    }

    // A view is written after #/ as name=value, what is as usual left out.
    readAddress() {
      if (!location.hash.startsWith("#/")) return null;
      const given = new URLSearchParams(location.hash.slice(2));
      const state = { ...this.defaults };
      for (const name of Object.keys(state)) if (given.has(name)) state[name] = given.get(name);
      const { names, metrics } = this.model;
      for (const name of ["one", "other"])
        if (!names.includes(state[name])) state[name] = this.defaults[name];
      for (const name of ["metric", "against"])
        if (!metrics.includes(state[name])) state[name] = this.defaults[name];
      if (!this.sorts().includes(state.sort)) state.sort = this.defaults.sort;
      const slices = this.model.content.slices ? this.model.content.slices.members : {};
      if (!Object.hasOwn(slices, state.slice)) state.slice = "";
      for (const name of ["from", "to"]) if (!Number.isFinite(Number(state[name]))) state[name] = "";
      return state;
    }

    address() {
      const changed = Object.entries(this.state).filter(([name, value]) => value !== this.defaults[name]);
      return `#/${new URLSearchParams(changed)}`;
    }

    writeAddress() {
      this.link.href = this.address();
      clearTimeout(this.timer);
      if (this.address() === "#/" && !location.hash.startsWith("#/")) return;
      // Browsers refuse hundreds of changes in a row: only where someone stays is written.
      this.timer = setTimeout(() => {
        this.timer = null;
        try {
          history.replaceState(null, "", this.address());
        } catch {
          // The link has the address all the same.
        }
      }, 150);
    }

    follow() {
      const state = this.readAddress();
      if (!state) return;
      this.state = state;
      this.fill();
      this.select();
      this.root.scrollIntoView({ block: "nearest" });
    }

    sorts() {
      const { names, metrics } = this.model;
      return Object.keys(SORTS).filter(
        (name) => SORTS[name].needs <= names.length && (SORTS[name].metrics || 1) <= metrics.length,
      );
    }

    build() {
      const { names, metrics, content } = this.model;
      this.fields = {};
      const choose = (name, label, values, changed) => {
        const field = make("select", { id: `x-${name}`, onchange: () => this.change(name, field.value) });
        for (const [value, text] of values) field.append(make("option", { value }, text));
        this.fields[name] = field;
        return make("label", { className: `x-field x-${name}` }, make("span", {}, label), field);
      };
      const type = (name, label, attributes) => {
        const field = make("input", {
          id: `x-${name}`,
          autocomplete: "off",
          ...attributes,
          oninput: () => this.change(name, field.value.trim()),
        });
        this.fields[name] = field;
        return make("label", { className: `x-field x-${name}` }, make("span", {}, label), field);
      };
      const plain = (values) => values.map((value) => [value, value]);
      const sorts = this.sorts().map((name) => [name, name]);
      const controls = [choose("sort", say("Show first"), sorts), choose("metric", say("Metric"), plain(metrics))];
      if (metrics.length > 1) controls.push(choose("against", say("Other metric"), plain(metrics)));
      if (names.length > 1) {
        controls.push(
          choose("one", say("System"), plain(names)),
          choose("other", say("Other system"), plain(names)),
        );
      }
      controls.push(type("text", say("Text or id"), { type: "search", spellcheck: false, dir: "auto" }));
      if (content.slices) {
        const slices = Object.keys(content.slices.members);
        controls.push(choose("slice", content.slices.by, [["", say("all")], ...plain(slices)]));
      }
      controls.push(
        make(
          "span",
          { className: "x-range" },
          type("from", say("Value from"), { type: "number", step: "any" }),
          type("to", say("to"), { type: "number", step: "any" }),
        ),
      );
      this.link = make("a", { href: "#/" }, say("Link to this view"));
      this.count = make("span", { role: "status" });
      this.shown = make("span", { dir: "auto" });
      this.space = make("div", { className: "x-space" });
      this.list = make(
        "div",
        {
          className: "x-list",
          id: "x-list",
          tabIndex: 0,
          role: "listbox",
          ariaLabel: say("Images"),
          onscroll: () => this.drawRows(),
          onkeydown: (event) => this.press(event),
          onclick: (event) => this.click(event),
        },
        this.space,
      );
      this.detail = make("article", { className: "x-detail", ariaLabel: say("One image") });
      this.previous = make("button", { type: "button", onclick: () => this.move(-1) }, say("← Previous"));
      this.next = make("button", { type: "button", onclick: () => this.move(1) }, say("Next →"));
      this.root.classList.add("x");
      this.root.replaceChildren(
        make(
          "form",
          {
            className: "x-controls",
            role: "search",
            ariaLabel: say("Images to show"),
            onsubmit: (event) => event.preventDefault(),
          },
          ...controls,
        ),
        make(
          "p",
          { className: "x-bar" },
          this.count,
          this.shown,
          this.link,
          make(
            "span",
            { className: "x-hint" },
            say("Keys in the list: ↑ ↓ or j k, Page up, Page down, Home, End; / searches"),
          ),
        ),
        make(
          "div",
          { className: "x-panes" },
          this.list,
          make(
            "div",
            { className: "x-pane" },
            make("p", { className: "x-moves" }, this.previous, this.next),
            this.detail,
          ),
        ),
      );
      this.root.addEventListener("keydown", (event) => {
        if (event.key === "/" && !/INPUT|SELECT|TEXTAREA/.test(event.target.tagName)) {
          event.preventDefault();
          this.fields.text.focus();
        }
      });
      if (window.ResizeObserver) new ResizeObserver(() => this.drawRows()).observe(this.list);
      this.fill();
    }

    fill() {
      for (const [name, field] of Object.entries(this.fields)) {
        if (name === "sort")
          for (const option of field.options) option.textContent = SORTS[option.value].label(this.state);
        field.value = this.state[name];
      }
      const disagrees = this.state.sort === "disagreement";
      if (this.fields.against) this.fields.against.closest("label").hidden = !disagrees;
    }

    change(name, value) {
      this.state[name] = value;
      if (name === "one" && value === this.state.other) {
        this.state.other = this.model.names.find((other) => other !== value);
      } else if (name === "other" && value === this.state.one) {
        this.state.one = this.model.names.find((other) => other !== value);
      }
      if (name !== "image") this.state.image = "";
      const typed = name === "text" || name === "from" || name === "to";
      if (!typed) this.fill();
      this.select();
    }

    // Sorts and filters, and opens the image of the state, or the first.
    select() {
      const { model, state } = this;
      const sort = SORTS[state.sort];
      const values = sort.value(model, state);
      const key = sort.key || ((value) => value);
      const text = state.text.toLowerCase();
      const [from, to] = [state.from, state.to].map((bound) => (bound === "" ? null : Number(bound)));
      const member = state.slice ? new Set(model.content.slices.members[state.slice]) : null;
      const order = [];
      for (let place = 0; place < model.images.length; place += 1) {
        const value = values[place];
        if (member && !member.has(place)) continue;
        if (from !== null && !(value >= from)) continue;
        if (to !== null && !(value <= to)) continue;
        if (text && !model.text(place).includes(text)) continue;
        order.push(place);
      }
      if (sort.down !== null) {
        const sign = sort.down ? -1 : 1;
        const keys = new Float64Array(model.images.length);
        for (const place of order) {
          const found = sign * key(values[place]);
          keys[place] = Number.isNaN(found) ? Infinity : found; // what has no score comes last
        }
        order.sort((a, b) => (keys[a] === keys[b] ? a - b : keys[a] - keys[b]));
      }
      this.order = order;
      this.values = values;
      this.signed = Boolean(sort.signed);
      const whole = model.images.length;
      const language = document.documentElement.lang || "en";
      const [count, all] = [order.length, whole].map((number) => number.toLocaleString(language));
      if (order.length !== whole) this.count.textContent = say("{count} of {all} images", { count, all });
      else this.count.textContent = whole === 1 ? say("{count} image", { count }) : say("{count} images", { count });
      const what = sort.says
        ? sort.says(state)
        : say("{metric} of {system}", { metric: state.metric, system: state.one });
      this.shown.textContent = say("Value: {what}", { what });
      this.space.style.height = `${order.length * ROW}px`;
      const wanted = state.image === "" ? -1 : order.indexOf(model.place(state.image) ?? -1);
      this.open(Math.max(0, wanted), { keep: wanted < 0 });
    }

    // Opens the image at a position of the list; `keep` leaves the state's image as it is.
    open(position, { keep = false } = {}) {
      this.position = Math.min(Math.max(0, position), Math.max(0, this.order.length - 1));
      const place = this.order[this.position];
      if (!keep && place !== undefined) this.state.image = String(this.model.images[place]);
      const top = this.position * ROW;
      const view = this.list.clientHeight;
      if (top < this.list.scrollTop || this.position === 0) this.list.scrollTop = top;
      else if (view && top + ROW > this.list.scrollTop + view) this.list.scrollTop = top + ROW - view;
      this.drawRows();
      this.drawDetail(place);
      this.previous.disabled = this.position === 0;
      this.next.disabled = this.position >= this.order.length - 1;
      this.writeAddress();
    }

    // For pictures: opens an image by its place in the data, whatever is filtered now.
    show(place, changes = {}) {
      Object.assign(this.state, { text: "", slice: "", from: "", to: "" }, changes);
      this.state.image = String(this.model.images[place]);
      this.fill();
      this.select();
      this.reveal();
    }

    search(text) {
      Object.assign(this.state, { text, image: "" });
      this.fill();
      this.select();
      this.reveal();
    }

    reveal() {
      this.root.scrollIntoView({ block: "start" });
      this.list.focus({ preventScroll: true });
    }

    move(by) {
      this.open(this.position + by);
    }

    press(event) {
      if (event.ctrlKey || event.metaKey || event.altKey) return;
      const page = Math.max(1, Math.floor(this.list.clientHeight / ROW) - 1);
      const steps = {
        ArrowDown: 1,
        j: 1,
        ArrowUp: -1,
        k: -1,
        PageDown: page,
        PageUp: -page,
        Home: -this.order.length,
        End: this.order.length,
      };
      if (!(event.key in steps)) return;
      event.preventDefault();
      this.move(steps[event.key]);
    }

    click(event) {
      const row = event.target.closest("[role=option]");
      if (row) this.open(Number(row.dataset.position));
    }

    // Only the rows in sight exist.
    drawRows() {
      const first = Math.max(0, Math.floor(this.list.scrollTop / ROW) - 3);
      const last = Math.min(
        this.order.length,
        Math.ceil((this.list.scrollTop + (this.list.clientHeight || 600)) / ROW) + 3,
      );
      const rows = [];
      for (let position = first; position < last; position += 1) rows.push(this.drawRow(position));
      this.space.replaceChildren(...rows);
      if (this.order.length) this.list.setAttribute("aria-activedescendant", `x-row-${this.position}`);
      else this.list.removeAttribute("aria-activedescendant");
    }

    drawRow(position) {
      const { model, state } = this;
      const place = this.order[position];
      const value = this.values[place];
      const tone = !this.signed || !value ? "" : value > 0 ? " x-plus" : " x-minus";
      const caption = model.caption(state.one, model.rows(state.one, place)[0]);
      const row = make(
        "div",
        {
          className: "x-row",
          id: `x-row-${position}`,
          role: "option",
          ariaSelected: String(position === this.position),
          "aria-setsize": this.order.length,
          "aria-posinset": position + 1,
          "data-position": position,
        },
        this.picture(place, "x-small"),
        make(
          "span",
          { className: "x-words" },
          make("span", { className: "x-id" }, String(model.images[place])),
          make("span", { className: "x-first", dir: "auto" }, caption),
        ),
        make(
          "span",
          { className: `x-value${tone}`, title: String(value) },
          this.signed ? showSigned(value, 3) : show(value, 3),
        ),
      );
      row.style.top = `${position * ROW}px`;
      return row;
    }

    picture(place, className) {
      const source = this.model.thumbnail(place);
      if (!this.model.content.thumbnails) return null;
      const frame = make("span", { className: `x-picture ${className}` });
      if (source) {
        const image = make("img", {
          alt: "",
          loading: "lazy",
          decoding: "async",
          referrerPolicy: "no-referrer",
        });
        image.addEventListener("error", () => frame.classList.add("x-gone"), { once: true });
        image.src = source;
        frame.append(image);
      } else {
        frame.classList.add("x-gone");
      }
      if (className === "x-large")
        frame.append(make("span", { className: "x-none" }, say("The image is not available.")));
      return frame;
    }

    drawDetail(place) {
      const { model, state } = this;
      if (place === undefined) {
        this.detail.replaceChildren(make("p", {}, say("No image matches. Remove a filter.")));
        return;
      }
      const slices = model.slices(place);
      const parts = [
        make(
          "h3",
          {},
          `${say("Image")} `,
          make("span", { dir: "auto" }, String(model.images[place])),
          make(
            "small",
            {},
            ` ${say("{number} of {count}", { number: this.position + 1, count: this.order.length })}`,
          ),
        ),
        slices.length
          ? make(
              "p",
              { className: "x-slices" },
              ...slices.map((name) => make("span", { className: "x-chip" }, name)),
            )
          : null,
        this.picture(place, "x-large"),
        ...model.names.map((name) => this.drawSystem(name, place)),
      ];
      if (model.content.explained) parts.push(this.drawLegend());
      const references = model.references(place);
      if (references.length) {
        parts.push(
          make(
            "h4",
            {},
            references.length === 1
              ? say("{count} reference", { count: 1 })
              : say("{count} references", { count: references.length }),
          ),
          make("ul", { className: "x-references" }, ...references.map((text) => this.drawReference(text))),
        );
      }
      parts.push(this.drawScores(place));
      this.detail.replaceChildren(...parts.filter(Boolean));
    }

    drawSystem(name, place) {
      const { model, state } = this;
      const each = model.content.systems[name].scores[state.metric];
      const best = model.best(model.names.map((other) => model.scores(other, state.metric)[place]), state.metric);
      const captions = model
        .rows(name, place)
        .map((row) =>
          make(
            "p",
            { className: "x-caption" },
            make(
              "span",
              { dir: "auto", className: "x-said" },
              ...(model.hides(name)
                ? [say("(caption not shown)")]
                : model.pieces(name, row).map((piece) => this.drawWord(piece))),
            ),
            make("span", { className: "x-score", title: `${state.metric} ${each[row]}` }, show(each[row])),
          ),
        );
      const wins = model.names.length > 1 && model.scores(name, state.metric)[place] === best;
      return make(
        "section",
        { className: `x-system${wins ? " x-best" : ""}` },
        make("h4", {}, make("span", { dir: "auto" }, name), wins ? make("small", {}, ` ${say("best here")}`) : null),
        ...captions,
      );
    }

    drawWord([text, value]) {
      if (!value) return document.createTextNode(text);
      const level = Math.min(
        LEVELS,
        Math.max(1, Math.ceil((LEVELS * Math.abs(value)) / this.model.strongest())),
      );
      return make(
        "span",
        {
          className: `x-${value > 0 ? "earn" : "cost"}-${level}`,
          title:
            value > 0
              ? say("earned {value}", { value: showSigned(value, 3) })
              : say("cost {value}", { value: showSigned(value, 3) }),
          onmouseenter: () => this.point(text),
          onmouseleave: () => this.point(null),
        },
        text,
      );
    }

    // Marks a word wherever the references have it.
    point(text) {
      const wanted = text === null ? null : text.toLowerCase().replace(/[.,!?;:]+$/, "");
      for (const word of this.detail.querySelectorAll(".x-references span")) {
        const same = wanted !== null && word.textContent.toLowerCase().replace(/[.,!?;:]+$/, "") === wanted;
        word.classList.toggle("x-same", same);
      }
    }

    drawReference(text) {
      const item = make("li", { dir: "auto" });
      let end = 0;
      for (const match of text.matchAll(WORD)) {
        item.append(text.slice(end, match.index), make("span", {}, match[0]));
        end = match.index + match[0].length;
      }
      item.append(text.slice(end));
      return item;
    }

    drawLegend() {
      const bits = [];
      for (let level = LEVELS; level > 0; level -= 1)
        bits.push(make("span", { className: `x-cost-${level}` }, "\u2002"));
      bits.push(make("span", { className: "x-zero" }, " 0 "));
      for (let level = 1; level <= LEVELS; level += 1)
        bits.push(make("span", { className: `x-earn-${level}` }, "\u2002"));
      return make(
        "p",
        { className: "x-legend" },
        `${say("Contributions of words to {metric} (underlined: negative):", this.model.content.explained)} `,
        ...bits,
      );
    }

    drawScores(place) {
      const { model, state } = this;
      const head = make(
        "tr",
        {},
        make("th", { scope: "col" }, say("metric")),
        ...model.names.map((name) => make("th", { scope: "col", className: "x-number", dir: "auto" }, name)),
      );
      const body = model.metrics.map((metric) => {
        const values = model.names.map((name) => model.scores(name, metric)[place]);
        const best = model.best(values, metric);
        return make(
          "tr",
          { className: metric === state.metric ? "x-chosen" : "" },
          make("th", { scope: "row" }, metric),
          ...values.map((value) =>
            make(
              "td",
              {
                className: `x-number${values.length > 1 && value === best ? " x-top" : ""}`,
                title: String(value),
              },
              show(value),
            ),
          ),
        );
      });
      return make(
        "div",
        { className: "x-scroll" },
        make(
          "table",
          {},
          make("caption", {}, say("Scores of this image")),
          make("thead", {}, head),
          make("tbody", {}, ...body),
        ),
      );
    }
  }

  Object.assign(globalThis.cidery, { Explorer, make, show, showSigned });
})();
