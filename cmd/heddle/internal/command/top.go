package command

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"heddle/cmd/heddle/internal/cluster"
	"heddle/cmd/heddle/internal/option"
	"heddle/cmd/heddle/internal/restlist"
	"heddle/internal/plain"
)

var top = verb{
	name: "top", title: "heddle top",
	short: "Watch a cluster and its applications",
	options: func() []option.Option {
		return []option.Option{
			{Name: "delay", Arg: "Seconds", Help: "Seconds between updates; by default 3."},
			{Name: "n", Arg: "Times", Help: "Number of updates; by default one if the output is not a terminal."},
			{Name: "queues", Arg: "Queues", Values: option.Unlimited, Separator: ',', Help: "Only applications in these queues."},
			{Name: "users", Arg: "Users", Values: option.Unlimited, Separator: ',', Help: "Only applications of these users."},
			{Name: "types", Arg: "Types", Values: option.Unlimited, Separator: ',', Help: "Only applications of these types."},
			{Name: "rows", Arg: "Lines", Help: "Lines of the terminal, if they are detected wrongly."},
			{Name: "cols", Arg: "Columns", Help: "Columns of the terminal."},
		}
	},
	run: (*session).top,
}

// topView says what to show.
type topView struct {
	delay         time.Duration
	times         int // 0: until the user ends it
	rows, columns int // 0: those of the terminal
	filter        url.Values
}

func (s *session) top(l *option.Line) error {
	if len(l.Args) > 0 {
		return s.usage()
	}
	v := topView{delay: 3 * time.Second, filter: url.Values{"states": {"SUBMITTED,ACCEPTED,RUNNING"}}}
	for name, to := range map[string]*int{"n": &v.times, "rows": &v.rows, "cols": &v.columns} {
		if text := l.Value(name); text != "" {
			n, err := strconv.Atoi(text)
			if err != nil || n < 1 {
				return fmt.Errorf("-%s %s is not a number above 0", name, text)
			}
			*to = n
		}
	}
	if text := l.Value("delay"); text != "" {
		seconds, err := strconv.ParseFloat(text, 64)
		if err != nil || !(seconds >= 0.1 && seconds <= 86400) {
			return fmt.Errorf("-delay %s is not a number of seconds from 0.1 to 86400", text)
		}
		v.delay = time.Duration(seconds * float64(time.Second))
	}
	if types := option.Words(l.Values("types")); len(types) > 0 {
		v.filter.Set("applicationTypes", strings.Join(types, ","))
	}
	users, queues := option.Words(l.Values("users")), option.Words(l.Values("queues"))
	keep := func(a topApp) bool {
		return (len(users) == 0 || slices.Contains(users, a.User)) &&
			(len(queues) == 0 || slices.ContainsFunc(queues, func(q string) bool { return inQueue(a.Queue, q) }))
	}
	c, err := s.cluster()
	if err != nil {
		return err
	}
	if s.json {
		look, err := s.look(c, v.filter, keep)
		if err != nil {
			return err
		}
		return s.printValue(look)
	}
	file, _ := s.out.(*os.File)
	if file == nil || !isTerminal(file) || v.times == 1 {
		return s.topLines(c, v, keep)
	}
	return s.topScreen(c, v, keep, file)
}

// inQueue reports whether a queue is the named one or below it; the name may lack the path.
func inQueue(queue, name string) bool {
	return queue == name || strings.HasSuffix(queue, "."+name) || strings.HasPrefix(queue, name+".") || strings.Contains(queue, "."+name+".")
}

// topApp has the shown part of REST's answer about an application.
type topApp struct {
	ID            string  `json:"id"`
	User          string  `json:"user"`
	Type          string  `json:"applicationType"`
	Queue         string  `json:"queue"`
	Name          string  `json:"name"`
	State         string  `json:"state"`
	Priority      int     `json:"priority"`
	Containers    int     `json:"runningContainers"`
	VCores        int64   `json:"allocatedVCores"`
	Memory        int64   `json:"allocatedMB"`
	Reserved      int64   `json:"reservedMB"`
	MemorySeconds int64   `json:"memorySeconds"`
	VCoreSeconds  int64   `json:"vcoreSeconds"`
	Progress      float64 `json:"progress"`
	Elapsed       int64   `json:"elapsedTime"`
}

