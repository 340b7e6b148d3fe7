/** A cell's text → what `%%mcc_…` it is. Pure. Completions in it come from the kernel. */

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
