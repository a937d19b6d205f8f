"use strict";
(() => {
  const $ = (id) => document.getElementById(id);
  const root = document.documentElement, main = $("session");
  const hiddenKinds = new Set();
  let query = "", onlyErrors = false, tool = "", matches = [], current = -1;
  const texts = new WeakMap();

  // ---- items: an item is shown if its kind is on, its tool fits, and it (or something inside it) has the words
  const textOf = (node) => {
    let text = texts.get(node);
    if (text === undefined) { text = node.textContent.toLowerCase(); texts.set(node, text); }
    return text;
  };
  const isError = (node) => node.matches(".card.error,.card.denied,.mark.failure,.mark.retry,.mark.warning,.mark.interrupted");
  const kindOf = (node) => node.dataset.kind === "error" ? "mark" : node.dataset.kind === "aside" ? "context" : node.dataset.kind;
  function fits(node) {
    if (hiddenKinds.has(kindOf(node))) return false;
    if (onlyErrors && !isError(node) && !node.querySelector(".card.error,.card.denied,.mark.failure")) return false;
    if (tool && node.dataset.tool !== tool && !(node.dataset.kind === "tool" && node.querySelector(`[data-tool="${CSS.escape(tool)}"]`))) return false;
    return !query || textOf(node).includes(query);
  }
  function apply() {
    const plain = !query && !onlyErrors && !tool;
    matches = [];
    for (const turn of main.querySelectorAll(":scope > .turn")) {
      let shown = 0;
      const list = turn.querySelectorAll(":scope > .item, :scope > .items > .item");
      for (const item of list) {
        const show = fits(item);
        if (item.hidden === show) item.hidden = !show;
        shown += show;
        if (show && query) matches.push(item);
      }
      const hide = !shown && (list.length > 0 || !plain);
      if (turn.hidden !== hide) turn.hidden = hide;
      const entry = $(turn.id + "-c");
      if (entry && entry.hidden !== hide) entry.hidden = hide;
    }
    current = -1;
    within();
    $("found").textContent = query ? (matches.length ? `${matches.length} found` : "nothing") : "";
    paint();
  }

  // ---- matches are painted by the browser, without changing the document
  const MOST_PAINTED = 2000;
  function paint() {
    if (!window.Highlight) return;
    CSS.highlights.delete("found"); CSS.highlights.delete("now");
    if (!query) return;
    const all = [], now = [];
    const near = current < 0 ? matches.slice(0, 40) : matches.slice(Math.max(0, current - 20), current + 20);
    for (const item of near) {
      const walker = document.createTreeWalker(item, NodeFilter.SHOW_TEXT);
      for (let node; (node = walker.nextNode()) && all.length < MOST_PAINTED;) {
        const text = node.data.toLowerCase();
        if (text.length !== node.data.length) continue;
        for (let at = text.indexOf(query); at >= 0 && all.length < MOST_PAINTED; at = text.indexOf(query, at + query.length)) {
          const range = new Range();
          range.setStart(node, at); range.setEnd(node, at + query.length);
          (item === matches[current] ? now : all).push(range);
        }
      }
    }
    CSS.highlights.set("found", new Highlight(...all));
    CSS.highlights.set("now", new Highlight(...now));
  }
  function go(step) {
    if (!matches.length) return;
    current = current < 0 ? (step > 0 ? 0 : matches.length - 1) : (current + step + matches.length) % matches.length;
    const item = matches[current];
    if (item.tagName === "DETAILS") item.open = true;
    for (const inner of item.querySelectorAll("details")) if (textOf(inner).includes(query)) inner.open = true;
    item.scrollIntoView({ block: "center" });
    $("found").textContent = `${current + 1} of ${matches.length}`;
    paint();
  }
  let waiting = 0;
  $("find")?.addEventListener("input", (event) => {
    clearTimeout(waiting);
    waiting = setTimeout(() => { query = event.target.value.trim().toLowerCase(); apply(); }, 90);
  });
  $("find")?.addEventListener("keydown", (event) => {
    if (event.key === "Enter") { event.preventDefault(); go(event.shiftKey ? -1 : 1); }
    if (event.key === "Escape") { event.target.value = ""; query = ""; apply(); event.target.blur(); }
  });
  $("next")?.addEventListener("click", () => go(1));
  $("prev")?.addEventListener("click", () => go(-1));
  for (const chip of document.querySelectorAll("[data-filter]")) chip.addEventListener("click", () => {
    const on = chip.getAttribute("aria-pressed") !== "true";
    chip.setAttribute("aria-pressed", on);
    on ? hiddenKinds.delete(chip.dataset.filter) : hiddenKinds.add(chip.dataset.filter);
    apply();
  });
  $("errors")?.addEventListener("click", () => {
    onlyErrors = !onlyErrors; $("errors").setAttribute("aria-pressed", onlyErrors); apply();
  });
  $("tools")?.addEventListener("change", (event) => { tool = event.target.value; apply(); });

  // ---- folding
  const fold = (open) => { for (const each of main.querySelectorAll("details")) each.open = open; };
  $("expand")?.addEventListener("click", () => fold(true));
  $("collapse")?.addEventListener("click", () => fold(false));
  let closed = [];
  addEventListener("beforeprint", () => {
    localise(main);
    closed = [...main.querySelectorAll("details:not([open])")];
    for (const each of closed) each.open = true;
  });
  addEventListener("afterprint", () => { for (const each of closed) each.open = false; closed = []; });

  // ---- light and dark
  function theme() {
    const dark = root.dataset.theme ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme:dark)").matches;
    root.dataset.theme = dark ? "light" : "dark";
  }
  $("theme")?.addEventListener("click", theme);
  $("keys")?.addEventListener("click", () => $("help").showModal());

  // ---- contents: folded where they stand above the page, unfolded beside it
  const contents = $("contents"), beside = matchMedia("(min-width:74rem)");
  if (contents) {
    contents.open = beside.matches;
    beside.addEventListener("change", () => { contents.open = beside.matches; });
  }
  let here = null;
  function mark(id) {
    const entry = $(id + "-c");
    if (!entry || entry === here) return;
    here?.classList.remove("here"); entry.classList.add("here"); here = entry;
    within();
    const list = entry.closest(".side");
    if (list && list.scrollHeight > list.clientHeight + 4) {
      const top = entry.offsetTop - list.clientHeight / 2;
      if (Math.abs(list.scrollTop - top) > list.clientHeight / 2.5) list.scrollTop = top;
    }
  }

  // the entry of the turn that is being read lists what is in it
  const MOST_WITHIN = 300;
  function label(item) {
    if (item.dataset.kind === "tool") return [".st", ".name", ".arg"].map((part) => item.querySelector(part).textContent).join(" ");
    if (item.dataset.kind === "answer") return item.querySelector("p, h3, h4, h5, h6, li, pre")?.textContent;
    return ["mark", "error"].includes(item.dataset.kind) ? item.querySelector("p").textContent : "";
  }
  function within() {
    document.querySelector(".within")?.remove();
    const turn = here && $(here.id.slice(0, -2)), list = document.createElement("ol");
    for (const item of turn?.querySelectorAll(":scope > .items > .item:not([hidden])") ?? []) {
      const words = label(item)?.trim().slice(0, 120);
      if (!words) continue;
      const link = document.createElement("a"), text = document.createElement("span"), row = document.createElement("li");
      link.href = "#" + item.id; text.className = isError(item) ? "l bad" : "l"; text.dir = "auto"; text.textContent = words;
      link.append(text); row.append(link); list.append(row);
      if (list.children.length >= MOST_WITHIN) break;
    }
    list.className = "within";
    if (list.children.length > 1) here.append(list);
  }

  // ---- what is only needed for visible turns: local times, copy buttons
  const decorated = new WeakSet();
  const localTime = new Intl.DateTimeFormat(undefined, { timeStyle: "medium" });
  const localDay = new Intl.DateTimeFormat(undefined, { dateStyle: "medium", timeStyle: "short" });
  // in an answer the text flows around the button; elsewhere it has its corner
  // the words on a button come from the style sheet: they are not part of the text that is searched and copied
  const name = (button, words) => { button.dataset.words = words; button.setAttribute("aria-label", words); };
  const place = (button, block) => { if (block.matches(".answer")) block.prepend(button); else block.append(button); };
  function localise(part) {
    for (const time of part.querySelectorAll("time")) {
      const at = new Date(time.dateTime);
      if (!isNaN(at)) time.textContent = (time.classList.contains("clock") ? localTime : localDay).format(at);
    }
  }
  function decorate(part) {
    localise(part);
    for (const block of part.querySelectorAll(".code, .prompt, .answer")) {
      if (block.querySelector(":scope > .copy")) continue;
      const button = document.createElement("button");
      button.type = "button"; button.className = "copy"; name(button, "Copy");
      place(button, block);
    }
  }
  function withoutNumbers(source) {
    const copy = source.cloneNode(true);
    for (const number of copy.querySelectorAll("u")) number.remove();
    return copy.textContent;
  }
  main.addEventListener("click", async (event) => {
    const button = event.target.closest(".copy");
    if (!button) return;
    const block = button.parentElement, source = block.querySelector(":scope > pre") ?? block;
    button.remove();
    const text = source === block ? block.innerText : withoutNumbers(source);
    place(button, block);
    let done = true;
    try { await navigator.clipboard.writeText(text); } catch {
      const area = document.createElement("textarea");
      area.value = text; document.body.append(area); area.select();
      done = document.execCommand("copy"); area.remove();
    }
    name(button, done ? "Copied" : "Not allowed");
    setTimeout(() => name(button, "Copy"), 1200);
  });
  const near = new Set();
  const nearby = new IntersectionObserver((entries) => {
    for (const { target, isIntersecting } of entries) {
      isIntersecting ? near.add(target) : near.delete(target);
      if (isIntersecting && !decorated.has(target)) { decorated.add(target); decorate(target); }
    }
  }, { rootMargin: "300px" });
  const read = new Set();
  const reading = new IntersectionObserver((entries) => {
    for (const { target, isIntersecting } of entries) isIntersecting ? read.add(target) : read.delete(target);
    mark([...read].sort((a, b) => a.compareDocumentPosition(b) & 4 ? -1 : 1).at(-1)?.id);  // the last of them
  }, { rootMargin: "-10% 0px -80% 0px" });
  addEventListener("scrollend", () => {  // at the end of the page its last turn is read, however low it stands
    if (innerHeight + scrollY < root.scrollHeight - 4 || !scrollY) return;
    mark([...main.querySelectorAll(":scope > .turn:not([hidden])")].at(-1)?.id);
  });
  const observe = (turn) => { nearby.observe(turn); reading.observe(turn); };
  for (const turn of main.querySelectorAll(":scope > .turn")) observe(turn);
  const first = main.querySelector(":scope > .turn");
  if (first) mark(first.id);
  const top = document.querySelector("header.top");
  if (top) decorate(top);
  for (const column of document.querySelectorAll("[data-turn]"))
    column.addEventListener("click", () => { location.hash = column.dataset.turn; });

  // ---- addresses of single items
  function reveal() {
    const target = location.hash.length > 1 && $(decodeURIComponent(location.hash.slice(1)));
    if (!target) return;
    for (let each = target; each && each !== main; each = each.parentElement) {
      if (each.tagName === "DETAILS") each.open = true;
      if (each.hidden) each.hidden = false;
    }
    target.scrollIntoView();
    mark(target.closest(".turn")?.id);
  }
  main.addEventListener("click", (event) => {
    const item = event.target.closest("summary")?.closest(".item[id]");
    if (item) history.replaceState(null, "", "#" + item.id);
  });
  addEventListener("hashchange", reveal);
  if (location.hash) reveal();

  // ---- keyboard
  let goal = null;  // the turn that a key last went to: it moves when turns above it are drawn and get their true height
  function turnBy(step) {
    const turns = [...main.querySelectorAll(":scope > .turn:not([hidden])")];
    if (!turns.length) return;
    const line = 130;
    let at = goal && Math.abs(goal.getBoundingClientRect().top) < innerHeight / 2 ? turns.indexOf(goal) : -1;
    if (at < 0) at = turns.findLastIndex((turn) => turn.getBoundingClientRect().top <= line);
    goal = turns[Math.min(Math.max(at + step, 0), turns.length - 1)];
    const show = () => { goal.scrollIntoView(); mark(goal.id); };
    show();
    requestAnimationFrame(() => requestAnimationFrame(show));
  }
  const keys = {
    "/": () => $("find").focus(), n: () => go(1), N: () => go(-1), j: () => turnBy(1), k: () => turnBy(-1),
    e: () => fold(true), c: () => fold(false), x: () => $("errors")?.click(), t: theme, "?": () => $("help")?.showModal(),
    Escape: () => { if (query) { $("find").value = ""; query = ""; apply(); } },
  };
  // every browser scrolls by keys what has the focus, not every one gives it to what scrolls
  function reach() {
    for (const turn of near) for (const box of turn.querySelectorAll("pre, .scroll, .detail"))
      if (box.scrollHeight > box.clientHeight + 1 || box.scrollWidth > box.clientWidth + 1) box.tabIndex = 0;
  }
  addEventListener("keydown", (event) => {
    if (event.key === "Tab") reach();
    if (event.ctrlKey || event.metaKey || event.altKey || event.target.closest("input, select, textarea, dialog[open]")) return;
    const act = $("singles")?.checked === false && event.key !== "Escape" ? undefined : keys[event.key];
    if (act) { event.preventDefault(); act(); }
  });

  // ---- for the live page
  window.page = { apply, mark, within, observe, decorate, forget: (node) => texts.delete(node), active: () => query || onlyErrors || tool || hiddenKinds.size };
})();
