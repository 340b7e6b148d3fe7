/** Which rows of a long list of equal rows have to exist (a list of 1,000 tools draws about 30). */

export interface Range {
  readonly first: number;
  /** One past the last. */
  readonly end: number;
}

/** Rows that exist above and below what is seen, so that a quick scroll shows no gap. */
const MARGIN = 8;

/**
 * *total* rows of *height* pixels each, of which *seen* pixels from *top* are visible.
 */
export function windowed(total: number, height: number, top: number, seen: number): Range {
  const first = Math.max(0, Math.floor(top / height) - MARGIN);
  const end = Math.min(total, Math.ceil((top + seen) / height) + MARGIN);
  return { first: Math.min(first, Math.max(0, end)), end: Math.max(0, end) };
}

/** Where a list has to be scrolled so that row *place* is seen. */
export function scrolledTo(place: number, height: number, top: number, seen: number): number {
  const above = place * height;
  if (above < top) {
    return above;
  }
  return above + height > top + seen ? Math.max(0, above + height - seen) : top;
}
