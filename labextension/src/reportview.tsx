/** A report or a matrix, drawn: the same in a cell's output and in the panel (SPEC 13.4). */

import { Clipboard } from '@jupyterlab/apputils';
import { TranslationBundle } from '@jupyterlab/translation';
import { LabIcon, copyIcon } from '@jupyterlab/ui-components';
import React, { useMemo, useState } from 'react';

import { Column, Matrix, Report, Row, Sort, State, folded, names, nextSort, remarks, visible } from './report';

/** Rows drawn before "show all": a report with `env_passthrough: true` may have thousands. */
const FIRST_ROWS = 200;

export function ReportView(props: { report: Report; trans: TranslationBundle }): JSX.Element {
  const { report, trans } = props;
  const [query, setQuery] = useState('');
  const [sort, setSort] = useState<Sort | null>(null);
  const [all, setAll] = useState(false);
  const first = useMemo(() => folded(report.rows), [report]);
  // Who searches or sorts asks for every row.
  const isFolded = query === '' && sort === null && !all;
  const found = useMemo(
    () => (isFolded ? first.rows : visible(report.rows, query, sort)),
    [report, first, isFolded, query, sort]
  );
  const shown = all ? found : found.slice(0, FIRST_ROWS);
  return (
    <section className="mcc-report" aria-label={trans.__('Environment of %1', report.tool)}>
      <header className="mcc-report-head">
        <span className="mcc-report-tool">{report.tool}</span>
        <span className="mcc-report-kind">{report.kind}</span>
        <Availability available={report.available} trans={trans} />
        <span className="mcc-spacer" />
        <input
          type="search"
          className="mcc-search jp-mod-styled"
          value={query}
          placeholder={trans.__('Search names')}
          aria-label={trans.__('Search the names of %1', report.tool)}
          onChange={event => setQuery(event.target.value)}
        />
        <IconButton
          icon={copyIcon}
          label={trans.__('Copy the names shown')}
          onClick={() => Clipboard.copyToSystem(names(found))}
        />
      </header>
      {report.notice !== null && <p className="mcc-notice">{report.notice}</p>}
      {report.description !== '' && <p className="mcc-description">{report.description.split('\n', 1)[0]}</p>}
      {report.parameters.length > 0 && (
        <p className="mcc-parameters">
          {trans.__('Parameters:')} <code>{report.parameters.join('; ')}</code>
        </p>
      )}
      <table className="mcc-table mcc-rows" role="table" hidden={found.length === 0}>
        <caption className="mcc-hidden">{trans.__('The names that %1 gets, and why', report.tool)}</caption>
        <thead role="rowgroup">
          <tr role="row">
            <Heading column="name" label={trans.__('Name')} sort={sort} onSort={setSort} />
            <Heading column="source" label={trans.__('Source')} sort={sort} onSort={setSort} />
            <Heading column="rule" label={trans.__('Rule')} sort={sort} onSort={setSort} />
            <Heading column="state" label={trans.__('State')} sort={sort} onSort={setSort} />
            <th scope="col" role="columnheader">
              {trans.__('Remarks')}
            </th>
          </tr>
        </thead>
        <tbody role="rowgroup">
          {shown.map((row, place) => (
            <ReportRow key={`${place} ${row.name}`} row={row} trans={trans} />
          ))}
        </tbody>
      </table>
      {found.length === 0 && !(isFolded && first.common.length > 0) && (
        <p className="mcc-empty">
          {report.rows.length === 0 ? trans.__('This tool gets no variable.') : trans.__('No name matches.')}
        </p>
      )}
      {isFolded &&
        first.common.map(([source, common]) => (
          <p key={source} className="mcc-common">
            {source}: <code>{common.join(' ')}</code>
          </p>
        ))}
      {found.length > shown.length && (
        <button className="mcc-more jp-Button" onClick={() => setAll(true)}>
          {trans.__('Show %1 more', found.length - shown.length)}
        </button>
      )}
      {report.withheld !== null && (
        <details className="mcc-withheld">
          <summary>{trans._n('%1 name withheld', '%1 names withheld', report.withheld.length)}</summary>
          <code>{report.withheld.join(' ')}</code>
        </details>
      )}
      <Lines className="mcc-notes" lines={report.notes} />
      <Lines className="mcc-footer" lines={report.footer} />
    </section>
  );
}

