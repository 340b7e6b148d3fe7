/** The icon of the panel and the status item: a tool, and a key that stays outside. */

import { LabIcon } from '@jupyterlab/ui-components';

const SVG = `<svg xmlns="http://www.w3.org/2000/svg" width="16" viewBox="0 0 24 24">
  <g class="jp-icon3" fill="#616161">
    <path d="M4 4h16a2 2 0 0 1 2 2v5h-2V8H4v10h7v2H4a2 2 0 0 1-2-2V6a2 2 0 0 1 2-2z"/>
    <path d="M6 11l1.4-1.4L11 13.2l-3.600 3.600L6 15.400l2.200-2.200z"/>
    <path d="M17.500 13a3.500 3.500 0 0 0-3.400 4.400L14 23h2.500l.2-1.700H18v-1.500h1.200A3.500 3.500 0 0 0 17.500 13zm0 2a1.500 1.500 0 1 1 0 3 1.500 1.500 0 0 1 0-3z"/>
  </g>
</svg>`;

export const toolIcon = new LabIcon({ name: 'mcc-jupyter:tool', svgstr: SVG });
