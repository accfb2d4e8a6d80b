// A page is drawn anew from its data, and then patched: what is in sight changes only where it differs. So focus, selections, scrolling and open parts stay.

const keyOf = (n) => (n.nodeType === Node.ELEMENT_NODE ? n.dataset.key ?? (n.id || undefined) : undefined);
const alike = (a, b) => a.nodeType === b.nodeType && a.nodeName === b.nodeName && keyOf(a) === keyOf(b);

function attributes(old, fresh) {
  if (old.attributes.length) for (const { name } of [...old.attributes]) {
    // an open part is the reader's own, and a style may be set by its properties only, as the policy for content says
    if (name !== 'style' && name !== 'open' && !fresh.hasAttribute(name)) old.removeAttribute(name);
  }
  for (const { name, value } of fresh.attributes) {
    if (name !== 'style' && name !== 'open' && old.getAttribute(name) !== value) old.setAttribute(name, value);
  }
  if ((old.hasAttribute('style') || fresh.hasAttribute('style')) && old.style.cssText !== fresh.style.cssText) old.style.cssText = fresh.style.cssText;
  if (old.type === 'checkbox' && old !== document.activeElement && old.checked !== fresh.checked) old.checked = fresh.checked;
  const typed = old.form?.classList.contains('action'); // what a reader has begun to fill in is the reader's own
  if ('value' in fresh && !typed && old !== document.activeElement && old.value !== fresh.value) old.value = fresh.value;
}

function node(old, fresh, tint) {
  if (old.nodeType !== Node.ELEMENT_NODE) {
    if (old.nodeValue !== fresh.nodeValue) old.nodeValue = fresh.nodeValue;
    return;
  }
  if (fresh.hears === false && !old.hears && old.isEqualNode(fresh)) return; // most rows of a list are as they were
  attributes(old, fresh);
  old.listen?.(fresh.handlers ?? {});
  if (!old.listen && fresh.handlers) {
    old.replaceWith(fresh);
    return;
  }
  if (old.keeps) return; // a canvas, or what else draws itself
  patch(old, [...fresh.childNodes], tint);
}

/** patch makes the children of an element like fresh ones. Elements with a data-key or an id are found again wherever they are now. tint marks new rows. */
export function patch(parent, fresh, tint = false) {
  const keyed = new Map();
  for (const c of parent.childNodes) {
    if (keyOf(c) !== undefined) keyed.set(keyOf(c), c);
  }
  const wanted = new Set(fresh.map(keyOf));
  let at = parent.firstChild;
  for (const f of fresh) {
    while (at && keyOf(at) !== undefined && !wanted.has(keyOf(at))) { // gone
      const next = at.nextSibling;
      at.remove();
      at = next;
    }
    const match = keyOf(f) !== undefined ? keyed.get(keyOf(f)) : at;
    if (match && alike(match, f)) {
      if (match === at) at = at.nextSibling;
      else parent.insertBefore(match, at);
      node(match, f, tint);
      continue;
    }
    if (tint && f.nodeName === 'TR' && keyOf(f) !== undefined) f.classList.add('fresh');
    parent.insertBefore(f, at);
    if (at && keyOf(at) === undefined) { // of another kind: f stands in its place
      const next = at.nextSibling;
      at.remove();
      at = next;
    }
  }
  while (at) {
    const next = at.nextSibling;
    at.remove();
    at = next;
  }
}
