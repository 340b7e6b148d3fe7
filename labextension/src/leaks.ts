/**
 * What the save guard found at the last save → what stands at each cell (SPEC 8.4). Pure.
 *
 * Names and places: neither an event nor an answer of the server holds a value.
 */

import { Plain, count, plain, plains, text, textOrNull } from './plain.js';

/** The event of the server's bus. */
export const SCHEMA = 'urn:mcc-jupyter:event:save-guard:v1';

export type Outcome = 'told' | 'redacted' | 'refused';

export interface Leak {
  /** Where it is: `output 1`, or the part of the cell. 0: not in an output. */
  readonly output: number;
  readonly part: string;
  /** A variable, or the well-known format of a key. */
  readonly what: string;
}

export interface CellLeaks {
  readonly outcome: Outcome;
  readonly leaks: readonly Leak[];
}

export interface Look {
  readonly path: string;
  /** By the id of the cell; none after a clean save. */
  readonly cells: ReadonlyMap<string, CellLeaks>;
}

/** What an event, or the answer to `GET /findings`, says; null for something else. */
export function readLook(data: unknown): Look | null {
  const found = plain(data);
  const path = textOrNull(found['path']);
  const outcome = text(found['outcome']);
  if (path === null) {
    return null;
  }
  const cells = new Map<string, CellLeaks>();
  if (outcome === 'told' || outcome === 'redacted' || outcome === 'refused') {
    for (const item of plains(found['findings'])) {
      const cell = textOrNull(item['cell_id']);
      if (cell !== null) {
        const own = outcomeOf(outcome, item['redacted'] === true);
        const before = cells.get(cell) ?? { outcome: own, leaks: [] };
        cells.set(cell, { outcome: worse(before.outcome, own), leaks: added(before.leaks, leakOf(item)) });
      }
    }
  }
  return { path, cells };
}

/** Whether an output of the cell is among them: only outputs can be redacted. */
export function isInOutput(found: CellLeaks): boolean {
  return found.leaks.some(leak => leak.output > 0);
}

/** Where outputs are redacted, what stands in a source is saved all the same. */
function outcomeOf(outcome: Outcome, isRedacted: boolean): Outcome {
  return outcome === 'refused' ? outcome : isRedacted ? 'redacted' : 'told';
}

function leakOf(item: Plain): Leak {
  const part = text(item['part']);
  return {
    output: part === 'output' ? Math.max(1, count(item['output'])) : 0,
    part,
    what: textOrNull(item['name']) ?? text(item['format'])
  };
}

function added(leaks: readonly Leak[], leak: Leak): readonly Leak[] {
  const isKnown = leaks.some(
    other => other.output === leak.output && other.part === leak.part && other.what === leak.what
  );
  return isKnown ? leaks : [...leaks, leak];
}

function worse(one: Outcome, other: Outcome): Outcome {
  return one === 'refused' || other === 'refused' ? 'refused' : one === 'told' || other === 'told' ? 'told' : 'redacted';
}
