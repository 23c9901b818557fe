"""The script of a page. It adds what would be dead without it: buttons that copy, and one for the theme.

``navigator.clipboard`` is missing outside of secure contexts and may be refused within; then a selection is
copied, and where that is refused too, it is left selected for the reader to copy
(https://developer.mozilla.org/en-US/docs/Web/API/Clipboard/writeText).
"""

from __future__ import annotations

SCRIPT = """
(() => {
  "use strict";
  const root = document.documentElement, byId = (id) => document.getElementById(id);
  const words = {
    en: { copy: "Copy", copied: "Copied", select: "Press Ctrl+C", dark: "Dark theme", light: "Light theme" },
    zh: { copy: "复制", copied: "已复制", select: "请按 Ctrl+C", dark: "深色主题", light: "浅色主题" },
  }[root.lang] || {};

  function selected(code) {
    const range = document.createRange(), selection = getSelection();
    range.selectNodeContents(code);
    selection.removeAllRanges();
    selection.addRange(range);
    return selection;
  }
  function copiedBySelection(code) {
    const selection = selected(code);
    let done = false;
    try { done = document.execCommand("copy"); } catch { done = false; }
    if (done) selection.removeAllRanges();
    return done;
  }
  async function copied(code) {
    try { await navigator.clipboard.writeText(code.textContent.trim()); return true; }
    catch { return copiedBySelection(code); }
  }
  function tell(button, told) {
    button.textContent = told;
    byId("told").textContent = told;
    clearTimeout(button.rest);
    button.rest = setTimeout(() => { button.textContent = words.copy; byId("told").textContent = ""; }, 2500);
  }
  for (const code of document.querySelectorAll("pre > code[class^=language-]")) {
    const box = document.createElement("div"), button = document.createElement("button");
    box.className = "copyable";
    button.type = "button";
    button.textContent = words.copy;
    const what = code.dataset.name || code.textContent.trim().slice(0, 200);
    button.setAttribute("aria-label", words.copy + ": " + what);
    button.onclick = async () => tell(button, (await copied(code)) ? words.copied : words.select);
    code.parentNode.replaceWith(box);
    box.append(code.parentNode, button);
  }

  const theme = byId("theme"), system = matchMedia("(prefers-color-scheme: dark)");
  if (theme) {
    const isDark = () => (root.dataset.theme || (system.matches ? "dark" : "light")) === "dark";
    const name = () => { theme.textContent = isDark() ? words.light : words.dark; };
    theme.onclick = () => { root.dataset.theme = isDark() ? "light" : "dark"; name(); };
    system.onchange = name;
    theme.hidden = false;
    name();
  }

  const open = (box) => { if (box && !box.open) { box.open = true; return box; } };
  const reveal = () => {
    const target = location.hash && byId(location.hash.slice(1));
    if (target) open(target.querySelector(":scope > details"));
  };
  addEventListener("hashchange", reveal);
  reveal();
  let opened = [];
  addEventListener("beforeprint", () => {
    opened = [...document.querySelectorAll("article > details")].map(open).filter(Boolean);
  });
  addEventListener("afterprint", () => { for (const box of opened) box.open = false; });
})();
"""
