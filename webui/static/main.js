import { el, root } from './dom.js';
import { Refused } from './api.js';
import * as apps from './pages/apps.js';
import * as app from './pages/app.js';
import * as attempt from './pages/attempt.js';
import * as container from './pages/container.js';
import * as nodes from './pages/nodes.js';
import * as queues from './pages/queues.js';
import * as cluster from './pages/cluster.js';

// Each page has load(argument, signal), which asks the server, and draw(what came, argument), which returns elements.
const pages = { apps, app, appattempt: attempt, container, nodes, scheduler: queues, cluster, '': apps };
const between = 2000; // milliseconds from one answer to the next question

/** below returns the parts of a path of this server. */
const below = (path) => path.slice(root.pathname.length).split('/').map(decodeURIComponent);

const [, name = '', argument = ''] = below(location.pathname);
const page = pages[name];
const main = document.getElementById('main');
const state = document.getElementById('state');
const redraw = { last: '', data: null };

/** show puts elements in the page, unless they are just what is there already: selections and scrolling stay. */
function show(...elements) {
  const fresh = el('div', {}, elements);
  if (fresh.innerHTML === redraw.last) return;
  const { id, selectionStart, selectionEnd } = document.activeElement ?? {};
  redraw.last = fresh.innerHTML;
  main.replaceChildren(...fresh.childNodes);
  const again = id ? document.getElementById(id) : null;
  again?.focus();
  if (again?.setSelectionRange) again.setSelectionRange(selectionStart, selectionEnd);
}

function draw() {
  if (redraw.data !== null) show(page.draw(redraw.data, argument, draw));
}

async function refresh() {
  try {
    redraw.data = await page.load(argument, AbortSignal.timeout(10000));
    state.className = '';
    state.textContent = `as of ${new Date().toLocaleTimeString('en-GB')}`;
    draw();
  } catch (e) {
    if (e instanceof Refused) {
      redraw.data = null;
      show(el('p', { class: 'notice bad' }, e.message));
    }
    // What was seen last stays in sight while no ResourceManager answers.
    state.className = 'lost';
    state.textContent = e instanceof Refused ? `refused (${e.status})` : 'no ResourceManager answers; trying again…';
  }
  setTimeout(refresh, document.hidden ? 5 * between : between);
}

for (const a of document.querySelectorAll('nav a')) {
  const [base, target] = below(new URL(a.href).pathname);
  if (base !== 'cluster') continue;
  if (target === name || (name === '' && target === 'apps') || (target === 'apps' && ['app', 'appattempt', 'container'].includes(name))) a.setAttribute('aria-current', 'page');
}
if (page) refresh();
else show(el('p', { class: 'notice bad' }, `There is no page ${location.pathname}.`));
