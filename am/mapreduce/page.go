package mapreduce

import (
	_ "embed"
	"fmt"
	"html/template"
	"net/http"
	"strconv"
	"strings"
	"time"

	"heddle/am/mapreduce/job"
	"heddle/am/stage"
	"heddle/internal/timeline"
)

//go:embed page.html
var pageText string

var pageTemplate = template.Must(template.New("page").Parse(pageText))

// attemptsOfPage is how many attempts a page shows.
const attemptsOfPage = 200

// pageData has the contents of a page. Texts are escaped by the template; pictures are made of numbers only.
type pageData struct {
	App, Name, User, Why, Error string
	Elapsed                     time.Duration
	Refresh                     int // seconds; 0: nothing changes any more
	Stages                      []pageStage
	Timeline, Progress          template.HTML
	Copies, Attempts            []pageAttempt
	Nodes                       []pageNode
	Failures                    []job.Failure
	From, To, All               int
	Earlier, Later              bool
	EarlierFrom, LaterFrom      int
	Counters                    string
}

type pageStage struct {
	Name                                  string
	Total, Waiting, Running, Done, Failed int
	Percent                               float64
}

type pageNode struct {
	stage.NodeState
	Slow string // why it is slow; "": it isn't
}

// nodesOf says of nodes that straggle what they were compared with: other nodes of their class, or what they did before.
func nodesOf(list []stage.NodeState) (out []pageNode) {
	classes := map[int]int{}
	for i := range list {
		classes[list[i].Class]++
	}
	for _, n := range list {
		x := pageNode{NodeState: n}
		switch {
		case !n.Straggles:
		case n.Class == 0:
			x.Slow = "hardly gets on"
		case classes[n.Class] == 1:
			x.Slow = "slower than before"
		default:
			x.Slow = "slow for its level"
		}
		out = append(out, x)
	}
	return out
}

type pageAttempt struct {
	Task, Host, Container, State, Begun, Ended string
	Number                                     int
	Copy                                       bool
	Percent                                    float64
}

// page shows people where the job is: /?from=N has the attempts from the Nth on.
func (c *coordinator) page(w http.ResponseWriter, r *http.Request) {
	from := 0
	if text := r.URL.Query().Get("from"); text != "" {
		n, err := strconv.Atoi(text)
		if err != nil || n < 0 {
			http.Error(w, fmt.Sprintf("from is %q: it must be the number of an attempt, from 0", text), http.StatusBadRequest)
			return
		}
		from = n
	}
	c.mu.Lock()
	d, list, samples := c.pageData()
	c.mu.Unlock()
	d.show(list, from)
	d.Timeline = template.HTML(drawn([]timeline.Line{{End: d.Elapsed.Seconds(), Spans: Spans(list)}}))
	d.Progress = template.HTML(progressPicture(samples, d.Elapsed, len(d.Stages) > 1))
	d.Elapsed = d.Elapsed.Round(time.Second)
	h := w.Header()
	h.Set("Content-Type", "text/html; charset=utf-8")
	h.Set("Cache-Control", "no-store")
	_ = pageTemplate.Execute(w, d) // to a browser that may have gone
}

func drawn(lines []timeline.Line) string {
	var b strings.Builder
	_ = timeline.Draw(&b, lines) // a Builder takes everything
	return b.String()
}

// pageData gathers the data that must be read under the lock.
func (c *coordinator) pageData() (d pageData, list []job.Attempt, samples []sample) {
	s := c.snapshot()
	about := stage.Describe(c.planner)
	d = pageData{
		App: c.app.String(), Name: c.spec.Job.Name, User: c.spec.User, Why: about.Reduces, Error: s.Error,
		Elapsed: c.now().Sub(c.began), Refresh: 5,
		Nodes: nodesOf(about.Nodes), Failures: s.Failures,
	}
	if c.over {
		d.Elapsed, d.Refresh = c.overAt, 0
	}
	for i, x := range []job.Stage{s.Maps, s.Reduces} {
		if x.Total == 0 && i > 0 {
			continue
		}
		d.Stages = append(d.Stages, pageStage{
			[]string{"Maps", "Reduces"}[i], x.Total, x.Total - x.Running - x.Done, x.Running, x.Done, x.Failed, 100 * x.Progress,
		})
	}
	var b strings.Builder
	_ = s.Counters.Print(&b) // a Builder takes everything
	d.Counters = b.String()
	return d, c.attempts(), append([]sample(nil), c.course.samples...)
}

// show puts the attempts from one on into the page, and all copies.
func (d *pageData) show(list []job.Attempt, from int) {
	from = min(from, max(0, len(list)-1))
	to := min(len(list), from+attemptsOfPage)
	d.From, d.To, d.All = min(from+1, to), to, len(list)
	d.Earlier, d.EarlierFrom = from > 0, max(0, from-attemptsOfPage)
	d.Later, d.LaterFrom = to < len(list), to
	for i := range list {
		a := &list[i]
		if a.Copy && len(d.Copies) < attemptsOfPage {
			d.Copies = append(d.Copies, shown(a))
		}
		if i >= from && i < to {
			d.Attempts = append(d.Attempts, shown(a))
		}
	}
}

func shown(a *job.Attempt) pageAttempt {
	x := pageAttempt{
		Task: fmt.Sprintf("%s %d", a.ID.Kind, a.ID.Index), Host: a.Host, Container: a.Container, State: a.State,
		Number: a.ID.Attempt, Copy: a.Copy,
		Begun: fmt.Sprintf("%.1f s", a.Begun), Percent: 100 * a.Progress,
	}
	if a.State != states[stage.Active] {
		x.Ended = fmt.Sprintf("%.1f s", a.Ended)
	}
	return x
}

// progressPicture draws how much of the stages was done over time.
func progressPicture(samples []sample, until time.Duration, reduces bool) string {
	const left, top, wide, high = 50., 8., 830., 110.
	var b strings.Builder
	fmt.Fprint(&b, `<svg xmlns="http://www.w3.org/2000/svg" width="900" height="142" viewBox="0 0 900 142" font-family="sans-serif" font-size="12">`)
	end := max(until.Seconds(), 1)
	line := func(color string, of func(sample) float64) {
		fmt.Fprintf(&b, `<polyline fill="none" stroke="%s" stroke-width="2" points="`, color)
		for _, s := range samples {
			fmt.Fprintf(&b, "%.1f,%.1f ", left+wide*min(1, s.at.Seconds()/end), top+high*(1-of(s)))
		}
		fmt.Fprint(&b, `"/>`)
	}
	line("#c0504d", func(s sample) float64 { return s.maps })
	if reduces {
		line("#4f81bd", func(s sample) float64 { return s.reduces })
	}
	fmt.Fprintf(&b, `<path d="M%v %v V%v H%v" stroke="black" fill="none"/>`, left, top, top+high, left+wide)
	fmt.Fprintf(&b, `<text x="%v" y="%v" text-anchor="end">100 %%</text><text x="%v" y="%v" text-anchor="end">0 %%</text>`, left-4, top+10, left-4, top+high)
	timeline.Axis(&b, left, wide, top+high, end)
	fmt.Fprint(&b, "</svg>")
	return b.String()
}
