"use strict";
(() => {
  const make = (tag, text, attributes = {}) => {
    const node = document.createElement(tag);
    if (text !== null && text !== undefined) node.textContent = text;
    for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, value);
    return node;
  };
  // The first number of a text: "−1,234.5 to 7" is -1234.5, "<1%" is 0.5.
  const figure = text => {
    const found = text.replace(/,/g, "").replace(/−/g, "-").match(/-?\d+(\.\d+)?(e[+-]?\d+)?/i);
    if (!found) return NaN;
    const value = parseFloat(found[0]);
    return text.startsWith("<") ? value / 2 : text.startsWith(">") ? value * 1.001 : value;
  };
  const compare = (a, b) => {
    const [x, y] = [figure(a), figure(b)];
    if (!Number.isNaN(x) && !Number.isNaN(y) && x !== y) return x - y;
    if (Number.isNaN(x) !== Number.isNaN(y)) return Number.isNaN(x) ? 1 : -1;
    return a < b ? -1 : a > b ? 1 : 0;
  };

  // Tables: rows are arrays of texts; few of them stand in the page at a time.
  const STEP = 100, KINDS = ["All effects", "Single features", "Pairs", "Three or more"];
  const table = (node, rows, place) => {
    const heads = [...node.querySelectorAll("thead th")];
    const body = node.querySelector("tbody");
    const side = heads.map(head => head.className);
    let shown = body.rows.length, order = rows.map((_, i) => i), wanted = "", by = -1, down = false, kind = 0;
    const parts = rows.map(row => Math.min(row[0].split(" × ").length, 3));
    const low = rows.map(row => row.join("\u0001").toLowerCase());
    const status = make("span", "", { role: "status", class: "note" });
    const more = make("button", `Show ${STEP} more`, { type: "button" });
    const draw = () => {
      const kept = order.filter(i => (!wanted || low[i].includes(wanted)) && (!kind || parts[i] === kind));
      const part = document.createDocumentFragment();
      for (const i of kept.slice(0, shown)) {
        const line = make("tr");
        rows[i].forEach((cell, k) => {
          const item = make(k ? "td" : "th", cell, k ? {} : { scope: "row" });
          if (k && side[k]) item.className = side[k];
          line.append(item);
        });
        part.append(line);
      }
      body.replaceChildren(part);
      const count = Math.min(shown, kept.length);
      status.textContent = `${count.toLocaleString("en")} of ${kept.length.toLocaleString("en")} rows shown`;
      more.hidden = kept.length <= shown;
      more.textContent = `Show ${Math.min(STEP, kept.length - shown).toLocaleString("en")} more`;
    };
    heads.forEach((head, k) => {
      const button = make("button", head.textContent, { type: "button" });
      button.addEventListener("click", () => {
        // The largest number first, the first letter first.
        down = by === k ? !down : k > 0;
        by = k;
        order = rows.map((_, i) => i).sort((a, b) => {
          const sign = k === 0 ? (rows[a][0].localeCompare(rows[b][0])) : compare(rows[a][k], rows[b][k]);
          return (down ? -sign : sign) || a - b;
        });
        heads.forEach(other => other.removeAttribute("aria-sort"));
        head.setAttribute("aria-sort", down ? "descending" : "ascending");
        draw();
      });
      head.replaceChildren(button);
    });
    if (rows.length <= 12) return;
    const tools = make("div", null, { class: "tools" });
    const search = make("input", null, { type: "search", placeholder: "Search", "aria-label": `Search: ${node.caption ? node.caption.textContent : "table"}` });
    search.addEventListener("input", () => { wanted = search.value.trim().toLowerCase(); draw(); });
    more.addEventListener("click", () => { shown += STEP; draw(); });
    tools.append(search);
    if (new Set(parts).size > 1) {
      const filter = make("select", null, { "aria-label": "Which effects" });
      KINDS.forEach((name, i) => { if (!i || parts.includes(i)) filter.append(make("option", name, { value: i })); });
      filter.addEventListener("change", () => { kind = Number(filter.value); draw(); });
      tools.append(filter);
    }
    tools.append(status);
    place.before(tools);
    place.after(more);
    const after = make("div", null, { class: "tools" });
    more.replaceWith(after);
    after.append(more);
    draw();
  };
  for (const node of document.querySelectorAll("main table")) {
    const long = node.closest(".long");
    const rows = long
      ? JSON.parse(document.getElementById(long.dataset.source).textContent)
      : [...node.querySelectorAll("tbody tr")].map(line => [...line.cells].map(cell => cell.textContent));
    if (rows.length > 2) table(node, rows, node.closest(".scroll") || node);
  }

  // Drawings: a pointer or the arrow keys show values.
  const SVG = "http://www.w3.org/2000/svg";
  let told = false;
  for (const box of document.querySelectorAll(".drawing")) {
    const svg = box.querySelector("svg"), out = box.querySelector("output");
    if (!svg || !svg.dataset.points) { box.removeAttribute("tabindex"); continue; }
    const points = JSON.parse(svg.dataset.points), plane = svg.dataset.plane === "1";
    const ring = document.createElementNS(SVG, "circle");
    ring.setAttribute("class", "pointer");
    ring.setAttribute("r", "6");
    ring.setAttribute("visibility", "hidden");
    svg.append(ring);
    if (!told) out.textContent = "Point at a drawing, or use the arrow keys, for values.";
    told = true;
    out.classList.add("note");
    let at = -1;
    const show = i => {
      at = i;
      const [x, y, text] = points[i];
      ring.setAttribute("cx", x);
      ring.setAttribute("cy", y);
      ring.setAttribute("visibility", "visible");
      out.textContent = text;
      out.classList.remove("note");
    };
    const nearest = (x, y) => {
      let best = 0, least = Infinity;
      points.forEach((point, i) => {
        const distance = (point[0] - x) ** 2 + (plane ? (point[1] - y) ** 2 : 0);
        if (distance < least) [best, least] = [i, distance];
      });
      return best;
    };
    svg.addEventListener("pointermove", event => {
      const place = svg.getBoundingClientRect(), view = svg.viewBox.baseVal;
      show(nearest((event.clientX - place.left) * view.width / place.width, (event.clientY - place.top) * view.height / place.height));
    });
    box.addEventListener("keydown", event => {
      const step = { ArrowRight: 1, ArrowUp: 1, ArrowLeft: -1, ArrowDown: -1 }[event.key];
      if (!step) return;
      event.preventDefault();
      show(Math.max(0, Math.min(points.length - 1, at < 0 ? 0 : at + step)));
    });
  }

  // Rows: one is picked and taken apart.
  const picker = document.getElementById("picker");
  if (picker) {
    const told = JSON.parse(document.getElementById(picker.dataset.source).textContent);
    const choice = document.getElementById("picked"), place = document.getElementById("picked-row");
    told.rows.forEach((entry, i) => choice.append(make("option", `${entry.row}`, { value: i })));
    const show = () => {
      const entry = told.rows[choice.value];
      const was = entry.was ? ` It was ${entry.was}.` : "";
      const text = make("p", `Row ${entry.row}: predicted ${entry.mean}.${was} Intercept ${told.intercept}; each effect adds (${told.unit}):`);
      const node = make("table"), head = make("thead"), line = make("tr"), body = make("tbody");
      for (const name of ["Effect", "Adds", ""]) line.append(make("th", name || "Bar", { scope: "col" }));
      head.append(line);
      const order = entry.adds.map((_, i) => i).sort((a, b) => Math.abs(entry.adds[b]) - Math.abs(entry.adds[a]));
      const most = Math.max(...entry.adds.map(Math.abs), 1e-12);
      for (const i of order) {
        const value = entry.adds[i];
        const row = make("tr");
        row.append(make("th", told.names[i], { scope: "row" }));
        row.append(make("td", (value > 0 ? "+" : "") + String(value).replace("-", "−"), { class: "number" }));
        const cell = make("td"), bar = make("span", "", { class: value >= 0 ? "bar more" : "bar less" });
        bar.style.width = `${Math.round(120 * Math.abs(value) / most)}px`;
        cell.append(bar);
        row.append(cell);
        body.append(row);
      }
      node.append(head, body);
      const scroll = make("div", null, { class: "scroll", role: "region", tabindex: "0", "aria-label": `Effects at row ${entry.row}` });
      scroll.append(node);
      place.replaceChildren(text, scroll);
    };
    choice.addEventListener("change", show);
    picker.hidden = false;
    show();
  }
})();
