/** What the notebook stashed, by key, type and size: no value is here to be shown. */

import { TranslationBundle } from '@jupyterlab/translation';
import React from 'react';

import { SessionKey } from './manifest';

export function SessionView(props: { keys: readonly SessionKey[]; trans: TranslationBundle }): JSX.Element {
  const { keys, trans } = props;
  if (keys.length === 0) {
    return (
      <div className="mcc-empty">
        <p>{trans.__('The session store is empty.')}</p>
        <p>
          {trans.__('Put something in with')} <code>%mcc_session set key=value</code>
        </p>
      </div>
    );
  }
  return (
    <table className="mcc-table">
      <caption className="mcc-hidden">{trans.__('Keys of the session store')}</caption>
      <thead>
        <tr>
          <th scope="col">{trans.__('Key')}</th>
          <th scope="col">{trans.__('Type')}</th>
          <th scope="col">{trans.__('Size')}</th>
        </tr>
      </thead>
      <tbody>
        {keys.map(item => (
          <tr key={item.key}>
            <th scope="row">{item.key}</th>
            <td>{item.type}</td>
            <td>{trans.__('%1 bytes', item.size)}</td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}
