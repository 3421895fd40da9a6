// docs/theme/site.js - search, copy buttons, light and dark, large figures. Pages can be read without it.
"use strict"
const html = document.documentElement, root = html.dataset.root
const make = (name, properties, ...children) => {
  const element = Object.assign(document.createElement(name), properties)
  element.append(...children)
  return element
}

// Light and dark: as the system, unless the button has chosen the other one.
document.getElementById("theme").onclick = () => {
  const system = matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light"
  const next = (html.dataset.theme || system) === "dark" ? "light" : "dark"
  html.dataset.theme = next === system ? "" : next
  try { localStorage.setItem("pmlua-theme", html.dataset.theme) } catch (_) { /* no storage: the choice ends with the page */ }
}
// Pages of file:// share no storage, so links carry the choice.
document.addEventListener("click", event => {
  const link = event.target.closest("a[href]")
  if (link && link.protocol === "file:" && link.pathname !== location.pathname) link.search = html.dataset.theme || ""
}, true)

// Copy buttons. Browsers without a clipboard for this address copy a selection.
const copy = async text => {
  try { await navigator.clipboard.writeText(text) } catch (_) {
    const area = make("textarea", { value: text })
    document.body.append(area)
    area.select()
    document.execCommand("copy")
    area.remove()
  }
}
for (const block of document.querySelectorAll("pre:not(.text)")) {
  const button = make("button", { type: "button", textContent: "copy" })
  button.onclick = async () => {
    await copy(block.querySelector("code").textContent + "\n")
    button.textContent = "copied"
    setTimeout(() => { button.textContent = "copy" }, 1500)
  }
  block.append(button)
}

// A figure fills the window until the next click or Escape.
for (const figure of document.querySelectorAll("a.figure")) {
  figure.onclick = event => {
    event.preventDefault()
    const dialog = make("dialog", {}, make("img", { src: figure.href, alt: figure.firstChild.alt }))
    dialog.onclick = () => dialog.close()
    dialog.onclose = () => dialog.remove()
    document.body.append(dialog)
    dialog.showModal()
  }
}

// Search. The index is loaded when the field is first used.
const form = document.getElementById("search"), field = form.querySelector("input"), found = document.getElementById("found")
let index, loading
const load = () => loading ||= new Promise(done => {
  document.head.append(make("script", { src: root + "search-index.js", onload: () => {
    index = window.pmluaIndex.map(([url, title, page, text]) => ({ url, title, page, text, low: title.toLowerCase(),
      pageLow: page.toLowerCase(), textLow: text.toLowerCase() }))
    done()
  } }))
})

// The rank of an entry for a word: the last part of a name, a whole word, a word's beginning, in the title, the page, the text.
const rank = (entry, word) => {
  const name = entry.low.replace(/\(.*/, "")
  if (name === word) return 100
  const parts = name.split(/[^a-z0-9]+/)
  if (name === "pmlua " + word) return 95
  if (/[._:]/.test(name) && !name.includes(" ") && parts[parts.length - 1] === word) return name.startsWith("pml.") ? 90 : 80
  if (parts.includes(word)) return 60
  if (parts.some(part => part.startsWith(word))) return 40
  if (entry.low.includes(word)) return 30
  if (entry.pageLow.includes(word)) return 12
  const at = entry.textLow.indexOf(word)
  return at < 0 ? 0 : 5 + Math.min(4, entry.textLow.split(word).length - 2)
}
const search = text => {
  const words = text.toLowerCase().split(/\s+/).filter(word => word)
  const list = []
  for (const entry of words.length ? index : []) {
    const ranks = words.map(word => rank(entry, word))
    if (ranks.every(r => r > 0)) {
      // Of equal ranks, pages precede their sections.
      list.push([ranks.reduce((a, b) => a + b, 0) + (entry.page ? 0 : 3), entry])
    }
  }
  return list.sort((a, b) => b[0] - a[0] || a[1].url.length - b[1].url.length).slice(0, 20).map(([, entry]) => entry)
}

// The text around the first word, with the word marked.
const excerpt = (entry, words) => {
  const at = words.some(word => entry.low.includes(word)) ? 0 : Math.max(...words.map(word => entry.textLow.indexOf(word)))
  const from = Math.max(0, at - 40), text = entry.text.slice(from, from + 140)
  const word = words.find(w => text.toLowerCase().includes(w)), small = make("small")
  if (entry.page) small.append(entry.page + ": ")
  if (!word) { small.append(text); return small }
  const begin = text.toLowerCase().indexOf(word)
  small.append((from > 0 ? "..." : "") + text.slice(0, begin), make("mark", {}, text.slice(begin, begin + word.length)),
    text.slice(begin + word.length))
  return small
}
const show = async () => {
  await load()
  const words = field.value.toLowerCase().split(/\s+/).filter(word => word)
  const list = search(field.value)
  found.replaceChildren(...list.map(entry => make("li", {}, make("a", { href: root + entry.url }, entry.title, excerpt(entry, words)))))
  if (words.length && !list.length) found.append(make("li", {}, make("a", {}, "no page contains these words")))
  found.hidden = !words.length
}
field.onfocus = load
field.oninput = show
form.onsubmit = async event => {
  event.preventDefault()
  await show()
  const first = found.querySelector("a[href]")
  if (first) first.click()
}
document.addEventListener("keydown", event => {
  const inField = /^(INPUT|TEXTAREA)$/.test(document.activeElement.tagName)
  if (event.key === "/" && !inField) { event.preventDefault(); field.focus() }
  if (event.key === "Escape") { found.hidden = true; field.blur() }
  if ((event.key === "ArrowDown" || event.key === "ArrowUp") && !found.hidden) {
    const links = [...found.querySelectorAll("a[href]")], at = links.indexOf(document.activeElement)
    const next = links[at + (event.key === "ArrowDown" ? 1 : -1)] || field
    event.preventDefault()
    next.focus()
  }
})
document.addEventListener("click", event => { if (!form.contains(event.target)) found.hidden = true })
