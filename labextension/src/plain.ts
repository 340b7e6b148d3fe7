/** What came as JSON → values of a known type. Whatever is not as expected becomes empty, never an exception. */

export type Plain = { readonly [key: string]: unknown };

export function isPlain(value: unknown): value is Plain {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

export function plain(value: unknown): Plain {
  return isPlain(value) ? value : {};
}

export function list(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}

export function plains(value: unknown): readonly Plain[] {
  return list(value).filter(isPlain);
}

export function text(value: unknown): string {
  return typeof value === 'string' ? value : '';
}

export function textOrNull(value: unknown): string | null {
  return typeof value === 'string' ? value : null;
}

export function texts(value: unknown): readonly string[] {
  return list(value).filter((item): item is string => typeof item === 'string');
}

/** A whole number that is not negative. */
export function count(value: unknown): number {
  return typeof value === 'number' && Number.isInteger(value) && value > 0 ? value : 0;
}
