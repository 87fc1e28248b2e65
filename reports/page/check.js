// Finds what a reader of the page cannot read. It runs in the page and yields a list.
(() => {
  const faults = [], name = e => `${e.tagName.toLowerCase()}.${e.getAttribute("class") || ""} "${(e.textContent || "").trim().slice(0, 40)}"`;
  const wide = document.documentElement.clientWidth, print = matchMedia("print").matches;
  if (document.documentElement.scrollWidth > wide) faults.push(`the page is ${document.documentElement.scrollWidth} wide, and the window ${wide}`);
  const scrolls = e => { for (; e; e = e.parentElement) if (e.matches(".wide") && getComputedStyle(e).overflowX === "auto") return true; return false; };
  for (const e of document.querySelectorAll("body *")) {
    const s = getComputedStyle(e), b = e.getBoundingClientRect();
    if (e.closest(".hidden") || b.width === 0 || e.closest("defs, marker, title, desc")) continue;
    if (["hidden", "clip"].includes(s.overflowX) && e.scrollWidth > e.clientWidth + 1 && !(e instanceof SVGElement)) faults.push(`cut: ${name(e)}`);
    const leaf = e.children.length === 0 && e.textContent.trim() !== "";
    if (leaf && !scrolls(e) && (b.left < -1 || b.right > wide + 1)) faults.push(`beyond the edge, at ${Math.round(b.left)} to ${Math.round(b.right)} of ${wide}: ${name(e)}`);
  }
  for (const svg of document.querySelectorAll("svg.chart")) {
    const texts = [...svg.querySelectorAll("text")].map(t => [t, t.getBoundingClientRect()]);
    for (let i = 0; i < texts.length; i++) for (let j = i + 1; j < texts.length; j++) {
      const [a, p] = texts[i], [b, q] = texts[j];
      const x = Math.min(p.right, q.right) - Math.max(p.left, q.left), y = Math.min(p.bottom, q.bottom) - Math.max(p.top, q.top);
      if (x > 1 && y > p.height / 3) faults.push(`letters over letters in ${svg.getAttribute("aria-label").slice(0, 50)}: ${a.textContent} and ${b.textContent}`);
    }
  }
  if (print) for (const d of document.querySelectorAll("details")) {
    if (!d.checkVisibility()) continue;
    const last = d.lastElementChild.getBoundingClientRect();
    if (last.height < 5) faults.push(`closed in print: ${name(d)}`);
  }
  // On a phone, names and heads stay when a table is scrolled.
  for (const w of print ? [] : document.querySelectorAll(".wide")) {
    const head = w.querySelector("thead th"), row = w.querySelector("tbody:last-of-type tr:last-of-type th.name");
    if (!head || !row || w.scrollWidth <= w.clientWidth || getComputedStyle(w).overflowX !== "auto") continue;
    w.scrollLeft = w.scrollWidth; w.scrollTop = w.scrollHeight;
    const box = w.getBoundingClientRect();
    if (Math.abs(row.getBoundingClientRect().left - box.left) > 2) faults.push(`the name scrolls away: ${name(row)}`);
    if (Math.abs(head.getBoundingClientRect().top - box.top) > 2) faults.push(`the head scrolls away: ${name(w)}`);
  }
  return faults.slice(0, 20);
})()
