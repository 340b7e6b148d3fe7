"use strict";(self.rspackChunkmcc_jupyter=self.rspackChunkmcc_jupyter||[]).push([["style_index_js"],{"./node_modules/css-loader/dist/cjs.js!./style/panel.css"(e,o,t){var r=t("./node_modules/css-loader/dist/runtime/noSourceMaps.js"),a=t.n(r),n=t("./node_modules/css-loader/dist/runtime/api.js"),i=(t.n(n))()(a());i.push([e.id,`/* The side panel, the run form, the status item. */

.mcc-panel {
  background: var(--jp-layout-color1);
  color: var(--jp-ui-font-color1);
  display: flex;
  flex-direction: column;
  font-family: var(--jp-ui-font-family);
  font-size: var(--jp-ui-font-size1);
  min-width: 300px;
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
  min-height: 92px;
  overflow-y: auto;
}

.mcc-list-all {
  position: relative;
}

/* The height is known to toolsview.tsx. */
.mcc-list-row {
  box-sizing: border-box;
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
`,""]),t.d(o,{},{A:i})},"./node_modules/css-loader/dist/cjs.js!./style/report.css"(e,o,t){var r=t("./node_modules/css-loader/dist/runtime/noSourceMaps.js"),a=t.n(r),n=t("./node_modules/css-loader/dist/runtime/api.js"),i=(t.n(n))()(a());i.push([e.id,`/* Reports, in outputs and in the panel. Every colour is the theme's own; none says a thing alone. */

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
`,""]),t.d(o,{},{A:i})},"./node_modules/css-loader/dist/runtime/api.js"(e){e.exports=function(e){var o=[];return o.toString=function(){return this.map(function(o){var t="",r=void 0!==o[5];return o[4]&&(t+="@supports (".concat(o[4],") {")),o[2]&&(t+="@media ".concat(o[2]," {")),r&&(t+="@layer".concat(o[5].length>0?" ".concat(o[5]):""," {")),t+=e(o),r&&(t+="}"),o[2]&&(t+="}"),o[4]&&(t+="}"),t}).join("")},o.i=function(e,t,r,a,n){"string"==typeof e&&(e=[[null,e,void 0]]);var i={};if(r)for(var c=0;c<this.length;c++){var s=this[c][0];null!=s&&(i[s]=!0)}for(var l=0;l<e.length;l++){var d=[].concat(e[l]);r&&i[d[0]]||(void 0!==n&&(void 0===d[5]||(d[1]="@layer".concat(d[5].length>0?" ".concat(d[5]):""," {").concat(d[1],"}")),d[5]=n),t&&(d[2]&&(d[1]="@media ".concat(d[2]," {").concat(d[1],"}")),d[2]=t),a&&(d[4]?(d[1]="@supports (".concat(d[4],") {").concat(d[1],"}"),d[4]=a):d[4]="".concat(a)),o.push(d))}},o}},"./node_modules/css-loader/dist/runtime/noSourceMaps.js"(e){e.exports=function(e){return e[1]}},"./node_modules/style-loader/dist/runtime/injectStylesIntoStyleTag.js"(e){var o=[];function t(e){for(var t=-1,r=0;r<o.length;r++)if(o[r].identifier===e){t=r;break}return t}function r(e,r){for(var a={},n=[],i=0;i<e.length;i++){var c=e[i],s=r.base?c[0]+r.base:c[0],l=a[s]||0,d="".concat(s," ").concat(l);a[s]=l+1;var p=t(d),m={css:c[1],media:c[2],sourceMap:c[3],supports:c[4],layer:c[5]};if(-1!==p)o[p].references++,o[p].updater(m);else{var u=function(e,o){var t=o.domAPI(o);return t.update(e),function(o){o?(o.css!==e.css||o.media!==e.media||o.sourceMap!==e.sourceMap||o.supports!==e.supports||o.layer!==e.layer)&&t.update(e=o):t.remove()}}(m,r);r.byIndex=i,o.splice(i,0,{identifier:d,updater:u,references:1})}n.push(d)}return n}e.exports=function(e,a){var n=r(e=e||[],a=a||{});return function(e){e=e||[];for(var i=0;i<n.length;i++){var c=t(n[i]);o[c].references--}for(var s=r(e,a),l=0;l<n.length;l++){var d=t(n[l]);0===o[d].references&&(o[d].updater(),o.splice(d,1))}n=s}}},"./node_modules/style-loader/dist/runtime/insertBySelector.js"(e){var o={};e.exports=function(e,t){var r=function(e){if(void 0===o[e]){var t=document.querySelector(e);if(window.HTMLIFrameElement&&t instanceof window.HTMLIFrameElement)try{t=t.contentDocument.head}catch(e){t=null}o[e]=t}return o[e]}(e);if(!r)throw Error("Couldn't find a style target. This probably means that the value for the 'insert' parameter is invalid.");r.appendChild(t)}},"./node_modules/style-loader/dist/runtime/insertStyleElement.js"(e){e.exports=function(e){var o=document.createElement("style");return e.setAttributes(o,e.attributes),e.insert(o,e.options),o}},"./node_modules/style-loader/dist/runtime/setAttributesWithoutAttributes.js"(e,o,t){e.exports=function(e){var o=t.nc;o&&e.setAttribute("nonce",o)}},"./node_modules/style-loader/dist/runtime/styleDomAPI.js"(e){e.exports=function(e){if("u"<typeof document)return{update:function(){},remove:function(){}};var o=e.insertStyleElement(e);return{update:function(t){var r,a,n;r="",t.supports&&(r+="@supports (".concat(t.supports,") {")),t.media&&(r+="@media ".concat(t.media," {")),(a=void 0!==t.layer)&&(r+="@layer".concat(t.layer.length>0?" ".concat(t.layer):""," {")),r+=t.css,a&&(r+="}"),t.media&&(r+="}"),t.supports&&(r+="}"),(n=t.sourceMap)&&"u">typeof btoa&&(r+="\n/*# sourceMappingURL=data:application/json;base64,".concat(btoa(unescape(encodeURIComponent(JSON.stringify(n))))," */")),e.styleTagTransform(r,o,e.options)},remove:function(){var e;null===(e=o).parentNode||e.parentNode.removeChild(e)}}}},"./node_modules/style-loader/dist/runtime/styleTagTransform.js"(e){e.exports=function(e,o){if(o.styleSheet)o.styleSheet.cssText=e;else{for(;o.firstChild;)o.removeChild(o.firstChild);o.appendChild(document.createTextNode(e))}}},"./style/index.js"(e,o,t){var r=t("./node_modules/style-loader/dist/runtime/injectStylesIntoStyleTag.js"),a=t.n(r),n=t("./node_modules/style-loader/dist/runtime/styleDomAPI.js"),i=t.n(n),c=t("./node_modules/style-loader/dist/runtime/insertBySelector.js"),s=t.n(c),l=t("./node_modules/style-loader/dist/runtime/setAttributesWithoutAttributes.js"),d=t.n(l),p=t("./node_modules/style-loader/dist/runtime/insertStyleElement.js"),m=t.n(p),u=t("./node_modules/style-loader/dist/runtime/styleTagTransform.js"),f=t.n(u),h=t("./node_modules/css-loader/dist/cjs.js!./style/report.css"),x={};x.styleTagTransform=f(),x.setAttributes=d(),x.insert=s().bind(null,"head"),x.domAPI=i(),x.insertStyleElement=m(),a()(h.A,x),h.A&&h.A.locals&&h.A.locals;var v=t("./node_modules/css-loader/dist/cjs.js!./style/panel.css"),g={};g.styleTagTransform=f(),g.setAttributes=d(),g.insert=s().bind(null,"head"),g.domAPI=i(),g.insertStyleElement=m(),a()(v.A,g),v.A&&v.A.locals&&v.A.locals}}]);