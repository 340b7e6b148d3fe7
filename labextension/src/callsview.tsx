/** Recent calls through the server: who, which tool, how it ended. */

import { TranslationBundle } from '@jupyterlab/translation';
import { refreshIcon } from '@jupyterlab/ui-components';
import React, { useState } from 'react';

import { useAnswer } from './answer';
import { Host } from './panel';
import { IconButton } from './reportview';
import { PastCall } from './request';

export function CallsView(props: { host: Host; kernel: string; revision: string }): JSX.Element {
  const { host, kernel, revision } = props;
  const { trans } = host;
  const [round, setRound] = useState(0);
  const asked = useAnswer(() => host.requests.calls(kernel), [kernel, revision, round]);
  if (asked.kind === 'error') {
    return <p className="mcc-notice">{asked.message}</p>;
  }
  const calls = asked.kind === 'answer' ? asked.value : [];
  return (
    <>
      <div className="mcc-details-head">
        <span>{trans.__('Calls that did not come from a cell')}</span>
        <span className="mcc-spacer" />
        <IconButton icon={refreshIcon} label={trans.__('Read the calls again')} onClick={() => setRound(round + 1)} />
      </div>
      {calls.length === 0 ? (
        <p className="mcc-empty">{trans.__('None yet. Run a tool from its form to see it here.')}</p>
      ) : (
        <table className="mcc-table">
          <caption className="mcc-hidden">{trans.__('Recent calls')}</caption>
          <thead>
            <tr>
              <th scope="col">{trans.__('Time')}</th>
              <th scope="col">{trans.__('Tool')}</th>
              <th scope="col">{trans.__('User')}</th>
              <th scope="col">{trans.__('Ended')}</th>
            </tr>
          </thead>
          <tbody>
            {calls.map(call => (
              <CallRow key={call.call} call={call} trans={trans} />
            ))}
          </tbody>
        </table>
      )}
      <AuditLog host={host} revision={`${revision} ${round}`} />
    </>
  );
}

/** What the server keeps of calls over HTTP, also of those before the kernel's last restart. */
function AuditLog(props: { host: Host; revision: string }): JSX.Element {
  const { host, revision } = props;
  const { trans } = host;
  const asked = useAnswer(() => host.requests.audit(), [revision]);
  const entries = asked.kind === 'answer' ? asked.value : [];
  return (
    <section className="mcc-audit" aria-label={trans.__('Audit log')}>
      <h2>{trans.__('Audit log of the server')}</h2>
      {asked.kind === 'error' && <p className="mcc-empty">{trans.__('You may not read it: %1', asked.message)}</p>}
      {asked.kind === 'answer' && entries === null && (
        <p className="mcc-empty">{trans.__('This server keeps no log of calls.')}</p>
      )}
      {asked.kind === 'answer' && entries !== null && entries.length === 0 && (
        <p className="mcc-empty">{trans.__('It is empty.')}</p>
      )}
      {entries !== null && entries.length > 0 && (
        <table className="mcc-table">
          <caption className="mcc-hidden">{trans.__('Audit log')}</caption>
          <thead>
            <tr>
              <th scope="col">{trans.__('Time')}</th>
              <th scope="col">{trans.__('Tool')}</th>
              <th scope="col">{trans.__('User')}</th>
              <th scope="col">{trans.__('Ended')}</th>
            </tr>
          </thead>
          <tbody>
            {entries.map((entry, place) => (
              <tr key={place}>
                <td className="mcc-time" title={new Date(entry.time).toLocaleString()}>{new Date(entry.time).toLocaleTimeString()}</td>
                <th scope="row">{entry.tool}</th>
                <td>{entry.who}</td>
                <td>{entry.reason === null ? entry.outcome : `${entry.outcome}: ${entry.reason}`}</td>
              </tr>
            ))}
          </tbody>
        </table>
      )}
    </section>
  );
}

function CallRow(props: { call: PastCall; trans: TranslationBundle }): JSX.Element {
  const { call, trans } = props;
  return (
    <tr>
      <td className="mcc-time">{new Date(call.began).toLocaleTimeString()}</td>
      <th scope="row">{call.tool.replace(/^public\./, '')}</th>
      <td>{call.user}</td>
      <td>{trans.__('%1, %2 s', call.error ?? call.state, call.seconds.toFixed(1))}</td>
    </tr>
  );
}
