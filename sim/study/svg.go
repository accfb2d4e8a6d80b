package study

import (
	"io"

	"heddle/internal/timeline"
	"heddle/sim/mapreduce"
)

// users of cores.
const (
	longJob timeline.Kind = iota
	shortJob
)

var users = []timeline.Look{longJob: {Name: "long jobs", Color: "#4f81bd"}, shortJob: {Name: "short jobs", Color: "#c0504d"}}

// SVG draws the timelines of a study below each other: how many containers do what, or who uses how many cores, over time, on one scale. A study with charts has these
// instead.
func (s *Study) SVG(w io.Writer) error {
	if len(s.Charts) > 0 {
		return drawCharts(w, s.Charts)
	}
	if len(s.Cores) > 0 {
		return timeline.DrawKinds(w, users, s.Cores)
	}
	var lines []timeline.Line
	for i := range s.Timelines {
		t := &s.Timelines[i]
		lines = append(lines, timeline.Line{Title: t.Title, Slots: t.Slots, End: t.Result.Makespan, Spans: spans(t.Result)})
	}
	return timeline.Draw(w, lines)
}

// spans returns what containers did.
func spans(r *mapreduce.Result) (out []timeline.Span) {
	add := func(k timeline.Kind, from, to float64) { out = append(out, timeline.Span{Kind: k, From: from, To: to}) }
	each := func(list []mapreduce.TaskResult, reduces bool) {
		for _, task := range list {
			for _, a := range task.Attempts {
				switch fetched := a.Fetched; {
				case a.Copy:
					add(timeline.Copies, a.Start, a.End)
				case !reduces:
					add(timeline.Maps, a.Start, a.End)
				default:
					if fetched == 0 {
						fetched = a.End
					}
					add(timeline.Fetching, a.Start, fetched)
					add(timeline.Reducing, fetched, a.End)
				}
			}
		}
	}
	for _, j := range r.Jobs {
		each(j.Maps, false)
		each(j.Reduces, true)
	}
	return out
}
