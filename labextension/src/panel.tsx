/** The side panel: the tools of the notebook in front, and all that is to be known of them by name (SPEC 13.4). */

import { TranslationBundle } from '@jupyterlab/translation';
import { ReactWidget } from '@jupyterlab/ui-components';
import React, { useEffect, useReducer, useState } from 'react';

import { CallsView } from './callsview';
import { KernelState, Policy, counts } from './manifest';
import { MatrixPage } from './matrixpage';
import { PanelModel, View } from './model';
import { Requests } from './request';
import { Lines } from './reportview';
import { SessionView } from './sessionview';
import { ToolsView } from './toolsview';

export interface Host {
  readonly model: PanelModel;
  readonly requests: Requests;
  readonly trans: TranslationBundle;
  /** Writes *source* into a new cell below the active one. */
  readonly insertCell: (source: string) => void;
}

type Page = 'tools' | 'matrix' | 'session' | 'calls';

export class Panel extends ReactWidget {
  constructor(private readonly host: Host) {
    super();
    this.addClass('mcc-panel');
    // Lab measures it before style sheets of extensions are there.
    this.node.style.minWidth = '300px';
  }

  protected render(): JSX.Element {
    return <PanelView host={this.host} />;
  }
}

function PanelView(props: { host: Host }): JSX.Element {
  const { model, trans } = props.host;
  const [, draw] = useReducer((round: number) => round + 1, 0);
  useEffect(() => model.onChange(draw), [model]);
  const view = model.view;
  if (view.kind !== 'ready') {
    return <Absent view={view} trans={trans} onRetry={() => void model.refresh()} />;
  }
  return <Ready host={props.host} kernel={model.kernel ?? ''} state={view.state} revision={view.revision} />;
}

function Ready(props: { host: Host; kernel: string; state: KernelState; revision: string }): JSX.Element {
  const { host, kernel, state, revision } = props;
  const { trans } = host;
  const [page, setPage] = useState<Page>('tools');
  const pages: readonly [Page, string][] = [
    ['tools', trans.__('Tools')],
    ['matrix', trans.__('Matrix')],
    ['session', trans.__('Session')],
    ['calls', trans.__('Calls')]
  ];
  return (
    <>
      <Summary state={state} trans={trans} />
      <Tabs pages={pages} page={page} onPage={setPage} label={trans.__('What to see of the notebook')} />
      <div className="mcc-page" role="tabpanel" id={`mcc-page-${page}`} aria-labelledby={`mcc-tab-${page}`}>
        {page === 'tools' && <ToolsView host={host} kernel={kernel} tools={state.tools} revision={revision} />}
        {page === 'matrix' && <MatrixPage host={host} kernel={kernel} revision={revision} />}
        {page === 'session' && <SessionView keys={state.session} trans={trans} />}
        {page === 'calls' && <CallsView host={host} kernel={kernel} revision={revision} />}
      </div>
    </>
  );
}

function Summary(props: { state: KernelState; trans: TranslationBundle }): JSX.Element {
  const { state, trans } = props;
  const { available, unavailable } = counts(state.tools);
  return (
    <header className="mcc-summary">
      <p className="mcc-counts" role="status">
        <strong>{trans._n('%1 tool available', '%1 tools available', available)}</strong>
        {unavailable > 0 && <span>{trans.__('%1 unavailable', unavailable)}</span>}
        <span>{state.guard ? trans.__('guard on') : trans.__('guard off')}</span>
      </p>
      {state.policy === null ? (
        <p className="mcc-authority">{trans.__('No policy file: cells are the authority.')}</p>
      ) : (
        <PolicyDetails policy={state.policy} trans={trans} />
      )}
    </header>
  );
}

