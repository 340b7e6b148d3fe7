/** A cell's text → what `%%mcc_…` it is, and what a person may be helped with there. Pure. */

export type Language = 'yaml' | 'shell';

const MAGIC = /^%%(mcc_tool|mcc_sh)\b([^\n]*)/;

/** The language of the cell's body; null for a cell that is none of ours (SPEC 2.1). */
export function language(source: string): Language | null {
  const found = MAGIC.exec(source);
  if (found === null) {
    return null;
  }
  if (found[1] === 'mcc_sh') {
    return 'shell';
  }
  // With a name on the line the body is the script; without one it is YAML.
  return /\S/.test(found[2] ?? '') ? 'shell' : 'yaml';
}

/** MIME types as Lab's editors have them. */
export const MIME: Readonly<Record<Language, string>> = { yaml: 'text/x-yaml', shell: 'text/x-sh' };

/** The fields of a tool that a completion offers, with what is said of each (SPEC 2.6). */
export const FIELDS: readonly (readonly [string, string])[] = [
  ['name', 'the tool\u2019s name'],
  ['description', 'what it does, for people and for models'],
  ['exec', 'a command, or a list of words'],
  ['curl', 'an HTTP call, as curl takes it'],
  ['fn', 'a Python function, module:name'],
  ['params', 'what a caller may give'],
  ['required_env', 'names it cannot do without'],
  ['optional_env', 'names it takes where they are set'],
  ['env', 'names and texts of its own'],
  ['env_file', 'files of names and values'],
  ['env_passthrough', 'patterns of names that pass'],
  ['secret_files', 'texts that become private files'],
  ['cwd', 'where it runs'],
  ['groups', 'who may call it'],
  ['limits', 'time, memory, output'],
  ['stdin', 'whether it reads input'],
  ['transform', 'a command that its output goes through'],
  ['cache_ttl', 'seconds that an answer is kept'],
  ['python', 'the interpreter of a function'],
  ['fresh', 'a new interpreter for each call'],
  ['isolation', 'whether it is confined'],
  ['redact', 'what is not redacted']
];

export type Wanted =
  /** Fields of a tool; those that stand there already are left out. */
  | { readonly kind: 'field'; readonly start: number; readonly present: readonly string[] }
  /** Names of the kernel's variables. */
  | { readonly kind: 'name'; readonly start: number };

const LISTS = /^(required_env|optional_env|env_passthrough)\s*:/;

/** What is wanted at *offset* of a YAML cell; null where nothing is offered. */
export function wanted(source: string, offset: number): Wanted | null {
  if (language(source) !== 'yaml') {
    return null;
  }
  const before = source.slice(0, offset);
  const lineStart = before.lastIndexOf('\n') + 1;
  const line = before.slice(lineStart);
  if (lineStart === 0) {
    return null;
  }
  const field = /^(\s*(?:- )?)([a-z_]*)$/.exec(line);
  const reference = /\$\{([A-Za-z0-9_]*)$/.exec(line);
  if (reference !== null) {
    return { kind: 'name', start: offset - (reference[1] ?? '').length };
  }
  const word = /([A-Za-z0-9_]*)$/.exec(line)?.[1] ?? '';
  const start = offset - word.length;
  if (inNameList(source.slice(0, lineStart), line)) {
    return { kind: 'name', start };
  }
  if (field !== null && (field[1] ?? '').replace('- ', '').length === 0) {
    const present = [...source.matchAll(/^(?:- )?([a-z_]+)\s*:/gm)].map(found => found[1] ?? '');
    return { kind: 'field', start, present };
  }
  return null;
}

/** Whether *line* is an item of a list of names: in brackets on the field's own line, or a `- ` under it. */
function inNameList(above: string, line: string): boolean {
  const flat = /^\s*(?:- )?((?:required_env|optional_env|env_passthrough)\s*:\s*\[)[^\]]*$/.exec(line);
  if (flat !== null) {
    return true;
  }
  if (!/^\s*-\s+[A-Za-z0-9_]*$/.test(line)) {
    return false;
  }
  const lines = above.split('\n').slice(0, -1).reverse();
  const owner = lines.find(text => text.trim() !== '' && !/^\s*-\s/.test(text));
  return owner !== undefined && LISTS.test(owner.trim());
}
