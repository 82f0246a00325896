"use strict";
// Sorts a table by the column whose heading is pressed: numbers by value, empty cells always last.
const MISSING = "–";
const number = (text) => {
  const found = text.replaceAll(",", "").match(/^[-+]?\d+(\.\d+)?/);
  return found ? Number(found[0]) : NaN;
};
const compare = (one, other) => {
  const [a, b] = [number(one), number(other)];
  return Number.isNaN(a) || Number.isNaN(b) ? one.localeCompare(other, "en", { numeric: true }) : a - b;
};
const sort = (table, column, heading) => {
  const direction = heading.getAttribute("aria-sort") === "ascending" ? "descending" : "ascending";
  const sign = direction === "ascending" ? 1 : -1;
  const text = (row) => row.cells[column].textContent.trim();
  const rows = [...table.tBodies[0].rows].sort((one, other) => {
    const empty = (text(one) === MISSING) - (text(other) === MISSING);
    return empty || sign * compare(text(one), text(other));
  });
  for (const other of table.tHead.rows[0].cells) other.removeAttribute("aria-sort");
  heading.setAttribute("aria-sort", direction);
  table.tBodies[0].append(...rows);
};
for (const table of document.querySelectorAll("main table")) {
  let above = table.parentElement;
  while (above && !/^H[1-6]$/.test(above.tagName)) above = above.previousElementSibling;
  table.parentElement.setAttribute("aria-label", `Table: ${above ? above.textContent : ""}`);
  if (!table.tBodies.length || table.tBodies[0].rows.length < 2) continue;
  if (table.parentElement.classList.contains("cut")) continue; // the other rows would stay where they are
  [...table.tHead.rows[0].cells].forEach((heading, column) => {
    const button = document.createElement("button");
    button.type = "button";
    button.append(...heading.childNodes);
    button.addEventListener("click", () => sort(table, column, heading));
    heading.append(button);
  });
}
