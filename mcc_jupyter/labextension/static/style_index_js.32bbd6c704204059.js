"use strict";(self.rspackChunkmcc_jupyter=self.rspackChunkmcc_jupyter||[]).push([["style_index_js"],{"./node_modules/css-loader/dist/cjs.js!./style/panel.css"(e,o,r){var t=r("./node_modules/css-loader/dist/runtime/noSourceMaps.js"),c=r.n(t),i=r("./node_modules/css-loader/dist/runtime/api.js"),a=(r.n(i))()(c());a.push([e.id,`/* The side panel, the run form, the status item. */

.mcc-panel {
  background: var(--jp-layout-color1);
  color: var(--jp-ui-font-color1);
  display: flex;
  flex-direction: column;
  font-family: var(--jp-ui-font-family);
  font-size: var(--jp-ui-font-size1);
  overflow: hidden;
}

.mcc-summary {
  border-bottom: var(--jp-border-width) solid var(--jp-border-color2);
  padding: 8px 12px;
}

.mcc-counts {
  display: flex;
  flex-wrap: wrap;
  gap: 2px 12px;
  margin: 0;
}

.mcc-authority {
  color: var(--jp-ui-font-color2);
  margin: 2px 0 0;
}

.mcc-tabs {
  border-bottom: var(--jp-border-width) solid var(--jp-border-color2);
  display: flex;
  flex: none;
  padding: 0 6px;
}

.mcc-tabs > button {
  background: transparent;
  border: 0;
  border-bottom: 2px solid transparent;
  color: var(--jp-ui-font-color2);
  cursor: pointer;
  font: inherit;
  padding: 6px 8px;
}

.mcc-tabs > button[aria-selected='true'] {
  border-bottom-color: var(--jp-brand-color1);
  color: var(--jp-ui-font-color0);
  font-weight: 600;
}

.mcc-tabs > button:focus-visible,
.mcc-list:focus-visible,
.mcc-status-button:focus-visible,
.mcc-output > pre:focus-visible {
  outline: 2px solid var(--jp-brand-color1);
  outline-offset: -2px;
}

.mcc-page {
  flex: 1;
  min-height: 0;
  overflow: auto;
  padding: 8px 12px;
}

.mcc-tools {
  display: flex;
  flex-direction: column;
  height: 100%;
}

.mcc-search.mcc-search-tools {
  box-sizing: border-box;
  flex: none;
  font-size: var(--jp-ui-font-size1);
  max-width: none;
  width: 100%;
}

.mcc-search.jp-mod-styled {
  font-size: var(--jp-ui-font-size1);
  height: 28px;
}

.mcc-list {
  border: var(--jp-border-width) solid var(--jp-border-color2);
  flex: 0 1 auto;
  margin: 8px 0;
  max-height: 40%;
  min-height: 46px;
  overflow-y: auto;
}

.mcc-list-all {
  position: relative;
}

/* The height is known to toolsview.tsx. */
.mcc-list-row {
  box-sizing: border-box;
  contain: strict;
  cursor: pointer;
  display: grid;
  gap: 0 8px;
  grid-template: 20px 18px / 14px auto 1fr;
  height: 44px;
  left: 0;
  padding: 3px 8px;
  position: absolute;
  right: 0;
}

.mcc-list-row:hover {
  background: var(--jp-layout-color2);
}

.mcc-list-row[aria-selected='true'] {
  background: color-mix(in srgb, var(--jp-brand-color1) 14%, var(--jp-layout-color1));
  box-shadow: inset 3px 0 0 var(--jp-brand-color1);
}

.mcc-dot {
  color: var(--jp-warn-color0);
}

.mcc-dot-on {
  color: var(--jp-success-color1);
}

.mcc-list-name {
  font-family: var(--jp-code-font-family);
  overflow: hidden;
  text-overflow: ellipsis;
  white-space: nowrap;
}

.mcc-list-kind {
  color: var(--jp-ui-font-color2);
  text-align: right;
}

.mcc-list-more {
  color: var(--jp-ui-font-color2);
  grid-column: 2 / 4;
  overflow: hidden;
  text-overflow: ellipsis;
  white-space: nowrap;
}

.mcc-details {
  border-top: var(--jp-border-width) solid var(--jp-border-color2);
  flex: 1;
  min-height: 0;
  overflow: auto;
  padding-top: 6px;
}

.mcc-details-head {
  align-items: center;
  display: flex;
  gap: 8px;
}

.mcc-details-head > h2 {
  font-family: var(--jp-code-font-family);
  font-size: var(--jp-ui-font-size2);
  margin: 0;
  overflow-wrap: anywhere;
}

/* The name stands above already. */
.mcc-details .mcc-report-tool {
  display: none;
}

.mcc-hint {
  color: var(--jp-ui-font-color2);
  margin: 4px 0;
}

.mcc-absent {
  padding: 16px;
}

.mcc-absent-title {
  font-size: var(--jp-ui-font-size2);
  font-weight: 600;
  margin: 0 0 4px;
}

.mcc-absent-code,
.mcc-empty > pre {
  background: var(--jp-layout-color2);
  padding: 6px 8px;
}

.mcc-run {
  border: var(--jp-border-width) solid var(--jp-border-color2);
  margin: 6px 0;
  padding: 6px 10px 10px;
}

.mcc-run .rjsf > .form-group,
.mcc-run fieldset {
  border: 0;
  margin: 0;
  padding: 0;
}

.mcc-field {
  margin: 8px 0 0;
}

.mcc-field > label,
.mcc-field-description {
  display: block;
  margin-bottom: 2px;
}

.mcc-field-name,
.mcc-field .checkbox span {
  font-family: var(--jp-code-font-family);
  font-size: var(--jp-code-font-size);
}

.mcc-field-more,
.mcc-field-description,
.mcc-field .field-description {
  color: var(--jp-ui-font-color2);
}

.mcc-field-description {
  display: block;
}

.mcc-field .checkbox {
  display: flex;
  flex-direction: column-reverse;
}

.mcc-field .checkbox > label {
  align-items: center;
  display: flex;
  gap: 6px;
}

.mcc-field .field-description {
  margin: 0;
}

.mcc-field input.form-control,
.mcc-field select.form-control,
.mcc-field textarea.form-control {
  background: var(--jp-input-background);
  border: 1px solid var(--jp-border-color0);
  border-radius: 2px;
  box-sizing: border-box;
  color: var(--jp-ui-font-color0);
  font-family: var(--jp-code-font-family);
  font-size: var(--jp-code-font-size);
  min-height: 28px;
  padding: 3px 7px;
  width: 100%;
}

.mcc-field textarea.form-control {
  resize: vertical;
}

.mcc-field .form-control:focus-visible,
.mcc-field input[type='checkbox']:focus-visible {
  border-color: var(--jp-brand-color1);
  outline: 1px solid var(--jp-brand-color1);
}

.mcc-panel .jp-mod-styled:is(button) {
  font-size: var(--jp-ui-font-size1);
  height: 28px;
  letter-spacing: 0;
  line-height: 28px;
  padding: 0 12px;
}

.mcc-run-buttons {
  display: flex;
  flex-wrap: wrap;
  gap: 6px;
  margin-top: 8px;
}

.mcc-output > pre {
  background: var(--jp-layout-color2);
  font-family: var(--jp-code-font-family);
  font-size: var(--jp-code-font-size);
  margin: 8px 0 0;
  max-height: 320px;
  overflow: auto;
  padding: 6px 8px;
  white-space: pre-wrap;
  word-break: break-word;
}

.mcc-stderr {
  background: var(--jp-rendermime-error-background);
}

.mcc-outcome {
  margin: 6px 0 0;
}

.mcc-failed {
  font-weight: 600;
}

.mcc-status {
  display: flex;
}

.mcc-status-button {
  align-items: center;
  background: transparent;
  border: 0;
  color: inherit;
  cursor: pointer;
  display: inline-flex;
  font: inherit;
  gap: 4px;
  padding: 0 4px;
}

.mcc-panel button:disabled {
  cursor: default;
  opacity: 0.5;
}

/* A line of a declaration with a problem: the text is in the title, and at the end of the line. */
.cm-line.mcc-problem {
  text-decoration: underline wavy var(--jp-error-color1);
  text-decoration-skip-ink: none;
  text-underline-offset: 3px;
}

.cm-line.mcc-problem::after {
  color: var(--jp-error-color1);
  content: attr(data-problem);
  display: inline-block;
  font-family: var(--jp-ui-font-family);
  font-size: var(--jp-ui-font-size0);
  padding-left: 24px;
  text-decoration: none;
}

.mcc-facts {
  display: grid;
  gap: 2px 12px;
  grid-template-columns: auto 1fr;
  margin: 4px 0 0;
}

.mcc-facts > dd {
  color: var(--jp-ui-font-color1);
  margin: 0;
  overflow-wrap: anywhere;
}

.mcc-audit > h2 {
  font-size: var(--jp-ui-font-size1);
  font-weight: 600;
  margin: 16px 0 0;
}

/* Below the input of a cell whose last save held a secret. */
.mcc-leak {
  align-items: center;
  background: color-mix(in srgb, var(--jp-warn-color1) 14%, var(--jp-layout-color1));
  border-left: 3px solid var(--jp-warn-color1);
  color: var(--jp-ui-font-color1);
  display: flex;
  flex-wrap: wrap;
  font-family: var(--jp-ui-font-family);
  font-size: var(--jp-ui-font-size1);
  gap: 4px 12px;
  line-height: 1.5;
  margin: 4px 0 4px calc(var(--jp-cell-prompt-width) + var(--jp-cell-padding) + 11px);
  padding: 2px 8px;
}
`,""]),r.d(o,{},{A:a})},"./node_modules/css-loader/dist/cjs.js!./style/report.css"(e,o,r){var t=r("./node_modules/css-loader/dist/runtime/noSourceMaps.js"),c=r.n(t),i=r("./node_modules/css-loader/dist/runtime/api.js"),a=(r.n(i))()(c());a.push([e.id,`/* Reports, in outputs and in the panel. Every colour is the theme's own; none says a thing alone. */

.mcc-report,
.mcc-matrix {
  color: var(--jp-ui-font-color1);
  font-family: var(--jp-ui-font-family);
  font-size: var(--jp-ui-font-size1);
  line-height: 1.5;
  padding: 4px 0 8px;
}

.mcc-report {
  container-type: inline-size;
}

/* In a narrow panel a row is two lines: the name and its state, then where it comes from. */
@container (max-width: 440px) {
  .mcc-rows thead {
    display: none;
  }

  .mcc-rows tr {
    border-bottom: var(--jp-border-width) solid var(--jp-border-color2);
    display: grid;
    gap: 0 8px;
    grid-template-columns: auto 1fr auto;
    padding: 2px 0;
  }

  .mcc-table.mcc-rows th,
  .mcc-table.mcc-rows td {
    border: 0;
    padding: 0;
  }

  .mcc-rows th {
    grid-column: 1 / 3;
  }

  .mcc-rows .mcc-state {
    grid-column: 3;
    grid-row: 1;
  }

  .mcc-rows td:nth-of-type(1),
  .mcc-rows td:nth-of-type(2) {
    color: var(--jp-ui-font-color2);
    grid-row: 2;
  }

  .mcc-rows td:nth-of-type(4):not(:empty) {
    grid-column: 1 / 4;
    grid-row: 3;
  }
}

@container (max-width: 440px) {
  .mcc-report-head > .mcc-spacer {
    display: none;
  }

  .mcc-report-head > .mcc-search {
    flex: 1 0 150px;
    max-width: none;
  }
}

.mcc-table.mcc-rows thead th {
  vertical-align: baseline;
}

.mcc-table th[scope='col'],
.mcc-time {
  overflow-wrap: normal;
  white-space: nowrap;
}

.mcc-report-head {
  align-items: center;
  display: flex;
  flex-wrap: wrap;
  gap: 4px 12px;
}

.mcc-report-tool {
  font-family: var(--jp-code-font-family);
  font-weight: 600;
}

.mcc-table[hidden] {
  display: none;
}

.mcc-report-kind {
  color: var(--jp-ui-font-color2);
}

.mcc-spacer {
  flex: 1;
}

.mcc-available {
  white-space: nowrap;
}

.mcc-available > span {
  color: var(--jp-success-color1);
}

.mcc-unavailable {
  font-weight: 600;
  white-space: nowrap;
}

.mcc-unavailable > span {
  color: var(--jp-warn-color0);
}

.mcc-search {
  max-width: 180px;
  min-width: 100px;
}

.mcc-icon-button {
  align-items: center;
  background: transparent;
  border: 1px solid transparent;
  border-radius: var(--jp-border-radius);
  cursor: pointer;
  display: inline-flex;
  height: 24px;
  justify-content: center;
  width: 24px;
}

.mcc-icon-button:hover,
.mcc-heading:hover {
  background: var(--jp-layout-color2);
}

.mcc-icon-button:focus-visible,
.mcc-heading:focus-visible,
.mcc-matrix-scroll:focus-visible {
  outline: 2px solid var(--jp-brand-color1);
  outline-offset: -2px;
}

.mcc-notice,
.mcc-notices > li {
  background: color-mix(in srgb, var(--jp-warn-color1) 14%, transparent);
  border-left: 3px solid var(--jp-warn-color1);
  margin: 6px 0;
  padding: 4px 8px;
}

.mcc-description,
.mcc-parameters,
.mcc-common {
  margin: 4px 0;
}

.mcc-table {
  border-collapse: collapse;
  margin: 6px 0;
  width: 100%;
}

.mcc-table th,
.mcc-table td {
  border-bottom: var(--jp-border-width) solid var(--jp-border-color2);
  overflow-wrap: anywhere;
  padding: 2px 8px 2px 0;
  text-align: left;
  vertical-align: top;
}

.mcc-table tbody th {
  font-family: var(--jp-code-font-family);
  font-size: var(--jp-code-font-size);
  font-weight: 400;
}

.mcc-table tbody tr:hover {
  background: var(--jp-layout-color2);
}

.mcc-row-missing .mcc-state,
.mcc-row-unresolved .mcc-state,
.mcc-row-refused .mcc-state {
  font-weight: 600;
}

.mcc-heading {
  background: transparent;
  border: 0;
  color: inherit;
  cursor: pointer;
  font: inherit;
  font-weight: 600;
  padding: 2px 4px 2px 0;
}

.mcc-empty,
.mcc-footer,
.mcc-legend,
.mcc-common {
  color: var(--jp-ui-font-color2);
}

.mcc-notes,
.mcc-notices,
.mcc-footer {
  list-style: none;
  margin: 6px 0 0;
  padding: 0;
}

.mcc-matrix-scroll {
  overflow-x: auto;
}

.mcc-matrix-name > span {
  display: inline-block;
  max-height: 160px;
  overflow: hidden;
  text-overflow: ellipsis;
  transform: rotate(180deg);
  writing-mode: vertical-rl;
}

.mcc-matrix .mcc-matrix-name,
.mcc-mark {
  text-align: center;
  vertical-align: bottom;
}

.mcc-legend {
  display: flex;
  flex-wrap: wrap;
  gap: 2px 6px;
  margin: 6px 0;
}

.mcc-legend dt {
  font-family: var(--jp-code-font-family);
  font-weight: 600;
}

.mcc-legend dd {
  margin: 0 10px 0 0;
}

.mcc-hidden {
  clip-path: inset(50%);
  height: 1px;
  overflow: hidden;
  position: absolute;
  white-space: nowrap;
  width: 1px;
}
`,""]),r.d(o,{},{A:a})},"./node_modules/css-loader/dist/runtime/api.js"(e){e.exports=function(e){var o=[];return o.toString=function(){return this.map(function(o){var r="",t=void 0!==o[5];return o[4]&&(r+="@supports (".concat(o[4],") {")),o[2]&&(r+="@media ".concat(o[2]," {")),t&&(r+="@layer".concat(o[5].length>0?" ".concat(o[5]):""," {")),r+=e(o),t&&(r+="}"),o[2]&&(r+="}"),o[4]&&(r+="}"),r}).join("")},o.i=function(e,r,t,c,i){"string"==typeof e&&(e=[[null,e,void 0]]);var a={};if(t)for(var n=0;n<this.length;n++){var l=this[n][0];null!=l&&(a[l]=!0)}for(var s=0;s<e.length;s++){var d=[].concat(e[s]);t&&a[d[0]]||(void 0!==i&&(void 0===d[5]||(d[1]="@layer".concat(d[5].length>0?" ".concat(d[5]):""," {").concat(d[1],"}")),d[5]=i),r&&(d[2]&&(d[1]="@media ".concat(d[2]," {").concat(d[1],"}")),d[2]=r),c&&(d[4]?(d[1]="@supports (".concat(d[4],") {").concat(d[1],"}"),d[4]=c):d[4]="".concat(c)),o.push(d))}},o}},"./node_modules/css-loader/dist/runtime/noSourceMaps.js"(e){e.exports=function(e){return e[1]}},"./node_modules/style-loader/dist/runtime/injectStylesIntoStyleTag.js"(e){var o=[];function r(e){for(var r=-1,t=0;t<o.length;t++)if(o[t].identifier===e){r=t;break}return r}function t(e,t){for(var c={},i=[],a=0;a<e.length;a++){var n=e[a],l=t.base?n[0]+t.base:n[0],s=c[l]||0,d="".concat(l," ").concat(s);c[l]=s+1;var p=r(d),m={css:n[1],media:n[2],sourceMap:n[3],supports:n[4],layer:n[5]};if(-1!==p)o[p].references++,o[p].updater(m);else{var u=function(e,o){var r=o.domAPI(o);return r.update(e),function(o){o?(o.css!==e.css||o.media!==e.media||o.sourceMap!==e.sourceMap||o.supports!==e.supports||o.layer!==e.layer)&&r.update(e=o):r.remove()}}(m,t);t.byIndex=a,o.splice(a,0,{identifier:d,updater:u,references:1})}i.push(d)}return i}e.exports=function(e,c){var i=t(e=e||[],c=c||{});return function(e){e=e||[];for(var a=0;a<i.length;a++){var n=r(i[a]);o[n].references--}for(var l=t(e,c),s=0;s<i.length;s++){var d=r(i[s]);0===o[d].references&&(o[d].updater(),o.splice(d,1))}i=l}}},"./node_modules/style-loader/dist/runtime/insertBySelector.js"(e){var o={};e.exports=function(e,r){var t=function(e){if(void 0===o[e]){var r=document.querySelector(e);if(window.HTMLIFrameElement&&r instanceof window.HTMLIFrameElement)try{r=r.contentDocument.head}catch(e){r=null}o[e]=r}return o[e]}(e);if(!t)throw Error("Couldn't find a style target. This probably means that the value for the 'insert' parameter is invalid.");t.appendChild(r)}},"./node_modules/style-loader/dist/runtime/insertStyleElement.js"(e){e.exports=function(e){var o=document.createElement("style");return e.setAttributes(o,e.attributes),e.insert(o,e.options),o}},"./node_modules/style-loader/dist/runtime/setAttributesWithoutAttributes.js"(e,o,r){e.exports=function(e){var o=r.nc;o&&e.setAttribute("nonce",o)}},"./node_modules/style-loader/dist/runtime/styleDomAPI.js"(e){e.exports=function(e){if("u"<typeof document)return{update:function(){},remove:function(){}};var o=e.insertStyleElement(e);return{update:function(r){var t,c,i;t="",r.supports&&(t+="@supports (".concat(r.supports,") {")),r.media&&(t+="@media ".concat(r.media," {")),(c=void 0!==r.layer)&&(t+="@layer".concat(r.layer.length>0?" ".concat(r.layer):""," {")),t+=r.css,c&&(t+="}"),r.media&&(t+="}"),r.supports&&(t+="}"),(i=r.sourceMap)&&"u">typeof btoa&&(t+="\n/*# sourceMappingURL=data:application/json;base64,".concat(btoa(unescape(encodeURIComponent(JSON.stringify(i))))," */")),e.styleTagTransform(t,o,e.options)},remove:function(){var e;null===(e=o).parentNode||e.parentNode.removeChild(e)}}}},"./node_modules/style-loader/dist/runtime/styleTagTransform.js"(e){e.exports=function(e,o){if(o.styleSheet)o.styleSheet.cssText=e;else{for(;o.firstChild;)o.removeChild(o.firstChild);o.appendChild(document.createTextNode(e))}}},"./style/index.js"(e,o,r){var t=r("./node_modules/style-loader/dist/runtime/injectStylesIntoStyleTag.js"),c=r.n(t),i=r("./node_modules/style-loader/dist/runtime/styleDomAPI.js"),a=r.n(i),n=r("./node_modules/style-loader/dist/runtime/insertBySelector.js"),l=r.n(n),s=r("./node_modules/style-loader/dist/runtime/setAttributesWithoutAttributes.js"),d=r.n(s),p=r("./node_modules/style-loader/dist/runtime/insertStyleElement.js"),m=r.n(p),u=r("./node_modules/style-loader/dist/runtime/styleTagTransform.js"),f=r.n(u),x=r("./node_modules/css-loader/dist/cjs.js!./style/report.css"),h={};h.styleTagTransform=f(),h.setAttributes=d(),h.insert=l().bind(null,"head"),h.domAPI=a(),h.insertStyleElement=m(),c()(x.A,h),x.A&&x.A.locals&&x.A.locals;var v=r("./node_modules/css-loader/dist/cjs.js!./style/panel.css"),g={};g.styleTagTransform=f(),g.setAttributes=d(),g.insert=l().bind(null,"head"),g.domAPI=a(),g.insertStyleElement=m(),c()(v.A,g),v.A&&v.A.locals&&v.A.locals}}]);