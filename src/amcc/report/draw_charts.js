// Draws all charts of the page; `charts` (by the id of their place) and `options` are defined before it.
// A chart that is wider than the page is drawn narrower, with its legend below, so that its text stays readable. Those
// with a fixed step per label cannot shrink: the page lets them scroll.
const room = document.body.clientWidth - 32;
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
for (const [id, chart] of Object.entries(charts)) {
  vegaEmbed("#" + id, chart, options).catch(error => {
    document.getElementById(id).textContent = "This chart could not be drawn: " + error.message;
  });
}
