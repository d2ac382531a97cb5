"use strict";
(() => {
  const $ = (selector) => document.querySelector(selector);
  const text = $("#q"), category = $("#f-category"), severity = $("#f-severity");
  const rules = [...document.querySelectorAll("details.rule")];
  const sections = [...document.querySelectorAll("section.group")];
  let hay = null; // the rules' text in lower case, made when somebody first types

  function matches(rule, index, words) {
    if (category.value && rule.dataset.category !== category.value) return false;
    if (severity.value && rule.dataset.severity !== severity.value) return false;
    return words.every((word) => hay[index].includes(word));
  }

  function filter() {
    hay ||= rules.map((rule) => rule.textContent.toLowerCase());
    const words = text.value.toLowerCase().split(/\s+/).filter(Boolean);
    let shown = 0;
    rules.forEach((rule, index) => {
      rule.hidden = !matches(rule, index, words);
      shown += !rule.hidden;
    });
    for (const section of sections) section.hidden = !section.querySelector("details.rule:not([hidden])");
    $("#shown").textContent = shown + " of " + rules.length + " rules";
  }

  function open() { // the rule that the address names, whatever the filters say
    const rule = rules.find((each) => "#" + each.id === location.hash);
    if (!rule) return;
    if (rule.hidden) clear();
    rule.open = true;
    rule.scrollIntoView();
  }

  function clear() {
    text.value = category.value = severity.value = "";
    filter();
  }

  $("#filters").hidden = false;
  $("#filters").addEventListener("submit", (event) => event.preventDefault());
  for (const field of [text, category, severity]) field.addEventListener("input", filter);
  $("#clear").addEventListener("click", clear);
  addEventListener("hashchange", open);
  filter();
  open();
})();
