// Tables: sorted by a click on a heading, and filtered where they are long.

const LONG = 12;

function valueOf(cell) {
  if (cell.dataset.value !== undefined) return Number(cell.dataset.value);
  return cell.dataset.sort !== undefined ? cell.dataset.sort : cell.textContent.trim();
}

function compareValues(one, other) {
  if (typeof one === "number" && typeof other === "number") return one - other;
  return String(one).localeCompare(String(other), "en", { numeric: true });
}

function sortTable(table, column, descending) {
  const body = table.tBodies[0];
  const missing = (row) => row.cells[column].dataset.figure !== undefined && row.cells[column].dataset.value === undefined;
  const rows = [...body.rows].sort((one, other) => {
    if (missing(one) || missing(other)) return missing(one) - missing(other); // unknown ones last, always
    const order = compareValues(valueOf(one.cells[column]), valueOf(other.cells[column]));
    return descending ? -order : order;
  });
  body.append(...rows);
  [...table.tHead.rows[0].cells].forEach((head, at) => {
    if (at === column) head.setAttribute("aria-sort", descending ? "descending" : "ascending");
    else head.removeAttribute("aria-sort");
  });
}

function sortable(table) {
  [...table.tHead.rows[0].cells].forEach((head, column) => {
    if (!head.textContent) return;
    const button = html("button", { type: "button" }, head.textContent);
    head.replaceChildren(button);
    button.addEventListener("click", () => {
      const before = head.getAttribute("aria-sort");
      const numbers = !head.classList.contains("text");
      // Of numbers one wants the largest first, of names the first letter.
      sortTable(table, column, before ? before === "ascending" : numbers);
    });
  });
}

function filterable(table) {
  if (table.tBodies[0].rows.length <= LONG) return;
  const label = table.caption.textContent;
  const input = html("input", { type: "search", class: "filter", placeholder: "filter", "aria-label": `filter: ${label}` });
  input.addEventListener("input", () => {
    const wanted = input.value.toLowerCase();
    for (const row of table.tBodies[0].rows) {
      const name = (row.cells[0].dataset.sort || row.cells[0].textContent).toLowerCase();
      row.hidden = !name.includes(wanted);
    }
  });
  table.closest(".scroll").before(input);
}
