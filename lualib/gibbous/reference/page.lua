--- The frame of the reference: $VERSION, $INDEX and $BODY are filled in.
return [==[
<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Gibbous $VERSION: reference</title>
<style>
:root { --ink: #1d2530; --paper: #fff; --faint: #5b6675; --line: #dde2e8; --code: #f3f5f8; --link: #0b5cad; }
@media (prefers-color-scheme: dark) {
  :root { --ink: #e4e8ee; --paper: #14181d; --faint: #9aa6b4; --line: #2c343e; --code: #1e242c; --link: #7ab7f5; }
}
* { box-sizing: border-box; }
body { margin: 0; color: var(--ink); background: var(--paper); font: 16px/1.5 system-ui, sans-serif; }
a { color: var(--link); text-decoration: none; }
a:hover { text-decoration: underline; }
nav { position: fixed; inset: 0 auto 0 0; width: 19rem; overflow-y: auto; padding: 1rem; border-right: 1px solid var(--line); }
nav h1 { font-size: 1.1rem; margin: 0 0 .5rem; }
nav input { width: 100%; padding: .4rem .6rem; font: inherit; color: inherit; background: var(--code);
  border: 1px solid var(--line); border-radius: .3rem; }
nav summary { cursor: pointer; padding: .15rem 0; font-weight: 600; }
nav ul { list-style: none; margin: 0 0 .5rem; padding-left: .8rem; font: .85rem/1.6 ui-monospace, monospace; }
main { margin-left: 19rem; padding: 1rem 2rem 50vh; max-width: 62rem; }
h2 { margin: 2.5rem 0 .5rem; padding-bottom: .2rem; border-bottom: 2px solid var(--line); }
section { padding: .4rem 0 .8rem; border-bottom: 1px solid var(--line); }
section:target { background: var(--code); box-shadow: -.5rem 0 0 var(--link); }
h3 { margin: .3rem 0; font-size: 1rem; }
h3 small { color: var(--faint); font-weight: 400; }
h4 { margin: .6rem 0 .2rem; font-size: .85rem; color: var(--faint); font-weight: 600; }
p { margin: .3rem 0; }
table { border-collapse: collapse; width: 100%; font-size: .92rem; }
td { padding: .15rem .6rem .15rem 0; vertical-align: top; }
td:first-child { white-space: nowrap; width: 10rem; }
td.type { color: var(--faint); font: .82rem/1.7 ui-monospace, monospace; width: 16rem; overflow-wrap: anywhere; }
code, pre { font-family: ui-monospace, monospace; }
pre { margin: .6rem 0 0; padding: .6rem .8rem; background: var(--code); border-radius: .3rem; overflow-x: auto; font-size: .88rem; }
dl { display: grid; grid-template-columns: 4.5rem 1fr; margin: .5rem 0; font-size: .92rem; }
dt { color: var(--faint); }
dd { margin: 0; }
.hidden { display: none; }
@media (max-width: 50rem) {
  nav { position: static; width: auto; border: 0; border-bottom: 1px solid var(--line); max-height: 50vh; }
  main { margin: 0; padding: 1rem; }
  tr { display: block; padding: .2rem 0; }
  td, td.type, td:first-child { display: block; width: auto; white-space: normal; padding: 0; }
  h3 code { overflow-wrap: anywhere; }
}
</style>
</head>
<body>
<nav>
<h1>Gibbous $VERSION</h1>
<input id="search" type="search" placeholder="Search, or press /" aria-label="Search" autocomplete="off">
<p id="count"></p>
$INDEX
</nav>
<main>
<h1>Reference</h1>
<p>Everything that a script can name, by area. <code>local gb = require "gibbous"</code>; at the prompt <code>?name</code> shows
the same. Shapes are written (n, m); positions count from 1; everything is lazy unless it says that it evaluates.</p>
$BODY
</main>
<script>
(function () {
  var box = document.getElementById("search"), count = document.getElementById("count");
  var sections = Array.prototype.slice.call(document.querySelectorAll("section"));
  var texts = sections.map(function (s) { return (s.id + " " + s.textContent).toLowerCase(); });
  var items = Array.prototype.slice.call(document.querySelectorAll("nav li"));
  var groups = Array.prototype.slice.call(document.querySelectorAll("nav details"));
  var heads = Array.prototype.slice.call(document.querySelectorAll("main h2"));
  function search() {
    var words = box.value.toLowerCase().split(/\s+/).filter(Boolean), shown = {}, found = 0;
    sections.forEach(function (s, i) {
      var fits = words.every(function (w) { return texts[i].indexOf(w) >= 0; });
      s.classList.toggle("hidden", !fits);
      if (fits) { shown[s.id] = true; found++; }
    });
    items.forEach(function (li) {
      li.classList.toggle("hidden", !shown[decodeURIComponent(li.firstChild.hash.slice(1))]);
    });
    groups.forEach(function (g) {
      g.open = words.length > 0;
      g.classList.toggle("hidden", !g.querySelector("li:not(.hidden)"));
    });
    heads.forEach(function (h) { h.classList.toggle("hidden", words.length > 0); });
    count.textContent = words.length ? found + " found" : "";
  }
  box.addEventListener("input", search);
  document.addEventListener("keydown", function (e) {
    if (e.key === "/" && document.activeElement !== box) { e.preventDefault(); box.focus(); }
    if (e.key === "Escape") { box.value = ""; search(); }
  });
  window.addEventListener("hashchange", function () {
    var target = document.getElementById(decodeURIComponent(location.hash.slice(1)));
    if (target && target.classList.contains("hidden")) { box.value = ""; search(); target.scrollIntoView(); }
  });
})();
</script>
</body>
</html>
]==]
