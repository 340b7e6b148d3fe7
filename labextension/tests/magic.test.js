import assert from 'node:assert/strict';
import test from 'node:test';
import { language, wanted } from '../lib/magic.js';

test('the body of a cell has a language', () => {
  for (const [source, expected] of [
    ['%%mcc_tool\nname: x', 'yaml'],
    ['%%mcc_tool   \nname: x', 'yaml'],
    ['%%mcc_tool shout --param text\necho', 'shell'],
    ['%%mcc_sh --pass A\necho', 'shell'],
    ['%%mcc_sh\necho', 'shell'],
    ['%%mcc_tools\n', null],
    ['print("%%mcc_tool")', null],
    ['\n%%mcc_tool\n', null],
    ['', null]
  ]) {
    assert.equal(language(source), expected, source);
  }
});

/** `|` is where the cursor stands. */
const at = text => {
  const offset = text.indexOf('|');
  const source = text.replace('|', '');
  const found = wanted(source, offset);
  return found === null ? null : { ...found, word: source.slice(found.start, offset) };
};

test('at the beginning of a line a field is wanted', () => {
  assert.deepEqual(at('%%mcc_tool\nname: x\nreq|'), { kind: 'field', start: 19, present: ['name'], word: 'req' });
  assert.equal(at('%%mcc_tool\n|').kind, 'field');
  assert.equal(at('%%mcc_tool\n- na|').kind, 'field');
});

test('in a list of names a name is wanted', () => {
  for (const text of [
    '%%mcc_tool\nrequired_env: [|',
    '%%mcc_tool\nrequired_env: [PGHOST, PG|',
    '%%mcc_tool\noptional_env:\n  - PG|',
    '%%mcc_tool\noptional_env:\n- A\n- PG|',
    '%%mcc_tool\nenv:\n  A: ${PG|'
  ]) {
    assert.equal(at(text)?.kind, 'name', text);
  }
});

test('elsewhere nothing is offered', () => {
  for (const text of [
    '%%mcc_tool|',
    '%%mcc_tool\nname: x|',
    '%%mcc_tool\nrequired_env: [A] |',
    '%%mcc_tool\nparams:\n  - na|',
    '%%mcc_sh\nreq|',
    'req|'
  ]) {
    assert.equal(at(text), null, text);
  }
});
