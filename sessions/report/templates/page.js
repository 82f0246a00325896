"use strict";
// Sorts and filters tables, hides columns, turns rows into cards on a phone, computes costs, switches colors, and
// shows values of figures.
// Without this script, the page has the same text, in the order of the report.
const MILLION = 1e6;
const SECONDS_AN_HOUR = 3600;
const SIGNIFICANT = 3;
const MOST_DECIMALS = 6;
const MISSING = "–";
const ORDERS = [null, "ascending", "descending"];
const LEAST_ROWS = 5; // for a filter
const LEAST_COLUMNS = 4; // for a choice of columns
const NARROW = "(max-width: 40rem)"; // as in page.css

// cost_of_a_million() of benchtui.sessions.text.wording, in the same order of operations
const costOfAMillion = (samplesPerS, perHour) => (MILLION / (samplesPerS * SECONDS_AN_HOUR)) * perHour;

// number() of benchtui.sessions.text.formatting
const formatNumber = (value) => {
  const rounded = Number(value.toPrecision(SIGNIFICANT));
  const exponent = rounded ? Number(rounded.toExponential().split("e")[1]) : SIGNIFICANT;
  if (SIGNIFICANT - 1 - exponent > MOST_DECIMALS) {
    return value.toExponential(SIGNIFICANT - 1).replace(/-(\d)$/, "-0$1");
  }
  const [whole, decimals] = rounded.toFixed(Math.max(SIGNIFICANT - 1 - exponent, 0)).split(".");
  const grouped = whole.replace(/\B(?=(\d{3})+$)/g, ",");
  return decimals ? `${grouped}.${decimals}` : grouped;
};

const nextOrder = (order) => ORDERS[(ORDERS.indexOf(order) + 1) % ORDERS.length];

// Returns the sorted indices of cells ({text, value}): by value if every cell has one, missing cells last.
const sortedIndices = (cells, order) => {
  const indices = cells.map((_, index) => index);
  if (order === null) return indices;
  const missing = cells.map((cell) => cell.text === MISSING);
  const numeric = cells.every((cell, index) => missing[index] || cell.value !== null);
  const compare = (one, other) =>
    numeric ? one.value - other.value : one.text.localeCompare(other.text, "en", { numeric: true });
  const sign = order === "ascending" ? 1 : -1;
  return indices.sort(
    (one, other) =>
      missing[one] - missing[other] || (missing[one] ? 0 : sign * compare(cells[one], cells[other])) || one - other,
  );
};

const matches = (text, query) => {
  const found = text.toLowerCase();
  return query.toLowerCase().split(/\s+/).every((word) => found.includes(word));
};

const element = (tag, properties, ...children) => {
  const made = Object.assign(document.createElement(tag), properties);
  made.append(...children);
  return made;
};

const readCell = (cell) => ({
  text: cell.textContent.trim(),
  value: cell.dataset.value === undefined ? null : Number(cell.dataset.value),
});

const originalRows = new Map(); // by sortable table

const enableSorting = (table, original, heading) => {
  const button = element("button", { type: "button" }, ...heading.childNodes);
  button.addEventListener("click", () => {
    const order = nextOrder(heading.getAttribute("aria-sort"));
    for (const other of table.tHead.rows[0].cells) other.removeAttribute("aria-sort");
    if (order) heading.setAttribute("aria-sort", order);
    const cells = original.map((row) => readCell(row.cells[heading.cellIndex]));
    table.tBodies[0].append(...sortedIndices(cells, order).map((index) => original[index]));
  });
  heading.append(button);
};

const filterTool = (table) => {
  const rows = [...table.tBodies[0].rows];
  const input = element("input", { type: "search" });
  const count = element("output", {});
  input.addEventListener("input", () => {
    for (const row of rows) {
      row.hidden = !matches([...row.cells].map((cell) => cell.textContent).join(" "), input.value.trim());
    }
    const shown = rows.filter((row) => !row.hidden).length;
    count.textContent = shown < rows.length ? `${shown} of ${rows.length} rows` : "";
  });
  return [element("label", {}, "Filter rows ", input), count];
};

const columnTool = (table) => {
  const choices = [...table.tHead.rows[0].cells].map((heading) => {
    const box = element("input", { type: "checkbox", checked: true });
    box.addEventListener("change", () => {
      for (const row of table.rows) row.cells[heading.cellIndex].hidden = !box.checked;
    });
    return element("label", {}, box, heading.textContent);
  });
  const legend = element("legend", {}, "Columns to show");
  return element("details", {}, element("summary", {}, "Columns"), element("fieldset", {}, legend, ...choices));
};

const enableTools = (table) => {
  const rows = table.tBodies[0].rows.length;
  if (rows < 2) return;
  const tools = element("div", { className: "tools" });
  if (rows >= LEAST_ROWS) tools.append(...filterTool(table));
  if (table.tHead.rows[0].cells.length >= LEAST_COLUMNS) tools.append(columnTool(table));
  if (tools.childElementCount) table.parentElement.before(tools);
  originalRows.set(table, [...table.tBodies[0].rows]);
  for (const heading of table.tHead.rows[0].cells) enableSorting(table, originalRows.get(table), heading);
};

