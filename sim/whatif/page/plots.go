package page

import (
	"fmt"
	"math"
	"strings"
	"time"

	"heddle/sim/whatif"
	"heddle/sim/whatif/play"
)

func stamp(ms int64) string { return time.UnixMilli(ms).UTC().Format("2006-01-02 15:04:05 UTC") }

// span writes seconds in two units.
func span(s float64) string {
	switch {
	case s < 0:
		return "never"
	case s < 100:
		return fmt.Sprintf("%.1f s", s)
	case s < 6000:
		return fmt.Sprintf("%d min %d s", int(s)/60, int(s)%60)
	}
	return fmt.Sprintf("%d h %d min", int(s)/3600, int(s)%3600/60)
}

// Measures of plots, in pixels.
const (
	width = 1040
	left  = 190
	right = 90
	maxIn = 40 // queues of a plot
)

// bars draws percentiles of queues before and after, with the error bars of those after.
func (w writer) bars(rows []whatif.Row, of func(*whatif.Figures) whatif.Percentile) {
	rows = rows[:min(len(rows), maxIn)]
	most := 1.
	for i := range rows {
		most = max(most, of(&rows[i].Before).P99, of(&rows[i].After).P99)
	}
	// The scale is logarithmic above a second, and linear below.
	x := func(s float64) float64 { return left + (width-left-right)*math.Log1p(max(s, 0))/math.Log1p(most) }
	const each = 54
	height := each*len(rows) + 24
	w.printf("<svg viewBox=\"0 0 %d %d\" role=\"img\" aria-label=\"p50, p90 and p99 by queue, before and after\">\n", width, height)
	for v := 1.; v <= most; v *= 10 {
		w.printf("<line x1=\"%.1f\" x2=\"%.1f\" y1=\"0\" y2=\"%d\" stroke=\"var(--line)\"/><text x=\"%.1f\" y=\"%d\" text-anchor=\"middle\">%s</text>\n", x(v), x(v), height-20, x(v), height-6, span(v))
	}
	for i := range rows {
		y := i*each + 8
		w.printf("<text class=\"name\" x=\"%d\" y=\"%d\" text-anchor=\"end\">%s</text>\n", left-60, y+18, text(short(rows[i].Name)))
		for k, f := range []*whatif.Figures{&rows[i].Before, &rows[i].After} {
			p := of(f)
			top := y + k*20
			color := []string{"var(--soft)", "var(--accent)"}[k]
			w.printf("<text x=\"%d\" y=\"%d\" text-anchor=\"end\">%s</text>\n", left-8, top+12, []string{"before", "after"}[k])
			for n, v := range []float64{p.P99, p.P90, p.P50} {
				w.printf("<rect x=\"%d\" y=\"%d\" width=\"%.1f\" height=\"%d\" fill=\"%s\" opacity=\"%s\"><title>%s %s</title></rect>\n",
					left, top+2, max(x(v)-left, 1), 12, color, []string{".25", ".5", "1"}[n], []string{"p99", "p90", "p50"}[n], span(v))
			}
			w.printf("<text x=\"%.1f\" y=\"%d\">%s</text>\n", x(p.P99)+6, top+12, span(p.P90))
		}
	}
	w.printf("</svg>\n<p class=\"soft\">p50, p90 and p99, from dark to light; the figure is p90. The scale is logarithmic.</p>\n")
}

// short cuts a long name.
func short(s string) string {
	r := []rune(s)
	if len(r) <= 22 {
		return s
	}
	return "…" + string(r[len(r)-21:])
}

// maxDots bounds the applications of a plot.
const maxDots = 4000

