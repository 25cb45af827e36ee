"use strict";
(() => {
  const one = (selector, within = document) => within.querySelector(selector);
  const all = (selector, within = document) => [...within.querySelectorAll(selector)];
  const summary = document.getElementById("summary");
  const kernels = document.getElementById("kernels");
  const body = kernels.tBodies[0];

  // The theme: as the system says, then dark, then light.
  const theme = document.getElementById("theme");
  const root = document.documentElement;
  const nameTheme = () => { theme.textContent = `theme: ${root.dataset.theme || "system"}`; };
  theme.addEventListener("click", () => {
    const next = { undefined: "dark", dark: "light", light: "" }[root.dataset.theme];
    if (next) root.dataset.theme = next; else delete root.dataset.theme;
    try { localStorage.setItem("cuteport-theme", next); } catch { /* not kept, then */ }
    nameTheme();
  });
  nameTheme();

  // The table of kernels: sorting and filtering.
  const cell = (row, k) => row.cells[k].dataset.v ?? row.cells[k].textContent;
  const compare = (a, b) => (a !== "" && b !== "" && isFinite(a) && isFinite(b) ? a - b : a.localeCompare(b));
  all("thead th", kernels).forEach((head, k) => {
    one("button", head).addEventListener("click", () => {
      const down = head.getAttribute("aria-sort") === "ascending";
      all("thead th", kernels).forEach((other) => other.removeAttribute("aria-sort"));
      head.setAttribute("aria-sort", down ? "descending" : "ascending");
      const rows = [...body.rows].map((row) => [cell(row, k), row]);
      // What has no value stays last either way.
      rows.sort(([a], [b]) => (a === "") - (b === "") || (down ? compare(b, a) : compare(a, b)));
      body.append(...rows.map(([, row]) => row));
    });
  });
  const text = document.getElementById("text");
  const chips = all(".chips button");
  const filter = () => {
    const words = text.value.toLowerCase().split(/\s+/).filter(Boolean);
    const wanted = new Set(chips.filter((c) => c.ariaPressed === "true").map((c) => c.dataset.status));
    let shown = 0;
    for (const row of body.rows) {
      const held = row.textContent.toLowerCase();
      row.hidden = (wanted.size > 0 && !wanted.has(row.dataset.status)) || !words.every((w) => held.includes(w));
      shown += !row.hidden;
    }
    document.getElementById("shown").value = `${shown} shown`;
  };
  text.addEventListener("input", filter);
  chips.forEach((c) => c.addEventListener("click", () => {
    c.ariaPressed = c.ariaPressed === "true" ? "false" : "true";
    filter();
  }));
  addEventListener("keydown", (event) => {
    if (event.key === "/" && !summary.classList.contains("away") && document.activeElement !== text) {
      event.preventDefault();
      text.focus();
    }
  });

  // Source code: made when a kernel is first shown.
  let table = null;
  const classes = { n: "nu", x: "" };
  const lineRow = (page, key, number) => document.getElementById(`${page.id}/${key}${number}`);
  const element = (name, kind, content) => {
    const made = document.createElement(name);
    if (kind) made.className = kind;
    if (content !== undefined) made.textContent = content;
    return made;
  };
  const coloured = (held) => {
    const code = document.createElement("code");
    if (typeof held === "string") { code.textContent = held; return code; }
    const [line, marks] = held;
    let at = 0;
    for (const [, kind, length] of marks.matchAll(/([a-z])(\d+)/g)) {
      const part = line.slice(at, (at += Number(length)));
      code.append(kind === "x" ? part : element("span", classes[kind] ?? kind, part));
    }
    code.append(line.slice(at));
    return code;
  };
  const CHUNK = 200;
  const pane = (page, data, linked) => {
    const made = element("div", "pane");
    const title = element("h4", "", `${data.title} `);
    title.append(element("span", "", data.name));
    const scroll = element("div", "scroll");
    scroll.tabIndex = 0;
    scroll.setAttribute("role", "region");
    scroll.setAttribute("aria-label", `${data.title}, ${data.name}; arrow keys go from line to line`);
    scroll.dataset.key = data.key;
    const notes = new Map();
    for (const note of data.notes) notes.set(note[0], [...(notes.get(note[0]) ?? []), note]);
    const numbers = [];
    for (let k = 0; k < data.lines.length; k += 2)
      for (let n = 0; n < data.lines[k + 1]; n++) numbers.push(data.lines[k] + n);
    let chunk = null;
    numbers.forEach((index, k) => {
      if (k % CHUNK === 0) {
        chunk = element("div", numbers.length > 1000 ? "chunk many" : "chunk");
        if (numbers.length > 1000) chunk.style.containIntrinsicSize = `auto 60rem auto ${18 * Math.min(CHUNK, numbers.length - k)}px`;
        scroll.append(chunk);
      }
      const id = `${page.id}/${data.key}${k + 1}`;
      const row = element("div", linked.has(k + 1) ? "l linked" : "l");
      row.id = id;
      const number = element("a", "", k + 1);
      number.href = `#${id}`;
      number.tabIndex = -1;
      row.append(number, coloured(table[index]));
      chunk.append(row);
      for (const [, tone, code, said] of notes.get(k + 1) ?? []) {
        row.classList.add(tone);
        if (!said) continue;
        const say = element("div", `say ${tone}`);
        if (code) say.append(element("b", "", code), " ");
        say.append(said);
        chunk.append(say);
      }
    });
    made.append(title, scroll);
    return made;
  };
  const links = new WeakMap();
  const fill = (page) => {
    const source = one(".source", page);
    if (!source || links.has(page)) return;
    table ??= JSON.parse(document.getElementById("lines").textContent);
    const data = JSON.parse(source.textContent);
    const sides = { p: new Map(), c: new Map(), d: new Map() };
    for (const [p, c] of data.links) {
      sides.p.set(p, [...(sides.p.get(p) ?? []), c]);
      sides.c.set(c, [...(sides.c.get(c) ?? []), p]);
    }
    links.set(page, sides);
    const panes = one(".panes", page);
    // The original first: it is read first.
    const order = data.panes.filter((d) => d.key !== "p").concat(data.panes.filter((d) => d.key === "p"));
    panes.append(...order.map((d) => pane(page, d, sides[d.key])));
    page.dataset.first = first(data);
    const hovered = [];
    const clear = () => { hovered.splice(0).forEach((row) => row.classList.remove("hover")); };
    panes.addEventListener("mouseover", (event) => {
      clear();
      const row = event.target.closest(".l");
      if (row) for (const other of others(page, row.id.split("/")[1])) { other.classList.add("hover"); hovered.push(other); }
    });
    panes.addEventListener("mouseleave", clear);
    panes.addEventListener("click", (event) => {
      const row = event.target.closest(".l");
      if (!row || !getSelection().isCollapsed || event.ctrlKey || event.metaKey || event.shiftKey) return;
      event.preventDefault();
      location.replace(`#${row.id}`); // replaced: Back leads to the table, however many lines were looked at
    });
    panes.addEventListener("keydown", (event) => {
      const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
      const scroll = event.target.closest(".scroll");
      if (!step || !scroll || event.altKey || event.ctrlKey || event.metaKey) return;
      const at = /\/([a-z])(\d+)$/.exec(location.hash);
      const next = lineRow(page, scroll.dataset.key, at && at[1] === scroll.dataset.key ? Number(at[2]) + step : 1);
      if (next) location.replace(`#${next.id}`);
      event.preventDefault();
    });
  };
  // Where to look first: what is wrong with the port or the original, otherwise where the kernel begins.
  const first = (data) => {
    for (const d of data.panes) for (const [line, tone] of d.notes) if (tone === "bad") return d.key + line;
    return data.links.length ? `p${data.links[0][0]}` : "";
  };
  const others = (page, place) => {
    const key = place[0], number = Number(place.slice(1));
    const far = links.get(page)?.[key]?.get(number) ?? [];
    return far.map((n) => lineRow(page, key === "p" ? "c" : "p", n)).filter(Boolean);
  };
  const intoView = (row) => {
    const scroll = row.closest(".scroll");
    const top = row.getBoundingClientRect().top - scroll.getBoundingClientRect().top;
    if (top < 0 || top > scroll.clientHeight * 0.6) scroll.scrollTop += top - scroll.clientHeight / 3;
  };

  // Which kernel is shown, and which line of it: what stands behind the #.
  let shown = null, place = 0;
  const route = () => {
    let hash = location.hash.slice(1);
    try { hash = decodeURIComponent(hash); } catch { /* as it stands */ }
    const [id, line] = hash.split("/");
    const page = id.startsWith("k-") ? document.getElementById(id) : null;
    if (page !== shown) {
      if (!shown) place = scrollY;
      const last = shown;
      shown?.classList.remove("shown");
      summary.classList.toggle("away", page !== null);
      shown = page;
      if (page) {
        fill(page);
        page.classList.add("shown");
        document.title = `${one("h2", page).textContent} · cuteport report`;
        scrollTo(0, 0);
        one("h2", page).focus({ preventScroll: true });
      } else {
        document.title = "cuteport report";
        scrollTo(0, place);
        if (last) one(`a[href="#${last.id}"]`, body)?.focus({ preventScroll: true });
      }
    }
    if (page && line) mark(page, line);
    else if (page?.dataset.first) {
      const row = document.getElementById(`${page.id}/${page.dataset.first}`);
      [row, ...others(page, page.dataset.first).slice(0, 1)].forEach((r) => r && intoView(r));
      delete page.dataset.first;
    }
  };
  const mark = (page, line) => {
    all(".l.at, .l.from", page).forEach((row) => row.classList.remove("at", "from"));
    const row = document.getElementById(`${page.id}/${line}`);
    if (!row) return;
    row.classList.add("at");
    const far = others(page, line);
    far.forEach((other) => other.classList.add("from"));
    const area = row.closest(".panes").getBoundingClientRect();
    if (area.top > innerHeight * 0.6 || area.bottom < innerHeight * 0.4) one(".panes", page).scrollIntoView();
    intoView(row);
    if (far.length) intoView(far[0]);
  };
  addEventListener("hashchange", route);
  addEventListener("beforeprint", () => all("details", shown ?? summary).forEach((d) => { d.open = true; }));
  route();
})();
