import assert from 'node:assert/strict';
import test from 'node:test';
import { language } from '../lib/magic.js';

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
