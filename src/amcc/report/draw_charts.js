// Draws all charts of the page, which holds them by the id of their place, and how they look.
// A chart that is wider than the page is drawn narrower, with its legend below, so that its text stays readable. Those
// with a fixed step per label cannot shrink: the page lets them scroll.
const room = document.querySelector("main").clientWidth;
// Keys above a chart have one entry per line where there is little room.
const narrowed = (name, value) => room < 700 && name === "legend" && value?.orient === "top" ? {...value, columns: 1} : value;
const [charts, options] = ["data-charts", "data-chart-options"].map(
  id => JSON.parse(document.getElementById(id).textContent, narrowed));
if (room < 700) {
  const below = {direction: "vertical", anchor: "start"};
  Object.assign(options.config.legend, {orient: "bottom", columns: 2, offset: 24, layout: {bottom: below}});
  Object.assign(options.config.axis, {labelOverlap: "greedy", titleLimit: room - 60});
}
for (const chart of Object.values(charts)) {
  if (!(chart.width > room - 60)) continue;
  const square = chart.height === chart.width;
  chart.width = room;
  chart.autosize = {type: square ? "pad" : "fit-x", contains: "padding"};
  if (square) chart.width = chart.height = room - 60;
}
const drawn = Object.entries(charts).map(([id, chart]) => vegaEmbed("#" + id, chart, options).catch(error => {
  document.getElementById(id).textContent = options.failed + " " + error.message;
}));
// What is wider than its place scrolls, and must be reached by the keyboard then.
Promise.all(drawn).then(() => {
  for (const wide of document.querySelectorAll(".chart, .wide")) {
    if (wide.scrollWidth <= wide.clientWidth) continue;
    wide.tabIndex = 0;
    wide.setAttribute("role", "region");
    wide.setAttribute("aria-label", (wide.querySelector("caption") || wide.closest("section").firstElementChild).textContent);
  }
});
