package command

import (
	"fmt"
	"maps"
	"net/http"
	"strings"

	"heddle/cmd/heddle/internal/cluster"
	"heddle/cmd/heddle/internal/option"
	"heddle/cmd/heddle/internal/queuesettings"
	"heddle/internal/nearness"
)

var schedulerConf = verb{
	name: "schedulerconf", title: "heddle schedulerconf",
	short: "Show or change the scheduler's configuration",
	options: func() []option.Option {
		return []option.Option{
			{Name: "add", Long: "addQueues", Arg: "Queues", Help: `Adds queues: "root.a:capacity=60,state=RUNNING;root.b:capacity=40". Write \, for a comma within a value.`},
			{Name: "remove", Long: "removeQueues", Arg: "Queues", Help: `Removes queues: "root.a;root.b".`},
			{Name: "update", Long: "updateQueues", Arg: "Queues", Help: "Changes queues, in the form of -add. A key without a value is removed."},
			{Name: "global", Long: "globalUpdates", Arg: "Settings", Help: `Changes settings of the scheduler: "key=value,key=value".`},
			{Name: "getconf", Long: "getConf", Help: "Shows the configuration."},
			{Name: "format", Long: "formatConfig", Help: "Discards all changes: the configuration files count again."},
		}
	},
	run: (*session).schedulerConf,
}

// schedulerChange is a change of the scheduler's configuration in the form of the REST API.
type schedulerChange struct {
	Add    []queuesettings.Queue `json:"add-queue,omitempty"`
	Remove []string              `json:"remove-queue,omitempty"`
	Update []queuesettings.Queue `json:"update-queue,omitempty"`
	Global *queuesettings.List   `json:"global-updates,omitempty"`
}

func (s *session) schedulerConf(l *option.Line) error {
	path := api + "/scheduler-conf"
	if len(l.Args) > 0 {
		return s.usage()
	}
	var change schedulerChange
	var err error
	switch {
	case l.Has("format"):
		return s.schedulerAnswer(cluster.Request{Path: path + "/format"})
	case l.Has("getconf"):
		return s.schedulerShow(path)
	case l.Has("add"), l.Has("remove"), l.Has("update"), l.Has("global"):
		if change.Add, err = queuesettings.Parse(l.Value("add")); err != nil {
			return fmt.Errorf("-add: %w", err)
		}
		if change.Update, err = queuesettings.Parse(l.Value("update")); err != nil {
			return fmt.Errorf("-update: %w", err)
		}
		for q := range strings.SplitSeq(l.Value("remove"), ";") {
			if q = strings.TrimSpace(q); q != "" {
				change.Remove = append(change.Remove, q)
			}
		}
		if text := l.Value("global"); text != "" {
			global, err := queuesettings.ParseList(text)
			if err != nil {
				return fmt.Errorf("-global: %w", err)
			}
			change.Global = &global
		}
	default:
		fmt.Fprintln(s.err, "Invalid Command Usage:")
		return s.usage()
	}
	if err := s.schedulerAnswer(cluster.Request{Method: http.MethodPut, Path: path, Body: change}); err != nil {
		return err
	}
	warnOfNoQueues(s, change.Update)
	return nil
}

// queueTree is a queue in the REST API's answer, with those below it.
type queueTree struct {
	Path   string `json:"queuePath"`
	Queues struct {
		Queue []queueTree `json:"queue"`
	} `json:"queues"`
}

// paths adds the paths of a queue and of those below it.
func (q *queueTree) paths(to map[string]bool) {
	to[q.Path] = true
	for i := range q.Queues.Queue {
		q.Queues.Queue[i].paths(to)
	}
}

// warnOfNoQueues warns of settings for queues that there aren't, which YARN takes, too. The change has been made already, so that
// nothing is said where the queues can't be had.
func warnOfNoQueues(s *session, changed []queuesettings.Queue) {
	c, err := s.cluster()
	if err != nil || len(changed) == 0 {
		return
	}
	var answer struct {
		Scheduler struct {
			Info queueTree `json:"schedulerInfo"`
		} `json:"scheduler"`
	}
	if c.GetInto(s, api+"/scheduler", nil, &answer) != nil || answer.Scheduler.Info.Path == "" {
		return
	}
	there := map[string]bool{}
	answer.Scheduler.Info.paths(there)
	for _, q := range changed {
		if !there[q.Queue] {
			meant := ""
			if n := nearness.Nearest(q.Queue, maps.Keys(there)); n != "" {
				meant = "; did you mean " + n + "?"
			}
			fmt.Fprintf(s.err, "There is no queue %s: its settings have no effect until it is added (-add)%s\n", q.Queue, meant)
		}
	}
}

// schedulerAnswer makes a request, and prints the sentence that answers it.
func (s *session) schedulerAnswer(r cluster.Request) error {
	c, err := s.cluster()
	if err != nil {
		return err
	}
	a, err := c.REST(s, r)
	if err != nil {
		what := "Configuration change unsuccessful"
		if r.Body == nil {
			what = "Failed to format scheduler configuration"
		}
		return fmt.Errorf("%s: %w", what, err)
	}
	text := strings.TrimSpace(string(a.Body))
	if r.Body != nil {
		text = "Configuration changed successfully."
	}
	if s.json {
		return s.printValue(map[string]string{"message": text})
	}
	s.write(text + "\n")
	return nil
}

// schedulerShow prints the configuration as XML, or as REST's JSON.
func (s *session) schedulerShow(path string) error {
	if s.json {
		return s.printREST(path, nil)
	}
	c, err := s.cluster()
	if err != nil {
		return err
	}
	var answer struct {
		Property []struct{ Name, Value string } `json:"property"`
	}
	if err := c.GetInto(s, path, nil, &answer); err != nil {
		return fmt.Errorf("failed to get scheduler configuration: %w", err)
	}
	s.print("<?xml version=\"1.0\" encoding=\"UTF-8\" standalone=\"yes\"?>\n<configuration>\n")
	escape := strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;")
	for _, p := range answer.Property {
		s.print("  <property>\n    <name>%s</name>\n    ", escape.Replace(p.Name))
		s.write("<value>" + escape.Replace(p.Value) + "</value>\n  </property>\n") // it may have several lines
	}
	s.print("</configuration>\n")
	return nil
}
