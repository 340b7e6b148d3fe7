/**
 * The JSON Schema of a tool's parameters → what the form shows, and what was filled in → the arguments of a call. Pure.
 *
 * Texts, numbers, switches and choices are fields of their kind. A list of texts is written one a line, and anything
 * deeper as JSON: a form of forms has no place in a side panel.
 */

import { Plain, isPlain, list, plain, plains, text, texts } from './plain.js';

type Kind = 'plain' | 'lines' | 'json';

export interface Form {
  readonly schema: Plain;
  /** How each field is drawn, as the form component takes it. */
  readonly ui: Plain;
  readonly kinds: ReadonlyMap<string, Kind>;
}

export interface Filled {
  readonly given: Plain;
  /** Names that have to be filled in and are not. */
  readonly lacking: readonly string[];
  /** Names whose text is no JSON. */
  readonly wrong: readonly string[];
}

const SCALARS = ['string', 'integer', 'number', 'boolean'];

export function formOf(parameters: Plain): Form {
  const kinds = new Map<string, Kind>();
  const properties: Record<string, Plain> = {};
  const ui: Record<string, Plain> = {};
  for (const [name, written] of Object.entries(plain(parameters['properties']))) {
    const schema = withoutNull(plain(written));
    const kind = kindOf(schema);
    kinds.set(name, kind);
    if (kind === 'plain') {
      properties[name] = schema;
    } else {
      const shown = { type: 'string', description: text(schema['description']) };
      properties[name] = 'default' in schema ? { ...shown, default: asText(kind, schema['default']) } : shown;
      ui[name] = { 'ui:widget': 'textarea', 'ui:options': { rows: 2 } };
    }
  }
  return { schema: { type: 'object', properties, required: list(parameters['required']) }, ui, kinds };
}

/** The arguments of a call from *filled*, the data of the form. */
export function argumentsOf(form: Form, filled: Plain): Filled {
  const given: Record<string, unknown> = {};
  const wrong: string[] = [];
  for (const [name, value] of Object.entries(filled)) {
    const kind = form.kinds.get(name) ?? 'plain';
    if (value === undefined || (kind !== 'plain' && value === '')) {
      continue;
    }
    if (kind === 'lines') {
      given[name] = text(value).split('\n').filter(Boolean);
    } else if (kind === 'json') {
      try {
        given[name] = JSON.parse(text(value));
      } catch {
        wrong.push(name);
      }
    } else {
      given[name] = value;
    }
  }
  const required = texts(form.schema['required']);
  const lacking = required.filter(name => !wrong.includes(name) && (given[name] === undefined || given[name] === ''));
  return { given, lacking, wrong };
}

/** How a field that is no plain one is written. */
export function isJson(form: Form, name: string): boolean {
  return form.kinds.get(name) === 'json';
}

export function isLines(form: Form, name: string): boolean {
  return form.kinds.get(name) === 'lines';
}

/** What is left out counts as null, so that a field need not offer it. */
function withoutNull(schema: Plain): Plain {
  const found: Record<string, unknown> = { ...schema };
  if (Array.isArray(found['type'])) {
    const kinds = texts(found['type']).filter(kind => kind !== 'null');
    found['type'] = kinds.length === 1 ? kinds[0] : kinds;
  }
  if (Array.isArray(found['enum'])) {
    found['enum'] = found['enum'].filter(item => item !== null);
  }
  if (Array.isArray(found['anyOf'])) {
    const others = plains(found['anyOf']).filter(item => item['type'] !== 'null');
    delete found['anyOf'];
    if (others.length !== 1) {
      return { ...found, anyOf: others };
    }
    Object.assign(found, others[0]);
  }
  if (found['default'] === null) {
    delete found['default'];
  }
  return found;
}

function kindOf(schema: Plain): Kind {
  const isChoice = Array.isArray(schema['enum']) && schema['enum'].every(item => !isPlain(item) && !Array.isArray(item));
  if (isChoice || SCALARS.includes(text(schema['type']))) {
    return 'plain';
  }
  const isTexts = schema['type'] === 'array' && plain(schema['items'])['type'] === 'string';
  return isTexts && list(schema['default']).every(item => !text(item).includes('\n')) ? 'lines' : 'json';
}

function asText(kind: Kind, value: unknown): string {
  return kind === 'lines' ? texts(value).join('\n') : JSON.stringify(value);
}