// scatter draws the time of each application before and after.
func (w writer) scatter(r *whatif.Report) {
	most, index := 10., map[string]int{}
	for i := range r.Queues {
		index[r.Queues[i].Name] = i
	}
	for i := range r.Apps {
		most = max(most, r.Apps[i].Before, r.Apps[i].After)
	}
	const side, edge = 520, 76
	at := func(s float64) float64 { return (side - edge) * math.Log1p(max(s, 0)) / math.Log1p(most) }
	w.printf("<svg viewBox=\"0 0 %d %d\" role=\"img\" aria-label=\"time of each application, before and after\">\n", width, side+20)
	w.printf("<line x1=\"%d\" y1=\"%d\" x2=\"%d\" y2=\"0\" stroke=\"var(--soft)\" stroke-dasharray=\"4 4\"/>\n", edge, side-edge, edge+side-edge)
	for v := 1.; v <= most; v *= 10 {
		w.printf("<line x1=\"%d\" x2=\"%d\" y1=\"%.1f\" y2=\"%.1f\" stroke=\"var(--line)\"/>", edge, side, side-edge-at(v), side-edge-at(v))
		w.printf("<text x=\"%d\" y=\"%.1f\" text-anchor=\"end\">%s</text>", edge-6, side-edge-at(v)+4, span(v))
		w.printf("<text x=\"%.1f\" y=\"%d\" text-anchor=\"middle\">%s</text>\n", edge+at(v), side-edge+16, span(v))
	}
	step := max((len(r.Apps)+maxDots-1)/maxDots, 1)
	for i := 0; i < len(r.Apps); i += step {
		a := &r.Apps[i]
		if a.Before < 0 || a.After < 0 {
			continue
		}
		w.printf("<circle cx=\"%.1f\" cy=\"%.1f\" r=\"2.5\" fill=\"var(--q%d)\" opacity=\".6\"/>\n", edge+at(a.Before), side-edge-at(a.After), min(index[a.Queue], 7)+1)
	}
	w.printf("<text x=\"%d\" y=\"%d\" text-anchor=\"middle\">before</text><text x=\"8\" y=\"12\">after</text>\n", side/2, side-10)
	names := make([]string, len(r.Queues))
	for i := range r.Queues {
		names[i] = r.Queues[i].Name
	}
	w.legend(names, side+40, 20)
	w.printf("</svg>\n<p class=\"soft\">Above the dashed line an application takes longer than before.")
	if step > 1 {
		w.printf(" One of %d applications is shown.", step)
	}
	w.printf("</p>\n")
}

func (w writer) legend(names []string, x, y int) {
	for i, n := range names[:min(len(names), maxIn/2)] {
		w.printf("<rect x=\"%d\" y=\"%d\" width=\"10\" height=\"10\" fill=\"var(--q%d)\"/><text class=\"name\" x=\"%d\" y=\"%d\">%s</text>\n", x, y+i*18, min(i, 7)+1, x+16, y+9+i*18, text(n))
	}
}

// areas draws the memory that the containers of each queue hold over time.
func (w writer) areas(s *play.Series, _ string) {
	if len(s.MB) == 0 {
		return
	}
	bins := len(s.MB[0])
	sum := make([]float64, bins)
	most := 1.
	for _, line := range s.MB {
		for i, v := range line {
			sum[i] += v
			most = max(most, sum[i])
		}
	}
	const height, foot, wide = 200, 24, width - 260
	x := func(i int) float64 { return 60 + float64(wide-60)*float64(i)/float64(bins) }
	y := func(v float64) float64 { return (height - foot) * (1 - v/most) }
	w.printf("<svg viewBox=\"0 0 %d %d\" role=\"img\" aria-label=\"memory in use by queue\">\n", width, height)
	below := make([]float64, bins)
	for q, line := range s.MB {
		var up, down strings.Builder
		for i, v := range line {
			fmt.Fprintf(&up, "%.1f,%.1f %.1f,%.1f ", x(i), y(below[i]+v), x(i+1), y(below[i]+v))
		}
		for i := bins - 1; i >= 0; i-- {
			fmt.Fprintf(&down, "%.1f,%.1f %.1f,%.1f ", x(i+1), y(below[i]), x(i), y(below[i]))
			below[i] += line[i]
		}
		w.printf("<polygon points=\"%s%s\" fill=\"var(--q%d)\"><title>%s</title></polygon>\n", up.String(), down.String(), min(q, 7)+1, text(s.Queues[q]))
	}
	w.printf("<text x=\"54\" y=\"12\" text-anchor=\"end\">%.0f GB</text><text x=\"54\" y=\"%d\" text-anchor=\"end\">0</text>\n", most/1024, height-foot)
	for i := 0; i <= 4; i++ {
		at := s.Begin + int64(s.Bin*float64(bins)*float64(i)/4)
		w.printf("<text x=\"%.1f\" y=\"%d\" text-anchor=\"middle\">%s</text>\n", x(bins*i/4), height-6, time.UnixMilli(at).UTC().Format("15:04:05"))
	}
	w.legend(s.Queues, wide+20, 10)
	w.printf("</svg>\n")
}
