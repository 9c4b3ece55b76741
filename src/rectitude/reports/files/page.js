"use strict";
(() => {
  const $ = (selector, within = document) => within.querySelector(selector);
  const $$ = (selector, within = document) => [...within.querySelectorAll(selector)];
  const content = JSON.parse($("#content").textContent);
  const data = JSON.parse($("#figures").textContent);

  // theme
  $("#theme").addEventListener("click", () => {
    const root = document.documentElement;
    const dark = root.dataset.theme
      ? root.dataset.theme === "dark"
      : matchMedia("(prefers-color-scheme: dark)").matches;
    root.dataset.theme = dark ? "light" : "dark";
  });

  // tooltips, for the mouse and for touch
  const tip = $("#tip");
  const show = (event) => {
    const mark = event.target.closest ? event.target.closest("[data-tip]") : null;
    tip.hidden = !mark;
    if (!mark) return;
    tip.textContent = mark.dataset.tip;
    const box = tip.getBoundingClientRect();
    tip.style.left = Math.max(8, Math.min(event.clientX + 14, innerWidth - box.width - 8)) + "px";
    tip.style.top = Math.max(8, Math.min(event.clientY + 14, innerHeight - box.height - 8)) + "px";
  };
  document.addEventListener("pointermove", show);
  document.addEventListener("pointerdown", show);
  document.addEventListener("keydown", (event) => { if (event.key === "Escape") tip.hidden = true; });

  // the table of results: sorting, filtering, differences
  const table = $("#results");
  const rows = () => $$("tbody tr", table);
  $$("[data-sort]", table).forEach((button) => button.addEventListener("click", () => {
    const column = Number(button.dataset.sort), head = button.closest("th");
    const descending = head.getAttribute("aria-sort") ? head.getAttribute("aria-sort") === "ascending" : column >= 0;
    $$("thead th", table).forEach((th) => th.removeAttribute("aria-sort"));
    head.setAttribute("aria-sort", descending ? "descending" : "ascending");
    const last = descending ? -Infinity : Infinity;  // rows without a value come last
    const key = (row) => column < 0 ? row.dataset.model : Number($$("td", row)[column].dataset.value ?? last);
    const order = rows().sort((a, b) => {
      const [first, second] = [key(a), key(b)];
      return (first < second ? -1 : first > second ? 1 : 0) * (descending ? -1 : 1);
    });
    $("tbody", table).append(...order);
  }));
  $("#filter").addEventListener("input", (event) => {
    const words = event.target.value.trim().toLowerCase();
    const metrics = Object.keys(content.values);
    const some = words && metrics.some((m) => m.toLowerCase().includes(words));
    const models = rows().filter((row) => row.dataset.model.toLowerCase().includes(words));
    rows().forEach((row) => { row.hidden = Boolean(words) && models.length > 0 && !models.includes(row); });
    $$("[data-metric]", table).forEach((cell) => {
      cell.hidden = Boolean(some && !models.length) && !cell.dataset.metric.toLowerCase().includes(words);
    });
    if (words && !models.length && !some) rows().forEach((row) => { row.hidden = true; });
  });
  const value = (metric, model) => content.values[metric]?.[model]?.value ?? null;
  const bounded = (metric) => Object.values(content.values[metric]).every((v) => v.value === null || Math.abs(v.value) <= 1);
  const digits = (number) => {
    const size = Math.abs(number);
    if (size === 0 || (size >= 1e-4 && size < 1e4)) return number.toFixed(4);
    return size >= 1e4 && size < 1e9 ? number.toLocaleString("en", { minimumFractionDigits: 1, maximumFractionDigits: 1 }) : String(+number.toPrecision(4));
  };
  const cellNumber = (metric, model, mode, reference) => {
    const current = value(metric, model), other = value(metric, reference);
    if (current === null) return "–";
    if (mode === "value") return digits(current);
    if (other === null) return "–";
    const change = current - other, sign = change > 0 ? "+" : "";
    if (mode === "percent") return other === 0 ? "–" : `${sign}${(100 * change / Math.abs(other)).toFixed(1)}%`;
    return bounded(metric) ? `${sign}${(100 * change).toFixed(2)} pp` : sign + digits(change);
  };
  const refresh = () => {
    const mode = $("#mode").value, reference = $("#reference").value;
    rows().forEach((row) => $$("td", row).forEach((cell) => {
      $(".number", cell).textContent = cellNumber(cell.dataset.metric, row.dataset.model, mode, reference);
      const small = $("small", cell);
      if (small) small.hidden = mode !== "value";
    }));
  };
  if ($("#mode")) [$("#mode"), $("#reference")].forEach((select) => select.addEventListener("change", refresh));

  // choosing one of several figures
  $$("[data-pick]").forEach((pick) => {
    const section = pick.closest("section");
    const choose = () => $$("figure", section).forEach((figure) => {
      figure.hidden = Boolean(pick.value) && figure.dataset.name !== pick.value;
    });
    pick.addEventListener("change", choose);
    choose();
    addEventListener("beforeprint", () => $$("figure", section).forEach((figure) => { figure.hidden = false; }));
    addEventListener("afterprint", choose);
  });

  // the data of a figure as a table
  const element = (name, text) => { const node = document.createElement(name); if (text !== undefined) node.textContent = text; return node; };
  const cellText = (v) => v === null || v === undefined ? "" : typeof v === "number" && !Number.isInteger(v) ? String(+v.toPrecision(5)) : String(v);
  $$("[data-table]").forEach((holder) => holder.closest("details").addEventListener("toggle", () => {
    if (holder.firstChild) return;
    const records = data[holder.dataset.table], names = [...new Set(records.flatMap(Object.keys))];
    const grid = element("table"), head = grid.createTHead().insertRow(), body = grid.createTBody();
    names.forEach((name) => { const th = element("th", name); th.scope = "col"; head.append(th); });
    records.forEach((record) => { const row = body.insertRow(); names.forEach((name) => row.append(element("td", cellText(record[name])))); });
    holder.append(grid);
  }));

  // saving
  const save = (name, text, type) => {
    const link = element("a");
    link.href = URL.createObjectURL(text instanceof Blob ? text : new Blob([text], { type }));
    link.download = name;
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 1000);
  };
  // names that a spreadsheet would run as formulas get an apostrophe in front
  const cell = (v) => typeof v === "string" && /^[=+\-@\t\r＝＋－＠]/.test(v) && isNaN(v) ? `'${v}` : String(v ?? "");
  const quoted = (v) => /[",\r\n]/.test(cell(v)) ? `"${cell(v).replaceAll('"', '""')}"` : cell(v);
  const csv = (records) => {
    const names = [...new Set(records.flatMap(Object.keys))];
    return [names, ...records.map((record) => names.map((name) => record[name]))].map((row) => row.map(quoted).join(",")).join("\n") + "\n";
  };
  const drawn = (figure) => {
    const copy = $("svg", figure).cloneNode(true), shown = [$("svg", figure), ...$$("svg *", figure)];
    [copy, ...$$("*", copy)].forEach((node, nth) => {
      const style = getComputedStyle(shown[nth]);
      ["fill", "stroke", "stroke-width", "stroke-dasharray", "stroke-opacity", "fill-opacity", "font-size", "font-family"]
        .forEach((name) => node.style.setProperty(name, style.getPropertyValue(name)));
    });
    const box = $("svg", figure).viewBox.baseVal;
    copy.setAttribute("width", box.width); copy.setAttribute("height", box.height);
    copy.style.background = getComputedStyle(document.documentElement).getPropertyValue("--paper");
    return { text: new XMLSerializer().serializeToString(copy), box };
  };
  $$("[data-save]").forEach((button) => button.addEventListener("click", () => {
    const figure = button.closest("figure"), name = figure.dataset.name;
    if (button.dataset.save === "csv") return save(`${name}.csv`, csv(data[name]), "text/csv");
    const { text, box } = drawn(figure);
    if (button.dataset.save === "svg") return save(`${name}.svg`, text, "image/svg+xml");
    const image = new Image(), canvas = element("canvas"), times = 3;
    canvas.width = box.width * times; canvas.height = box.height * times;
    image.onload = () => {
      const pen = canvas.getContext("2d");
      pen.fillStyle = getComputedStyle(document.documentElement).getPropertyValue("--paper");
      pen.fillRect(0, 0, canvas.width, canvas.height);
      pen.drawImage(image, 0, 0, canvas.width, canvas.height);
      canvas.toBlob((blob) => save(`${name}.png`, blob));
    };
    image.src = "data:image/svg+xml;charset=utf-8," + encodeURIComponent(text);
  }));
  const latex = () => {
    const clean = (text) => text.replace(/[\x00-\x1f\x7f-\x9f\u2028\u2029]+/g, " ").replace(/[\\&%$#_{}~^]/g, (c) => ({ "\\": "\\textbackslash{}", "~": "\\textasciitilde{}", "^": "\\textasciicircum{}" }[c] ?? "\\" + c));
    const metrics = Object.keys(content.values);
    const body = rows().filter((row) => !row.hidden).map((row) => [clean(row.dataset.model), ...$$("td", row).map((cell) => {
      const number = clean($(".number", cell).textContent);
      return cell.classList.contains("best") ? `\\textbf{${number}}` : cell.classList.contains("second") ? `\\underline{${number}}` : number;
    })].join(" & ") + " \\\\");
    return [`\\begin{tabular}{l${"r".repeat(metrics.length)}}`, "\\toprule", ["model", ...metrics.map(clean)].join(" & ") + " \\\\", "\\midrule", ...body, "\\bottomrule", "\\end{tabular}", ""].join("\n");
  };
  $$("[data-save-table]").forEach((button) => button.addEventListener("click", () => {
    if (button.dataset.saveTable === "latex") return save("results.tex", latex(), "text/plain");
    const records = Object.keys(content.values).flatMap((metric) => Object.entries(content.values[metric]).map(([model, v]) => ({ model, metric, ...v })));
    save("results.csv", csv(records), "text/csv");
  }));

  // the same models under other conventions
  const explore = () => {
    const robustness = content.robustness, every = [robustness.base, ...robustness.standings];
    const standing = every[Number($("#convention").value)], holder = $("#standing");
    const most = Math.max(...Object.values(standing.values).map((v) => Math.abs(v ?? 0))) || 1;
    holder.replaceChildren(...standing.order.flat().map((model) => {
      const row = element("div"), bar = element("div");
      row.className = "row"; row.dataset.model = model; row.dataset.value = standing.values[model];
      bar.className = "bar"; bar.style.width = `${100 * Math.abs(standing.values[model] ?? 0) / most}%`;
      row.append(element("span", model), bar, element("span", standing.values[model] === null ? "–" : digits(standing.values[model])));
      return row;
    }));
    const changed = (standing.changed ?? []).map((pair) => pair.join(" and ")).join(", ");
    const words = standing === robustness.base ? "The convention of this report." : changed ? `The order changes: ${changed}.` : "The order of the models does not change.";
    const line = element("p", words); line.className = "said"; holder.append(line);
  };
  if ($("#convention")) { $("#convention").addEventListener("change", explore); explore(); }

  // the section that the reader is in
  const links = new Map($$("nav a").map((link) => [link.hash.slice(1), link]));
  const watch = new IntersectionObserver((entries) => entries.forEach((entry) => {
    if (!entry.isIntersecting) return;
    links.forEach((link) => link.classList.remove("here"));
    links.get(entry.target.id)?.classList.add("here");
  }), { rootMargin: "-20% 0px -70% 0px" });
  $$("main section").forEach((section) => watch.observe(section));
})();
