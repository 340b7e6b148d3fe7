/** A React hook for one question to the server. */

import { useEffect, useState } from 'react';

export type Asked<T> =
  | { readonly kind: 'waiting' }
  | { readonly kind: 'error'; readonly message: string }
  | { readonly kind: 'answer'; readonly value: T };

/** Asks again whenever one of *reasons* is another; the last answer stays until the next is there. */
export function useAnswer<T>(ask: () => Promise<T>, reasons: readonly unknown[]): Asked<T> {
  const [asked, setAsked] = useState<Asked<T>>({ kind: 'waiting' });
  useEffect(() => {
    let wanted = true;
    ask().then(
      value => wanted && setAsked({ kind: 'answer', value }),
      error => wanted && setAsked({ kind: 'error', message: error instanceof Error ? error.message : String(error) })
    );
    return () => {
      wanted = false;
    };
  }, reasons);
  return asked;
}
