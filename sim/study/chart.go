package study

import (
	"encoding/xml"
	"fmt"
	"io"
	"math"
	"strings"
)

// Chart is bars on a logarithmic scale, in groups.
type Chart struct {
	Title  string
	Unit   string
	Bars   []string    // names of the bars of a group
	Groups []string    // names of the groups
	Values [][]float64 // by group and bar
}

func (c *Chart) add(group string, values []float64) {
	c.Groups, c.Values = append(c.Groups, group), append(c.Values, values)
}

var colours = []string{"#4c78a8", "#f58518", "#54a24b", "#e45756", "#72b7b2", "#b279a2"}

// Measures of a chart, in pixels.
const (
	chartWidth = 860
	labelWidth = 190
	barHeight  = 13
	groupGap   = 10
	headHeight = 62
)

// drawCharts draws charts below each other.
func drawCharts(w io.Writer, charts []Chart) error {
	var b strings.Builder
	y := 0.
	for i := range charts {
		y = charts[i].draw(&b, y)
	}
	_, err := fmt.Fprintf(w, "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%.0f\" font-family=\"sans-serif\" font-size=\"12\">\n"+
		"<rect width=\"100%%\" height=\"100%%\" fill=\"white\"/>\n%s</svg>\n", chartWidth, y+10, b.String())
	return err
}

// draw draws a chart from a height on, and returns where it ends.
func (c *Chart) draw(b *strings.Builder, y float64) float64 {
	least, most := math.Inf(1), 0.
	for _, g := range c.Values {
		for _, v := range g {
			if v > 0 {
				least, most = min(least, v), max(most, v)
			}
		}
	}
	if most == 0 {
		least, most = 1, 10
	}
	low := math.Floor(math.Log10(least) - .01)
	high := max(math.Log10(most), low+1)
	at := func(v float64) float64 {
		return labelWidth + (chartWidth-labelWidth-70)*max(0, (math.Log10(max(v, 1e-9))-low)/(high-low))
	}
	text := func(x, y float64, anchor, s string) {
		fmt.Fprintf(b, "<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"%s\">", x, y, anchor)
		_ = xml.EscapeText(b, []byte(s)) // a strings.Builder takes everything
		b.WriteString("</text>\n")
	}
	text(8, y+18, "start", c.Title+" ("+c.Unit+", logarithmic)")
	x := 8.
	for i, name := range c.Bars {
		fmt.Fprintf(b, "<rect x=\"%.0f\" y=\"%.0f\" width=\"10\" height=\"10\" fill=\"%s\"/>\n", x, y+27, colours[i%len(colours)])
		text(x+14, y+36, "start", name)
		x += 30 + 7*float64(len(name))
	}
	end := y + headHeight + float64(len(c.Groups))*(float64(len(c.Bars))*barHeight+groupGap)
	for e := low; e <= high; e++ {
		v := math.Pow(10, e)
		fmt.Fprintf(b, "<line x1=\"%.1f\" y1=\"%.0f\" x2=\"%.1f\" y2=\"%.0f\" stroke=\"#ddd\"/>\n", at(v), y+headHeight-6, at(v), end)
		text(at(v), y+headHeight-8, "middle", fmt.Sprintf("%g", v))
	}
	y += headHeight
	for g, name := range c.Groups {
		text(labelWidth-8, y+float64(len(c.Bars))*barHeight/2+4, "end", name)
		for i, v := range c.Values[g] {
			fmt.Fprintf(b, "<rect x=\"%d\" y=\"%.0f\" width=\"%.1f\" height=\"%d\" fill=\"%s\"/>\n", labelWidth, y, at(v)-labelWidth, barHeight-2, colours[i%len(colours)])
			text(at(v)+4, y+10, "start", figure(v))
			y += barHeight
		}
		y += groupGap
	}
	return end + 14
}

// figure has three digits at least.
func figure(v float64) string {
	switch {
	case v >= 100:
		return fmt.Sprintf("%.0f", v)
	case v >= 1:
		return fmt.Sprintf("%.1f", v)
	}
	return fmt.Sprintf("%.3f", v)
}
