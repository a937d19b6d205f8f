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

  const source = new EventSource(bar.dataset.events);
  source.onopen = () => say("● live", "on");
  source.onerror = () => say("○ not connected; trying again", "off");
  source.onmessage = (event) => {
    const news = JSON.parse(event.data);
    if (news.reload) { location.reload(); return; }
    if (news.gone) { say("○ the transcript has been deleted", "off"); source.close(); return; }
    if (news.list !== undefined) {
      const open = main.scrollTop;
      main.innerHTML = news.list;
      for (const turn of main.querySelectorAll(":scope > .turn")) page.observe(turn);
      main.scrollTop = open;
    }
    const atEnd = innerHeight + scrollY > document.documentElement.scrollHeight - 160;
    for (const part of news.parts ?? []) put(part);
    if (page.active()) page.apply();
    if (news.parts?.length && follow?.checked && atEnd) scrollTo(0, document.documentElement.scrollHeight);
    say("● live · last change " + new Date().toLocaleTimeString(), "on");
  };
})();
