package study

import (
	"bufio"
	"fmt"
	"html"
	"io"
	"strings"

	"heddle/sim/mapreduce"
)

// Measures of the picture, in pixels.
const (
	width  = 900
	height = 170 // of a timeline
	left   = 50
	bottom = 34
	steps  = 300 // of a timeline
)

// kinds of what runs, from the bottom up.
var kinds = []struct{ name, color string }{{"maps", "#c0504d"}, {"reduces that fetch", "#9bbb59"}, {"reduces that work", "#4f81bd"}, {"copies", "#333333"}}

// SVG draws the timelines of a study below each other: how many containers do what, over time, on one scale.
func (s *Study) SVG(w io.Writer) error {
	out := bufio.NewWriter(w)
	longest := 0.
	for _, t := range s.Timelines {
		longest = max(longest, t.Result.Makespan)
	}
	fmt.Fprintf(out, `<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%d" font-family="sans-serif" font-size="12">`+"\n", width, 40+len(s.Timelines)*height)
	fmt.Fprintln(out, `<rect width="100%" height="100%" fill="white"/>`)
	for i, k := range kinds {
		fmt.Fprintf(out, `<rect x="%d" y="8" width="12" height="12" fill="%s"/><text x="%d" y="18">%s</text>`+"\n", left+i*180, k.color, left+i*180+18, k.name)
	}
	for i := range s.Timelines {
		s.Timelines[i].draw(out, 30+i*height, longest)
	}
	fmt.Fprintln(out, "</svg>")
	return out.Flush()
}

// draw draws a timeline below y.
func (t *Timeline) draw(w io.Writer, y int, longest float64) {
	base, high, wide := float64(y+height-bottom), float64(height-bottom-22), float64(width-left-20)
	fmt.Fprintf(w, `<text x="%d" y="%d" font-weight="bold">%s: %.0f s</text>`+"\n", left, y+14, html.EscapeString(t.Title), t.Result.Makespan)
	counts := t.counts(longest)
	floor := make([]float64, steps)
	for k := range kinds {
		var up, down strings.Builder
		for i := range steps {
			x := left + wide*float64(i)/steps
			fmt.Fprintf(&up, "%.1f,%.1f ", x, base-high*(floor[i]+counts[k][i])/float64(t.Slots))
		}
		for i := steps - 1; i >= 0; i-- {
			fmt.Fprintf(&down, "%.1f,%.1f ", left+wide*float64(i)/steps, base-high*floor[i]/float64(t.Slots))
			floor[i] += counts[k][i]
		}
		fmt.Fprintf(w, `<polygon points="%s%s" fill="%s"/>`+"\n", up.String(), strings.TrimSpace(down.String()), kinds[k].color)
	}
	fmt.Fprintf(w, `<path d="M%d %.1f H%.1f M%d %.1f V%.1f" stroke="black" fill="none"/>`+"\n", left, base, left+wide, left, base, base-high)
	fmt.Fprintf(w, `<text x="%d" y="%.1f" text-anchor="end">%d</text>`+"\n", left-4, base-high+10, t.Slots)
	for i := range 5 {
		at := longest * float64(i) / 4
		fmt.Fprintf(w, `<text x="%.1f" y="%.1f" text-anchor="middle">%.0f s</text>`+"\n", left+wide*float64(i)/4, base+15, at)
	}
}

// counts are, by kind and step, how many containers did that on average.
func (t *Timeline) counts(longest float64) [][]float64 {
	out := make([][]float64, len(kinds))
	for k := range out {
		out[k] = make([]float64, steps)
	}
	length := longest / steps
	add := func(kind int, from, to float64) {
		for i := max(0, int(from/length)); i < steps && float64(i)*length < to; i++ {
			begin := float64(i) * length
			out[kind][i] += max(0, min(to, begin+length)-max(from, begin)) / length
		}
	}
	each := func(list []mapreduce.TaskResult, reduces bool) {
		for _, task := range list {
			for _, a := range task.Attempts {
				switch fetched := a.Fetched; {
				case a.Copy:
					add(3, a.Start, a.End)
				case !reduces:
					add(0, a.Start, a.End)
				default:
					if fetched == 0 {
						fetched = a.End
					}
					add(1, a.Start, fetched)
					add(2, fetched, a.End)
				}
			}
		}
	}
	for _, j := range t.Result.Jobs {
		each(j.Maps, false)
		each(j.Reduces, true)
	}
	return out
}
