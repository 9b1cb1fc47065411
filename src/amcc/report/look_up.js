// Looks up items, workers and labels in what the page holds. Texts of names are never read as HTML; the stored entries
// are HTML that was escaped when the page was written.
const stored = id => JSON.parse(document.getElementById("data-" + id).textContent);
const byId = id => document.getElementById(id);
const texts = stored("texts");
const fill = (text, places) => text.replace(/\{(\w+)\}/g, (_, name) => places[name]);
const number = value => value.toLocaleString(document.documentElement.lang);

async function unpack(text) {
  const bytes = Uint8Array.from(atob(text), letter => letter.charCodeAt(0));
  return new Response(new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"))).arrayBuffer();
}
const unpackJson = async text => JSON.parse(new TextDecoder().decode(await unpack(text)));

function make(tag, attributes, ...content) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  made.append(...content);
  return made;
}

// -- workers and labels: each has an entry of its own, which a link opens ---------------------------------------------

const names = stored("names");
const entries = stored("entries") ? unpackJson(stored("entries")) : Promise.resolve({});

async function showEntry() {
  const [, id, kind] = location.hash.match(/^#((worker|label)-\d+)$/) || [];
  if (!id) return;
  if (!byId(id)) byId(kind + "-entries").insertAdjacentHTML("afterbegin", (await entries)[id] || "");
  const entry = byId(id);
  if (!entry) return;
  entry.open = true;
  entry.scrollIntoView();
  entry.querySelector("summary").focus({preventScroll: true});
}
addEventListener("hashchange", showEntry);
// A link to where one is already changes no address, but means the same.
addEventListener("click", event => {
  const link = event.target.closest("a[href^='#']");
  if (link && link.hash === location.hash) showEntry();
});

const MOST_FOUND = 30;
for (const kind of ["worker", "label"]) {
  const input = byId(kind + "-find"), list = byId(kind + "-found"), status = byId(kind + "-status");
  if (!input) continue;
  input.closest("[hidden]").hidden = false;
  const lower = names[kind].map(name => name.toLowerCase());
  input.addEventListener("input", () => {
    const wanted = input.value.trim().toLowerCase();
    const found = [];
    if (wanted) lower.forEach((name, code) => { if (name.includes(wanted)) found.push(code); });
    list.replaceChildren(...found.slice(0, MOST_FOUND).map(
      code => make("li", {}, make("a", {href: `#${kind}-${code}`}, names[kind][code]))));
    status.textContent = wanted ? fill(texts.found, {n: number(found.length)}) : "";
  });
}

// -- items ------------------------------------------------------------------------------------------------------------

const ROWS = 100, MOST_LABELS = 4, SETTLED = 0x80;
// The share of votes on the smaller side from which a pair is disputed: fewer may be slips.
const DISPUTED = 1 / 3;

const percentText = percent => {
  const text = Math.min(Math.max(percent, 1), 99) + "\u00a0%";
  return percent < 1 ? "<\u00a0" + text : percent > 99 ? ">\u00a0" + text : text;
};

async function itemTable(data) {
  const [itemNames, counts, labels, percent, yes, votes] = await Promise.all([
    unpackJson(data.names), ...["counts", "labels", "percent", "yes", "votes"].map(name => unpack(data[name]))]);
  const columns = {labels: new Uint16Array(labels), percent: new Uint8Array(percent),
                   yes: new Uint8Array(yes), votes: new Uint8Array(votes)};
  const starts = new Uint32Array(itemNames.length + 1), wrong = new Float64Array(itemNames.length);
  new Uint16Array(counts).forEach((count, item) => { starts[item + 1] = starts[item] + count; });
  const doubt = pair => Math.min(columns.percent[pair] & 127, 100 - (columns.percent[pair] & 127));
  const disputed = pair => {
    const smaller = Math.min(columns.yes[pair], columns.votes[pair] - columns.yes[pair]);
    return columns.votes[pair] > 1 && smaller >= DISPUTED * columns.votes[pair];
  };
  for (let item = 0; item < itemNames.length; item++) {
    for (let pair = starts[item]; pair < starts[item + 1]; pair++) {
      wrong[item] += doubt(pair) / 100;
    }
  }
  const lower = itemNames.map(name => name.toLowerCase());
  const compare = new Intl.Collator(document.documentElement.lang, {numeric: true}).compare;
  const every = [...itemNames.keys()];
  const orders = {
    file: () => every,
    unsure: () => [...every].sort((a, b) => wrong[b] - wrong[a] || a - b),
    name: () => [...every].sort((a, b) => compare(itemNames[a], itemNames[b])),
  };
  const ordered = {};
  const wants = {
    "": () => true,
    open: pair => !(columns.percent[pair] & SETTLED),
    disputed,
  };

  const describe = (pair, withVotes) => {
    const p = columns.percent[pair] & 127, n = columns.yes[pair], all = columns.votes[pair];
    const told = `${data.label_names[columns.labels[pair]]}\u00a0${percentText(p)}`;
    const votes = fill(texts.yes_no, {yes: number(n), no: number(all - n)}).replace(/ /g, "\u00a0");
    return withVotes ? `${told} (${votes})` : told;
  };
  const few = parts => {
    if (!parts.length) return "–";
    const shown = parts.slice(0, MOST_LABELS), more = parts.length - MOST_LABELS;
    if (more > 0) shown.push(fill(texts.more, {n: number(more)}));
    return make("ul", {}, ...shown.map(part => make("li", {}, part)));
  };
  const row = (item, label) => {
    const present = [], open = [];
    for (let pair = starts[item]; pair < starts[item + 1]; pair++) {
      if (label !== "" && columns.labels[pair] !== +label) continue;
      const isPresent = (columns.percent[pair] & 127) > 50;
      if (isPresent) present.push(describe(pair, false));
      else if (label !== "") present.push(fill(texts.absent, {label: describe(pair, false)}));
      if (!(columns.percent[pair] & SETTLED)) open.push(pair);
    }
    open.sort((one, other) => doubt(other) - doubt(one));
    return make("tr", {}, make("th", {scope: "row"}, itemNames[item]), make("td", {}, few(present)),
                make("td", {}, few(open.map(pair => describe(pair, true)))), make("td", {}, wrong[item].toLocaleString(
                  document.documentElement.lang, {minimumFractionDigits: 2, maximumFractionDigits: 2})));
  };

  const body = document.querySelector("#items-table tbody"), pages = byId("items-pages");
  const control = Object.fromEntries(["find", "label", "state", "order"].map(name => [name, byId("items-" + name)]));
  let found = [], page = 0;

  function look() {
    const [wanted, label, state] = [control.find.value.trim().toLowerCase(), control.label.value, control.state.value];
    const order = control.order.value;
    ordered[order] ||= orders[order]();
    found = ordered[order].filter(item => {
      if (wanted && !lower[item].includes(wanted)) return false;
      let asked = 0, fits = 0;
      for (let pair = starts[item]; pair < starts[item + 1]; pair++) {
        if (label !== "" && columns.labels[pair] !== +label) continue;
        asked++;
        fits += state === "settled" ? !!(columns.percent[pair] & SETTLED) : wants[state](pair);
      }
      if (state === "settled") return asked > 0 && fits === asked;
      return state || label !== "" ? fits > 0 : true;
    });
    turn(0);
  }
  function turn(to) {
    const last = Math.max(0, Math.ceil(found.length / ROWS) - 1);
    page = Math.min(Math.max(to, 0), last);
    const label = control.label.value;
    body.replaceChildren(...found.slice(page * ROWS, (page + 1) * ROWS).map(item => row(item, label)));
    byId("items-status").textContent = fill(texts.items_found, {n: number(found.length), all: number(itemNames.length)});
    earlier.disabled = page === 0;
    later.disabled = page === last;
    where.textContent = fill(texts.page, {n: number(page + 1), all: number(last + 1)});
  }
  const earlier = make("button", {type: "button"}, texts.earlier), later = make("button", {type: "button"}, texts.later);
  const where = make("span", {"aria-live": "polite"});
  for (const [button, step] of [[earlier, -1], [later, 1]]) {
    button.addEventListener("click", () => { turn(page + step); byId("items-status").scrollIntoView(); });
  }
  pages.append(earlier, where, later);
  data.label_names.forEach((name, code) => control.label.append(make("option", {value: code}, name)));
  let waiting;
  control.find.addEventListener("input", () => { clearTimeout(waiting); waiting = setTimeout(look, 150); });
  for (const name of ["label", "state", "order"]) control[name].addEventListener("change", look);
  byId("items-controls").hidden = false;
  look();
}

showEntry();
const items = stored("items");
if (items) itemTable(items).catch(error => { byId("items-status").textContent = `${texts.failed} ${error.message}`; });