// topMetrics has the shown part of REST's answer about the cluster.
type topMetrics struct {
	Submitted         int64 `json:"appsSubmitted"`
	Completed         int64 `json:"appsCompleted"`
	Pending           int64 `json:"appsPending"`
	Running           int64 `json:"appsRunning"`
	Failed            int64 `json:"appsFailed"`
	Killed            int64 `json:"appsKilled"`
	ReservedMB        int64 `json:"reservedMB"`
	AvailableMB       int64 `json:"availableMB"`
	AllocatedMB       int64 `json:"allocatedMB"`
	PendingMB         int64 `json:"pendingMB"`
	ReservedCores     int64 `json:"reservedVirtualCores"`
	AvailableCores    int64 `json:"availableVirtualCores"`
	AllocatedCores    int64 `json:"allocatedVirtualCores"`
	PendingCores      int64 `json:"pendingVirtualCores"`
	Containers        int64 `json:"containersAllocated"`
	ReservedContainer int64 `json:"containersReserved"`
	PendingContainers int64 `json:"containersPending"`
	TotalNodes        int64 `json:"totalNodes"`
	ActiveNodes       int64 `json:"activeNodes"`
	UnhealthyNodes    int64 `json:"unhealthyNodes"`
	Decommissioned    int64 `json:"decommissionedNodes"`
	LostNodes         int64 `json:"lostNodes"`
	RebootedNodes     int64 `json:"rebootedNodes"`
}

// look is the state of a cluster at one time.
type look struct {
	Time    time.Time  `json:"time"`
	Up      int64      `json:"upSeconds"`
	Metrics topMetrics `json:"clusterMetrics"`
	Apps    []topApp   `json:"apps"`
}

func (s *session) look(c *cluster.Cluster, filter url.Values, keep func(topApp) bool) (*look, error) {
	out := &look{Time: s.now().In(s.zone), Apps: []topApp{}}
	var info struct {
		Info struct {
			Started int64 `json:"startedOn"`
		} `json:"clusterInfo"`
	}
	if err := c.GetInto(s, api+"/info", nil, &info); err != nil {
		return nil, err
	}
	out.Up = max(0, out.Time.UnixMilli()-info.Info.Started) / 1000
	var metrics struct {
		Metrics topMetrics `json:"clusterMetrics"`
	}
	if err := c.GetInto(s, api+"/metrics", nil, &metrics); err != nil {
		return nil, err
	}
	out.Metrics = metrics.Metrics
	var apps struct {
		Apps json.RawMessage `json:"apps"`
	}
	if err := c.GetInto(s, api+"/apps", filter, &apps); err != nil {
		return nil, err
	}
	var list struct {
		App restlist.List[topApp] `json:"app"`
	}
	if len(apps.Apps) > 0 && apps.Apps[0] == '{' { // null, or "", if there are none
		if err := json.Unmarshal(apps.Apps, &list); err != nil {
			return nil, fmt.Errorf("the list of applications: %w", err)
		}
	}
	for _, a := range list.App {
		if keep(a) {
			out.Apps = append(out.Apps, a)
		}
	}
	slices.SortStableFunc(out.Apps, func(a, b topApp) int {
		return cmp.Or(cmp.Compare(b.Memory, a.Memory), cmp.Compare(b.Elapsed, a.Elapsed), strings.Compare(a.ID, b.ID))
	})
	return out, nil
}

// lines formats a look.
func (l *look) lines() []string {
	m := l.Metrics
	users := map[string]bool{}
	for _, a := range l.Apps {
		users[a.User] = true
	}
	out := []string{
		fmt.Sprintf("YARN top - %s, up %dd, %d:%02d, %d active users", l.Time.Format("15:04:05"), l.Up/86400, l.Up/3600%24, l.Up/60%60, len(users)),
		fmt.Sprintf("NodeManager(s): %d total, %d active, %d unhealthy, %d decommissioned, %d lost, %d rebooted",
			m.TotalNodes, m.ActiveNodes, m.UnhealthyNodes, m.Decommissioned, m.LostNodes, m.RebootedNodes),
		fmt.Sprintf("Applications: %d running, %d submitted, %d pending, %d completed, %d killed, %d failed",
			m.Running, m.Submitted, m.Pending, m.Completed, m.Killed, m.Failed),
		fmt.Sprintf("Mem(GB): %s available, %s allocated, %s pending, %s reserved", gb(m.AvailableMB), gb(m.AllocatedMB), gb(m.PendingMB), gb(m.ReservedMB)),
		fmt.Sprintf("VCores: %d available, %d allocated, %d pending, %d reserved", m.AvailableCores, m.AllocatedCores, m.PendingCores, m.ReservedCores),
		fmt.Sprintf("Containers: %d allocated, %d pending, %d reserved", m.Containers, m.PendingContainers, m.ReservedContainer),
		"",
		fmt.Sprintf("%32s %10s %12s %20s %9s %5s %6s %7s %8s %12s %11s %7s %9s %s", "APPLICATIONID", "USER", "TYPE", "QUEUE", "STATE",
			"PRIOR", "#CONT", "VCORES", "MEM(GB)", "VCORESECS", "GBSECS", "%PROGR", "TIME", "NAME"),
	}
	for _, a := range l.Apps {
		out = append(out, fmt.Sprintf("%32s %10s %12s %20s %9s %5d %6d %7d %8s %12d %11d %7.2f %9s %s", plain.Cell(a.ID), cut(plain.Cell(a.User), 10),
			cut(strings.ToLower(plain.Cell(a.Type)), 12), cut(plain.Cell(a.Queue), 20), plain.Cell(a.State), a.Priority, max(0, a.Containers), max(0, a.VCores), gb(max(0, a.Memory)),
			a.VCoreSeconds, a.MemorySeconds/1024, a.Progress, elapsed(a.Elapsed), plain.Cell(a.Name)))
	}
	return out
}

