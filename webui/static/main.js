import { el, here, root } from './dom.js';
import { patch } from './patch.js';
import { Refused } from './api.js';
import * as who from './who.js';
import * as apps from './pages/apps.js';
import * as app from './pages/app.js';
import * as attempt from './pages/attempt.js';
import * as container from './pages/container.js';
import * as nodes from './pages/nodes.js';
import * as queues from './pages/queues.js';
import * as cluster from './pages/cluster.js';
import * as users from './pages/users.js';
import * as waiting from './pages/waiting.js';
import * as overview from './pages/overview.js';
import * as logs from './pages/logs.js';
import * as node from './pages/node.js';
import * as nodelabels from './pages/nodelabels.js';
import * as queue from './pages/queue.js';
import * as user from './pages/user.js';
import * as preemptions from './pages/preemptions.js';
import * as configuration from './pages/configuration.js';

// Each page has load(argument, signal), which asks the server, and draw(what came, argument), which returns elements.
const pages = { apps, app, appattempt: attempt, container, nodes, scheduler: queues, cluster, users, waiting, overview, node, nodelabels, queue, user, preemptions, configuration, logs, '': apps };
const between = 2000; // milliseconds from one answer to the next question

/** below returns the parts of a path of this server. */
const below = (path) => path.slice(root.pathname.length).split('/').map(decodeURIComponent);

const [, name = '', argument = ''] = below(location.pathname);
const page = pages[name];
const main = document.getElementById('main');
const state = document.getElementById('state');
const last = { data: null, address: '', at: 0, timer: 0, asking: null, busy: false, again: false };

/** show puts elements in the page. What is there and still holds stays. */
function show(tint, ...elements) {
  patch(main, [...el('div', {}, elements).childNodes], tint);
}

function draw(tint = false) {
  if (last.data !== null) show(tint, ...[page.draw(last.data, argument, draw)].flat(Infinity).filter(Boolean));
}

/**
 * loginEnded loads the page anew, which leads to a provider of logins if the cluster has one, or says what to do. It returns a link that does the same. If the page has just been
 * loaded so, or somebody is typing, the link alone does it.
 */
function loginEnded() {
  const typing = document.querySelector('.staged') || [...document.querySelectorAll('input, textarea')].some((e) => e.value !== e.defaultValue);
  const again = Number(sessionStorage.getItem('signed-in')) + 10 * 60000 > Date.now();
  if (!again && !typing) {
    sessionStorage.setItem('signed-in', Date.now());
    location.reload();
  }
  return el('a', { href: location.href }, 'Sign in again');
}

/** refresh asks the server and draws the answer. Of two at a time the later one counts. */
async function refresh() {
  clearTimeout(last.timer);
  last.asking?.abort();
  const asking = new AbortController();
  Object.assign(last, { asking, busy: true, again: false });
  const { search } = location;
  try {
    const data = await page.load(argument, AbortSignal.any([asking.signal, AbortSignal.timeout(10000)]));
    if (last.asking !== asking) return;
    const same = last.address === search && last.data !== null;
    Object.assign(last, { data, address: search, at: Date.now() });
    state.className = '';
    state.textContent = `as of ${new Date().toLocaleTimeString('en-GB')}`;
    draw(same);
  } catch (e) {
    if (last.asking !== asking) return;
    if (e instanceof Refused) {
      last.data = null;
      const signIn = e.status === 401 && loginEnded();
      show(false, el('h1', {}, argument || document.title), el('p', { class: 'notice bad' }, signIn ? ['Your login has ended. ', signIn] : e.message));
    }
    // What was seen last stays in sight while no ResourceManager answers.
    state.className = 'lost';
    const since = last.at ? ` since ${new Date(last.at).toLocaleTimeString('en-GB')}` : '';
    state.textContent = e instanceof Refused ? `refused (${e.status})` : `no ResourceManager answers${since}; trying again…`;
  }
  last.busy = false;
  if (last.again) tell();
  soon(document.hidden ? 15 * between : stream?.readyState === EventSource.OPEN ? 5 * between : between);
}

/** soon asks again after some time. An earlier time that was set stays. */
function soon(ms) {
  clearTimeout(last.timer);
  last.timer = setTimeout(refresh, ms);
}

addEventListener('popstate', () => refresh());

// What happens is told as it happens, and the page then asks for what it shows, at most twice a second, and not at the same moment as all others. A browser has few connections to a server, so only a page that
// is seen follows. While none is open, or for what isn't told (such as progress), the page asks by itself.
let stream = null;
let told = 0; // a refresh is under way because of an event

function tell() {
  if (told) return;
  told = setTimeout(() => {
    told = 0;
    if (last.busy) last.again = true; // not twice at a time: a slow server would never get to answer
    else refresh();
  }, 500 + 500 * Math.random());
}

function follow() {
  if (document.hidden) {
    stream?.close();
    stream = null;
    return;
  }
  if (stream && stream.readyState !== EventSource.CLOSED) return;
  stream = new EventSource(here(`/ws/v1/heddle/events?newest=true${page.kinds ? `&kind=${page.kinds.join()}` : ''}`));
  for (const kind of ['missed', 'application', 'attempt', 'container', 'node', 'queues', 'leadership']) stream.addEventListener(kind, tell);
}

document.addEventListener('visibilitychange', () => {
  follow();
  if (!document.hidden) refresh();
});

for (const a of document.querySelectorAll('nav a')) {
  const [base, target] = below(new URL(a.href).pathname);
  if (base !== 'cluster') continue;
  if (target === name || (name === '' && target === 'apps') || (target === 'apps' && ['app', 'appattempt', 'container', 'logs'].includes(name)) || (target === 'nodes' && ['node', 'nodelabels'].includes(name)) || (target === 'scheduler' && name === 'queue') || (target === 'users' && name === 'user')) a.setAttribute('aria-current', 'page');
}
who.show(document.getElementById('who'));
if (page) {
  refresh();
  follow();
  setInterval(follow, 10 * between); // a stream that the server has refused is closed for good
} else show(false, el('h1', {}, 'No such page'), el('p', { class: 'notice bad' }, `There is no page ${location.pathname}.`));
