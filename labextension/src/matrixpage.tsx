/** Tools × names, as the kernel says it. */

import React from 'react';

import { useAnswer } from './answer';
import { Host } from './panel';
import { MatrixView } from './reportview';

export function MatrixPage(props: { host: Host; kernel: string; revision: string }): JSX.Element {
  const { host, kernel, revision } = props;
  const { trans } = host;
  const asked = useAnswer(() => host.requests.matrix(kernel), [kernel, revision]);
  if (asked.kind === 'error') {
    return <p className="mcc-notice">{asked.message}</p>;
  }
  if (asked.kind === 'waiting' || asked.value?.schema !== 'mcc.matrix') {
    return <p className="mcc-empty">{trans.__('Reading the tools…')}</p>;
  }
  return <MatrixView matrix={asked.value} trans={trans} />;
}
