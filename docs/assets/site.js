// The search dialog of the theme has no name for screen readers.
document.querySelector("[data-md-component=search]")?.setAttribute("aria-label", "Search");
// A recording shows the moment named as its poster until it is played.
document.addEventListener("DOMContentLoaded", () => {
  for (const place of document.querySelectorAll(".recording")) {
    const { cast, columns, rows, poster } = place.dataset;
    AsciinemaPlayer.create(cast, place, {
      cols: Number(columns), rows: Number(rows), poster, preload: true, fit: "width", idleTimeLimit: 2,
      terminalFontFamily: "ui-monospace, Menlo, Consolas, monospace",
    });
  }
});
