"""The style of a report's page; colours and what all pages share are in ``look``."""

from __future__ import annotations

_KINDS = ("ok", "warn", "bad", "note", "unknown")
_COLORED = "\n".join(
    f".{kind} {{ --tone: var(--{kind}); --tone-ground: var(--{kind}-ground); }}" for kind in _KINDS
)

STYLE = f"""
{_COLORED}
.dim {{ color: var(--dim); }}
.sign {{ width: 1.1em; height: 1.1em; flex: none; fill: none; stroke: currentColor; stroke-width: 3;
  stroke-linecap: round; stroke-linejoin: round; }}
.pill {{ display: inline-flex; align-items: center; gap: .3em; padding: .18rem .55rem; border-radius: 99px;
  font-size: .8125rem; font-weight: 600; line-height: 1.3; white-space: nowrap; vertical-align: .06em;
  color: var(--tone); background: var(--tone-ground); }}
.panel {{ background: var(--surface); border: 1px solid var(--edge); border-radius: 12px;
  padding: 1.1rem 1.25rem; }}
.top {{ display: flex; align-items: center; justify-content: space-between; gap: 1rem; padding-block: 1rem; }}
.brand {{ display: flex; align-items: center; gap: .55rem; font-weight: 700; letter-spacing: -.01em; }}
.brand svg {{ width: 1.75rem; height: 1.75rem; color: var(--link); fill: none; stroke: currentColor;
  stroke-width: 2.2; stroke-linecap: round; stroke-linejoin: round; }}
.verdict {{ display: grid; grid-template-columns: auto 1fr; gap: .35rem 1.25rem; align-items: center;
  padding: clamp(1.25rem, 3vw, 2rem); border-color: var(--tone); border-left-width: 8px;
  background: linear-gradient(100deg, var(--tone-ground), var(--surface) 75%); }}
.verdict > .disc {{ display: grid; place-items: center; width: clamp(2.75rem, 7vw, 4rem); aspect-ratio: 1;
  border-radius: 50%; color: var(--surface); background: var(--tone); }}
.verdict > .disc .sign {{ width: 62%; height: 62%; stroke-width: 2.6; }}
.verdict h1 {{ font-size: clamp(1.6rem, 4.5vw, 2.5rem); letter-spacing: -.025em; color: var(--tone); }}
.verdict .lead {{ font-size: clamp(1.02rem, 2vw, 1.2rem); font-weight: 550; margin-top: .3rem;
  max-width: 60rem; }}
.verdict .facts {{ grid-column: 1 / -1; display: flex; flex-wrap: wrap; gap: .3rem 1.5rem; margin: .9rem 0 0;
  padding-top: .9rem; border-top: 1px solid var(--edge); font-size: .9rem; }}
.facts div {{ display: flex; gap: .45rem; min-width: 0; }}
.facts dt {{ color: var(--dim); flex: none; }}
.facts dd {{ margin: 0; min-width: 0; }}
nav ul {{ display: flex; flex-wrap: wrap; gap: .3rem 1.25rem; list-style: none; margin: 1rem 0 0; padding: 0;
  font-size: .9rem; }}
section {{ margin-top: 2.25rem; scroll-margin-top: 1rem; }}
section > h2 {{ font-size: 1.3rem; letter-spacing: -.015em; margin-bottom: .8rem; }}
section > .panel + .panel {{ margin-top: .75rem; }}
.finding {{ border-left: 5px solid var(--tone); scroll-margin-top: 1rem; }}
.finding:target {{ outline: 3px solid var(--focus); outline-offset: 2px; }}
.label {{ display: flex; flex-wrap: wrap; align-items: center; gap: .35rem .6rem; }}
.label code {{ color: var(--dim); }}
.finding h3 {{ font-size: 1.12rem; margin-top: .5rem; }}
#root h3 {{ font-size: 1.3rem; letter-spacing: -.01em; }}
.finding h4, .bars h3 {{ font-size: .8125rem; text-transform: uppercase; letter-spacing: .06em;
  color: var(--dim); margin: 1.1rem 0 .35rem; }}
.side > h4:first-child {{ margin-top: .9rem; }}
.side :is(p, pre, .copyable) + :is(p, pre, .copyable) {{ margin-top: .55rem; }}
.side {{ min-width: 0; }}
@media (min-width: 60rem) {{
  .sides {{ display: grid; grid-template-columns: minmax(0, 1fr) minmax(0, 1fr); gap: 0 2.5rem; }}
}}
.finding summary {{ display: grid; grid-template-columns: 1fr auto; align-items: center; list-style: none; }}
.finding summary::-webkit-details-marker {{ display: none; }}
.finding summary > * {{ grid-column: 1; }}
.finding summary::after {{ content: ""; grid-column: 2; grid-row: 1 / span 2; width: .6rem; height: .6rem;
  border: solid var(--dim); border-width: 0 2px 2px 0; transform: rotate(45deg);
  margin: 0 .3rem .3rem 1rem; }}
.finding details[open] > summary::after {{ transform: rotate(225deg); margin: .3rem .3rem 0 1rem; }}
.command code::before {{ content: "$ " / ""; color: var(--dim); user-select: none; }}
.command code.language-bat::before {{ content: "> " / ""; }}
.chips {{ display: flex; flex-wrap: wrap; gap: .4rem; list-style: none; margin: 0; padding: 0; }}
.chips code {{ display: block; padding: .12rem .5rem; border-radius: 6px; background: var(--sunken);
  border: 1px solid var(--edge); }}
.symptoms, .rules {{ margin: .3rem 0 0; padding-left: 1.2rem; }}
.cards {{ display: grid; grid-template-columns: repeat(auto-fill, minmax(min(100%, 20.5rem), 1fr));
  gap: .75rem; }}
.card {{ display: flex; flex-direction: column; gap: .55rem; padding: 1rem 1.1rem; font-size: .9375rem; }}
.card.bad, .card.warn {{ border-color: var(--tone); }}
.head {{ display: flex; align-items: center; justify-content: space-between; gap: .75rem; }}
.card h3 {{ font-size: 1.02rem; }}
.links {{ list-style: none; margin: 0; padding: 0; font-size: .875rem; }}
.card details {{ margin-top: auto; font-size: .875rem; }}
.card summary, main > section > details.panel > summary, #unseen summary {{ color: var(--dim); }}
dl {{ margin: .4rem 0 0; }}
.card dl > div {{ padding: .25rem 0; border-top: 1px solid var(--edge); }}
.card dt {{ color: var(--dim); font-size: .8125rem; }}
.card dd {{ margin: 0; unicode-bidi: isolate; }}
.bars {{ display: grid; gap: 1.1rem; }}
.machine {{ grid-template-columns: repeat(auto-fit, minmax(min(100%, 25rem), 1fr)); column-gap: 2.5rem; }}
.bars > * {{ min-width: 0; }}
figure {{ margin: 0; }}
figcaption {{ display: flex; flex-wrap: wrap; justify-content: space-between; gap: .1rem 1rem;
  font-size: .9375rem; }}
figure > p {{ margin-top: .3rem; font-size: .875rem; }}
figcaption span {{ color: var(--dim); font-variant-numeric: tabular-nums; }}
.bar {{ display: block; width: 100%; height: .8rem; margin-top: .4rem; border-radius: 99px;
  overflow: hidden; }}
.bar.tall {{ height: 2rem; border-radius: 8px; }}
rect.free {{ fill: var(--free); }} rect.used {{ fill: var(--used); }} rect.mark {{ fill: var(--text); }}
rect.halo {{ fill: var(--surface); }}
rect.doubt {{ fill: var(--text); fill-opacity: .28; }}
.legend {{ display: flex; flex-wrap: wrap; gap: .25rem 1.25rem; list-style: none; margin: .6rem 0 0;
  padding: 0;
  font-size: .875rem; }}
.legend li {{ display: flex; align-items: center; gap: .45rem; }}
.legend svg {{ width: .9rem; height: .9rem; border-radius: 3px; flex: none; }}
details > summary + * {{ margin-top: .7rem; }}
.panel td, .panel th {{ font-size: .9rem; }}
.side td, .side th {{ min-width: 5.2rem; }}
@media (max-width: 34rem) {{
  .stages thead {{ position: absolute; clip-path: inset(50%); }}
  .stages tr {{ display: flex; flex-wrap: wrap; align-items: center; gap: 0 .8rem; padding: .35rem 0;
    border-bottom: 1px solid var(--edge); }}
  .stages tr > * {{ padding: 0; border: 0; }}
  .stages tr > :last-child {{ flex-basis: 100%; }}
}}
.panel td code, .panel th code {{ font-size: .8125rem; }}
.where {{ display: block; color: var(--dim); font-size: .8125rem; }}
table + p, table + details, p + details {{ margin-top: .8rem; }}
tbody th {{ font-weight: 550; }}
tbody tr:last-child > * {{ border-bottom: 0; }}
.foot {{ margin-top: 3rem; padding-block: 1.25rem 2.5rem; border-top: 1px solid var(--edge);
  color: var(--dim);
  font-size: .875rem; }}
@media print {{
  nav, .card details, section > details.panel {{ display: none; }}
  section {{ margin-top: 1.2rem; }}
  .panel {{ break-inside: avoid; padding: .6rem .8rem; }}
  .verdict, .pill, .bar, rect, .disc {{ print-color-adjust: exact; -webkit-print-color-adjust: exact; }}
}}
"""
