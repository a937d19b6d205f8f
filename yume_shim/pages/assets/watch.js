"use strict";
(() => {
  const bar = document.getElementById("live");
  if (!bar) return;
  const main = document.getElementById("session"), state = document.getElementById("state"), follow = document.getElementById("follow");
  const MOST_ITEMS = 4000;
  const say = (text, kind) => { state.textContent = text; state.className = kind; };
  const nodeOf = (html) => {
    const holder = document.createElement("template");
    holder.innerHTML = html;
    return holder.content.firstElementChild;
  };

  function turnOf(id) {
    let turn = document.getElementById(id);
    if (turn) return turn;
    turn = document.createElement("section");
    turn.className = "turn"; turn.id = id;
    const items = document.createElement("div");
    items.className = "items";
    turn.append(items);
    main.querySelector(".empty")?.remove();
    main.append(turn);
    page.observe(turn);
    while (main.querySelectorAll(".item").length > MOST_ITEMS && main.children.length > 1) main.firstElementChild.remove();
    return turn;
  }
  function put(part) {
    const turn = turnOf(part.turn);
    if (part.head) {
      const old = turn.querySelector(":scope > .turnhead"), head = nodeOf(part.head);
      old ? old.replaceWith(head) : turn.prepend(head);
      const entry = nodeOf(part.entry), known = document.getElementById(part.turn + "-c");
      known ? known.replaceWith(entry) : document.querySelector("#contents > ol")?.append(entry);
      if (known?.classList.contains("here")) page.mark(part.turn);
      page.decorate(head);
      return;
    }
    const fresh = nodeOf(part.html), old = document.getElementById(part.item);
    if (old) {
      const open = new Set([old, ...old.querySelectorAll("details[id][open]")].filter((each) => each.open).map((each) => each.id));
      for (const each of [fresh, ...fresh.querySelectorAll("details[id]")]) if (open.has(each.id)) each.open = true;
      old.replaceWith(fresh);
    } else if (part.item.endsWith("-p")) turn.querySelector(":scope > .items").before(fresh);
    else turn.querySelector(":scope > .items").append(fresh);
    const whole = document.createElement("div");
    fresh.replaceWith(whole); whole.append(fresh); page.decorate(whole); whole.replaceWith(fresh);
    page.forget(turn);
  }

  // a browser opens only a few connections to one host: hidden pages leave theirs to the others
  const AGAIN = 4000;
  let source = null, gone = false, waiting = 0;
  function connect() {
    clearTimeout(waiting);
    if (source || gone || document.hidden) return;
    source = new EventSource(bar.dataset.events);
    source.onopen = () => say("● live", "on");
    source.onerror = () => {
      say("○ not connected; trying again", "off");
      if (source?.readyState === EventSource.CLOSED) { source = null; waiting = setTimeout(connect, AGAIN); }
    };
    source.onmessage = (event) => take(JSON.parse(event.data));
  }
  function leave(text) { source?.close(); source = null; say(text, "off"); }
  document.addEventListener("visibilitychange", () => { document.hidden ? leave("○ waiting while hidden") : connect(); });

  function list(html) {
    const row = document.activeElement.closest?.(".row a")?.getAttribute("href");
    main.innerHTML = html;
    for (const turn of main.querySelectorAll(":scope > .turn")) page.observe(turn);
    if (row) main.querySelector(`a[href="${CSS.escape(row)}"]`)?.focus({ preventScroll: true });
  }
  function take(news) {
    if (news.reload) { leave("○ loading again"); location.reload(); return; }
    if (news.gone) { gone = true; leave("○ the transcript has been deleted"); return; }
    if (news.list !== undefined) list(news.list);
    const atEnd = innerHeight + scrollY > document.documentElement.scrollHeight - 160;
    for (const part of news.parts ?? []) put(part);
    if (page.active()) page.apply(); else if (news.parts) page.within();
    if (news.parts?.length && follow?.checked && atEnd) scrollTo(0, document.documentElement.scrollHeight);
    say("● live · last change " + new Date().toLocaleTimeString(), "on");
  }
  connect();
})();
