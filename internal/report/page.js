// Puts the table of all handoffs into the page, a hundred at a time. What others wrote
// becomes text nodes alone.
"use strict";
(() => {
  const perPage = 100;
  const mostPrinted = 2000;
  const all = JSON.parse(document.getElementById("data").textContent) || [];
  const columns = [
    ["ID", "Handoff"], ["State", "State"], ["Task", "Task"], ["From", "From"], ["To", "To"], ["By", "By"],
    ["Repo", "Repository"], ["Offered", "Offered"], ["Claim", "To claim"], ["Finish", "To finish"],
    ["Principal", "For"], ["Said", "Words of the receipt"],
  ];
  const numbers = { Offered: "OfferedText", Claim: "ClaimText", Finish: "FinishText" };
  const $ = (id) => document.getElementById(id);
  const body = $("rows"), find = $("find"), state = $("state"), said = $("count");
  let shown = all, page = 0, sort = "Offered", up = false;

  const texts = all.map((r) => [r.ID, r.State, r.Task, r.From, r.To, r.By, r.Repo, r.Parent, r.Principal, r.Said].join("\n").toLowerCase());
  all.forEach((r, i) => { r.at = i; });

  function compare(a, b) {
    const x = a[sort], y = b[sort];
    const order = x < y ? -1 : x > y ? 1 : a.at - b.at;
    return up ? order : -order;
  }

  function choose() {
    const words = find.value.toLowerCase().split(/\s+/).filter(Boolean);
    shown = all.filter((r) => (!state.value || r.State === state.value) && words.every((w) => texts[r.at].includes(w)));
    shown.sort(compare);
    page = 0;
    draw(perPage);
  }

  function cell(row, text, name) {
    const td = document.createElement("td");
    td.textContent = text;
    if (name) td.className = name;
    row.append(td);
  }

  function draw(most) {
    const rows = document.createDocumentFragment();
    const first = most === perPage ? page * perPage : 0;
    for (const r of shown.slice(first, first + most)) {
      const tr = document.createElement("tr");
      for (const [key] of columns) {
        if (key === "ID") cell(tr, r.Short, "id");
        else if (key === "State") cell(tr, r.State, "state " + r.State);
        else if (key in numbers) cell(tr, r[numbers[key]], key === "Offered" ? "" : "n");
        else cell(tr, key === "To" && r.To === "_" ? "a person" : r[key], key === "Said" ? "words" : "");
      }
      tr.firstChild.title = r.ID;
      rows.append(tr);
    }
    body.replaceChildren(rows);
    const last = Math.min(first + most, shown.length);
    said.textContent = shown.length ? `${first + 1} to ${last} of ${shown.length} (${all.length} in all)` : `none of ${all.length}`;
    $("back").disabled = page === 0;
    $("on").disabled = last >= shown.length;
  }

  const head = document.createElement("tr");
  for (const [key, title] of columns) {
    const th = document.createElement("th"), button = document.createElement("button");
    th.scope = "col";
    button.type = "button";
    button.textContent = title;
    if (key in numbers && key !== "Offered") th.className = "n";
    button.addEventListener("click", () => {
      up = sort === key ? !up : !(key in numbers);
      sort = key;
      for (const other of head.children) other.removeAttribute("aria-sort");
      th.setAttribute("aria-sort", up ? "ascending" : "descending");
      choose();
    });
    if (key === sort) th.setAttribute("aria-sort", "descending");
    th.append(button);
    head.append(th);
  }
  $("head").append(head);

  find.addEventListener("input", choose);
  state.addEventListener("change", choose);
  $("back").addEventListener("click", () => { page--; draw(perPage); });
  $("on").addEventListener("click", () => { page++; draw(perPage); });
  for (const a of document.querySelectorAll("a[data-id]")) {
    a.addEventListener("click", (e) => {
      e.preventDefault();
      state.value = "";
      find.value = a.getAttribute("data-id");
      choose();
      find.scrollIntoView();
      find.focus();
    });
  }
  addEventListener("beforeprint", () => draw(mostPrinted));
  addEventListener("afterprint", () => draw(perPage));
  choose();
})();