export function MatrixView(props: { matrix: Matrix; trans: TranslationBundle }): JSX.Element {
  const { matrix, trans } = props;
  if (matrix.rows.length === 0) {
    return <p className="mcc-empty">{trans.__('No tool is declared.')}</p>;
  }
  return (
    <section className="mcc-matrix" aria-label={trans.__('Tools and the names they get')}>
      <div className="mcc-matrix-scroll" tabIndex={0}>
        <table className="mcc-table">
          <caption className="mcc-hidden">{trans.__('Tools and the names they get')}</caption>
          <thead>
            <tr>
              <th scope="col">{trans.__('Tool')}</th>
              {matrix.names.map(name => (
                <th key={name} scope="col" className="mcc-matrix-name">
                  <span>{name}</span>
                </th>
              ))}
              <th scope="col">{trans.__('State')}</th>
            </tr>
          </thead>
          <tbody>
            {matrix.rows.map(row => (
              <tr key={row.tool}>
                <th scope="row">{row.tool}</th>
                {matrix.names.map((name, place) => (
                  <MatrixMark key={name} mark={row.marks[place] ?? '.'} name={name} legend={matrix.legend} />
                ))}
                <td>
                  <Availability available={row.available} trans={trans} />
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
      <dl className="mcc-legend">
        {Object.entries(matrix.legend).map(([mark, meaning]) => (
          <React.Fragment key={mark}>
            <dt>{mark}</dt>
            <dd>{meaning}</dd>
          </React.Fragment>
        ))}
      </dl>
      {Object.entries(matrix.common).map(([source, common]) => (
        <p key={source} className="mcc-common">
          {source}: <code>{common.join(' ')}</code>
        </p>
      ))}
      <Lines className="mcc-notices" lines={matrix.notices} />
      <Lines className="mcc-notes" lines={more(matrix, trans)} />
      <Lines className="mcc-footer" lines={matrix.footer} />
    </section>
  );
}

export function Availability(props: { available: boolean; trans: TranslationBundle }): JSX.Element {
  const { available, trans } = props;
  return (
    <span className={available ? 'mcc-available' : 'mcc-unavailable'}>
      <span aria-hidden="true">{available ? '● ' : '○ '}</span>
      {available ? trans.__('available') : trans.__('unavailable')}
    </span>
  );
}

export function IconButton(props: { icon: LabIcon; label: string; onClick: () => void }): JSX.Element {
  return (
    <button type="button" className="mcc-icon-button" title={props.label} aria-label={props.label} onClick={props.onClick}>
      <props.icon.react tag="span" />
    </button>
  );
}

export function Lines(props: { className: string; lines: readonly string[] }): JSX.Element | null {
  if (props.lines.length === 0) {
    return null;
  }
  return (
    <ul className={props.className}>
      {props.lines.map(line => (
        <li key={line}>{line}</li>
      ))}
    </ul>
  );
}

function Heading(props: {
  column: Column;
  label: string;
  sort: Sort | null;
  onSort: (sort: Sort | null) => void;
}): JSX.Element {
  const { column, label, sort, onSort } = props;
  const own = sort !== null && sort.column === column ? sort : null;
  const order = own === null ? 'none' : own.descending ? 'descending' : 'ascending';
  return (
    <th scope="col" role="columnheader" aria-sort={order}>
      <button type="button" className="mcc-heading" onClick={() => onSort(nextSort(sort, column))}>
        {label}
        <span aria-hidden="true">{own === null ? '' : own.descending ? ' ↓' : ' ↑'}</span>
      </button>
    </th>
  );
}

function ReportRow(props: { row: Row; trans: TranslationBundle }): JSX.Element {
  const { row, trans } = props;
  return (
    <tr role="row" className={`mcc-row-${row.state}`}>
      <th scope="row" role="rowheader">
        {row.name}
      </th>
      <td role="cell">{row.source}</td>
      <td role="cell">{row.rule}</td>
      <td role="cell" className="mcc-state">
        {stateLabel(row.state, trans)}
      </td>
      <td role="cell">{remarks(row)}</td>
    </tr>
  );
}

function MatrixMark(props: {
  mark: string;
  name: string;
  legend: Readonly<Record<string, string>>;
}): JSX.Element {
  const { mark, name, legend } = props;
  if (mark === '.') {
    return <td className="mcc-mark" />;
  }
  return (
    <td className="mcc-mark" title={`${name}: ${legend[mark] ?? mark}`}>
      {mark}
    </td>
  );
}

function stateLabel(state: State, trans: TranslationBundle): string {
  switch (state) {
    case 'set':
      return trans.__('set');
    case 'missing':
      return trans.__('missing');
    case 'unset':
      return trans.__('unset');
    case 'unresolved':
      return trans.__('unresolved');
    case 'refused':
      return trans.__('refused');
  }
}

function more(matrix: Matrix, trans: TranslationBundle): readonly string[] {
  const { tools, names: left, notices } = matrix.more;
  return [
    ...(tools > 0 ? [trans._n('%1 more tool', '%1 more tools', tools)] : []),
    ...(left > 0 ? [trans._n('%1 more name', '%1 more names', left)] : []),
    ...(notices > 0 ? [trans._n('%1 more notice', '%1 more notices', notices)] : [])
  ];
}
