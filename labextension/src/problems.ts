/** The outputs of a cell → the problems of its declaration, by line. Pure. */

import { plains, text } from './plain.js';

export interface LineProblem {
  /** Counted from 1, the magic's own line included. */
  readonly line: number;
  readonly message: string;
}

const ENAME = 'DeclarationError';
const PLACED = /^(.*?)\s*\(line (\d+)(?:, column \d+)?\)(.*)$/;

/** The problems that *outputs* (nbformat's, as JSON) tell with a line. Two of one line are one, a text below the other. */
export function problems(outputs: unknown): readonly LineProblem[] {
  const found = new Map<number, string[]>();
  for (const output of plains(outputs)) {
    if (output['output_type'] !== 'error' || output['ename'] !== ENAME) {
      continue;
    }
    for (const said of text(output['evalue']).split('\n')) {
      const placed = PLACED.exec(said);
      if (placed !== null) {
        const line = Number(placed[2]);
        found.set(line, [...(found.get(line) ?? []), `${placed[1] ?? ''}${placed[3] ?? ''}`]);
      }
    }
  }
  return [...found]
    .map(([line, messages]) => ({ line, message: messages.join('\n') }))
    .sort((one, other) => one.line - other.line);
}
