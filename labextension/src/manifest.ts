/**
 * What a kernel says of itself, through the server → what the panel lists (SPEC 13.4).
 *
 * Pure. Names, types and reasons only: there is no field that could hold a value.
 */

import { Plain, count, plain, plains, text, textOrNull, texts } from './plain.js';

export interface Tool {
  readonly name: string;
  readonly key: string;
  readonly kind: string;
  readonly description: string;
  readonly groups: readonly string[];
  readonly available: boolean;
  readonly notice: string | null;
  readonly origin: string;
  /** JSON Schema of what a caller may give. */
  readonly parameters: Plain;
}

export interface SessionKey {
  readonly key: string;
  readonly type: string;
  readonly size: number;
}

export interface Policy {
  readonly label: string;
  readonly workspace: string | null;
  readonly profiles: readonly string[];
  /** What cells may ask for, and never. */
  readonly allow: readonly string[];
  readonly deny: readonly string[];
  /** Names that the workspace itself gets. */
  readonly exposed: readonly string[];
  /** The file cannot be used: nothing is granted, and the notes say why. */
  readonly failed: boolean;
  readonly dropped: readonly string[];
  readonly notes: readonly string[];
}

export interface KernelState {
  readonly workspace: string | null;
  /** Null: no policy file; the cells are the authority. */
  readonly policy: Policy | null;
  readonly guard: boolean;
  readonly session: readonly SessionKey[];
  readonly tools: readonly Tool[];
}

export function readTool(data: Plain): Tool {
  return {
    name: text(data['name']),
    key: text(data['key']),
    kind: text(data['kind']),
    description: text(data['description']),
    groups: texts(data['groups']),
    available: data['available'] === true,
    notice: textOrNull(data['notice']),
    origin: text(data['origin']),
    parameters: plain(data['parameters'])
  };
}

export function readSession(data: unknown): readonly SessionKey[] {
  return plains(data).map(item => ({
    key: text(item['key']),
    type: text(item['type']),
    size: count(item['size'])
  }));
}

export function readPolicy(data: unknown): Policy | null {
  const found = plain(data);
  const label = textOrNull(found['label']);
  if (label === null) {
    return null;
  }
  return {
    label,
    workspace: textOrNull(found['workspace']),
    profiles: texts(found['profiles']),
    allow: texts(found['allow']),
    deny: texts(found['deny']),
    exposed: texts(found['exposed']),
    failed: found['state'] === 'failed',
    dropped: texts(found['dropped']),
    notes: texts(found['notes'])
  };
}

/** The tools that have all words of *query* in name, kind, groups, description or notice; unavailable ones first. */
export function visibleTools(tools: readonly Tool[], query: string): readonly Tool[] {
  const words = query.toLowerCase().split(/\s+/).filter(Boolean);
  const found = tools.filter(tool => {
    const all = [tool.name, tool.kind, ...tool.groups, tool.description, tool.notice ?? ''].join(' ').toLowerCase();
    return words.every(word => all.includes(word));
  });
  return [...found].sort(
    (one, other) => Number(one.available) - Number(other.available) || compareNames(one.name, other.name)
  );
}

export function compareNames(one: string, other: string): number {
  return one < other ? -1 : one > other ? 1 : 0;
}

export interface Counts {
  readonly available: number;
  readonly unavailable: number;
}

export function counts(tools: readonly Tool[]): Counts {
  const available = tools.filter(tool => tool.available).length;
  return { available, unavailable: tools.length - available };
}
