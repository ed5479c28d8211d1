// The columns of a report's JSON, by image, and the ways in which images can be sorted. Nothing here
// touches the page.
"use strict";
(() => {
  // As Python's str.isspace: a word is a run of other characters.
  const WORD = /[^\t-\r\x1c-\x20\x85\xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000]+/g;

  // Texts in the language of the page: the app puts translations there, reports are in English.
  let texts = null;
  function say(text, values = {}) {
    if (texts === null) {
      const given = globalThis.document?.getElementById("explorer-texts");
      texts = given ? JSON.parse(given.textContent) : {};
    }
    return (texts[text] ?? text).replace(/\{(\w+)\}/g, (_, name) => values[name]);
  }

  // Columns of the JSON, with what is computed from them once and kept.
  class Model {
    constructor(content) {
      this.content = content;
      this.images = content.images;
      // The keys of an object that are whole numbers come first, in their order.
      this.names = content.names ?? Object.keys(content.systems);
      this.metrics = Object.keys(content.systems[this.names[0]].scores);
      this.lead = this.metrics.includes(content.lead) ? content.lead : this.metrics[0];
      this.kept = new Map();
    }

    // -1 for metrics of which a lower score is better.
    sign(metric) {
      return (this.content.lower || []).includes(metric) ? -1 : 1;
    }

    best(values, metric) {
      const sign = this.sign(metric);
      return sign * Math.max(...values.filter((value) => !Number.isNaN(value)).map((value) => sign * value));
    }

    once(key, compute) {
      if (!this.kept.has(key)) this.kept.set(key, compute());
      return this.kept.get(key);
    }

    // Where the captions of each image begin; null where each image has one.
    starts(name) {
      const places = this.content.systems[name].images;
      if (!places) return null;
      return this.once(`starts ${name}`, () => {
        const starts = new Int32Array(this.images.length + 1);
        for (const place of places) starts[place + 1] += 1;
        for (let i = 0; i < this.images.length; i += 1) starts[i + 1] += starts[i];
        return starts;
      });
    }

    rows(name, place) {
      const starts = this.starts(name);
      if (!starts) return [place];
      return Array.from({ length: starts[place + 1] - starts[place] }, (_, i) => starts[place] + i);
    }

    // The score of each image: that of its caption, or the mean of several; NaN where there is none.
    scores(name, metric) {
      return this.once(`scores ${name} ${metric}`, () => {
        const each = Float64Array.from(this.content.systems[name].scores[metric], (value) => value ?? NaN);
        const starts = this.starts(name);
        if (!starts) return each;
        return Float64Array.from(this.images, (_, place) => {
          let sum = 0;
          for (let row = starts[place]; row < starts[place + 1]; row += 1) sum += each[row];
          return sum / (starts[place + 1] - starts[place]);
        });
      });
    }

    // The rank of each image's score, from 0 to 1; equal scores share a rank.
    ranks(name, metric) {
      return this.once(`ranks ${name} ${metric}`, () => {
        const values = this.scores(name, metric);
        const order = Array.from(values.keys()).sort((a, b) => values[a] - values[b]);
        const ranks = new Float64Array(values.length);
        for (let start = 0; start < order.length;) {
          let end = start;
          while (end < order.length && values[order[end]] === values[order[start]]) end += 1;
          const rank = (start + end - 1) / 2 / Math.max(1, order.length - 1);
          for (let i = start; i < end; i += 1) ranks[order[i]] = rank;
          start = end;
        }
        return ranks;
      });
    }

    place(id) {
      const places = this.once("places", () => new Map(this.images.map((image, i) => [String(image), i])));
      return places.get(id);
    }

    slices(place) {
      const found = this.once("slices", () => {
        const names = this.images.map(() => []);
        const members = this.content.slices ? this.content.slices.members : {};
        for (const [name, places] of Object.entries(members)) {
          for (const member of places) names[member].push(name);
        }
        return names;
      });
      return found[place];
    }

    // All texts of an image in lower case, for searching.
    text(place) {
      const texts = this.once("texts", () => new Array(this.images.length));
      if (texts[place] === undefined) {
        const parts = [String(this.images[place]), ...this.references(place)];
        for (const name of this.names) {
          for (const row of this.rows(name, place)) parts.push(this.caption(name, row));
        }
        texts[place] = parts.join("\n").toLowerCase();
      }
      return texts[place];
    }

    // The server does not show the captions of others.
    hides(name) {
      return !this.content.systems[name].captions;
    }

    caption(name, row) {
      return this.hides(name) ? "" : (this.content.systems[name].captions[row] ?? "");
    }

    references(place) {
      return this.content.references ? this.content.references[place] : [];
    }

    // A caption cut into [text, value]; the value is null for what is no word.
    pieces(name, row) {
      const system = this.content.systems[name];
      const caption = this.caption(name, row);
      const values = system.words ? system.words[row] : null;
      if (!values) return [[caption, null]];
      const step = this.content.explained.step;
      const pieces = [];
      let end = 0;
      const add = (start, stop, text, value) => {
        if (start > end) pieces.push([text.slice(end, start), null]);
        pieces.push([text.slice(start, stop), value * step]);
        end = stop;
      };
      if (Array.isArray(values)) {
        let number = 0;
        for (const match of caption.matchAll(WORD)) {
          add(match.index, match.index + match[0].length, caption, values[number]);
          number += 1;
        }
        if (end < caption.length) pieces.push([caption.slice(end), null]);
      } else {
        const characters = Array.from(caption); // offsets count Unicode characters
        const text = { slice: (a, b) => characters.slice(a, b).join("") };
        for (const [start, stop, value] of values.spans) add(start, stop, text, value);
        if (end < characters.length) pieces.push([text.slice(end), null]);
      }
      return pieces;
    }

    // The size of value that gets the strongest color: few words are above it.
    strongest() {
      return this.once("strongest", () => {
        const sizes = [];
        for (const name of this.names) {
          const count = (this.content.systems[name].words || []).length;
          for (let row = 0; row < count; row += Math.ceil(count / 1000)) {
            for (const [, value] of this.pieces(name, row)) if (value) sizes.push(Math.abs(value));
          }
        }
        sizes.sort((a, b) => a - b);
        return sizes[Math.floor(0.95 * (sizes.length - 1))] || 1;
      });
    }

    thumbnail(place) {
      const given = this.content.thumbnails;
      if (!given) return null;
      if (given.files) return given.files[place];
      const id = String(this.images[place]);
      return given.template.replace(/\{image(?::0?(\d{1,2})d?)?\}/g, (_, digits) =>
        encodeURIComponent(id.padStart(Number(digits || 0), "0")),
      );
    }
  }

  // How images can be sorted: the value that is shown, what it is sorted by if not itself, and whether
  // large ones come first.
  const SORTS = {
    difference: {
      label: () => say("Biggest wins and losses"),
      says: (s) => `${say("{metric} of {system}", { metric: s.metric, system: s.one })} − ${s.other}`,
      needs: 2,
      value: (m, s) => difference(m, s),
      key: Math.abs,
      down: true,
      signed: true,
    },
    wins: {
      label: (s) => say("Biggest wins of {system}", { system: s.one }),
      says: (s) => `${say("{metric} of {system}", { metric: s.metric, system: s.one })} − ${s.other}`,
      needs: 2,
      value: (m, s) => difference(m, s),
      down: true,
      signed: true,
    },
    losses: {
      label: (s) => say("Biggest losses of {system}", { system: s.one }),
      says: (s) => `${say("{metric} of {system}", { metric: s.metric, system: s.one })} − ${s.other}`,
      needs: 2,
      value: (m, s) => difference(m, s),
      down: false,
      signed: true,
    },
    low: {
      label: (s) => say("Lowest scores of {system}", { system: s.one }),
      needs: 1,
      value: (m, s) => m.scores(s.one, s.metric),
      down: false,
    },
    high: {
      label: (s) => say("Highest scores of {system}", { system: s.one }),
      needs: 1,
      value: (m, s) => m.scores(s.one, s.metric),
      down: true,
    },
    spread: {
      label: () => say("Systems differ most"),
      says: (s) => say("highest {metric} − lowest", s),
      needs: 3,
      value: (m, s) => {
        const columns = m.names.map((name) => m.scores(name, s.metric));
        return m.images.map((_, i) => {
          const values = columns.map((column) => column[i]).filter((value) => !Number.isNaN(value));
          return Math.max(...values) - Math.min(...values);
        });
      },
      down: true,
    },
    disagreement: {
      label: (s) => say("Metrics disagree most about {system}", { system: s.one }),
      says: (s) => say("rank by {metric} − rank by {other}, from 0 to 1", { metric: s.metric, other: s.against }),
      needs: 1,
      metrics: 2,
      value: (m, s) => {
        const [a, b] = [m.ranks(s.one, s.metric), m.ranks(s.one, s.against)];
        return m.images.map((_, i) => a[i] - b[i]);
      },
      key: Math.abs,
      down: true,
      signed: true,
    },
    order: {
      label: () => say("Order of the file"),
      needs: 1,
      value: (m, s) => m.scores(s.one, s.metric),
      down: null,
    },
  };

  function difference(model, state) {
    const [one, other] = [model.scores(state.one, state.metric), model.scores(state.other, state.metric)];
    return model.images.map((_, place) => one[place] - other[place]);
  }

  globalThis.cidery = { Model, SORTS, WORD, say };
})();
