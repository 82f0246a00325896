// The search dialog of the theme has no name for screen readers.
document.querySelector("[data-md-component=search]")?.setAttribute("aria-label", "Search");
