/** The item in the status bar: how many tools can be called, and whether the guard is on. */

import { TranslationBundle } from '@jupyterlab/translation';
import { ReactWidget } from '@jupyterlab/ui-components';
import React, { useEffect, useReducer } from 'react';

import { toolIcon } from './icons';
import { counts } from './manifest';
import { PanelModel } from './model';

export class StatusItem extends ReactWidget {
  constructor(
    private readonly model: PanelModel,
    private readonly trans: TranslationBundle,
    private readonly open: () => void
  ) {
    super();
    this.addClass('mcc-status');
  }

  protected render(): JSX.Element {
    return <Status model={this.model} trans={this.trans} open={this.open} />;
  }
}

function Status(props: { model: PanelModel; trans: TranslationBundle; open: () => void }): JSX.Element | null {
  const { model, trans, open } = props;
  const [, draw] = useReducer((round: number) => round + 1, 0);
  useEffect(() => model.onChange(draw), [model]);
  if (model.view.kind !== 'ready') {
    return null;
  }
  const { tools, guard } = model.view.state;
  const { available, unavailable } = counts(tools);
  const title = [
    trans._n('%1 tool available', '%1 tools available', available),
    trans.__('%1 unavailable', unavailable),
    guard ? trans.__('guard on') : trans.__('guard off'),
    trans.__('tools run from this kernel')
  ].join(', ');
  return (
    <button type="button" className="mcc-status-button" title={title} aria-label={title} onClick={open}>
      <toolIcon.react tag="span" width="14px" />
      <span>{unavailable > 0 ? `${available} / ${available + unavailable}` : available}</span>
      <span>{guard ? trans.__('guarded') : ''}</span>
    </button>
  );
}
