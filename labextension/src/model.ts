/**
 * What the panel shows, held for the notebook that is in front (SPEC 13.4).
 *
 * 1. It asks the server when something happened, never by a clock: the kernel said "changed", a cell ended, the kernel
 *    restarted, another notebook came to the front.
 * 2. What a notebook's outputs say is not asked: everything comes from the kernel, through the server.
 * 3. An answer that comes after a newer question is thrown away.
 *
 * No element and nothing of Lab: `index.ts` tells it what happened.
 */

import { KernelState } from './manifest.js';

export type View =
  /** No notebook is in front. */
  | { readonly kind: 'no-notebook' }
  | { readonly kind: 'no-kernel' }
  /** The kernel runs and has not loaded mcc_jupyter. */
  | { readonly kind: 'not-loaded' }
  /** The server has no `/mcc/api`. */
  | { readonly kind: 'no-server' }
  | { readonly kind: 'error'; readonly message: string }
  | { readonly kind: 'loading' }
  | { readonly kind: 'ready'; readonly state: KernelState; readonly revision: string };

/** Why a question to the server got no answer. */
export class Refused extends Error {
  constructor(
    readonly reason: 'no-server' | 'not-loaded' | 'other',
    message: string
  ) {
    super(message);
  }
}

export interface Answer {
  readonly state: KernelState;
  readonly revision: string;
}

/** Asks for the state of *kernel*; null where it is still that of *revision*. */
export type Ask = (kernel: string, revision: string | null) => Promise<Answer | null>;

export class PanelModel {
  constructor(private readonly ask: Ask) {}

  get view(): View {
    return this._view;
  }

  get kernel(): string | null {
    return this._kernel;
  }

  /** Calls *listener* after each change of the view; the answer takes it off again. */
  onChange(listener: () => void): () => void {
    this._listeners.add(listener);
    return () => void this._listeners.delete(listener);
  }

  /** Another notebook is in front, or its kernel is another one. */
  async show(notebook: boolean, kernel: string | null): Promise<void> {
    if (kernel !== null && kernel === this._kernel) {
      return this.refresh();
    }
    this._kernel = kernel;
    this._question += 1;
    if (kernel === null) {
      this.set({ kind: notebook ? 'no-kernel' : 'no-notebook' });
      return;
    }
    this.set({ kind: 'loading' });
    return this.refresh();
  }

  /** The kernel of the notebook began anew: what it had declared is gone. */
  async restarted(): Promise<void> {
    if (this._kernel !== null) {
      this.set({ kind: 'loading' });
      await this.refresh();
    }
  }

  /** Asks the server. While a question is on its way, one more is asked after it and no third. */
  async refresh(): Promise<void> {
    if (this._asking !== null) {
      this._again = true;
      return this._asking;
    }
    this._asking = this.askUntilCalm();
    try {
      await this._asking;
    } finally {
      this._asking = null;
    }
  }

  private async askUntilCalm(): Promise<void> {
    do {
      this._again = false;
      await this.askOnce();
    } while (this._again);
  }

  private async askOnce(): Promise<void> {
    const kernel = this._kernel;
    if (kernel === null) {
      return;
    }
    const question = ++this._question;
    const known = this._view.kind === 'ready' ? this._view.revision : null;
    let next: View | null;
    try {
      const answer = await this.ask(kernel, known);
      next = answer === null ? null : { kind: 'ready', ...answer };
    } catch (error) {
      next = failure(error);
    }
    if (question !== this._question) {
      this._again = this._kernel !== null;
    } else if (next !== null) {
      this.set(next);
    }
  }

  private set(view: View): void {
    this._view = view;
    for (const listener of [...this._listeners]) {
      listener();
    }
  }

  private readonly _listeners = new Set<() => void>();
  private _view: View = { kind: 'no-notebook' };
  private _kernel: string | null = null;
  private _question = 0;
  private _asking: Promise<void> | null = null;
  private _again = false;
}

function failure(error: unknown): View {
  if (error instanceof Refused && error.reason !== 'other') {
    return { kind: error.reason };
  }
  return { kind: 'error', message: error instanceof Error ? error.message : String(error) };
}
