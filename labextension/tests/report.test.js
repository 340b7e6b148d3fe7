import assert from 'node:assert/strict';
import test from 'node:test';
import { folded, lacking, names, nextSort, read, remarks, visible } from '../lib/report.js';

const row = (name, source, state = 'set', more = {}) => ({
  name, source, rule: name, state, flags: [], shadows: [], ...more
});
const report = (rows, more = {}) => ({
  schema: 'mcc.report', version: 1, tool: 'pg_query', key: 'public.pg_query', kind: 'exec', description: '',
  groups: ['public'], available: true, notice: null, parameters: [], rows, notes: [], footer: [], ...more
});

test('a report is read as it was written', () => {
  const written = report([row('HOME', 'floor')], { notice: 'why', available: false, withheld: ['A'] });
  const { version, ...rest } = written;
  assert.equal(version, 1);
  assert.deepEqual(read(written), rest);
});

test('what is no report, or of another version, is none', () => {
  for (const data of [null, 1, 'x', [], {}, { schema: 'mcc.report' }, { schema: 'mcc.report', version: 2 },
    { schema: 'else', version: 1 }]) {
    assert.equal(read(data), null);
  }
});

test('a forged report does not break the reader', () => {
  const forged = read(report([1, null, { name: {}, state: 'nonsense', flags: 'x', shadows: [3] }], { groups: 7 }));
  assert.deepEqual(forged.rows, [{ name: '', source: '', rule: '', state: 'missing', flags: [], shadows: [] }]);
  assert.deepEqual(forged.groups, []);
});

test('a matrix is read as it was written', () => {
  const found = read({
    schema: 'mcc.matrix', version: 1, names: ['A'], rows: [{ tool: 't', available: true, marks: 'g' }],
    legend: { g: 'grant' }, common: { floor: ['HOME'] }, notices: ['n'], more_tools: 2, more_names: 0,
    more_notices: -1, footer: ['f']
  });
  assert.deepEqual(found.rows, [{ tool: 't', available: true, marks: 'g' }]);
  assert.deepEqual(found.more, { tools: 2, names: 0, notices: 0 });
  assert.deepEqual(found.common, { floor: ['HOME'] });
});

test('every word has to be found, in any column', () => {
  const rows = [row('PGHOST', 'grant'), row('PGPASSWORD', 'grant', 'missing'), row('HOME', 'floor')];
  const found = query => visible(rows, query, null).map(item => item.name);
  assert.deepEqual(found(''), ['PGHOST', 'PGPASSWORD', 'HOME']);
  assert.deepEqual(found('pg'), ['PGHOST', 'PGPASSWORD']);
  assert.deepEqual(found(' PG  missing '), ['PGPASSWORD']);
  assert.deepEqual(found('nothing'), []);
});

test('sources are sorted in the order of the layers, states by what needs attention', () => {
  const rows = [row('B', 'env', 'set'), row('A', 'floor', 'missing'), row('C', 'grant', 'unset')];
  const sorted = sort => visible(rows, '', sort).map(item => item.name).join('');
  assert.equal(sorted(null), 'BAC');
  assert.equal(sorted({ column: 'name', descending: false }), 'ABC');
  assert.equal(sorted({ column: 'name', descending: true }), 'CBA');
  assert.equal(sorted({ column: 'source', descending: false }), 'ACB');
  assert.equal(sorted({ column: 'state', descending: false }), 'ACB');
});

test('a heading sorts up, then down, then not at all', () => {
  const up = nextSort(null, 'name');
  assert.deepEqual(up, { column: 'name', descending: false });
  const down = nextSort(up, 'name');
  assert.deepEqual(down, { column: 'name', descending: true });
  assert.equal(nextSort(down, 'name'), null);
  assert.deepEqual(nextSort(down, 'rule'), { column: 'rule', descending: false });
});

test('names are copied without where they come from', () => {
  assert.equal(names([row('A', 'grant'), row('B (from C)', 'grant', 'missing')]), 'A\nB');
});

test('remarks tell flags and what a row stands over', () => {
  assert.equal(remarks(row('A', 'env', 'set', { flags: ['risky'], shadows: [{ source: 'floor', rule: 'A' }] })),
    'risky, over floor A');
});

test('missing and unresolved names keep a tool from running', () => {
  const found = lacking(read(report([row('A', 'grant', 'missing'), row('B', 'grant', 'unset'),
    row('C', 'grant', 'unresolved')])));
  assert.deepEqual(found.map(item => item.name), ['A', 'C']);
});

test('what every tool has alike is a line for each source', () => {
  const over = row('LANG', 'floor', 'set', { shadows: [{ source: 'floor', rule: 'LANG' }] });
  const rows = [row('HOME', 'floor'), over, row('A', 'grant', 'missing'), row('MCC_CTX_USER', 'session')];
  const found = folded(rows);
  assert.deepEqual(found.rows.map(item => item.name), ['LANG', 'A']);
  assert.deepEqual(found.common, [['floor', ['HOME']], ['session', ['MCC_CTX_USER']]]);
  assert.deepEqual(folded([]), { rows: [], common: [] });
});