/** The operator's file: its name, and what it says behind it. What is wrong with it stands open. */
function PolicyDetails(props: { policy: Policy; trans: TranslationBundle }): JSX.Element {
  const { policy, trans } = props;
  const facts: readonly [string, string][] = [
    [trans.__('Workspace'), policy.workspace ?? trans.__('not named')],
    [trans.__('Profiles'), listed(policy.profiles, trans)],
    [trans.__('Cells may ask for'), listed(policy.allow, trans)],
    [trans.__('Never'), listed(policy.deny, trans)],
    [trans.__('Exposed to the workspace'), listed(policy.exposed, trans)],
    [trans.__('Given up'), listed(policy.dropped, trans)]
  ];
  return (
    <>
      <details className="mcc-authority">
        <summary>{trans.__('Policy file: %1', policy.label)}</summary>
        <dl className="mcc-facts">
          {facts.map(([name, value]) => (
            <React.Fragment key={name}>
              <dt>{name}</dt>
              <dd>{value}</dd>
            </React.Fragment>
          ))}
        </dl>
        {!policy.failed && <Lines className="mcc-notes" lines={policy.notes} />}
      </details>
      {policy.failed && (
        <Lines
          className="mcc-notices"
          lines={[trans.__('The policy file cannot be used: it grants nothing.'), ...policy.notes]}
        />
      )}
    </>
  );
}

function listed(items: readonly string[], trans: TranslationBundle): string {
  return items.join(', ') || trans.__('none');
}

/** One row of tabs, moved along with the arrow keys. */
function Tabs(props: {
  pages: readonly [Page, string][];
  page: Page;
  onPage: (page: Page) => void;
  label: string;
}): JSX.Element {
  const { pages, page, onPage, label } = props;
  const place = pages.findIndex(([name]) => name === page);
  const move = (event: React.KeyboardEvent<HTMLDivElement>): void => {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (step === undefined) {
      return;
    }
    const next = pages[(place + step + pages.length) % pages.length];
    if (next !== undefined) {
      onPage(next[0]);
      event.currentTarget.querySelector<HTMLElement>(`#mcc-tab-${next[0]}`)?.focus();
      event.preventDefault();
    }
  };
  return (
    <div className="mcc-tabs" role="tablist" aria-label={label} onKeyDown={move}>
      {pages.map(([name, title]) => (
        <button
          key={name}
          type="button"
          role="tab"
          id={`mcc-tab-${name}`}
          aria-selected={name === page}
          aria-controls={`mcc-page-${name}`}
          tabIndex={name === page ? 0 : -1}
          onClick={() => onPage(name)}
        >
          {title}
        </button>
      ))}
    </div>
  );
}

/** Why there is nothing to list, and what to do. */
function Absent(props: { view: View; trans: TranslationBundle; onRetry: () => void }): JSX.Element {
  const { view, trans, onRetry } = props;
  const [title, todo] = absence(view, trans);
  return (
    <div className="mcc-absent" role="status">
      <p className="mcc-absent-title">{title}</p>
      {todo !== '' && <p>{todo}</p>}
      {view.kind === 'not-loaded' && <pre className="mcc-absent-code">%load_ext mcc_jupyter</pre>}
      {(view.kind === 'error' || view.kind === 'no-server') && (
        <button type="button" className="jp-mod-styled jp-mod-minimal" onClick={onRetry}>
          {trans.__('Try again')}
        </button>
      )}
    </div>
  );
}

function absence(view: View, trans: TranslationBundle): readonly [string, string] {
  switch (view.kind) {
    case 'no-notebook':
      return [trans.__('No notebook is in front.'), trans.__('Open one to see its tools.')];
    case 'no-kernel':
      return [trans.__('This notebook has no kernel.'), trans.__('Start one to see its tools.')];
    case 'not-loaded':
      return [trans.__('This kernel has not loaded mcc_jupyter.'), trans.__('Run this in a cell:')];
    case 'no-server':
      return [
        trans.__('This Jupyter server has no mcc_jupyter.'),
        trans.__('Install the package mcc-jupyter where the server runs, and restart the server.')
      ];
    case 'error':
      return [trans.__('The tools could not be read.'), view.message];
    default:
      return [trans.__('Reading the tools…'), ''];
  }
}
