"use strict";
(function () {
  const table = document.getElementById("species"), body = table.tBodies[0];
  const heads = Array.from(table.tHead.rows[0].cells);
  heads.forEach((head, column) => {
    const button = head.querySelector("button");
    if (!button) return;
    button.addEventListener("click", () => {
      const numeric = head.classList.contains("n");
      // Names rise first, figures fall first; a second click turns it round.
      const before = head.getAttribute("aria-sort");
      const falling = before === "none" ? numeric : before === "ascending";
      heads.forEach((other) => { if (other.hasAttribute("aria-sort")) other.setAttribute("aria-sort", "none"); });
      head.setAttribute("aria-sort", falling ? "descending" : "ascending");
      const key = (row) => row.cells[column].dataset.value;
      const rows = Array.from(body.rows).sort((one, two) => {
        const a = key(one), b = key(two);
        if (a === "" || b === "") return (a === "") - (b === "");  // what is not known comes last, either way
        const order = numeric ? Number(a) - Number(b) : a.localeCompare(b);
        return falling ? -order : order;
      });
      body.append(...rows);
    });
  });
})();
