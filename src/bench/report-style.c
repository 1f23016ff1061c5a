/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How the page looks: type and white space do the work, colour only where it says something. The
 * colours of plots are found by the values that report-plot.c draws with, as report_svg() leaves them.
 */
#include "bench/report.h"

#define STROKE(rgb, name) ".plot [stroke='rgb(" rgb ")']{stroke:var(--" name ")}\n"
#define FILL(rgb, name) \
	".plot [fill='rgb(" rgb ")'],.plot [fill = 'rgb(" rgb ")']{fill:var(--" name ")}\n"

/* In pieces: a longer literal is more than C promises to take. */
const char *const report_style[] = {
	":root{color-scheme:light dark;--paper:#fbfbf8;--ink:#1a1d20;--soft:#5a6067;--line:#dedfd9;--fill:#f1f1ec;"
	"--axis:#8a8f94;--grid:#e2e3de;--first:#1f4e79;--second:#4a90c8;--third:#d9702b;--pale:#cfe0ef;"
	"--warn:#8a4b08;--warn-fill:#fbf0e0;--bad:#a32020}\n",
	"@media (prefers-color-scheme:dark){:root{--paper:#15171a;--ink:#e6e7e5;--soft:#9da3a9;--line:#2e3237;"
	"--fill:#1d2024;--axis:#7b8187;--grid:#2a2e33;--first:#a9cdf0;--second:#5b9fd6;--third:#f09a5b;"
	"--pale:#243a50;--warn:#eeb877;--warn-fill:#2c2216;--bad:#ff8a80}}\n",
	"*{box-sizing:border-box}\n",
	"html{-webkit-text-size-adjust:100%}\n",
	"body{margin:0;background:var(--paper);color:var(--ink);font:15px/1.5 system-ui,-apple-system,'Segoe UI',"
	"'Noto Sans','DejaVu Sans',sans-serif;font-variant-numeric:tabular-nums}\n",
	"main{max-width:1120px;margin:0 auto;padding:clamp(20px,4vw,48px) clamp(16px,4vw,40px) 64px}\n",
	"header{border-bottom:2px solid var(--ink);padding-bottom:20px}\n",
	".what{margin:0;color:var(--soft);font-size:13px;overflow-wrap:anywhere}\n",
	"h1{margin:.35em 0 .3em;font-size:clamp(20px,2.6vw,28px);line-height:1.28;font-weight:600;"
	"letter-spacing:-.01em;max-width:46em;text-wrap:pretty;overflow-wrap:break-word}\n",
	"h2{margin:0 0 12px;font-size:17px;line-height:1.3;font-weight:600}\n",
	"h3{margin:0 0 2px;font-size:14px;font-weight:600}\n",
	"section{padding-top:28px;margin-top:28px;border-top:1px solid var(--line)}\n",
	"header+section,section.keys{border-top:0;margin-top:0;padding-top:22px}\n",
	"p{margin:0 0 8px;max-width:70ch}\n",
	".soft{color:var(--soft)}\n",
	".badge{display:inline-block;vertical-align:.1em;margin-left:.6em;padding:1px 7px;border:1px solid "
	"currentColor;border-radius:3px;color:var(--warn);font-size:12px;font-weight:500;line-height:1.4;"
	"letter-spacing:0;white-space:nowrap}\n",
	".what .badge{margin-left:0;margin-right:.5em}\n",
	".keys dl{display:grid;grid-template-columns:repeat(auto-fit,minmax(128px,1fr));gap:18px 24px;margin:0}\n",
	".keys dt{color:var(--soft);font-size:13px;line-height:1.35}\n",
	".keys dd{margin:2px 0 0;font-size:21px;font-weight:600;line-height:1.25;letter-spacing:-.01em}\n",
	".keys dd small{display:block;font-size:12.5px;font-weight:400;letter-spacing:0;color:var(--soft)}\n",
	"ul.notes{margin:18px 0 0;padding:10px 16px 10px 32px;background:var(--warn-fill);border-radius:4px;"
	"font-size:14px}\n",
	"ul.notes li{margin:2px 0;max-width:90ch;overflow-wrap:anywhere}\n",
	".bad{color:var(--bad);font-weight:600}\n",
	".plots{display:grid;grid-template-columns:repeat(auto-fit,minmax(min(100%,440px),1fr));gap:28px 36px}\n",
	"figure{margin:0;min-width:0}\n",
	"figcaption{margin-bottom:6px;font-size:13px;color:var(--soft)}\n",
	"figcaption b{display:block;color:var(--ink);font-size:14px;font-weight:600}\n",
	".plot{display:block;width:100%;height:auto}\n",
	".plot text{font-family:system-ui,-apple-system,'Segoe UI','Noto Sans','DejaVu Sans',sans-serif}\n",
	".plot [fill=black]{fill:var(--soft)}\n",
	".plot [stroke=black]{stroke:var(--axis)}\n",
	STROKE("138, 143, 148", "axis"), STROKE("226, 227, 222", "grid"), STROKE(" 31, 78, 121", "first"),
	STROKE(" 74, 144, 200", "second"), STROKE("217, 112, 43", "third"), FILL(" 31, 78, 121", "first"),
	FILL("207, 224, 239", "pale"),
	".bar{display:flex;height:26px;margin:0 0 14px;border-radius:3px;overflow:hidden;background:var(--fill)}\n",
	".bar i{display:block;min-width:1px}\n",
	".p0{--c:#1f4e79}.p1{--c:#4a90c8}.p2{--c:#7a5195}.p3{--c:#b5487c}.p4{--c:#d9702b}.p5{--c:#c9a227}"
	".p6{--c:#7f8a93}.p7{--c:#3a8f7b}\n",
	".bar i,.key{background:var(--c)}\n",
	".key{display:inline-block;width:10px;height:10px;border-radius:2px;margin-right:8px}\n",
	".scroll+p{margin-top:10px}\n",
	".scroll{overflow-x:auto;max-width:100%}\n",
	"table{border-collapse:collapse;font-size:14px;line-height:1.4}\n",
	"th,td{padding:5px 18px 5px 0;text-align:left;vertical-align:baseline;border-bottom:1px solid var(--line)}\n",
	"th{font-weight:500;color:var(--soft);white-space:nowrap}\n",
	"td.n,th.n{text-align:right;white-space:nowrap}\n",
	"tr.mark td{font-weight:600}\n",
	"tr:last-child td,tr:last-child th{border-bottom:0}\n",
	"td:last-child,th:last-child{padding-right:0}\n",
	"@media (max-width:560px){th,td{padding-right:10px}table{font-size:13px}dl.facts{grid-template-columns:"
	"minmax(84px,max-content) 1fr;column-gap:14px}}\n",
	".two{display:grid;grid-template-columns:repeat(auto-fit,minmax(min(100%,420px),1fr));gap:28px 48px}\n",
	".two>*{min-width:0}\n",
	"dl.facts{display:grid;grid-template-columns:minmax(104px,max-content) 1fr;gap:3px 20px;margin:0;"
	"font-size:14px}\n",
	"dl.facts dt{color:var(--soft)}\n",
	"dl.facts dd{margin:0;min-width:0;overflow-wrap:anywhere}\n",
	".way{display:flex;flex-wrap:wrap;align-items:stretch;gap:8px 0;margin:0 0 22px;padding:0;list-style:none;"
	"font-size:13px;line-height:1.4}\n",
	".way li{display:flex;align-items:center;min-width:0;max-width:100%}\n",
	".way li+li::before{content:'\\2192';padding:0 10px;color:var(--soft)}\n",
	".way span{padding:6px 12px;border:1px solid var(--line);border-radius:4px;background:var(--fill);"
	"min-width:0;overflow-wrap:anywhere}\n",
	".way b{display:block;font-weight:600}\n",
	"ul.findings{margin:6px 0 0;padding-left:20px;font-size:14px}\n",
	"ul.findings li{margin:3px 0;max-width:90ch;overflow-wrap:anywhere}\n",
	"pre{margin:0 0 16px;padding:12px 14px;background:var(--fill);border:1px solid var(--line);border-radius:4px;"
	"font:13px/1.5 ui-monospace,'SF Mono',Menlo,'DejaVu Sans Mono',monospace;white-space:pre-wrap;"
	"overflow-wrap:anywhere}\n",
	"pre span{display:inline-block;max-width:100%}\n",
	"details{margin-top:14px;font-size:14px}\n",
	"summary{cursor:pointer;color:var(--soft)}\n",
	"details .scroll{margin-top:8px;max-height:420px;overflow:auto}\n",
	"footer{margin-top:36px;padding-top:14px;border-top:1px solid var(--line);color:var(--soft);"
	"font-size:13px}\n",
	"@media print{body{background:none}.plots,.two{grid-template-columns:1fr 1fr}section{break-inside:avoid}}\n",
	NULL,
};
