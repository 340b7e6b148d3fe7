/** The list of tools, and the one that is chosen. The list draws what is seen of it, so that 1,000 tools are as quick as 10. */

import { TranslationBundle } from '@jupyterlab/translation';
import React, { useCallback, useLayoutEffect, useMemo, useRef, useState } from 'react';

import { useAnswer } from './answer';
import { Tool, visibleTools } from './manifest';
import { Host } from './panel';
import { MatrixView, ReportView } from './reportview';
import { RunForm } from './runform';
import { scrolledTo, windowed } from './windowed';

/** Pixels. The style sheet gives a row the same. */
const ROW = 44;

export function ToolsView(props: {
  host: Host;
  kernel: string;
  tools: readonly Tool[];
  revision: string;
}): JSX.Element {
  const { host, kernel, tools, revision } = props;
  const { trans } = host;
  const [query, setQuery] = useState('');
  const [chosen, setChosen] = useState<string | null>(null);
  const found = useMemo(() => visibleTools(tools, query), [tools, query]);
  const tool = found.find(item => item.key === chosen) ?? null;
  const choose = useCallback((item: Tool) => setChosen(item.key), []);
  if (tools.length === 0) {
    return (
      <div className="mcc-empty">
        <p>{trans.__('No tool is declared yet.')}</p>
        <p>{trans.__('Declare one in a cell:')}</p>
        <pre>{'%%mcc_tool\nname: hello\nexec: echo hello'}</pre>
        <button
          type="button"
          className="jp-mod-styled jp-mod-minimal"
          onClick={() => host.insertCell('%%mcc_tool\nname: hello\nexec: echo hello')}
        >
          {trans.__('Insert it as a cell')}
        </button>
      </div>
    );
  }
  return (
    <div className="mcc-tools">
      <input
        type="search"
        className="mcc-search mcc-search-tools jp-mod-styled"
        value={query}
        placeholder={trans._n('Search %1 tool', 'Search %1 tools', tools.length)}
        aria-label={trans.__('Search tools')}
        onChange={event => setQuery(event.target.value)}
      />
      <ToolList tools={found} chosen={tool} onChoose={choose} trans={trans} />
      {found.length === 0 && <p className="mcc-empty">{trans.__('No tool matches.')}</p>}
      {tool === null ? (
        <p className="mcc-hint">{found.length > 0 && trans.__('Choose a tool to see what it gets, or to run it.')}</p>
      ) : (
        <ToolDetails key={tool.key} host={host} kernel={kernel} tool={tool} revision={revision} />
      )}
    </div>
  );
}

/** A listbox: arrow keys, Home and End move the choice. */
function ToolList(props: {
  tools: readonly Tool[];
  chosen: Tool | null;
  onChoose: (tool: Tool) => void;
  trans: TranslationBundle;
}): JSX.Element {
  const { tools, chosen, onChoose, trans } = props;
  const box = useRef<HTMLDivElement>(null);
  const [top, setTop] = useState(0);
  const [seen, setSeen] = useState(400);
  useLayoutEffect(() => {
    const element = box.current;
    if (element === null) {
      return;
    }
    const observer = new ResizeObserver(() => setSeen(element.clientHeight));
    observer.observe(element);
    return () => observer.disconnect();
  }, []);
  const place = chosen === null ? -1 : tools.indexOf(chosen);
  const { first, end } = windowed(tools.length, ROW, top, seen);
  const drawn = tools.slice(first, end).map((tool, offset) => ({ tool, place: first + offset }));
  const move = (event: React.KeyboardEvent): void => {
    const last = tools.length - 1;
    const next = { ArrowDown: place + 1, ArrowUp: place - 1, Home: 0, End: last }[event.key];
    const tool = next === undefined ? undefined : tools[Math.min(last, Math.max(0, next))];
    if (tool === undefined || box.current === null) {
      return;
    }
    event.preventDefault();
    onChoose(tool);
    box.current.scrollTop = scrolledTo(tools.indexOf(tool), ROW, box.current.scrollTop, box.current.clientHeight);
  };
  return (
    <div
      ref={box}
      className="mcc-list"
      role="listbox"
      tabIndex={0}
      aria-label={trans.__('Tools')}
      aria-activedescendant={place >= first && place < end ? rowId(place) : undefined}
      onKeyDown={move}
      onScroll={event => setTop(event.currentTarget.scrollTop)}
    >
      <div className="mcc-list-all" style={{ height: tools.length * ROW }}>
        {drawn.map(item => (
          <ToolRow
            key={item.tool.key}
            tool={item.tool}
            place={item.place}
            total={tools.length}
            isChosen={item.tool === chosen}
            onChoose={onChoose}
            trans={trans}
          />
        ))}
      </div>
    </div>
  );
}

/** One row, drawn anew only when it is another: scrolling changes which rows there are. */
const ToolRow = React.memo(function ToolRow(props: {
  tool: Tool;
  place: number;
  total: number;
  isChosen: boolean;
  onChoose: (tool: Tool) => void;
  trans: TranslationBundle;
}): JSX.Element {
  const { tool, place, total, isChosen, onChoose, trans } = props;
  return (
    <div
      id={rowId(place)}
      className="mcc-list-row"
      role="option"
      aria-selected={isChosen}
      aria-setsize={total}
      aria-posinset={place + 1}
      style={{ top: place * ROW }}
      title={tool.notice ?? tool.description}
      onClick={() => onChoose(tool)}
    >
      <span className={tool.available ? 'mcc-dot mcc-dot-on' : 'mcc-dot'} aria-hidden="true">
        {tool.available ? '●' : '○'}
      </span>
      <span className="mcc-list-name">{tool.name}</span>
      <span className="mcc-list-kind">{tool.kind}</span>
      <span className="mcc-list-more">{tool.available ? firstLine(tool.description) : reason(tool, trans)}</span>
    </div>
  );
});

function ToolDetails(props: { host: Host; kernel: string; tool: Tool; revision: string }): JSX.Element {
  const { host, kernel, tool, revision } = props;
  const { trans } = host;
  const [running, setRunning] = useState(false);
  const report = useAnswer(() => host.requests.report(kernel, tool.key), [kernel, tool.key, revision]);
  return (
    <div className="mcc-details">
      <div className="mcc-details-head">
        <h2>{tool.name}</h2>
        <span className="mcc-spacer" />
        <button
          type="button"
          className="jp-mod-styled jp-mod-accept"
          aria-expanded={running}
          disabled={!tool.available && !running}
          title={tool.notice ?? trans.__('Fill in the parameters and run the tool')}
          onClick={() => setRunning(!running)}
        >
          {running ? trans.__('Close the form') : trans.__('Run…')}
        </button>
      </div>
      {running && <RunForm host={host} kernel={kernel} tool={tool} />}
      {report.kind === 'error' && <p className="mcc-notice">{report.message}</p>}
      {report.kind === 'answer' && report.value?.schema === 'mcc.report' && (
        <ReportView report={report.value} trans={trans} />
      )}
      {report.kind === 'answer' && report.value?.schema === 'mcc.matrix' && (
        <MatrixView matrix={report.value} trans={trans} />
      )}
    </div>
  );
}

function rowId(place: number): string {
  return `mcc-tool-${place}`;
}

function firstLine(text: string): string {
  return text.split('\n', 1)[0] ?? '';
}

/** The notice without its beginning, which names the tool that stands beside it. */
function reason(tool: Tool, trans: TranslationBundle): string {
  return (tool.notice ?? trans.__('unavailable')).replace(/^Tool '.*?' is unavailable; /, '');
}
