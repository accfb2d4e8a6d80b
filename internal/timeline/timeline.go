// Package timeline draws stacked areas over time, as SVG: the work of MapReduce jobs' containers (maps, reduces that fetch and that work,
// copies), or amounts of other kinds, such as those that queues use. Studies, benchmarks and the page of heddle mr's ApplicationMaster give
// it spans of time. It does no I/O but for writing the picture.
package timeline

import (
	"bufio"
	"cmp"
	"fmt"
	"html"
	"io"
	"math"
	"strings"
)

// Kind is what there is, such as what a container does: an index of looks.
type Kind uint8

// Look is how a kind is shown. Color is #rrggbb.
type Look struct{ Name, Color string }

// Kinds of what the containers of MapReduce jobs do, from the bottom of the picture up.
const (
	Maps Kind = iota
	Fetching
	Reducing
	Copies
	kinds
)

// names and colours of kinds.
var tasks = [kinds]Look{
	{"maps", "#c0504d"}, {"reduces that fetch", "#9bbb59"}, {"reduces that work", "#4f81bd"}, {"copies", "#333333"},
}

// Span is a time for which a container does something, or for which there is an amount of something, in seconds.
type Span struct {
	Kind     Kind
	From, To float64
	Amount   float64 // 0 is one
}

// Line is a run.
type Line struct {
	Title string
	Slots int     // containers at once, which is how high the picture is; 0: as many as there are
	End   float64 // in seconds; 0: of the last span
	Spans []Span
}

// Measures of the picture, in pixels.
const (
	width  = 900
	height = 170 // of a line
	left   = 50
	bottom = 34
	steps  = 300 // of a line
)

// Draw draws what containers do, one line below the other, on one scale.
func Draw(w io.Writer, lines []Line) error { return DrawKinds(w, tasks[:], lines) }

// DrawKinds is Draw for other kinds, from the bottom of the picture up.
func DrawKinds(w io.Writer, looks []Look, lines []Line) error {
	out := bufio.NewWriter(w)
	longest := 0.
	for i := range lines {
		longest = max(longest, lines[i].end())
	}
	longest = max(longest, 1e-3)
	fmt.Fprintf(out, `<svg xmlns="http://www.w3.org/2000/svg" width="%[1]d" height="%[2]d" viewBox="0 0 %[1]d %[2]d" font-family="sans-serif" font-size="12">`+"\n", width, 40+len(lines)*height)
	fmt.Fprintln(out, `<rect width="100%" height="100%" fill="white"/>`)
	for i, k := range looks {
		fmt.Fprintf(out, `<rect x="%d" y="8" width="12" height="12" fill="%s"/><text x="%d" y="18">%s</text>`+"\n", left+i*180, k.Color, left+i*180+18, html.EscapeString(k.Name))
	}
	for i := range lines {
		lines[i].draw(out, looks, 30+i*height, longest)
	}
	fmt.Fprintln(out, "</svg>")
	return out.Flush()
}

// end returns when a run is over.
func (l *Line) end() float64 {
	if l.End > 0 {
		return l.End
	}
	end := 0.
	for _, s := range l.Spans {
		end = max(end, s.To)
	}
	return end
}

// draw draws a run below y.
func (l *Line) draw(w io.Writer, looks []Look, y int, longest float64) {
	base, high, wide := float64(y+height-bottom), float64(height-bottom-22), float64(width-left-20)
	if l.Title != "" {
		fmt.Fprintf(w, `<text x="%d" y="%d" font-weight="bold">%s: %.0f s</text>`+"\n", left, y+14, html.EscapeString(l.Title), l.end())
	}
	counts, slots := l.counts(len(looks), longest)
	floor := make([]float64, steps)
	for k := range counts {
		var up, down strings.Builder
		for i := range steps {
			x := left + wide*float64(i)/steps
			fmt.Fprintf(&up, "%.1f,%.1f ", x, base-high*(floor[i]+counts[k][i])/slots)
		}
		for i := steps - 1; i >= 0; i-- {
			fmt.Fprintf(&down, "%.1f,%.1f ", left+wide*float64(i)/steps, base-high*floor[i]/slots)
			floor[i] += counts[k][i]
		}
		fmt.Fprintf(w, `<polygon points="%s%s" fill="%s"/>`+"\n", up.String(), strings.TrimSpace(down.String()), looks[k].Color)
	}
	fmt.Fprintf(w, `<path d="M%d %.1f H%.1f M%d %.1f V%.1f" stroke="black" fill="none"/>`+"\n", left, base, left+wide, left, base, base-high)
	fmt.Fprintf(w, `<text x="%d" y="%.1f" text-anchor="end">%.0f</text>`+"\n", left-4, base-high+10, slots)
	Axis(w, left, wide, base, longest)
}

// Axis writes the marks of an axis of time, from 0 to end in seconds, which begins at left and is as long as wide.
func Axis(w io.Writer, left, wide, y, end float64) {
	for _, at := range marks(end) {
		x := left + wide*at/end
		fmt.Fprintf(w, `<path d="M%.1f %.1f v4" stroke="black"/><text x="%.1f" y="%.1f" text-anchor="middle">%g s</text>`+"\n", x, y, x, y+16, at)
	}
}

// marks returns what an axis of time that begins at 0 is marked with: up to six multiples of 1, 2 or 5 seconds, or of ten times, a tenth, … of
// these.
func marks(end float64) (at []float64) {
	if !(end > 0) || math.IsInf(end, 0) {
		return []float64{0}
	}
	const most = 5 // steps
	power := int(math.Floor(math.Log10(end / most)))
	for ; ; power++ {
		for _, digit := range []float64{1, 2, 5} {
			times := func(n float64) float64 { // without the error of a product
				if power < 0 {
					return n * digit / math.Pow10(-power)
				}
				return n * digit * math.Pow10(power)
			}
			if times(most+1) <= end {
				continue
			}
			for n := 0.; times(n) <= end; n++ {
				at = append(at, times(n))
			}
			return at
		}
	}
}

// counts are, by kind and step, how many containers did that on average (or how much there was), and how many there are at most.
func (l *Line) counts(kinds int, longest float64) (out [][]float64, slots float64) {
	out = make([][]float64, kinds)
	for k := range out {
		out[k] = make([]float64, steps)
	}
	length := longest / steps
	for _, s := range l.Spans {
		for i := max(0, int(s.From/length)); i < steps && float64(i)*length < s.To; i++ {
			begin := float64(i) * length
			out[s.Kind][i] += cmp.Or(s.Amount, 1) * max(0, min(s.To, begin+length)-max(s.From, begin)) / length
		}
	}
	if l.Slots > 0 {
		return out, float64(l.Slots)
	}
	slots = 1
	for i := range steps {
		sum := 0.
		for k := range out {
			sum += out[k][i]
		}
		slots = max(slots, sum)
	}
	return out, slots
}
