// Who reads the pages. Where authentication is simple, a name is asked for once, and kept in the server's signed cookie.
import { act, get } from './api.js';
import { el } from './dom.js';

let me = null; // what the server said last

/** whoami asks who the reader is, and what he may do with an application. */
export async function whoami(app, signal) {
  me = (await get(`/ws/v1/heddle/whoami${app ? `?app=${encodeURIComponent(app)}` : ''}`, signal)).whoami;
  return me;
}

/** known returns what the server said last of the reader; null: nothing yet. */
export const known = () => me;

async function name(e) {
  e.preventDefault();
  const field = e.target.elements.namedItem('name');
  const said = e.target.querySelector('[role=status]');
  try {
    me = (await get(`/ws/v1/heddle/whoami?user.name=${encodeURIComponent(field.value.trim())}`)).whoami;
    if (me.named) location.reload();
    else said.textContent = 'This cluster takes no names: everybody is anonymous.';
  } catch (x) {
    said.textContent = x.message;
  }
}

async function leave() {
  await act('DELETE', '/ws/v1/heddle/whoami');
  location.reload();
}

/** show writes into the frame who the reader is. */
export async function show(place) {
  try {
    await whoami();
  } catch {
    return; // an older ResourceManager, or none: the page says so
  }
  if (me.method === 'OPENID') {
    place.replaceChildren(el('details', {}, el('summary', {}, el('bdi', {}, me.user)), el('form', {}, el('button', { type: 'button', class: 'button', onclick: leave }, 'Sign out'))));
    return;
  }
  if (!me.asks) {
    place.replaceChildren(el('bdi', {}, me.user));
    return;
  }
  const title = me.named ? el('bdi', {}, me.user) : 'Who are you?';
  place.replaceChildren(el('details', {}, el('summary', {}, title), el('form', { onsubmit: name }, me.named
    ? [el('p', {}, ['You are ', el('b', {}, el('bdi', {}, me.user)), me.admin ? ', an administrator.' : '.']), el('button', { type: 'button', class: 'button', onclick: leave }, 'Be somebody else')]
    : [el('label', {}, 'Your name on this cluster ', el('input', { name: 'name', required: true, autocomplete: 'username', maxlength: 200 })), el('button', { class: 'button' }, 'Say so'), el('p', { role: 'status' })])));
}