func gb(mb int64) string { return strconv.FormatFloat(float64(mb)/1024, 'f', 1, 64) }

// cut shortens a word to n characters. Of a path it keeps the end.
func cut(s string, n int) string {
	r := []rune(s)
	switch {
	case len(r) <= n:
		return s
	case strings.Contains(s, "."):
		return "…" + string(r[len(r)-n+1:])
	}
	return string(r[:n-1]) + "…"
}

// elapsed writes milliseconds as days:hours:minutes.
func elapsed(ms int64) string {
	minutes := ms / 60000
	return fmt.Sprintf("%d:%02d:%02d", minutes/1440, minutes/60%24, minutes%60)
}

// topLines prints looks one below the other.
func (s *session) topLines(c *cluster.Cluster, v topView, keep func(topApp) bool) error {
	for i := range max(1, v.times) {
		if i > 0 && !s.pause(v.delay) {
			return s.Err()
		}
		l, err := s.look(c, v.filter, keep)
		if err != nil {
			return err
		}
		s.write(strings.Join(clip(l.lines(), v.rows, v.columns), "\n") + "\n")
	}
	return nil
}

// pause waits. It returns false if the command must end.
func (s *session) pause(d time.Duration) bool {
	select {
	case <-s.Done():
		return false
	case <-time.After(d):
		return true
	}
}

// clip cuts lines to a size; 0 means no limit.
func clip(lines []string, rows, columns int) []string {
	if rows > 0 && len(lines) > rows {
		lines = lines[:rows]
	}
	if columns > 0 {
		for i, l := range lines {
			if r := []rune(l); len(r) > columns {
				lines[i] = string(r[:columns])
			}
		}
	}
	return lines
}

// Control sequences of a terminal.
const (
	enterScreen = "\x1b[?1049h\x1b[?25l"
	leaveScreen = "\x1b[?25h\x1b[?1049l"
	home        = "\x1b[H"
	clearLine   = "\x1b[K\r\n"
	clearBelow  = "\x1b[J"
	inverse     = "\x1b[7m%s\x1b[0m"
)

// topScreen fills the terminal with looks until q is pressed. It continues when the ResourceManager doesn't answer for a while.
func (s *session) topScreen(c *cluster.Cluster, v topView, keep func(topApp) bool, out *os.File) error {
	l, err := s.look(c, v.filter, keep)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(s.Context)
	defer cancel()
	keys, restore := readKeys(os.Stdin)
	defer restore()
	io.WriteString(out, enterScreen)
	defer io.WriteString(out, leaveScreen)
	trouble := ""
	for i := 1; ; i++ {
		rows, columns := v.rows, v.columns
		if r, c := terminalSize(out); rows == 0 || columns == 0 {
			rows, columns = cmp.Or(rows, r), cmp.Or(columns, c)
		}
		lines := l.lines()
		if trouble != "" {
			lines[6] = plain.Cell(trouble)
		}
		lines = clip(lines, rows-1, columns)
		if len(lines) > 7 {
			lines[7] = fmt.Sprintf(inverse, lines[7])
		}
		fmt.Fprint(out, home, strings.Join(lines, clearLine), clearLine, clearBelow)
		if v.times > 0 && i >= v.times {
			return nil
		}
		select {
		case <-ctx.Done():
			return nil
		case key := <-keys:
			if key == 'q' || key == 'Q' || key == 3 { // Ctrl-C
				return nil
			}
		case <-time.After(v.delay):
		}
		fresh, err := s.look(c, v.filter, keep)
		switch {
		case err == nil:
			l, trouble = fresh, ""
		case errors.Is(err, context.Canceled):
			return nil
		default:
			trouble = err.Error()
		}
	}
}