// Marks up a table for cards: each cell has its column's title. Browsers drop the roles of a table whose elements are
// laid out as blocks, so they are stated.
const enableCards = (table) => {
  table.classList.add("cards");
  const titles = [...table.tHead.rows[0].cells].map((heading) => heading.textContent.trim());
  table.setAttribute("role", "table");
  for (const group of [table.tHead, ...table.tBodies]) group.setAttribute("role", "rowgroup");
  for (const row of table.rows) {
    row.setAttribute("role", "row");
    [...row.cells].forEach((cell, column) => {
      cell.dataset.label = titles[column];
      const role = cell.tagName === "TD" ? "cell" : cell.scope === "row" ? "rowheader" : "columnheader";
      cell.setAttribute("role", role);
    });
  }
};

const enableNarrowTables = (tables) => {
  const narrow = matchMedia(NARROW);
  const update = () => narrow.matches && tables.forEach(enableCards);
  narrow.addEventListener("change", update);
  update();
};

const showCosts = (table, perHour) => {
  for (const cell of table.querySelectorAll(".cost")) cell.remove();
  if (!(perHour > 0)) return;
  const title = `Cost of a million samples at ${perHour} per hour`; // a printed page has no field for the price
  const heading = element("th", { className: "number cost", scope: "col" }, title);
  table.tHead.rows[0].append(heading);
  for (const row of table.tBodies[0].rows) {
    const rate = Number(row.dataset.samplesPerS);
    const cost = rate ? costOfAMillion(rate, perHour) : null;
    const cell = element("td", { className: "number cost" }, cost === null ? MISSING : formatNumber(cost));
    if (cost !== null) cell.dataset.value = cost;
    row.append(cell);
  }
  if (originalRows.has(table)) enableSorting(table, originalRows.get(table), heading);
  if (table.classList.contains("cards")) enableCards(table);
};

const enablePrice = (label) => {
  const input = label.querySelector("input");
  const tables = new Set([...document.querySelectorAll("tr[data-samples-per-s]")].map((row) => row.closest("table")));
  const update = () => tables.forEach((table) => showCosts(table, Number(input.value)));
  label.hidden = !tables.size;
  input.addEventListener("input", update);
  update();
};

const enableSections = (button) => {
  const sections = [...document.querySelectorAll("details.section")];
  button.hidden = !sections.length;
  button.addEventListener("click", () => {
    const open = sections.some((section) => !section.open);
    for (const section of sections) section.open = open;
  });
  for (const section of sections) {
    section.addEventListener("toggle", () => {
      button.textContent = sections.every((each) => each.open) ? "Close sections" : "Open all sections";
    });
  }
  const openTarget = () => {
    const section = document.getElementById(location.hash.slice(1))?.closest("details.section");
    if (section) section.open = true;
  };
  addEventListener("hashchange", openTarget);
  openTarget();
};

// Shows the values of figures on hover, on tap, and with the arrow keys.
const enableValues = () => {
  const box = element("div", { className: "value", role: "status", hidden: true });
  document.body.append(box);
  let shown = null;
  const show = (shape) => {
    shown?.classList.remove("shown");
    shown = shape;
    box.hidden = !shape;
    if (!shape) return;
    shape.classList.add("shown");
    box.textContent = shape.dataset.text;
    const place = shape.getBoundingClientRect();
    const left = (place.left + place.right - box.offsetWidth) / 2;
    const above = place.top - box.offsetHeight - 6;
    box.style.left = `${Math.max(4, Math.min(left, document.documentElement.clientWidth - box.offsetWidth - 4))}px`;
    box.style.top = `${above < 4 ? place.bottom + 6 : above}px`;
  };
  const at = (event) => event.target.closest?.(".values > *") ?? null;
  for (const svg of document.querySelectorAll(".drawing svg")) {
    const shapes = [...svg.querySelectorAll(".values > *")];
    for (const shape of shapes) {
      shape.dataset.text = shape.textContent.trim();
      shape.replaceChildren(); // disables the browser's own tooltip
    }
    if (shapes.length) svg.setAttribute("tabindex", "0");
    svg.addEventListener("keydown", (event) => {
      const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
      if (!step || !shapes.length) return;
      event.preventDefault();
      const index = shapes.indexOf(shown);
      show(shapes.at(index < 0 && step < 0 ? -1 : (index + step) % shapes.length));
    });
    svg.addEventListener("blur", () => show(null));
  }
  document.addEventListener("pointerover", (event) => event.pointerType === "mouse" && show(at(event)));
  document.addEventListener("click", (event) => show(at(event)));
  document.addEventListener("keydown", (event) => event.key === "Escape" && show(null));
  document.addEventListener("scroll", () => show(null), { capture: true, passive: true });
};

const enablePage = () => {
  const controls = document.querySelector(".controls");
  const colors = controls.querySelector("select");
  colors.addEventListener("change", () => (document.documentElement.style.colorScheme = colors.value));
  const tables = document.querySelectorAll("main table");
  tables.forEach(enableTools);
  enablePrice(controls.querySelector(".price"));
  enableSections(controls.querySelector("button"));
  enableNarrowTables(tables);
  enableValues();
  controls.hidden = false;
};

if (globalThis.document) enablePage();
