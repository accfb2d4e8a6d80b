import { here } from './dom.js';

/** Refused is what a server answered instead of what was asked for. */
export class Refused extends Error {
  constructor(status, message) {
    super(message);
    this.status = status;
  }
}

/** get reads a resource of the REST API. Followers send the browser on to the leader by themselves. */
export async function get(path, signal) {
  const response = await fetch(here(path), { headers: { Accept: 'application/json' }, signal, cache: 'no-store' });
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

/** optional reads what a server need not have: null if it hasn't. */
export async function optional(path, signal) {
  try {
    return await get(path, signal);
  } catch (e) {
    if (e instanceof Refused) return null;
    throw e;
  }
}
