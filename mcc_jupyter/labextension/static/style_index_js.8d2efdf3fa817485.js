"use strict";(self.rspackChunkmcc_jupyter=self.rspackChunkmcc_jupyter||[]).push([["style_index_js"],{"./node_modules/css-loader/dist/cjs.js!./style/report.css"(e,t,o){var r=o("./node_modules/css-loader/dist/runtime/noSourceMaps.js"),n=o.n(r),a=o("./node_modules/css-loader/dist/runtime/api.js"),c=(o.n(a))()(n());c.push([e.id,`/* Reports, in outputs and in the panel. Every colour is the theme's own; none says a thing alone. */

.mcc-report,
.mcc-matrix {
  color: var(--jp-ui-font-color1);
  font-family: var(--jp-ui-font-family);
  font-size: var(--jp-ui-font-size1);
  line-height: 1.5;
  padding: 4px 0 8px;
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
`,""]),o.d(t,{},{A:c})},"./node_modules/css-loader/dist/runtime/api.js"(e){e.exports=function(e){var t=[];return t.toString=function(){return this.map(function(t){var o="",r=void 0!==t[5];return t[4]&&(o+="@supports (".concat(t[4],") {")),t[2]&&(o+="@media ".concat(t[2]," {")),r&&(o+="@layer".concat(t[5].length>0?" ".concat(t[5]):""," {")),o+=e(t),r&&(o+="}"),t[2]&&(o+="}"),t[4]&&(o+="}"),o}).join("")},t.i=function(e,o,r,n,a){"string"==typeof e&&(e=[[null,e,void 0]]);var c={};if(r)for(var s=0;s<this.length;s++){var i=this[s][0];null!=i&&(c[i]=!0)}for(var l=0;l<e.length;l++){var d=[].concat(e[l]);r&&c[d[0]]||(void 0!==a&&(void 0===d[5]||(d[1]="@layer".concat(d[5].length>0?" ".concat(d[5]):""," {").concat(d[1],"}")),d[5]=a),o&&(d[2]&&(d[1]="@media ".concat(d[2]," {").concat(d[1],"}")),d[2]=o),n&&(d[4]?(d[1]="@supports (".concat(d[4],") {").concat(d[1],"}"),d[4]=n):d[4]="".concat(n)),t.push(d))}},t}},"./node_modules/css-loader/dist/runtime/noSourceMaps.js"(e){e.exports=function(e){return e[1]}},"./node_modules/style-loader/dist/runtime/injectStylesIntoStyleTag.js"(e){var t=[];function o(e){for(var o=-1,r=0;r<t.length;r++)if(t[r].identifier===e){o=r;break}return o}function r(e,r){for(var n={},a=[],c=0;c<e.length;c++){var s=e[c],i=r.base?s[0]+r.base:s[0],l=n[i]||0,d="".concat(i," ").concat(l);n[i]=l+1;var p=o(d),m={css:s[1],media:s[2],sourceMap:s[3],supports:s[4],layer:s[5]};if(-1!==p)t[p].references++,t[p].updater(m);else{var u=function(e,t){var o=t.domAPI(t);return o.update(e),function(t){t?(t.css!==e.css||t.media!==e.media||t.sourceMap!==e.sourceMap||t.supports!==e.supports||t.layer!==e.layer)&&o.update(e=t):o.remove()}}(m,r);r.byIndex=c,t.splice(c,0,{identifier:d,updater:u,references:1})}a.push(d)}return a}e.exports=function(e,n){var a=r(e=e||[],n=n||{});return function(e){e=e||[];for(var c=0;c<a.length;c++){var s=o(a[c]);t[s].references--}for(var i=r(e,n),l=0;l<a.length;l++){var d=o(a[l]);0===t[d].references&&(t[d].updater(),t.splice(d,1))}a=i}}},"./node_modules/style-loader/dist/runtime/insertBySelector.js"(e){var t={};e.exports=function(e,o){var r=function(e){if(void 0===t[e]){var o=document.querySelector(e);if(window.HTMLIFrameElement&&o instanceof window.HTMLIFrameElement)try{o=o.contentDocument.head}catch(e){o=null}t[e]=o}return t[e]}(e);if(!r)throw Error("Couldn't find a style target. This probably means that the value for the 'insert' parameter is invalid.");r.appendChild(o)}},"./node_modules/style-loader/dist/runtime/insertStyleElement.js"(e){e.exports=function(e){var t=document.createElement("style");return e.setAttributes(t,e.attributes),e.insert(t,e.options),t}},"./node_modules/style-loader/dist/runtime/setAttributesWithoutAttributes.js"(e,t,o){e.exports=function(e){var t=o.nc;t&&e.setAttribute("nonce",t)}},"./node_modules/style-loader/dist/runtime/styleDomAPI.js"(e){e.exports=function(e){if("u"<typeof document)return{update:function(){},remove:function(){}};var t=e.insertStyleElement(e);return{update:function(o){var r,n,a;r="",o.supports&&(r+="@supports (".concat(o.supports,") {")),o.media&&(r+="@media ".concat(o.media," {")),(n=void 0!==o.layer)&&(r+="@layer".concat(o.layer.length>0?" ".concat(o.layer):""," {")),r+=o.css,n&&(r+="}"),o.media&&(r+="}"),o.supports&&(r+="}"),(a=o.sourceMap)&&"u">typeof btoa&&(r+="\n/*# sourceMappingURL=data:application/json;base64,".concat(btoa(unescape(encodeURIComponent(JSON.stringify(a))))," */")),e.styleTagTransform(r,t,e.options)},remove:function(){var e;null===(e=t).parentNode||e.parentNode.removeChild(e)}}}},"./node_modules/style-loader/dist/runtime/styleTagTransform.js"(e){e.exports=function(e,t){if(t.styleSheet)t.styleSheet.cssText=e;else{for(;t.firstChild;)t.removeChild(t.firstChild);t.appendChild(document.createTextNode(e))}}},"./style/index.js"(e,t,o){var r=o("./node_modules/style-loader/dist/runtime/injectStylesIntoStyleTag.js"),n=o.n(r),a=o("./node_modules/style-loader/dist/runtime/styleDomAPI.js"),c=o.n(a),s=o("./node_modules/style-loader/dist/runtime/insertBySelector.js"),i=o.n(s),l=o("./node_modules/style-loader/dist/runtime/setAttributesWithoutAttributes.js"),d=o.n(l),p=o("./node_modules/style-loader/dist/runtime/insertStyleElement.js"),m=o.n(p),u=o("./node_modules/style-loader/dist/runtime/styleTagTransform.js"),f=o.n(u),v=o("./node_modules/css-loader/dist/cjs.js!./style/report.css"),h={};h.styleTagTransform=f(),h.setAttributes=d(),h.insert=i().bind(null,"head"),h.domAPI=c(),h.insertStyleElement=m(),n()(v.A,h),v.A&&v.A.locals&&v.A.locals}}]);