import assert from 'node:assert/strict';
import { test } from 'node:test';

import { isInOutput, readLook } from '../lib/leaks.js';

const finding = (more = {}) => ({
  part: 'output', cell: 1, cell_id: 'a', output: 1, line: null, name: 'DB_PASSWORD', format: null, redacted: false, ...more
});
const look = (outcome, ...findings) => readLook({ path: 'x.ipynb', mode: 'warn', outcome, findings, notes: [] });

test('findings stand at their cells, each once', () => {
  const { path, cells } = look(
    'told',
    finding(),
    finding({ line: 2 }),
    finding({ output: 2, name: null, format: 'github' }),
    finding({ cell_id: 'b', part: 'source', output: null })
  );
  assert.equal(path, 'x.ipynb');
  assert.deepEqual(cells.get('a'), {
    outcome: 'told',
    leaks: [
      { output: 1, part: 'output', what: 'DB_PASSWORD' },
      { output: 2, part: 'output', what: 'github' }
    ]
  });
  assert.deepEqual(cells.get('b').leaks, [{ output: 0, part: 'source', what: 'DB_PASSWORD' }]);
  assert.equal(isInOutput(cells.get('a')), true);
  assert.equal(isInOutput(cells.get('b')), false);
});

test('a cell is told as its worst finding is', () => {
  const redacted = finding({ redacted: true });
  const source = finding({ part: 'source', output: null });
  assert.equal(look('redacted', redacted).cells.get('a').outcome, 'redacted');
  assert.equal(look('redacted', redacted, source).cells.get('a').outcome, 'told');
  assert.equal(look('redacted', source, redacted).cells.get('a').outcome, 'told');
  assert.equal(look('refused', finding()).cells.get('a').outcome, 'refused');
});

test('a clean or failed look has no cells', () => {
  assert.equal(look('clean').cells.size, 0);
  assert.equal(look('failed', finding()).cells.size, 0);
  assert.equal(look('told', finding({ cell_id: null })).cells.size, 0);
});

test('what is no look is none', () => {
  for (const data of [null, 3, [], {}, { outcome: 'told' }]) {
    assert.equal(readLook(data), null);
  }
});
