"use strict";
(() => {
  const $$ = (selector, within = document) => [...within.querySelectorAll(selector)];

  // theme
  document.querySelector("#theme").addEventListener("click", () => {
    const root = document.documentElement;
    const dark = root.dataset.theme
      ? root.dataset.theme === "dark"
      : matchMedia("(prefers-color-scheme: dark)").matches;
    root.dataset.theme = dark ? "light" : "dark";
  });

  // sorting: the first click puts the best first; equal values share a rank
  $$("table.board").forEach((table) => {
    const body = table.tBodies[0];
    const valueOf = (row, column) => {
      const cell = row.cells[column];
      if (cell.dataset.value === undefined) return null;
      return cell.dataset.kind === "text" ? cell.dataset.value : Number(cell.dataset.value);
    };
    const renumber = (column) => {
      let place = 0, before;
      [...body.rows].forEach((row, nth) => {
        const value = valueOf(row, column);
        if (value !== before) place = nth + 1;
        before = value;
        row.cells[0].textContent = value === null ? "–" : place;
      });
    };
    $$("thead button", table).forEach((button) => button.addEventListener("click", () => {
      const head = button.closest("th"), column = head.cellIndex, first = head.dataset.first;
      const now = head.getAttribute("aria-sort");
      const order = now ? (now === "ascending" ? "descending" : "ascending") : first;
      $$("thead th", table).forEach((th) => th.removeAttribute("aria-sort"));
      head.setAttribute("aria-sort", order);
      const sign = order === "ascending" ? 1 : -1;
      const rows = [...body.rows].sort((a, b) => {
        const one = valueOf(a, column), other = valueOf(b, column);
        if (one === null || other === null) return (one === null) - (other === null);
        return sign * (one < other ? -1 : one > other ? 1 : 0);
      });
      body.append(...rows);
      if (order === first) renumber(column);
      else [...body.rows].forEach((row) => { row.cells[0].textContent = ""; });
    }));
  });

  // finding models
  document.querySelector("#filter").addEventListener("input", (event) => {
    const words = event.target.value.trim().toLowerCase();
    $$("table.board tbody tr").forEach((row) => {
      row.hidden = Boolean(words) && !row.dataset.words.toLowerCase().includes(words);
    });
  });
})();
