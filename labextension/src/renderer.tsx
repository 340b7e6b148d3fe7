/** The renderer of reports in cell outputs. It shows what the output says, and says nothing about the kernel. */

import { IRenderMime } from '@jupyterlab/rendermime-interfaces';
import { TranslationBundle } from '@jupyterlab/translation';
import { ReactWidget } from '@jupyterlab/ui-components';
import { Message } from '@lumino/messaging';
import React from 'react';

import { MIME_TYPE, Matrix, Report, read } from './report';
import { MatrixView, ReportView } from './reportview';

class RenderedReport extends ReactWidget implements IRenderMime.IRenderer {
  constructor(private readonly _trans: TranslationBundle) {
    super();
    this.addClass('mcc-rendered');
  }

  async renderModel(model: IRenderMime.IMimeModel): Promise<void> {
    const data = read(model.data[MIME_TYPE]);
    if (data === null) {
      throw new Error(this._trans.__('This output is no report that this version of mcc-jupyter can read.'));
    }
    this._data = data;
    this.update();
    await this.renderPromise;
  }

  protected onUpdateRequest(msg: Message): void {
    if (this._data !== null) {
      super.onUpdateRequest(msg);
    }
  }

  protected render(): JSX.Element | null {
    if (this._data === null) {
      return null;
    }
    return this._data.schema === 'mcc.report' ? (
      <ReportView report={this._data} trans={this._trans} />
    ) : (
      <MatrixView matrix={this._data} trans={this._trans} />
    );
  }

  private _data: Report | Matrix | null = null;
}

export function rendererFactory(trans: TranslationBundle): IRenderMime.IRendererFactory {
  return {
    safe: true,
    mimeTypes: [MIME_TYPE],
    defaultRank: 40,
    createRenderer: () => new RenderedReport(trans)
  };
}
