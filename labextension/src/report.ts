/**
 * A report as `application/vnd.mcc.report.v1+json` brings it → what is drawn of it (SPEC 11.1).
 *
 * Pure: no element, no request. What comes from a notebook file is checked here once; after that nobody asks again.
 */

import { Plain, count, isPlain, plain, plains, text, textOrNull, texts } from './plain.js';

export const MIME_TYPE = 'application/vnd.mcc.report.v1+json';

export type State = 'set' | 'missing' | 'unset' | 'unresolved' | 'refused';

export interface Shadow {
  readonly source: string;
  readonly rule: string;
}

export interface Row {
  readonly name: string;
  readonly source: string;
  readonly rule: string;
  readonly state: State;
  readonly flags: readonly string[];
  readonly shadows: readonly Shadow[];
}

export interface Report {
  readonly schema: 'mcc.report';
  readonly tool: string;
  readonly key: string;
  readonly kind: string;
  readonly description: string;
  readonly groups: readonly string[];
  readonly available: boolean;
  readonly notice: string | null;
  readonly parameters: readonly string[];
  readonly rows: readonly Row[];
  readonly notes: readonly string[];
  readonly footer: readonly string[];
  readonly withheld: readonly string[] | null;
}

export interface MatrixRow {
  readonly tool: string;
  readonly available: boolean;
  readonly marks: string;
}

export interface Matrix {
  readonly schema: 'mcc.matrix';
  readonly names: readonly string[];
  readonly rows: readonly MatrixRow[];
  readonly legend: Readonly<Record<string, string>>;
  readonly common: Readonly<Record<string, readonly string[]>>;
  readonly notices: readonly string[];
  readonly more: { readonly tools: number; readonly names: number; readonly notices: number };
  readonly footer: readonly string[];
}

export type Column = 'name' | 'source' | 'rule' | 'state';

export interface Sort {
  readonly column: Column;
  readonly descending: boolean;
}

/** What needs attention first. */
const STATES: readonly string[] = ['missing', 'unresolved', 'refused', 'unset', 'set'];

/** The layers from below, as the engine stacks them: how rows are sorted by source. */
const SOURCES: readonly string[] = [
  'floor', 'passthrough', 'grant', 'reference', 'env_file', 'env', 'secret', 'runtime', 'session'
];

/** What *data* says, or null where it is no report of a version that we know. */
export function read(data: unknown): Report | Matrix | null {
  if (!isPlain(data) || data['version'] !== 1) {
    return null;
  }
  if (data['schema'] === 'mcc.report') {
    return readReport(data);
  }
  return data['schema'] === 'mcc.matrix' ? readMatrix(data) : null;
}

function readReport(data: Plain): Report {
  return {
    schema: 'mcc.report',
    tool: text(data['tool']),
    key: text(data['key']),
    kind: text(data['kind']),
    description: text(data['description']),
    groups: texts(data['groups']),
    available: data['available'] === true,
    notice: textOrNull(data['notice']),
    parameters: texts(data['parameters']),
    rows: plains(data['rows']).map(readRow),
    notes: texts(data['notes']),
    footer: texts(data['footer']),
    withheld: Array.isArray(data['withheld']) ? texts(data['withheld']) : null
  };
}

function readRow(data: Plain): Row {
  const state = text(data['state']);
  return {
    name: text(data['name']),
    source: text(data['source']),
    rule: text(data['rule']),
    state: STATES.includes(state) ? (state as State) : 'missing',
    flags: texts(data['flags']),
    shadows: plains(data['shadows']).map(item => ({
      source: text(item['source']),
      rule: text(item['rule'])
    }))
  };
}

function readMatrix(data: Plain): Matrix {
  return {
    schema: 'mcc.matrix',
    names: texts(data['names']),
    rows: plains(data['rows']).map(row => ({
      tool: text(row['tool']),
      available: row['available'] === true,
      marks: text(row['marks'])
    })),
    legend: Object.fromEntries(Object.entries(plain(data['legend'])).map(([mark, meaning]) => [mark, text(meaning)])),
    common: Object.fromEntries(Object.entries(plain(data['common'])).map(([source, names]) => [source, texts(names)])),
    notices: texts(data['notices']),
    more: {
      tools: count(data['more_tools']),
      names: count(data['more_names']),
      notices: count(data['more_notices'])
    },
    footer: texts(data['footer'])
  };
}

/** The rows whose name, source, rule, state or remarks have all words of *query*, in the order of *sort*. */
export function visible(rows: readonly Row[], query: string, sort: Sort | null): readonly Row[] {
  const words = query.toLowerCase().split(/\s+/).filter(Boolean);
  const found = rows.filter(row => {
    const all = [row.name, row.source, row.rule, row.state, remarks(row)].join(' ').toLowerCase();
    return words.every(word => all.includes(word));
  });
  if (sort === null) {
    return found;
  }
  const sign = sort.descending ? -1 : 1;
  return [...found].sort((one, other) => sign * compare(one, other, sort.column) || compare(one, other, 'name'));
}

function compare(one: Row, other: Row, column: Column): number {
  if (column === 'source') {
    return SOURCES.indexOf(one.source) - SOURCES.indexOf(other.source);
  }
  if (column === 'state') {
    return STATES.indexOf(one.state) - STATES.indexOf(other.state);
  }
  return one[column] < other[column] ? -1 : one[column] > other[column] ? 1 : 0;
}

export interface Folded {
  readonly rows: readonly Row[];
  /** Source and names of what every tool has alike, and nothing is to be said of. */
  readonly common: readonly (readonly [string, readonly string[]])[];
}

/** Rows as a report shows them at first: the floor and the session in a line each. */
export function folded(rows: readonly Row[]): Folded {
  const isCommon = (row: Row): boolean =>
    ['floor', 'session'].includes(row.source) && row.state === 'set' && row.flags.length + row.shadows.length === 0;
  const sources = [...new Set(rows.filter(isCommon).map(row => row.source))];
  return {
    rows: rows.filter(row => !isCommon(row)),
    common: sources.map(source => [
      source,
      rows.filter(row => isCommon(row) && row.source === source).map(row => row.name)
    ])
  };
}

/** The next sorting when the heading of *column* is used: up, down, as it came. */
export function nextSort(sort: Sort | null, column: Column): Sort | null {
  if (sort === null || sort.column !== column) {
    return { column, descending: false };
  }
  return sort.descending ? null : { column, descending: true };
}

/** Flags, and what the row stands over. */
export function remarks(row: Row): string {
  const shadows = row.shadows.map(shadow => `over ${shadow.source} ${shadow.rule}`.trimEnd());
  return [...row.flags, ...shadows].join(', ');
}

/** Names, a line each, as they are copied. A grant that found nothing is named `CHILD (from PARENT)`. */
export function names(rows: readonly Row[]): string {
  return rows.map(row => row.name.replace(/ \(from .*\)$/, '')).join('\n');
}

/** The names that keep the tool from running. */
export function lacking(report: Report): readonly Row[] {
  return report.rows.filter(row => row.state === 'missing' || row.state === 'unresolved');
}
