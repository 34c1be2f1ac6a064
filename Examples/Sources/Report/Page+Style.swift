// SPDX-License-Identifier: Apache-2.0
//
// The page's style, in light and in dark. Text, also inside bars, has a contrast of at least 4.5 to 1.

extension Page {
    static let style = """

        :root {
          --page: #faf8f5; --card: #ffffff; --text: #1f1d1a; --quiet: #625c54; --line: #ddd7cd;
          --accent: #a04a00;
          --step0: #9bb8d9; --step1: #8fcbbf; --step2: #f0b36a; --step3: #b9a6dd; --step4: #d99bb0;
          --step5: #b9bd73; --step6: #c7c1b8; --bar-text: #1f1d1a;
        }
        @media (prefers-color-scheme: dark) {
          :root {
            --page: #171614; --card: #211f1c; --text: #ece8e1; --quiet: #a8a198; --line: #3a3631;
            --accent: #f2a93b;
            --step0: #3d6797; --step1: #23766a; --step2: #97590d; --step3: #6a52a3; --step4: #94445f;
            --step5: #686c1d; --step6: #5f5a53; --bar-text: #ffffff;
          }
        }
        * { box-sizing: border-box; }
        body {
          margin: 0 auto; padding: 2rem 1.25rem 4rem; max-width: 72rem; background: var(--page);
          color: var(--text); font: 16px/1.5 system-ui, "Segoe UI", "Noto Sans", "DejaVu Sans", sans-serif;
          overflow-wrap: anywhere;
        }
        h1 { font-size: 2rem; line-height: 1.2; margin: 0 0 .25rem; }
        h2 { font-size: 1.3rem; margin: 3rem 0 .5rem; }
        h3 { font-size: 1rem; margin: 1.5rem 0 .25rem; }
        p { max-width: 46rem; margin: .25rem 0 1rem; }
        header p { color: var(--quiet); }
        small { color: var(--quiet); }
        ul { padding-left: 1.25rem; }
        img { display: block; max-width: 100%; height: auto; overflow: hidden; }
        .pictures { display: grid; gap: 1.25rem; grid-template-columns: repeat(auto-fill, minmax(min(100%, 30rem), 1fr)); align-items: start; }
        .pair {
          margin: 0; min-width: 0; padding: .75rem; background: var(--card); border: 1px solid var(--line); border-radius: .5rem;
        }
        .pair > div { display: grid; grid-template-columns: repeat(2, minmax(0, 1fr)); gap: .5rem; align-items: start; }
        .pair img { width: 100%; min-height: 1px; max-height: 30rem; object-fit: contain; border-radius: .25rem; }
        .pair figcaption { margin-top: .5rem; }
        .number { color: var(--accent); font-weight: 600; }
        .sheet { width: fit-content; max-width: 100%; border: 1px solid var(--line); border-radius: .5rem; }
        .downloads { display: grid; gap: 1rem; grid-template-columns: repeat(auto-fill, minmax(12rem, 1fr)); }
        .download { margin: 0; min-width: 0; background: var(--card); border: 1px solid var(--line); border-radius: .5rem; overflow: hidden; }
        .download img, .absent { width: 100%; aspect-ratio: 4 / 3; object-fit: cover; object-position: 50% 20%; }
        .absent { display: grid; place-items: center; color: var(--quiet); border-bottom: 1px dashed var(--line); }
        .download figcaption { padding: .5rem .75rem .75rem; }
        .download figcaption > * { display: block; }
        .bars { display: grid; grid-template-columns: fit-content(50%) minmax(0, 1fr); gap: .25rem .75rem; max-width: 46rem; margin: 0 0 1rem; }
        .bars dt { color: var(--quiet); }
        .bars dd { margin: 0; }
        .bars span { display: inline-block; padding: 0 .4rem; border-radius: 2px; white-space: nowrap; color: var(--bar-text); }
        .legend { list-style: none; display: flex; flex-wrap: wrap; gap: .25rem 1.25rem; padding: 0; margin: 0 0 .5rem; }
        .key { display: inline-block; width: .9rem; height: .9rem; border-radius: 2px; margin-right: .4rem; vertical-align: -1px; }
        .timeline { margin: 0 0 1.5rem; }
        .timeline figcaption { font-weight: 600; margin-bottom: .25rem; }
        .scroll { overflow-x: auto; margin-bottom: 1rem; }
        .timeline .scroll { background: var(--card); border: 1px solid var(--line); border-radius: .5rem; padding: .75rem .75rem 0; }
        svg { display: block; min-width: 44rem; width: 100%; height: auto; }
        svg text { font-size: 12px; fill: var(--quiet); }
        svg .tick { text-anchor: middle; }
        svg .thread { fill: var(--text); }
        svg .name { fill: var(--bar-text); font-size: 11px; }
        .grid { stroke: var(--line); stroke-width: 1; }
        .step0 { fill: var(--step0); background: var(--step0); } .step1 { fill: var(--step1); background: var(--step1); }
        .step2 { fill: var(--step2); background: var(--step2); } .step3 { fill: var(--step3); background: var(--step3); }
        .step4 { fill: var(--step4); background: var(--step4); } .step5 { fill: var(--step5); background: var(--step5); }
        .step6 { fill: var(--step6); background: var(--step6); }
        table { overflow-wrap: normal; border-collapse: collapse; background: var(--card); border: 1px solid var(--line); font-variant-numeric: tabular-nums; }
        th, td { padding: .4rem .9rem; text-align: right; border-bottom: 1px solid var(--line); }
        th:first-child { text-align: left; font-weight: 500; }
        thead th { color: var(--quiet); font-weight: 500; }
        code { font-family: ui-monospace, "DejaVu Sans Mono", monospace; font-size: .95em; }
        @media (max-width: 40rem) {
          body { padding: 1.25rem .75rem 3rem; }
          .downloads { gap: .75rem; grid-template-columns: repeat(auto-fill, minmax(9rem, 1fr)); }
        }

        """
}
