import { here } from './dom.js';

/** Refused is what a server answered instead of what was asked for. */
export class Refused extends Error {
  constructor(status, message) {
    super(message);
    this.status = status;
  }
}

let acted = -Infinity; // when this page has asked for a change

/** asking are the headers of a question. Many pages ask at the same moment: an answer that another has just got will do, unless this page has changed something. */
function asking() {
  return { Accept: 'application/json', ...(performance.now() - acted > 2000 ? { 'Cache-Control': 'max-age=1' } : {}) };
}

/** get reads a resource of the REST API. Followers send the browser on to the leader by themselves. */
export async function get(path, signal) {
  return read(await fetch(here(path), { headers: asking(), signal, cache: 'no-store' }));
}

async function read(response) {
  const text = await response.text();
  let body = {};
  try {
    body = text ? JSON.parse(text) : {};
  } catch {
    throw new Refused(response.status, text.slice(0, 500));
  }
  if (!response.ok) throw new Refused(response.status, body.RemoteException?.message.replace(/^((\w+\.)+\w*(Exception|Error): )+/, '') ?? `${response.status} ${response.statusText}`);
  return body;
}

/** allowed is the answer to a question, or {refused} with the reason why this reader doesn't get one. */
export async function allowed(question) {
  try {
    return await question;
  } catch (e) {
    if (e instanceof Refused) return { refused: e.message };
    throw e;
  }
}

/** seldom returns a function that keeps an answer: it asks again when the question has another key, or after some ms. */
export function seldom(ms) {
  let kept = null;
  return async (key, ask) => {
    if (kept?.key !== key || Date.now() - kept.at > ms) {
      const answer = await ask();
      kept = { key, at: Date.now(), answer };
    }
    return kept.answer;
  };
}

/** act asks for a change. */
export async function act(method, path, body) {
  const headers = { Accept: 'application/json', 'X-XSRF-HEADER': 'heddle', ...(body === undefined ? {} : { 'Content-Type': 'application/json' }) };
  try {
    return await read(await fetch(here(path), { method, headers, body: body === undefined ? undefined : JSON.stringify(body), cache: 'no-store' }));
  } finally {
    acted = performance.now();
  }
}

const known = new Map(); // the last answers by path, with their versions
const mostKnown = 20;

/** fetched is get for what has a version: what this page has already isn't sent again. */
export async function fetched(path, signal) {
  const before = known.get(path);
  const headers = { ...asking(), ...(before ? { 'If-None-Match': before.tag } : {}) };
  const response = await fetch(here(path), { headers, signal, cache: 'no-store' });
  if (response.status === 304 && before) return before.body;
  const body = await read(response);
  known.delete(path);
  if (response.headers.get('ETag')) known.set(path, { tag: response.headers.get('ETag'), body });
  if (known.size > mostKnown) known.delete(known.keys().next().value);
  return body;
}

/** optional reads what a server need not have: null if it hasn't. */
export async function optional(path, signal) {
  try {
    return await get(path, signal);
  } catch (e) {
    if (e instanceof Refused) return null;
    throw e;
  }
}
