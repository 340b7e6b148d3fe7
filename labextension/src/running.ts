/** A call from the form: what was filled in → what is sent, and the events that come back → what is drawn. Pure. */

import { Plain, plain, text, texts } from './plain.js';

/** One event of a running call: its output, and its end. */
export type CallEvent =
  | { readonly event: 'started'; readonly call: string }
  | { readonly event: 'output'; readonly stream: string; readonly text: string }
  | { readonly event: 'dropped'; readonly characters: number }
  | { readonly event: 'done'; readonly outcome: Plain }
  | { readonly event: 'error'; readonly code: string; readonly message: string };

export interface Piece {
  readonly stream: 'stdout' | 'stderr';
  readonly text: string;
}

export interface Ending {
  readonly ok: boolean;
  /** One line; empty for a call that went well. */
  readonly failure: string;
  /** A function's value as JSON; null where there is none. */
  readonly result: string | null;
  readonly traceback: string | null;
  readonly notes: readonly string[];
  readonly seconds: number;
}

export interface Running {
  readonly pieces: readonly Piece[];
  /** Characters at the beginning that are not shown any more. */
  readonly dropped: number;
  readonly ending: Ending | null;
}

export const BEGUN: Running = { pieces: [], dropped: 0, ending: null };

/** So many characters of output are drawn; of more, the last. */
export const SHOWN = 200_000;

/** One line of a stream; null for what is no event that we know. */
export function readEvent(line: string): CallEvent | null {
  let data: Plain;
  try {
    data = plain(JSON.parse(line));
  } catch {
    return null;
  }
  switch (data['event']) {
    case 'started':
      return { event: 'started', call: text(data['call']) };
    case 'output':
      return { event: 'output', stream: text(data['stream']), text: text(data['text']) };
    case 'dropped':
      return { event: 'dropped', characters: Number(data['characters']) || 0 };
    case 'done':
      return { event: 'done', outcome: plain(data['outcome']) };
    case 'error':
      return { event: 'error', code: text(data['code']), message: text(data['message']) };
    default:
      return null;
  }
}

/** *running* after *event*. */
export function heard(running: Running, event: CallEvent): Running {
  switch (event.event) {
    case 'started':
      return running;
    case 'output':
      return appended(running, { stream: event.stream === 'stderr' ? 'stderr' : 'stdout', text: event.text });
    case 'dropped':
      return { ...running, dropped: running.dropped + event.characters };
    case 'done':
      return { ...running, ending: ending(event.outcome) };
    case 'error':
      return { ...running, ending: broken(event.message) };
  }
}

/** What is drawn when the stream itself broke. */
export function broken(message: string): Ending {
  return { ok: false, failure: message, result: null, traceback: null, notes: [], seconds: 0 };
}

function appended(running: Running, piece: Piece): Running {
  const last = running.pieces[running.pieces.length - 1];
  const joined =
    last !== undefined && last.stream === piece.stream && last.text.length < SHOWN / 10
      ? [...running.pieces.slice(0, -1), { stream: last.stream, text: last.text + piece.text }]
      : [...running.pieces, piece];
  let size = joined.reduce((sum, item) => sum + item.text.length, 0);
  let dropped = running.dropped;
  while (size > SHOWN && joined.length > 1) {
    const gone = joined.shift()?.text.length ?? 0;
    size -= gone;
    dropped += gone;
  }
  return { ...running, pieces: joined, dropped };
}

function ending(outcome: Plain): Ending {
  const ok = outcome['status'] === 'ok';
  return {
    ok,
    failure: ok ? '' : text(outcome['failure']) || 'failed',
    result: outcome['returned'] === true ? JSON.stringify(outcome['result'], null, 2) : null,
    traceback: text(outcome['traceback']) || null,
    notes: texts(outcome['notes']),
    seconds: typeof outcome['duration_s'] === 'number' ? outcome['duration_s'] : 0
  };
}

/** A cell that makes this call. */
export function cellSource(tool: string, given: Plain): string {
  const entries = Object.entries(given).filter(([, value]) => value !== undefined);
  if (entries.every(([, value]) => isSimple(value))) {
    return ['%mcc_call', tool, ...entries.map(([name, value]) => `${name}=${String(value)}`)].join(' ');
  }
  return `%mcc_call ${tool} --json ${JSON.stringify(Object.fromEntries(entries))}`;
}

/** What means the same as a word on the line of a magic. */
function isSimple(value: unknown): boolean {
  if (typeof value === 'string') {
    // Text that looks like another type would lose its quotes.
    return /^[A-Za-z][A-Za-z0-9_./:@-]*$/.test(value) && !/^(true|false|null|none)$/i.test(value);
  }
  return typeof value === 'number' || typeof value === 'boolean';
}
