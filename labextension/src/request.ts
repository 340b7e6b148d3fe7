/** Questions to `/mcc/api`, through Lab's own connection: its address, its token, its XSRF header (SPEC 13.1). */

import { URLExt } from '@jupyterlab/coreutils';
import { ServerConnection } from '@jupyterlab/services';

import { Look, readLook } from './leaks';
import { KernelState, SessionKey, Tool, readPolicy, readSession, readTool } from './manifest';
import { Answer, Refused } from './model';
import { Plain, plain, plains, text, textOrNull } from './plain';
import { Matrix, Report, read } from './report';
import { CallEvent, readEvent } from './running';

/** So many tools or keys a page; the server gives no more. */
const PAGE = '500';

const NDJSON = 'application/x-ndjson';

export interface PastCall {
  readonly call: string;
  readonly tool: string;
  readonly user: string;
  readonly state: string;
  readonly began: string;
  readonly seconds: number;
  readonly error: string | null;
}

export interface AuditEntry {
  readonly time: string;
  readonly who: string;
  readonly tool: string;
  readonly outcome: string;
  readonly reason: string | null;
}

export class Requests {
  constructor(private readonly settings: ServerConnection.ISettings) {}

  /** The state of *kernel*; null where it is still that of *revision*. Throws `Refused`. */
  async state(kernel: string, revision: string | null): Promise<Answer | null> {
    const tools: Tool[] = [];
    const told = await this.get(['kernels', kernel]);
    if (told['loaded'] === false) {
      throw new Refused('not-loaded', '');
    }
    const now = text(told['state_mark']);
    if (now !== '' && now === revision) {
      return null;
    }
    for (const page of await this.pages(['kernels', kernel, 'tools'])) {
      tools.push(...plains(page['tools']).map(readTool));
    }
    const session: SessionKey[] = [];
    for (const page of await this.pages(['kernels', kernel, 'session'])) {
      session.push(...readSession(page['session']));
    }
    const state: KernelState = {
      workspace: textOrNull(told['workspace']),
      policy: readPolicy(told['policy']),
      guard: told['guard'] === true,
      session,
      tools
    };
    return { state, revision: now };
  }

  async report(kernel: string, tool: string): Promise<Report | Matrix | null> {
    return read(await this.get(['kernels', kernel, 'tools', tool, 'report']));
  }

  async matrix(kernel: string): Promise<Report | Matrix | null> {
    return read(await this.get(['kernels', kernel, 'matrix']));
  }

  async calls(kernel: string): Promise<readonly PastCall[]> {
    const page = await this.get(['kernels', kernel, 'calls'], '?limit=50');
    return plains(page['calls']).map(item => ({
      call: text(item['call']),
      tool: text(item['tool']),
      user: text(item['user']),
      state: text(item['state']),
      began: text(item['began']),
      seconds: typeof item['seconds'] === 'number' ? item['seconds'] : 0,
      error: textOrNull(plain(item['error'])['message'])
    }));
  }

  /** The server's log of calls; null where none is kept. */
  async audit(): Promise<readonly AuditEntry[] | null> {
    const page = await this.get(['audit'], '?limit=50');
    if (page['kept'] !== true) {
      return null;
    }
    return plains(page['entries']).map(item => ({
      time: text(item['time']),
      who: text(item['who']),
      tool: text(item['tool']),
      outcome: text(item['outcome']),
      reason: textOrNull(item['reason'])
    }));
  }

  /** What the save guard found when the notebook *path* was last saved; null where it was not looked at. */
  async findings(path: string): Promise<Look | null> {
    return readLook(await this.get(['findings'], `?${new URLSearchParams({ path }).toString()}`));
  }

  /** *outputs* with marks in place of values. Throws `Refused`. */
  async redacted(path: string, outputs: unknown): Promise<readonly Plain[]> {
    const response = await this.ask(['redactions'], '', {
      method: 'POST',
      body: JSON.stringify({ path, outputs }),
      headers: { 'Content-Type': 'application/json' }
    });
    return plains(plain(await response.json())['outputs']);
  }

  /** Begins a call and hands on its events as they come. The call ends when *signal* is aborted. Throws `Refused`. */
  async call(
    kernel: string,
    tool: string,
    given: Plain,
    hear: (event: CallEvent) => void,
    signal: AbortSignal
  ): Promise<void> {
    const response = await this.ask(['kernels', kernel, 'calls'], '', {
      method: 'POST',
      body: JSON.stringify({ tool, arguments: given }),
      headers: { Accept: NDJSON, 'Content-Type': 'application/json' },
      signal
    });
    if (response.body === null) {
      return;
    }
    const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
    let rest = '';
    for (;;) {
      const { done, value } = await reader.read();
      const lines = (rest + (value ?? '')).split('\n');
      rest = done ? '' : (lines.pop() ?? '');
      for (const line of lines.filter(Boolean)) {
        const event = readEvent(line);
        if (event !== null) {
          hear(event);
        }
      }
      if (done) {
        return;
      }
    }
  }

  private async pages(path: readonly string[]): Promise<readonly Plain[]> {
    const found: Plain[] = [];
    let cursor: string | null = null;
    do {
      const query: URLSearchParams = new URLSearchParams({ limit: PAGE });
      if (cursor !== null) {
        query.set('cursor', cursor);
      }
      const page: Plain = await this.get(path, `?${query.toString()}`);
      found.push(page);
      cursor = textOrNull(page['next_cursor']);
    } while (cursor !== null);
    return found;
  }

  private async get(path: readonly string[], query = ''): Promise<Plain> {
    const response = await this.ask(path, query, {});
    return plain(await response.json());
  }

  private async ask(path: readonly string[], query: string, init: RequestInit): Promise<Response> {
    const parts = path.map(part => encodeURIComponent(part));
    const url = URLExt.join(this.settings.baseUrl, 'mcc', 'api', ...parts) + query;
    const response = await ServerConnection.makeRequest(url, init, this.settings);
    if (response.ok) {
      return response;
    }
    throw await refusal(response);
  }
}

async function refusal(response: Response): Promise<Refused> {
  let said: Plain = {};
  try {
    said = plain(await response.json());
  } catch {
    // No JSON: it was not our side of the server that answered.
  }
  if (response.status === 404 && textOrNull(said['code']) === null) {
    return new Refused('no-server', '');
  }
  return new Refused('other', text(said['message']) || `${response.status} ${response.statusText}`);
}
